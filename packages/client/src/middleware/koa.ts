// koa.ts: provides `ctx.state.visitor` and `protect()` for Koa. `new Koa<State>()` gives `ctx.state` its types.

import { type Admitted, type Assessor, gate, type ProtectOptions } from "./protect.ts";
import { type NodeRequest, nodeFacts } from "./request-facts.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

/** What `visitor()` and `protect()` add to `ctx.state`. */
export interface State {
  /** The sender of this request. */
  visitor: Visitor;
  /** The decision about the sender. Never "deny". */
  decision: Admitted;
}

/** The parts of Koa's context that are read and written. `request.body` is what a body parser read. */
export interface KoaLikeContext {
  readonly req: NodeRequest;
  readonly request: object;
  readonly state: object;
  status: number;
  body: unknown;
}

/**
 * `app.use(visitor(inkling, { trustProxy: 1 }))`. Koa's own `proxy` setting is not used.
 * @throws TypeError if an option is invalid
 */
export function visitor<C extends KoaLikeContext>(client: VisitorLookups, options: VisitorOptions<C> = {}) {
  const visitorOf = visitors(client, options);
  return (ctx: C, next: () => Promise<unknown>): Promise<unknown> => {
    Object.assign(ctx.state, { visitor: visitorOf(ctx, nodeFacts(ctx.req)) });
    return next();
  };
}

/**
 * `app.use(bodyParser()).use(protect(inkling, { trustProxy: 1 }))`, or as middleware of one route. Denied visitors get
 * a 403 response, and visitors with a mistyped email address a 422 response. For all others, the handler gets
 * `ctx.state.decision`.
 * @throws TypeError if an option is invalid
 */
export function protect<C extends KoaLikeContext>(
  client: Assessor,
  options: ProtectOptions<C, [context: C]> = {},
) {
  const ask = gate<C, [C]>(client, options);
  return async (ctx: C, next: () => Promise<unknown>): Promise<void> => {
    const { body } = ctx.request as { readonly body?: unknown };
    const found = await ask(ctx, nodeFacts(ctx.req), body, [ctx]);
    if ("refusal" in found) {
      if (found.answer === undefined) {
        ctx.status = found.refusal.status;
        ctx.body = found.refusal.body;
      }
      return;
    }
    Object.assign(ctx.state, { decision: found.admitted });
    await next();
  };
}
