// rows.ts: helpers that write a request of the contract test as a table row.

import type { Request } from "./exchange.ts";

export const GEO = "/v1/ip-intel/geolocate";
export const REP = "/v1/ip-intel/reputation";
export const MAIL = "/v1/user-intel/email";
export const LOOKUPS = [GEO, REP, MAIL] as const;
export const JSON_TYPE = "Content-Type: application/json";
export const LINES_TYPE = "Content-Type: application/x-ndjson";
export const EVIDENCE = "?include=evidence";

export type More = Partial<Omit<Request, "method" | "target">>;
export const get = (target: string, more: More = {}): Request => ({
  server: "full",
  method: "GET",
  target,
  key: "live",
  ...more,
});
export const post = (target: string, body: string, more: More = {}): Request => ({
  ...get(target, { headers: [JSON_TYPE], body, ...more }),
  method: "POST",
});
export const withMethod = (method: string, target: string, more: More = {}): Request => ({
  ...get(target, more),
  method,
});
export const anonymous = (target: string, more: More = {}): Request => {
  const { key: _, ...rest } = get(target, more);
  return rest;
};
export const values = (...list: readonly unknown[]) => JSON.stringify({ values: list });
export const sampleOf = (path: string) => (path === MAIL ? "jane@gmail.com" : "81.2.69.142");
export const encoded = encodeURIComponent;
