// next.ts: the visitor for Next.js: route handlers, middleware, server components and actions.
//
// note Next.js does not provide the address of a connection: the visitor's is known only from a proxy in front of it (a
//      number, because there is nothing to compare networks with), or from a header of the platform. With `next start`
//      alone it is not known: X-Forwarded-For is whatever the visitor sends.

import { type HasAddress, headerFacts, requireProxies, type WithHeaders } from "./headers.ts";
import { type Admitted, type Assessor, guard, isJsonType, type ProtectOptions } from "./protect.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

export type { WithHeaders } from "./headers.ts";

export type NextOptions<R extends WithHeaders> = Omit<VisitorOptions<R>, "trustProxy"> & HasAddress<R>;
export type NextProtectOptions<R extends WithHeaders> = Omit<ProtectOptions<R>, "trustProxy"> & HasAddress<R>;

/**
 * `const visitorOf = visitor(inkling, { trustProxy: 1 })`, then `visitorOf(request)` or
 * `visitorOf({ headers: await headers() })`.
 * @throws TypeError for options that are wrong
 */
export function visitor<R extends WithHeaders>(
  client: VisitorLookups,
  options: NextOptions<R>,
): (request: R) => Visitor {
  requireProxies(options);
  return visitors(client, options, headerFacts);
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

/** The members of a Request or a NextRequest that are read. */
export interface WithBody extends WithHeaders {
  clone(): {
    json(): Promise<unknown>;
    formData(): Promise<{ keys(): Iterable<string>; getAll(name: string): readonly unknown[] }>;
  };
}

/**
 * Asks for a decision in front of a route handler, and responds with 403 to visitors who are denied; the handler of all
 * others gets its request with `request.assessment`. The body, JSON or a form, can be read again.
 * `export const POST = protect(inkling, { trustProxy: 1 }, async (request) => …)`
 * @throws TypeError for options that are wrong
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

/** Null for what cannot be read: a visitor's fault, and not the application's. */
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
