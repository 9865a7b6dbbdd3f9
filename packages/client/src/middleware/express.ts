// express.ts: provides `req.visitor` and `protect()` for Express 4 and 5, and for any other framework that calls (req,
// res, next).

import { type Admitted, type Assessor, gate, type ProtectOptions } from "./protect.ts";
import { type NodeRequest, nodeFacts } from "./request-facts.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

export type { NodeRequest } from "./request-facts.ts";

declare global {
  namespace Express {
    interface Request {
      /** The sender of this request, set by `visitor()` from @inkling/client/express. */
      visitor: Visitor;
      /** The decision about the sender, set by `protect()` from @inkling/client/express. Never "deny". */
      decision: Admitted;
    }
  }
}

/**
 * `app.use(visitor(inkling, { trustProxy: 1 }))`. Express's own `trust proxy` setting is not used.
 * @throws TypeError if an option is invalid
 */
export function visitor<R extends NodeRequest>(client: VisitorLookups, options: VisitorOptions<R> = {}) {
  const visitorOf = visitors(client, options);
  return (request: R, _response: unknown, next: () => void): void => {
    (request as R & { visitor: Visitor }).visitor = visitorOf(request, nodeFacts(request));
    next();
  };
}

/** The parts of Express's response that `protect` and its hooks call. */
export interface ExpressResponse {
  status(code: number): ExpressResponse;
  type(type: string): ExpressResponse;
  json(body: unknown): unknown;
  send(body: unknown): unknown;
}

/**
 * `app.post("/sign-up", express.json(), protect(inkling, { trustProxy: 1 }), handler)`. Denied visitors get a
 * 403 response, and visitors with a mistyped email address a 422 response. For all others, the handler gets
 * `req.decision`.
 * @throws TypeError if an option is invalid
 */
export function protect<R extends NodeRequest, S extends ExpressResponse>(
  client: Assessor,
  options: ProtectOptions<R, [request: R, response: S]> = {},
) {
  const ask = gate<R, [R, S]>(client, options);
  return (request: R, response: S, next: (error?: unknown) => void): void => {
    const { body } = request as { readonly body?: unknown };
    ask(request, nodeFacts(request), body, [request, response]).then((found) => {
      if ("refusal" in found) {
        if (found.answer === undefined) response.status(found.refusal.status).json(found.refusal.body);
        return;
      }
      (request as R & { decision: Admitted }).decision = found.admitted;
      next();
    }, next);
  };
}
