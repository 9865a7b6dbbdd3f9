// hono.ts: `c.var.visitor` and `protect()` for Hono, on Node, Bun, Deno and edge runtimes.
//
// note The connection's address comes from what the server passes as `c.env`: `{ incoming }` on Node, the server itself
//      on Bun, and `{ remoteAddr }` on Deno. If there is no such value, as on Cloudflare, set `address`:
//      visitor(inkling, { address: (c) => c.req.header("cf-connecting-ip") })

/// <reference types="hono" preserve="true" />

import { type Admitted, type Assessor, guard, isJsonType, type ProtectOptions } from "./protect.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

declare module "hono" {
  interface ContextVariableMap {
    /** The sender of this request, set by `visitor()` from @inkling/client/hono. */
    visitor: Visitor;
    /** The decision about the sender, set by `protect()` from @inkling/client/hono. Never "deny". */
    assessment: Admitted;
  }
}

/** The parts of Hono's context that are read and written. */
export interface HonoLikeContext {
  readonly req: { readonly raw: Request; header(name: string): string | undefined };
  readonly env: unknown;
  set(name: "visitor", value: Visitor): void;
}

/** The connection that servers pass to Hono. */
interface Connection {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
  readonly requestIP?: (request: Request) => { readonly address: string } | null;
  readonly remoteAddr?: { readonly hostname?: string };
}

/**
 * `app.use(visitor(inkling, { trustProxy: 1 }))`
 * @throws TypeError if an option is invalid
 */
export function visitor<C extends HonoLikeContext>(client: VisitorLookups, options: VisitorOptions<C> = {}) {
  const visitorOf = visitors(client, options, (c: C) => factsOf(c));
  return async (c: C, next: () => Promise<void>): Promise<void> => {
    c.set("visitor", visitorOf(c));
    await next();
  };
}

/**
 * The parts of Hono's context that a decision reads. Hono keeps the body, so the handler can read it again.
 */
export interface HonoLikeForm extends Omit<HonoLikeContext, "set"> {
  readonly req: HonoLikeContext["req"] & {
    json(): Promise<unknown>;
    parseBody(options: { all: true }): Promise<unknown>;
  };
  set(name: "assessment", value: Admitted): void;
}

/**
 * `app.post("/sign-up", protect(inkling, { trustProxy: 1 }), handler)`. Denied visitors get a 403 response.
 * For all others, the handler gets `c.var.assessment`. The body is JSON or a form.
 * @throws TypeError if an option is invalid
 */
export function protect<C extends HonoLikeForm>(client: Assessor, options: ProtectOptions<C> = {}) {
  const ask = guard(client, options, (c: C) => factsOf(c));
  return async (c: C, next: () => Promise<void>): Promise<Response | undefined> => {
    const found = await ask(c, c.req.header("user-agent"), await bodyOf(c.req));
    if ("refusal" in found) return Response.json(found.refusal.body, { status: found.refusal.status });
    c.set("assessment", found.admitted);
    await next();
    return undefined;
  };
}

/** Returns the body, or null if it cannot be read. An unreadable body is the visitor's fault, not the application's. */
function bodyOf(request: HonoLikeForm["req"]): Promise<unknown> {
  const isJson = isJsonType(request.header("content-type"));
  return (isJson ? request.json() : request.parseBody({ all: true })).catch(() => null);
}

const factsOf = (c: Pick<HonoLikeContext, "req" | "env">) => ({
  peer: peerOf(c),
  forwardedFor: c.req.header("x-forwarded-for"),
});

function peerOf({ env, req }: Pick<HonoLikeContext, "req" | "env">): string | undefined {
  if (typeof env !== "object" || env === null) return undefined;
  const { incoming, remoteAddr } = env as Connection;
  const server = ("server" in env ? env.server : env) as Connection;
  return (
    incoming?.socket?.remoteAddress ??
    server?.requestIP?.(req.raw)?.address ??
    remoteAddr?.hostname ??
    undefined
  );
}
