// protect.ts: decides about a request's sender before a sign-up, for every framework's middleware.
//
// in   a client, the visitor's address, the body that the framework has read
// out  a decision for the handler, or the refusal that is sent to the visitor
// err  TypeError if an option is invalid; InklingError for anything that is not an outage, such as a wrong key or a
//      missing scope
// note If there is no decision, the client's `onUnavailable` applies. "throw" counts as "allow" here, because a visitor
//      is not to blame for an outage. An outage is never silent: the handler gets an `Unavailable`, and `onUndecided`
//      is called. If nobody on the internet can have the visitor's address, as when `trustProxy` is too small, a client
//      that allows gets a decision about the email address only.

import type { AssessmentResult } from "../assess.ts";
import type { AssessmentInput } from "../generated.ts";
import { refuseUnknown, wrong } from "../options.ts";
import { type OnUnavailable, settle, Unavailable } from "../unavailable.ts";
import { type AddressOptions, addressFinder, addressUnknown, type RequestFacts } from "./visitor.ts";

/** What a handler receives: a decision that is not "deny", or the reason why there is none. */
export type Admitted = AssessmentResult | Unavailable;

/** The parts of the client that protect() needs. */
export interface Assessor {
  readonly onUnavailable: OnUnavailable;
  assess(input: AssessmentInput): Promise<AssessmentResult | Unavailable>;
}

/** @typeParam R the framework's request */
export interface ProtectOptions<R> extends AddressOptions<R> {
  /** What the visitor does. The default is "sign_up". */
  readonly event?: string;
  /**
   * Name of the body's member that holds the email address. The default is "email". With null, only the
   * address is assessed.
   */
  readonly email?: string | null;
  /** More facts about the visitor: `ref`, `expected_country`, `previous`, `facts`. */
  readonly more?: (
    request: R,
  ) => Pick<AssessmentInput, "ref" | "expected_country" | "previous" | "facts"> | undefined;
  /** The message that a denied visitor reads. */
  readonly message?: string;
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
  onUndecided: true,
};

const MESSAGE = "We cannot accept this request. If you think this is a mistake, please contact us.";
const TRY_LATER = "We cannot check this request at the moment. Please try again later.";
/** Limits that the server also applies. */
const MAX_EMAIL = 1_024;
const MAX_USER_AGENT = 2_048;

/** The response that a visitor gets instead of the handler's. */
export interface Refusal {
  readonly status: 400 | 403 | 503;
  readonly body: { readonly error: string; readonly assessment?: string };
}

export type Protected = { readonly admitted: Admitted } | { readonly refusal: Refusal };

/** @param body the body as the framework read it */
export type Guard<R> = (
  request: R,
  userAgent: string | null | undefined,
  body: unknown,
) => Promise<Protected>;

/**
 * Creates the guard of a route.
 * @throws TypeError if an option is invalid
 */
export function guard<R>(
  client: Assessor,
  options: ProtectOptions<R>,
  factsOf: (request: R) => RequestFacts,
): Guard<R> {
  refuseUnknown(options, PROTECT_OPTIONS, "of protect()");
  const { event = "sign_up", email: member = "email", message = MESSAGE, more, onUndecided } = options;
  if (typeof event !== "string") throw wrong("event", "must be a string, such as sign_up");
  if (member !== null && typeof member !== "string")
    throw wrong("email", "must be the name of a member of the body, or null");
  const addressOf = addressFinder(options, factsOf);
  const warned = new Set<string>();
  let hasJudgedByEmail = false;
  return async (request, userAgent, body) => {
    const email = member === null ? undefined : emailIn(body, member);
    if (email === null) return refused(400, `\`${member}\` must be an email address.`);
    const ip = addressOf(request);
    const visitor = {
      ...more?.(request),
      event,
      ...(email !== undefined && { email }),
      ...(userAgent && { user_agent: userAgent.slice(0, MAX_USER_AGENT) }),
    };
    const policy = client.onUnavailable === "throw" ? "allow" : client.onUnavailable;
    const ask = (assessment: ReturnType<Assessor["assess"]>) => settle(policy, "deny", assessment);
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
    return decision.action === "deny" ? refused(403, message, decision.id) : { admitted: decision };
  };
}

/** Is the content type JSON rather than a form? */
export const isJsonType = (type: string | null | undefined): boolean =>
  /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type ?? "");

function refused(status: Refusal["status"], error: string, assessment?: string): Protected {
  return { refusal: { status, body: { error, ...(assessment !== undefined && { assessment }) } } };
}

/**
 * @returns null for a value that cannot be an email address, such as a list or an object, from which the handler might
 *   still read one
 */
function emailIn(body: unknown, member: string): string | null {
  const value =
    typeof body === "object" && body !== null && Object.hasOwn(body, member)
      ? (body as Readonly<Record<string, unknown>>)[member]
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
