// express.ts: `req.visitor` and `protect()` for Express (4 and 5), and for everything else that calls (req, res, next).

import { type Admitted, type Assessor, guard, type ProtectOptions } from "./protect.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

declare global {
  namespace Express {
    interface Request {
      /** The sender of this request: from `visitor()` from @inkling/client/express. */
      visitor: Visitor;
      /** The decision about the sender: from `protect()` from @inkling/client/express. Never "deny". */
      assessment: Admitted;
    }
  }
}

/** What is read of node:http's request. */
export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/**
 * `app.use(visitor(inkling, { trustProxy: 1 }))`. Express' own `trust proxy` setting is not used.
 * @throws TypeError for options that are wrong
 */
export function visitor<R extends NodeRequest>(client: VisitorLookups, options: VisitorOptions<R> = {}) {
  const visitorOf = visitors(client, options, nodeFacts);
  return (request: R, _response: unknown, next: () => void): void => {
    (request as R & { visitor: Visitor }).visitor = visitorOf(request);
    next();
  };
}

/** What is called of Express' response. */
export interface ExpressResponse {
  status(code: number): { json(body: unknown): unknown };
}

/**
 * `app.post("/sign-up", express.json(), protect(inkling, { trustProxy: 1 }), handler)`: responds with 403 to visitors who
 * are denied; the handler of all others gets `req.assessment`.
 * @throws TypeError for options that are wrong
 */
export function protect<R extends NodeRequest>(client: Assessor, options: ProtectOptions<R> = {}) {
  const ask = guard(client, options, nodeFacts);
  return (request: R, response: ExpressResponse, next: (error?: unknown) => void): void => {
    const { body, headers } = request as NodeRequest & { readonly body?: unknown };
    ask(request, headers["user-agent"] as string | undefined, body).then((found) => {
      if ("refusal" in found) {
        response.status(found.refusal.status).json(found.refusal.body);
        return;
      }
      (request as R & { assessment: Admitted }).assessment = found.admitted;
      next();
    }, next);
  };
}

export function nodeFacts({ headers, socket }: NodeRequest) {
  return { peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] };
}
