// protect.ts: a decision about the sender of a request, in front of a sign-up, for the middleware of every framework.
//
// in   a client, the visitor's address, the body that the framework has read
// out  a decision for the handler, or the refusal that the visitor gets instead
// err  TypeError for wrong options; InklingError for what is no outage: a wrong key, a missing scope
// note Without a decision the client's `onUnavailable` applies, and "throw" counts as "allow": a visitor is not to blame
//      for an outage. It is never silent: the handler gets an `Unavailable`, and `onUndecided` is called.

import type { AssessmentResult } from "../assess.ts";
import type { AssessmentInput } from "../generated.ts";
import { refuseUnknown, wrong } from "../options.ts";
import { type OnUnavailable, settle, Unavailable } from "../unavailable.ts";
import { type AddressOptions, addressFinder, addressUnknown, type RequestFacts } from "./visitor.ts";

/** What a handler gets: a decision that is not "deny", or why there is none. */
export type Admitted = AssessmentResult | Unavailable;

/** What protect() needs of the client. */
export interface Assessor {
  readonly onUnavailable: OnUnavailable;
  assess(input: AssessmentInput): Promise<AssessmentResult | Unavailable>;
}

/** @typeParam R the framework's request */
export interface ProtectOptions<R> extends AddressOptions<R> {
  /** What the visitor does; "sign_up". */
  readonly event?: string;
  /** Name of the member of the body that holds the email address; "email". null: the address alone is assessed. */
  readonly email?: string | null;
  /** More about the visitor: `ref`, `expected_country`, `previous`, `facts`. */
  readonly more?: (
    request: R,
  ) => Pick<AssessmentInput, "ref" | "expected_country" | "previous" | "facts"> | undefined;
  /** What a visitor who is denied reads. */
  readonly message?: string;
  /**
   * Called for each visitor without a decision. By default the first one of an outage is a warning on the console.
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

const MESSAGE = "We cannot accept this request. If that is a mistake, please contact us.";
const TRY_LATER = "We cannot check this request at the moment. Please try again later.";
/** The server's limits. */
const MAX_EMAIL = 1_024;
const MAX_USER_AGENT = 2_048;

/** What a visitor gets instead of the handler's response. */
export interface Refusal {
  readonly status: 400 | 403 | 503;
  readonly body: { readonly error: string; readonly assessment?: string };
}

export type Protected = { readonly admitted: Admitted } | { readonly refusal: Refusal };

/** @param body as the framework read it */
export type Guard<R> = (
  request: R,
  userAgent: string | null | undefined,
  body: unknown,
) => Promise<Protected>;

/** Makes the guard of a route. @throws TypeError */
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
  let isWarned = false;
  const tell = (unavailable: Unavailable) => {
    if (onUndecided !== undefined) onUndecided(unavailable);
    else if (!isWarned) warn(unavailable);
    isWarned = true;
  };
  return async (request, userAgent, body) => {
    const email = member === null ? undefined : emailIn(body, member);
    if (email === null) return refused(400, `\`${member}\` must be an email address.`);
    const ip = addressOf(request);
    const input = {
      ...more?.(request),
      event,
      ...(ip !== undefined && { ip }),
      ...(email !== undefined && { email }),
      ...(userAgent && { user_agent: userAgent.slice(0, MAX_USER_AGENT) }),
    };
    const policy = client.onUnavailable === "throw" ? "allow" : client.onUnavailable;
    const decision = await settle(policy, "deny", ip === undefined ? addressUnknown() : client.assess(input));
    if (decision instanceof Unavailable) {
      tell(decision);
      return decision.verdict === "deny" ? refused(503, TRY_LATER) : { admitted: decision };
    }
    isWarned = false;
    return decision.action === "deny" ? refused(403, message, decision.id) : { admitted: decision };
  };
}

/** Is it JSON, and not a form? */
export const isJsonType = (type: string | null | undefined): boolean =>
  /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type ?? "");

function refused(status: Refusal["status"], error: string, assessment?: string): Protected {
  return { refusal: { status, body: { error, ...(assessment !== undefined && { assessment }) } } };
}

/** @returns null for what cannot be an email address: the handler might still read one from a list or an object */
function emailIn(body: unknown, member: string): string | null {
  const value =
    typeof body === "object" && body !== null && Object.hasOwn(body, member)
      ? (body as Readonly<Record<string, unknown>>)[member]
      : undefined;
  return typeof value === "string" && value !== "" && value.length <= MAX_EMAIL ? value : null;
}

function warn({ verdict, error }: Unavailable): void {
  const what = verdict === "deny" ? "refused a visitor" : "let a visitor in";
  // biome-ignore lint/suspicious/noConsole: an outage must not be silent, and an application can set onUndecided
  console.warn(`@inkling/client: protect() ${what} without a decision: ${error.code}. ${error.hint}`);
}
