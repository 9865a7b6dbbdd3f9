// hono.ts: provides `c.var.visitor` and `protect()` for Hono, on Node, Bun, Deno and edge runtimes.
//
// The connection's address comes from what the server passes as `c.env`: `{ incoming }` on Node, the server itself on
// Bun, and `{ remoteAddr }` on Deno. If there is no such value, as on Cloudflare, set `address`: visitor(inkling, {
// address: (c) => c.req.header("cf-connecting-ip") }).

/// <reference types="hono" preserve="true" />

import { type Admitted, type Assessor, gate, type ProtectOptions } from "./protect.ts";
import { type BodyOptions, bodyReader, type Form, respond, type WithBody } from "./request-body.ts";
import { fetchFacts } from "./request-facts.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

declare module "hono" {
  interface ContextVariableMap {
    /** The sender of this request, set by `visitor()` from @inkling/client/hono. */
    visitor: Visitor;
    /** The decision about the sender, set by `protect()` from @inkling/client/hono. Never "deny". */
    decision: Admitted;
  }
}

/** The parts of Hono's context that are read and written. */
export interface HonoLikeContext {
  readonly req: { readonly raw: Request; header(name: string): string | undefined };
  readonly env: unknown;
  set(name: "visitor", value: Visitor): void;
}

/**
 * `app.use(visitor(inkling, { trustProxy: 1 }))`
 * @throws TypeError if an option is invalid
 */
export function visitor<C extends HonoLikeContext>(client: VisitorLookups, options: VisitorOptions<C> = {}) {
  const visitorOf = visitors(client, options);
  return async (c: C, next: () => Promise<void>): Promise<void> => {
    c.set("visitor", visitorOf(c, fetchFacts(c.req.raw, c.env)));
    await next();
  };
}

/** The parts of Hono's context that a decision reads. */
export interface HonoLikeForm extends Omit<HonoLikeContext, "set"> {
  readonly req: HonoLikeContext["req"] & WithBody & { bodyCache: object };
  set(name: "decision", value: Admitted): void;
}

/**
 * `app.post("/sign-up", protect(inkling, { trustProxy: 1 }), handler)`. Denied visitors get a 403 response, and
 * visitors with a mistyped email address a 422 response. For all others, the handler gets `c.var.decision`. The body
 * is JSON or a form. Everything that reads the body afterwards gets what was assessed.
 * @throws TypeError if an option is invalid
 */
export function protect<C extends HonoLikeForm>(
  client: Assessor,
  { maxBodyBytes, ...options }: ProtectOptions<C, [context: C], Response> & BodyOptions = {},
) {
  const readBody = bodyReader(maxBodyBytes);
  const ask = gate<C, [C], Response>(client, options);
  return async (c: C, next: () => Promise<void>): Promise<Response | undefined> => {
    const read = options.email === null ? undefined : await readBody(c.req.raw, c.req);
    if (read !== undefined && "refusal" in read) return respond(read);
    if (read !== undefined) c.req.bodyCache = cacheOf(read);
    const found = await ask(c, fetchFacts(c.req.raw, c.env), read?.value, [c]);
    if ("refusal" in found) return respond(found);
    c.set("decision", found.admitted);
    await next();
    return undefined;
  };
}

/**
 * Returns what Hono derives every other reading from, beginning with the first field. In JSON, "&" is escaped, so that
 * no reader finds a form in it. A form has no text.
 */
function cacheOf({ form, value }: { readonly form?: Form; readonly value: unknown }): object {
  if (form !== undefined)
    return {
      get text() {
        return Promise.reject(new TypeError("protect() has read this form: use parseBody() or formData()"));
      },
      formData: Promise.resolve(form),
    };
  const text = value === undefined ? "" : JSON.stringify(value).replaceAll("&", "\\u0026");
  return { text: Promise.resolve(text) };
}
