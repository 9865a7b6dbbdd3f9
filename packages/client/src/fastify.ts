// fastify.ts: `request.visitor` for Fastify.

/// <reference types="fastify" preserve="true" />

import { type NodeRequest, nodeFacts } from "./express.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who sent this request: of `visitor()` from @inkling/client/fastify. */
    visitor: Visitor;
  }
}

/** Of Fastify's request, what is read. */
export interface FastifyLikeRequest {
  readonly raw: NodeRequest;
}

/** Of Fastify, what is called; its own types of both are too many for one that stands in for them. */
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
 * `app.register(visitor(inkling, { trustProxy: 1 }))`. Fastify's own `trustProxy` setting is not asked.
 * @throws TypeError for options that are wrong
 */
export function visitor(client: VisitorLookups, options: VisitorOptions<FastifyLikeRequest> = {}) {
  const visitorOf = visitors(client, options, ({ raw }) => nodeFacts(raw));
  const plugin = (application: Pluggable, _options: unknown, done: () => void): void => {
    const app = application as Hooks;
    app.decorateRequest("visitor");
    app.addHook("onRequest", (request, _reply, next) => {
      (request as FastifyLikeRequest & { visitor: Visitor }).visitor = visitorOf(request);
      next();
    });
    done();
  };
  // Fastify keeps what a plugin adds to itself unless told otherwise: this one is for the whole application.
  return Object.assign(plugin, { [Symbol.for("skip-override")]: true });
}
