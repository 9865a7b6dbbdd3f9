// server.ts: liveness, readiness and status of this server.

import { readiness, statusDocument } from "../../lookup/status.ts";
import { NO_PARAMETERS } from "../parameters.ts";
import type { ApiRoute } from "../route.ts";

export const SERVER_ROUTES: readonly ApiRoute[] = [
  {
    template: "/v1/status",
    operation: "status",
    method: "GET",
    parameters: NO_PARAMETERS,
    handle: (exchange, api) => api.responses.json(exchange, 200, statusDocument(api, exchange.now)),
  },
  {
    template: "/healthz",
    operation: "healthz",
    method: "GET",
    parameters: undefined,
    handle: (exchange, api) => api.responses.json(exchange, 200, { status: "alive" }),
  },
  {
    template: "/readyz",
    operation: "readyz",
    method: "GET",
    parameters: undefined,
    handle: (exchange, api) => {
      const reasons = readiness(api);
      return reasons.length === 0
        ? api.responses.json(exchange, 200, { status: "ready" })
        : api.responses.json(exchange, 503, { status: "not ready", reasons });
    },
  },
];
