// fastify.ts: provides `request.visitor` and `protect()` for Fastify.

/// <reference types="fastify" preserve="true" />

import { type Admitted, type Assessor, gate, type ProtectOptions } from "./protect.ts";
import { type NodeRequest, nodeFacts } from "./request-facts.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The sender of this request, set by `visitor()` from @inkling/client/fastify. */
    visitor: Visitor;
    /** The decision about the sender, set by `protect()` from @inkling/client/fastify. Never "deny". */
    decision: Admitted;
  }
}

/** The parts of Fastify's request that are read. */
export interface FastifyLikeRequest {
  readonly raw: NodeRequest;
}

/** The parts of Fastify that are called. Fastify's own types for them have too many overloads to match. */
interface Hooks {
  decorateRequest(name: "visitor"): unknown;
  addHook(
    name: "onRequest",
    hook: (request: FastifyLikeRequest, reply: unknown, done: () => void) => void,
  ): unknown;
}

/** A Fastify application. */
export interface Pluggable {
  readonly decorateRequest: unknown;
  readonly addHook: unknown;
}

/**
 * `app.register(visitor(inkling, { trustProxy: 1 }))`. Fastify's own `trustProxy` setting is not used.
 * @throws TypeError if an option is invalid
 */
export function visitor(client: VisitorLookups, options: VisitorOptions<FastifyLikeRequest> = {}) {
  const visitorOf = visitors(client, options);
  const plugin = (application: Pluggable, _options: unknown, done: () => void): void => {
    const app = application as Hooks;
    app.decorateRequest("visitor");
    app.addHook("onRequest", (request, _reply, next) => {
      (request as FastifyLikeRequest & { visitor: Visitor }).visitor = visitorOf(
        request,
        nodeFacts(request.raw),
      );
      next();
    });
    done();
  };
  // Without this, Fastify would limit the plugin's additions to the plugin itself.
  return Object.assign(plugin, { [Symbol.for("skip-override")]: true });
}

/** The parts of Fastify's reply that are called. */
export interface FastifyLikeReply {
  code(status: number): { send(body: unknown): unknown };
}

/**
 * `app.post("/sign-up", { preHandler: protect(inkling, { trustProxy: 1 }) }, handler)`. Denied visitors get a
 * 403 response, and visitors with a mistyped email address a 422 response. For all others, the handler gets
 * `request.decision`.
 * @throws TypeError if an option is invalid
 */
export function protect(
  client: Assessor,
  options: ProtectOptions<FastifyLikeRequest, [request: FastifyLikeRequest, reply: FastifyLikeReply]> = {},
) {
  const ask = gate(client, options);
  return async (request: FastifyLikeRequest, reply: FastifyLikeReply): Promise<unknown> => {
    const { body } = request as { readonly body?: unknown };
    const found = await ask(request, nodeFacts(request.raw), body, [request, reply]);
    if ("refusal" in found) {
      if (found.answer === undefined) reply.code(found.refusal.status).send(found.refusal.body);
      return reply; // so that the handler does not run
    }
    (request as FastifyLikeRequest & { decision: Admitted }).decision = found.admitted;
    return undefined;
  };
}
