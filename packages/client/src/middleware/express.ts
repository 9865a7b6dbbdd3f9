// express.ts: `req.visitor` for Express (4 and 5), and for everything else that calls (req, res, next).

import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

declare global {
  namespace Express {
    interface Request {
      /** The sender of this request: from `visitor()` from @inkling/client/express. */
      visitor: Visitor;
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

export function nodeFacts({ headers, socket }: NodeRequest) {
  return { peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] };
}
