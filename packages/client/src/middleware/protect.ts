// protect.ts: decides about a request's sender before a sign-up, for every framework's middleware.
//
// If there is no decision, the client's `onUnavailable` applies. "throw" counts as "allow" here, because a visitor is
// not to blame for an outage. An outage is never silent: the handler gets an `Unavailable`, and `onUndecided` is
// called. If nobody on the internet can have the visitor's address, as when `trustProxy` is too small, a client that
// allows gets a decision about the email address only.

import type { DecisionResult } from "../assess.ts";
import type { Decision, DecisionInput } from "../generated.ts";
import { refuseUnknown, wrong } from "../options.ts";
import { type OnUnavailable, settle, Unavailable } from "../unavailable.ts";
import type { RequestFacts } from "./request-facts.ts";
import { type AddressOptions, addressFinder, addressUnknown } from "./visitor.ts";

/**
 * What a handler receives: a decision that is not "deny", or the reason why there is none. The client allows then, so
 * reading a decision's field returns undefined.
 */
export type Admitted = DecisionResult | (Unavailable & { readonly [K in keyof Decision]?: undefined });

/** The parts of the client that protect() needs. */
export interface Assessor {
  readonly onUnavailable: OnUnavailable;
  assess(input: DecisionInput): Promise<DecisionResult | Unavailable>;
}

/** An email address that cannot receive mail, or whose domain looks like a typo. */
export interface InvalidEmail {
  /** What the visitor sent; undefined if it was not a string. */
  readonly email?: string;
  /** The address that the visitor probably meant. */
  readonly did_you_mean?: string;
  /** A sentence for the visitor. It repeats what the visitor typed, so escape it in HTML. */
  readonly error: string;
}

export type MoreFacts = Pick<DecisionInput, "account" | "ref" | "expected_country" | "previous" | "facts">;

/**
 * @typeParam R the framework's request
 * @typeParam C what the framework passes to a handler
 * @typeParam A how a handler answers
 */
export interface ProtectOptions<R, C extends readonly unknown[] = [], A = unknown> extends AddressOptions<R> {
  /** What the visitor does. The default is "sign_up". */
  readonly event?: string;
  /**
   * Name of the body's field that holds the email address. The default is "email". With null, only the
   * address is assessed.
   */
  readonly email?: string | null;
  /** More about the visitor than the request contains. */
  readonly more?: (request: R) => MoreFacts | undefined | Promise<MoreFacts | undefined>;
  /** The message that a denied visitor reads. */
  readonly message?: string;
  /** Answers a denied visitor instead of the 403 response. The handler does not run. */
  onDenied?(decision: DecisionResult, ...context: C): A | Promise<A>;
  /**
   * Answers a challenged visitor, for example with a CAPTCHA, and the handler does not run. Return "admit" if the
   * visitor has passed the challenge. Without this hook, challenged visitors reach the handler.
   */
  onChallenge?(decision: DecisionResult, ...context: C): A | "admit" | Promise<A | "admit">;
  /**
   * Answers a visitor whose email address is invalid or looks like a typo, instead of the 422 response. Return "admit"
   * if the visitor insists: the decision then applies, which still denies an address that cannot receive mail.
   */
  onInvalid?(invalid: InvalidEmail, ...context: C): A | "admit" | Promise<A | "admit">;
  /**
   * Called for each visitor without a decision. By default, the console gets one warning for each error code until
   * the next decision.
   */
  readonly onUndecided?: (unavailable: Unavailable) => void;
}

const PROTECT_OPTIONS: Readonly<Record<keyof ProtectOptions<unknown>, true>> = {
  trustProxy: true,
  address: true,
  loopback: true,
  event: true,
  email: true,
  more: true,
  message: true,
  onDenied: true,
  onChallenge: true,
  onInvalid: true,
  onUndecided: true,
};

const MESSAGE = "We cannot accept this request. If you think this is a mistake, please contact us.";
const CHECK_EMAIL = "Please check the email address.";
const TRY_LATER = "We cannot check this request at the moment. Please try again later.";
/** Limits that the server also applies. */
const MAX_EMAIL = 1_024;
const MAX_USER_AGENT = 2_048;

/** The response that a visitor gets instead of the handler's. */
export interface Refusal {
  readonly status: 403 | 413 | 415 | 422 | 503;
  readonly body: { readonly error: string; readonly did_you_mean?: string; readonly decision?: string };
}

/** With `answer`, a hook of the application has answered instead. */
export interface Refused<A> {
  readonly refusal: Refusal;
  readonly answer?: { readonly value: A };
}

export type Protected<A = unknown> = { readonly admitted: Admitted } | Refused<A>;

/**
 * @param body the body as the framework read it
 * @param context what the hooks get
 */
export type Gate<R, C extends readonly unknown[] = [], A = unknown> = (
  request: R,
  facts: RequestFacts,
  body: unknown,
  context: C,
) => Promise<Protected<A>>;

/**
 * Creates the gate of a route.
 * @throws TypeError if an option is invalid
 */
