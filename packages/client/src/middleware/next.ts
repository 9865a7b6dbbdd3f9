// next.ts: the visitor for Next.js: route handlers, middleware, server components and actions.
//
// note Next.js does not provide the address of a connection: the visitor's is known only from a proxy in front of it (a
//      number, because there is nothing to compare networks with), or from a header of the platform. With `next start`
//      alone it is not known: X-Forwarded-For is whatever the visitor sends.

import { wrong } from "../options.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

/** A Request, a NextRequest, or `{ headers: await headers() }`. */
export interface WithHeaders {
  readonly headers: { get(name: string): string | null };
}

export type NextOptions<R extends WithHeaders> = Omit<VisitorOptions<R>, "trustProxy"> &
  ({ readonly trustProxy: number } | { readonly address: (request: R) => string | undefined });

/**
 * `const visitorOf = visitor(inkling, { trustProxy: 1 })`, then `visitorOf(request)` or
 * `visitorOf({ headers: await headers() })`.
 * @throws TypeError for options that are wrong
 */
export function visitor<R extends WithHeaders>(
  client: VisitorLookups,
  options: NextOptions<R>,
): (request: R) => Visitor {
  const { trustProxy } = options as VisitorOptions<R>;
  if (options.address === undefined && !(typeof trustProxy === "number" && trustProxy > 0))
    throw wrong(
      "trustProxy",
      "must be the number of proxies in front of Next.js, at least 1; or set `address`",
    );
  return visitors(client, options, ({ headers }) => ({
    peer: undefined,
    forwardedFor: headers.get("x-forwarded-for"),
  }));
}

/**
 * Gives a handler its request with `request.visitor`:
 * `export const POST = withVisitor(inkling, { trustProxy: 1 }, async (request) => …)`.
 * @throws TypeError for options that are wrong
 */
export function withVisitor<R extends WithHeaders = Request, Rest extends unknown[] = [], Result = unknown>(
  client: VisitorLookups,
  options: NextOptions<R>,
  handler: (request: R & { readonly visitor: Visitor }, ...rest: Rest) => Result,
): (request: R, ...rest: Rest) => Result {
  const visitorOf = visitor(client, options);
  return (request, ...rest) => handler(Object.assign(request, { visitor: visitorOf(request) }), ...rest);
}
