// fastify.ts: `request.visitor` for Fastify.

/// <reference types="fastify" preserve="true" />

import { type NodeRequest, nodeFacts } from "./express.ts";
import { type Visitor, type VisitorLookups, type VisitorOptions, visitors } from "./visitor.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The sender of this request: from `visitor()` from @inkling/client/fastify. */
    visitor: Visitor;
  }
}

/** What is read of Fastify's request. */
export interface FastifyLikeRequest {
  readonly raw: NodeRequest;
}

/** What is called of Fastify; its own types of both have too many overloads to match. */
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
  // Fastify scopes what a plugin adds to the plugin unless this is set.
  return Object.assign(plugin, { [Symbol.for("skip-override")]: true });
}
