// server.ts: liveness, readiness and status of this server.

import { readiness, statusDocument } from "../../lookup/status.ts";
import { NO_PARAMETERS } from "../parameters.ts";
import { type ApiRoute, READ } from "../route.ts";

export const SERVER_ROUTES: readonly ApiRoute[] = [
  {
    template: "/v1/status",
    operation: "status",
    methods: READ,
    parameters: NO_PARAMETERS,
    handle: (exchange, api) => api.responses.json(exchange, 200, statusDocument(api, exchange.now)),
  },
  {
    template: "/healthz",
    operation: "healthz",
    methods: READ,
    parameters: undefined,
    handle: (exchange, api) => api.responses.json(exchange, 200, { status: "alive" }),
  },
  {
    template: "/readyz",
    operation: "readyz",
    methods: READ,
    parameters: undefined,
    handle: (exchange, api) => {
      const reasons = readiness(api);
      return reasons.length === 0
        ? api.responses.json(exchange, 200, { status: "ready" })
        : api.responses.json(exchange, 503, { status: "not ready", reasons });
    },
  },
];
