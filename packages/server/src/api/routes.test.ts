import { expect, test } from "bun:test";
import { OPERATION_IDS, OPERATIONS } from "@inkling/contract";
import { slotOf } from "../telemetry/counts.ts";
import { findRoute } from "./routes.ts";

test.each([
  ["/v1/ip-intel/geolocate/8.8.8.8", "/v1/ip-intel/geolocate/{ip}"],
  ["/v1/ip-intel/reputation/::1", "/v1/ip-intel/reputation/{ip}"],
  ["/v1/user-intel/email/a%2Fb@example.org", "/v1/user-intel/email/{email_address}"],
  ["/v1/status", "/v1/status"],
  ["/v1/forward-auth", "/v1/forward-auth"],
  ["/v1/forward-auth/x", "none"],
  ["/geoip/v2.1/city/8.8.8.8", "/geoip/v2.1/city/{ip}"],
  ["/geoip/v2.1/country/me", "/geoip/v2.1/country/{ip}"],
  ["/geoip/v2.1/insights/8.8.8.8", "none"],
  ["/geoip/v2.1/city/", "none"],
  ["/healthz", "/healthz"],
  ["/readyz", "/readyz"],
  ["/v1/ip-intel/geolocate/", "none"],
  ["/v1/ip-intel/geolocate", "/v1/ip-intel/geolocate"],
  ["/openapi.json", "/openapi.json"],
  ["/docs", "/docs"],
  ["/docs/start.js", "/docs/{file}"],
  ["/docs/", "/docs"],
  ["/docs/a/b", "none"],
  ["/v1/ip-intel/geolocate/8.8.8.8/", "none"],
  ["/v1/ip-intel/geolocate/10.0.0.0/8", "none"],
  ["/v1/user-intel/email/a/b@example.org", "none"],
  ["/V1/status", "none"],
  ["//v1/status", "none"],
  ["/v1/status/", "none"],
  ["/", "/"],
  ["", "none"],
])("%s", (path, template) => {
  expect<string>(findRoute(path).path.text).toBe(template);
});

test("an operation is found at its path, has a path of its own, and is counted by its id", () => {
  const paths = new Set<string>();
  for (const id of OPERATION_IDS) {
    const { path, method } = OPERATIONS[id];
    const route = findRoute(path.replace(/\{\w+\}/, "x"));
    expect([id, route.path.text, route.method, route.slot]).toEqual([id, path, method, slotOf(id)]);
    paths.add(path);
  }
  expect(paths.size).toBe(OPERATION_IDS.length);
});
