// next.ts: finds the visitor in Next.js: in route handlers, middleware, server components and actions.
//
// note Next.js does not provide the connection's address. The visitor's address is known only from one of the
//      platform's headers, or from the proxies in front of the application. The proxies must be given as a number,
//      because there is no address to compare with networks. With only `next start`, the address is unknown, because a
//      visitor can send any X-Forwarded-For.

import { type HasAddress, headerFacts, requireProxies, type WithHeaders } from "./headers.ts";
import { type Admitted, type Assessor, guard, isJsonType, type ProtectOptions } from "./protect.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

export type { WithHeaders } from "./headers.ts";

export type NextOptions<R extends WithHeaders> = Omit<VisitorOptions<R>, "trustProxy"> & HasAddress<R>;
export type NextProtectOptions<R extends WithHeaders> = Omit<ProtectOptions<R>, "trustProxy"> & HasAddress<R>;

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

/** The parts of a Request or NextRequest that are read. */
export interface WithBody extends WithHeaders {
  clone(): {
    json(): Promise<unknown>;
    formData(): Promise<{ keys(): Iterable<string>; getAll(name: string): readonly unknown[] }>;
  };
}

/**
 * Asks for a decision before a route handler runs. Denied visitors get a 403 response. For all others, the
 * handler gets the request with `request.assessment`. The handler can read the body again, whether JSON or a form.
 * `export const POST = protect(inkling, { trustProxy: 1 }, async (request) => …)`
 * @throws TypeError if an option is invalid
 */
export function protect<R extends WithBody = Request, Rest extends unknown[] = []>(
  client: Assessor,
  options: NextProtectOptions<R>,
  handler: (request: R & { readonly assessment: Admitted }, ...rest: Rest) => Response | Promise<Response>,
): (request: R, ...rest: Rest) => Promise<Response> {
  requireProxies(options);
  const ask = guard<R>(client, options, headerFacts);
  return async (request, ...rest) => {
    const found = await ask(request, request.headers.get("user-agent"), await bodyOf(request));
    if ("refusal" in found) return Response.json(found.refusal.body, { status: found.refusal.status });
    return handler(Object.assign(request, { assessment: found.admitted }), ...rest);
  };
}

/** Returns the body, or null if it cannot be read. An unreadable body is the visitor's fault, not the application's. */
async function bodyOf(request: WithBody): Promise<unknown> {
  const copy = request.clone();
  try {
    if (isJsonType(request.headers.get("content-type"))) return await copy.json();
    const form = await copy.formData();
    const one = (all: readonly unknown[]) => (all.length === 1 ? all[0] : all);
    return Object.fromEntries([...form.keys()].map((name) => [name, one(form.getAll(name))]));
  } catch {
    return null;
  }
}
