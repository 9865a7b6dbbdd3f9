// counts.ts: the layout of the counts of this API. It imports no handler: the primary of several workers needs the layout
// before it starts the first one, and handlers take 15 ms to load.

import { PROBLEM_CODES, type ProblemCode } from "@inkling/contract";
import { Counts, type CountsLayout } from "../telemetry/counts.ts";

/** Routes, as logs and metrics name them. */
export const TEMPLATES = [
  "/v1/ip-intel/geolocate/{ip}",
  "/v1/ip-intel/reputation/{ip}",
  "/v1/user-intel/email/{email_address}",
  "/v1/ip-intel/geolocate",
  "/v1/ip-intel/reputation",
  "/v1/user-intel/email",
  "/v1/forward-auth",
  "/v1/status",
  "/healthz",
  "/readyz",
  "/openapi.json",
  "/docs",
  "/docs/{file}",
  "/",
  "/geoip/v2.1/country/{ip}",
  "/geoip/v2.1/city/{ip}",
  "none",
] as const;
export type Template = (typeof TEMPLATES)[number];

export type ApiCounts = Counts<ProblemCode>;

/** Every template whose route looks up one value. */
const SINGLE: readonly Template[] = [
  ...TEMPLATES.slice(0, 3),
  "/v1/forward-auth",
  "/geoip/v2.1/country/{ip}",
  "/geoip/v2.1/city/{ip}",
];

export const API_COUNTS: CountsLayout<ProblemCode> = {
  routes: TEMPLATES,
  lookupRoutes: { single: SINGLE, batch: TEMPLATES.slice(3, 6) },
  problems: PROBLEM_CODES,
};

export function makeCounts(memory?: Uint8Array): ApiCounts {
  return new Counts(API_COUNTS, memory);
}
