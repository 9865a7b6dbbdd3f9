// better-auth.ts: provides a plugin for better-auth that asks for a decision before each user is created, however the
// user signs up.
//
// better-auth is not imported, because it accepts any error named APIError.

import { type Admitted, type Assessor, gate, type ProtectOptions, type Refusal } from "./protect.ts";
import { fetchFacts, type HasAddress, requireProxies, type WithHeaders } from "./request-facts.ts";

export type PluginOptions = Omit<
  ProtectOptions<WithHeaders, [user: NewUser]>,
  "trustProxy" | "email" | "onDenied"
> &
  HasAddress<WithHeaders> & {
    /** Called with the decision about each user who may be created, before the user is created. */
    readonly onDecision?: (decision: Admitted, user: { readonly email: string }) => void | Promise<void>;
  };

/**
 * The parts of better-auth's user and context that the plugin reads. Without a context, the user is created by the
 * application itself.
 */
type NewUser = { readonly email: string } & Readonly<Record<string, unknown>>;
type Context = { readonly path?: string; readonly headers?: Headers | undefined } | null | undefined;

/**
 * Prefix of the endpoints where operators create users. An operator's address says nothing about the new user.
 */
const OPERATORS = "/admin/";

const STATUS: Readonly<Record<number, { readonly status: string; readonly code: string }>> = {
  403: { status: "FORBIDDEN", code: "SIGN_UP_DENIED" },
  422: { status: "UNPROCESSABLE_ENTITY", code: "EMAIL_INVALID" },
  503: { status: "SERVICE_UNAVAILABLE", code: "SIGN_UP_UNCHECKED" },
};

/** An error in the shape of better-auth's own error. better-auth recognizes it by its name. */
class SignUpRefused extends Error {
  override readonly name = "APIError";
  readonly statusCode: number;
  readonly status: string;
  readonly headers = {};
  readonly body: object;

  constructor({ status, body: { error, ...more } }: Refusal) {
    super(error);
    this.statusCode = status;
    const { status: name, code } = STATUS[status]!; // without 415, because better-auth reads the body
    this.status = name;
    this.body = { code, message: error, ...more };
  }
}

/**
 * `betterAuth({ plugins: [inklingPlugin(inkling, { trustProxy: 1 })] })`
 * @throws TypeError if an option is invalid
 */
export function inklingPlugin(client: Assessor, options: PluginOptions) {
  const { onDecision, ...rest } = options;
  requireProxies(rest);
  const ask = gate<WithHeaders, [NewUser]>(client, rest);
  const before = async (user: NewUser, context: Context): Promise<void> => {
    if (context === null || context === undefined || context.path?.startsWith(OPERATORS)) return;
    const headers = context.headers ?? new Headers();
    const found = await ask({ headers }, fetchFacts({ headers }), user, [user]);
    if ("refusal" in found) throw new SignUpRefused(found.refusal);
    await onDecision?.(found.admitted, user);
  };
  const databaseHooks = { user: { create: { before } } };
  return { id: "inkling" as const, init: () => ({ options: { databaseHooks } }) };
}
