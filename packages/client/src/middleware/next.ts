// next.ts: finds the visitor in Next.js: in route handlers, middleware, server components and actions.
//
// Next.js does not provide the connection's address. With only `next start`, the address is unknown, because a visitor
// can send any X-Forwarded-For.

import { type FetchProtectOptions, protect as protectFetch } from "./fetch.ts";
import type { Admitted, Assessor } from "./protect.ts";
import { fetchFacts, type HasAddress, requireProxies, type WithHeaders } from "./request-facts.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

export type { WithHeaders } from "./request-facts.ts";

export type NextOptions<R extends WithHeaders> = Omit<VisitorOptions<R>, "trustProxy"> & HasAddress<R>;
export type NextProtectOptions<R extends Request> = Omit<FetchProtectOptions<R>, "trustProxy"> &
  HasAddress<R>;

/**
 * `const visitorOf = visitor(inkling, { trustProxy: 1 })`, then `visitorOf(request)` or `visitorOf({ headers:
 * await headers() })`.
 * @throws TypeError if an option is invalid
 */
export function visitor<R extends WithHeaders>(
  client: VisitorLookups,
  options: NextOptions<R>,
): (request: R) => Visitor {
  requireProxies(options);
  const visitorOf = visitors(client, options);
  return (request) => visitorOf(request, fetchFacts(request));
}

/**
 * Passes the request to a handler with `request.visitor`:
 * `export const POST = withVisitor(inkling, { trustProxy: 1 }, async (request) => …)`.
 * @throws TypeError if an option is invalid
 */
export function withVisitor<R extends WithHeaders = Request, Rest extends unknown[] = [], Result = unknown>(
  client: VisitorLookups,
  options: NextOptions<R>,
  handler: (request: R & { readonly visitor: Visitor }, ...rest: Rest) => Result,
): (request: R, ...rest: Rest) => Result {
  const visitorOf = visitor(client, options);
  return (request, ...rest) => handler(Object.assign(request, { visitor: visitorOf(request) }), ...rest);
}

/**
 * Asks for a decision before a route handler runs, as `protect()` of @inkling/client/fetch does:
 * `export const POST = protect(inkling, { trustProxy: 1 }, async (request) => …)`
 * @throws TypeError if an option is invalid
 */
export function protect<R extends Request = Request, Rest extends unknown[] = []>(
  client: Assessor,
  options: NextProtectOptions<R>,
  handler: (request: R & { readonly decision: Admitted }, ...rest: Rest) => Response | Promise<Response>,
): (request: R, ...rest: Rest) => Promise<Response> {
  requireProxies(options);
  return protectFetch(client, options, handler);
}
