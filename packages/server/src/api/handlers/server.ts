// server.ts: liveness, readiness and status of this server.

import { publicStatus, readiness, warnings } from "../../lookup/status.ts";
import type { ApiRoute } from "../route.ts";

export const SERVER_ROUTES: readonly ApiRoute[] = [
  {
    template: "/v1/status",
    operation: "status",
    method: "GET",
    handle: (exchange, api) => api.responses.sendJson(exchange, 200, publicStatus(api, exchange.now)),
  },
  {
    template: "/healthz",
    operation: "healthz",
    method: "GET",
    isOpen: true,
    handle: (exchange, api) => api.responses.sendJson(exchange, 200, { status: "alive" }),
  },
  {
    template: "/readyz",
    operation: "readyz",
    method: "GET",
    isOpen: true,
    handle: (exchange, api) => {
      const reasons = readiness(api);
      const known = warnings(api);
      return reasons.length === 0
        ? api.responses.sendJson(exchange, 200, {
            status: "ready",
            ...(known.length > 0 && { warnings: known }),
          })
        : api.responses.sendJson(exchange, 503, { status: "not ready", reasons });
    },
  },
];
