// hono.ts: `c.var.visitor` for Hono, on Node, Bun, Deno and edge runtimes.
//
// note The address of a connection comes from what the server passes as `c.env`: Node's server { incoming }, Bun's server,
//      Deno's { remoteAddr }. Where there is none, as on Cloudflare, set `address`:
//      visitor(inkling, { address: (c) => c.req.header("cf-connecting-ip") })

/// <reference types="hono" preserve="true" />

import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

declare module "hono" {
  interface ContextVariableMap {
    /** The sender of this request: from `visitor()` from @inkling/client/hono. */
    visitor: Visitor;
  }
}

/** What is read and written of Hono's context. */
export interface HonoLikeContext {
  readonly req: { readonly raw: Request; header(name: string): string | undefined };
  readonly env: unknown;
  set(name: "visitor", value: Visitor): void;
}

/** What servers pass to Hono. */
interface Connection {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
  readonly requestIP?: (request: Request) => { readonly address: string } | null;
  readonly remoteAddr?: { readonly hostname?: string };
}

/**
 * `app.use(visitor(inkling, { trustProxy: 1 }))`
 * @throws TypeError for options that are wrong
 */
export function visitor<C extends HonoLikeContext>(client: VisitorLookups, options: VisitorOptions<C> = {}) {
  const visitorOf = visitors(client, options, (c: C) => ({
    peer: peerOf(c),
    forwardedFor: c.req.header("x-forwarded-for"),
  }));
  return async (c: C, next: () => Promise<void>): Promise<void> => {
    c.set("visitor", visitorOf(c));
    await next();
  };
}

function peerOf({ env, req }: HonoLikeContext): string | undefined {
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
