// fetch.ts: provides `protect()` and the visitor for handlers that take a Request and return a Response: Bun, Deno,
// edge runtimes, and frameworks built on them.

import { type Admitted, type Assessor, gate, type ProtectOptions } from "./protect.ts";
import { type BodyOptions, bodyReader, respond } from "./request-body.ts";
import { fetchFacts } from "./request-facts.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

export type FetchProtectOptions<R extends Request> = ProtectOptions<R, [request: R], Response> & BodyOptions;

/**
 * `const visitorOf = visitor(inkling, { trustProxy: 1 })`, then `visitorOf(request, server)`, where `server` is the
 * second argument that Bun and Deno pass to a handler. Without it, the connection's address is unknown.
 * @throws TypeError if an option is invalid
 */
export function visitor<R extends Request = Request>(
  client: VisitorLookups,
  options: VisitorOptions<R> = {},
): (request: R, server?: unknown) => Visitor {
  const visitorOf = visitors(client, options);
  return (request, server) => visitorOf(request, fetchFacts(request, server));
}

/**
 * Asks for a decision before a handler runs: `Bun.serve({ fetch: protect(inkling, { trustProxy: 1 }, handler) })`, or
 * `Deno.serve(protect(…))`. Denied visitors get a 403 response, and visitors with a mistyped email address a 422
 * response. For all others, the handler gets the request with `request.decision`. The handler reads the body with
 * `request.json()` or, if it is a form, with `request.formData()`. Every other read fails, because it might find a
 * different email address than the one that was assessed.
 * @throws TypeError if an option is invalid
 */
export function protect<R extends Request = Request, Rest extends unknown[] = []>(
  client: Assessor,
  { maxBodyBytes, ...options }: FetchProtectOptions<R>,
  handler: (request: R & { readonly decision: Admitted }, ...rest: Rest) => Response | Promise<Response>,
): (request: R, ...rest: Rest) => Promise<Response> {
  const readBody = bodyReader(maxBodyBytes);
  const ask = gate<R, [R], Response>(client, options);
  return async (request, ...rest) => {
    const read = options.email === null ? undefined : await readBody(request);
    if (read !== undefined && "refusal" in read) return respond(read);
    const { form, value } = read ?? {};
    if (form !== undefined) Object.assign(request, { formData: async () => form });
    else if (value !== undefined) Object.assign(request, { json: async () => value });
    const found = await ask(request, fetchFacts(request, rest[0]), value, [request]);
    if ("refusal" in found) return respond(found);
    return handler(Object.assign(request, { decision: found.admitted }), ...rest);
  };
}