export function gate<R, C extends readonly unknown[] = [], A = unknown>(
  client: Assessor,
  options: ProtectOptions<R, C, A>,
): Gate<R, C, A> {
  refuseUnknown(options, PROTECT_OPTIONS, "of protect()");
  const { event = "sign_up", email: field = "email", message = MESSAGE, more, onUndecided } = options;
  const { onDenied, onChallenge, onInvalid } = options;
  if (typeof event !== "string") throw wrong("event", "must be a string, such as sign_up");
  if (field !== null && typeof field !== "string")
    throw wrong("email", "must be the name of a field of the body, or null");
  const addressOf = addressFinder(options);
  const warned = new Set<string>();
  let hasJudgedByEmail = false;
  /** @returns undefined if the application admits the visitor */
  const refuseEmail = async (
    invalid: InvalidEmail,
    decision: string | undefined,
    context: C,
  ): Promise<Refused<A> | undefined> => {
    const { did_you_mean, error } = invalid;
    const refusal = { status: 422, body: { error, ...optional({ did_you_mean, decision }) } } as const;
    if (onInvalid === undefined) return { refusal };
    const value = await onInvalid(invalid, ...context);
    return value === "admit" ? undefined : { refusal, answer: { value } };
  };
  return async (request, facts, body, context) => {
    const email = field === null ? undefined : emailIn(body, field);
    if (email === null)
      return (await refuseEmail({ error: CHECK_EMAIL }, undefined, context)) ?? refused(422, CHECK_EMAIL);
    const ip = addressOf(request, facts);
    const { userAgent } = facts;
    const visitor = {
      ...(await more?.(request)),
      event,
      ...(email !== undefined && { email }),
      ...(userAgent && { user_agent: userAgent.slice(0, MAX_USER_AGENT) }),
    };
    const policy = client.onUnavailable === "throw" ? "allow" : client.onUnavailable;
    const ask = (decision: ReturnType<Assessor["assess"]>) => settle(policy, "deny", decision);
    let decision = await ask(ip === undefined ? addressUnknown() : client.assess({ ...visitor, ip }));
    const isByEmail = decision instanceof Unavailable && isNoVisitor(decision) && email !== undefined;
    if (isByEmail) {
      if (!hasJudgedByEmail) warn("judged a visitor only by the email address", decision as Unavailable);
      hasJudgedByEmail = true; // never reset, because this may apply to every visitor
      decision = await ask(client.assess(visitor));
    }
    if (decision instanceof Unavailable) {
      if (onUndecided !== undefined) onUndecided(decision);
      else if (!warned.has(decision.error.code)) {
        const what = decision.verdict === "deny" ? "refused a visitor" : "let a visitor in";
        warn(`${what} without a decision`, decision);
      }
      warned.add(decision.error.code);
      return decision.verdict === "deny" ? refused(503, TRY_LATER) : { admitted: decision };
    }
    warned.clear();
    const { did_you_mean } = decision;
    if (did_you_mean !== undefined || decision.reasons.some(({ code }) => code === "invalid_email")) {
      const error = did_you_mean === undefined ? CHECK_EMAIL : `Did you mean ${did_you_mean}?`;
      const found = await refuseEmail(optional({ email, did_you_mean, error }), decision.id, context);
      if (found !== undefined) return found;
    }
    if (decision.action === "allow") return { admitted: decision };
    const refusal = refused(403, message, decision.id);
    if (decision.action === "challenge") {
      const value = onChallenge === undefined ? "admit" : await onChallenge(decision, ...context);
      return value === "admit" ? { admitted: decision } : { ...refusal, answer: { value } };
    }
    return onDenied === undefined
      ? refusal
      : { ...refusal, answer: { value: await onDenied(decision, ...context) } };
  };
}

const refused = (status: Refusal["status"], error: string, decision?: string) => ({
  refusal: { status, body: { error, ...optional({ decision }) } },
});

type Optional<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Leaves out the fields that are undefined. */
function optional<T extends object>(fields: T): Optional<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as unknown as Optional<T>;
}

/**
 * @returns null for a value that cannot be an email address, such as a list or an object, from which the handler might
 *   still read one
 */
function emailIn(body: unknown, field: string): string | null {
  const value =
    typeof body === "object" && body !== null && Object.hasOwn(body, field)
      ? (body as Readonly<Record<string, unknown>>)[field]
      : undefined;
  return typeof value === "string" && value !== "" && value.length <= MAX_EMAIL ? value : null;
}

function warn(what: string, { error }: Unavailable): void {
  // biome-ignore lint/suspicious/noConsole: an outage must not be silent, and an application can set onUndecided
  console.warn(`@inkling/client: protect() ${what}: ${error.code}. ${error.hint}`);
}

/**
 * Is the visitor's address unknown, or one that nobody on the internet has? False for a client that denies, which gets
 * no second decision.
 */
const isNoVisitor = ({ verdict, error }: Unavailable): boolean =>
  verdict === "allow" && (error.code === "ADDRESS_UNKNOWN" || error.code === "IP_ADDRESS_RESERVED");
