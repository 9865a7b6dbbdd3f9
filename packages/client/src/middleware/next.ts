// next.ts: finds the visitor in Next.js: in route handlers, middleware, server components and actions.
//
// Next.js does not provide the connection's address. The visitor's address is known only from one of the platform's
// headers, or from the proxies in front of the application. The proxies must be given as a number, because there is no
// address to compare with networks. With only `next start`, the address is unknown, because a visitor can send any
// X-Forwarded-For.

import { type HasAddress, headerFacts, requireProxies, type WithHeaders } from "./headers.ts";
import { type Admitted, type Assessor, gate, type ProtectOptions } from "./protect.ts";
import { type Form, readBody, respond, type WithBody } from "./request-body.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

export type { WithHeaders } from "./headers.ts";

export type NextOptions<R extends WithHeaders> = Omit<VisitorOptions<R>, "trustProxy"> & HasAddress<R>;
export type NextProtectOptions<R extends WithHeaders> = Omit<
  ProtectOptions<R, [request: R], Response>,
  "trustProxy"
> &
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
  return visitors(client, options, headerFacts);
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
 * Asks for a decision before a route handler runs. Denied visitors get a 403 response, and visitors with a mistyped
 * email address a 422 response. For all others, the handler gets the request with `request.decision`. The handler
 * reads the body with `request.json()` or, if it is a form, with `request.formData()`. Every other read fails, because
 * it might find a different email address than the one that was assessed.
 * `export const POST = protect(inkling, { trustProxy: 1 }, async (request) => …)`
 * @throws TypeError if an option is invalid
 */
export function protect<R extends WithHeaders & WithBody<Form> = Request, Rest extends unknown[] = []>(
  client: Assessor,
  options: NextProtectOptions<R>,
  handler: (request: R & { readonly decision: Admitted }, ...rest: Rest) => Response | Promise<Response>,
): (request: R, ...rest: Rest) => Promise<Response> {
  requireProxies(options);
  const ask = gate<R, [R], Response>(client, options, headerFacts);
  return async (request, ...rest) => {
    const { headers } = request;
    const read = options.email === null ? undefined : await readBody(request, headers.get("content-type"));
    if (read !== undefined && "refusal" in read) return respond(read);
    if (read !== undefined) handOver(request, read);
    const found = await ask(request, headers.get("user-agent"), read?.value, [request]);
    if ("refusal" in found) return respond(found);
    return handler(Object.assign(request, { decision: found.admitted }), ...rest);
  };
}

/** Makes the request return what the gate has read. */
function handOver(
  request: WithBody<Form>,
  { form, value }: { readonly form?: Form; readonly value: unknown },
): void {
  if (form !== undefined) request.formData = async () => form;
  else if (value !== undefined) request.json = async () => value;
}
