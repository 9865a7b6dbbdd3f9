// fake-visitors.ts: provides a fake client that has answers about the visitors in the middleware's tests.

import type { FakeInkling, FakeOptions } from "../src/testing/index.ts";
import { fakeInkling } from "../src/testing/index.ts";
import type { OnUnavailable } from "../src/unavailable.ts";

/** 192.0.2.6 is a Tor exit. Private addresses are refused, as a server refuses them. */
export function fakeVisitors<P extends OnUnavailable = "throw">(
  options: FakeOptions<P> = {},
): FakeInkling<P> {
  const client = fakeInkling(options);
  const { server } = client;
  for (const ip of ["192.0.2.1", "192.0.2.6"]) {
    const isTor = ip === "192.0.2.6";
    server.answer("geolocate", ip, {});
    server.answer("reputation", ip, { is_tor_exit: isTor });
    server.answer("assess", ip, { action: isTor ? "challenge" : "allow" });
  }
  for (const ip of ["10.0.0.1", "10.0.0.9", "100.64.3.4", "127.0.0.1", "::1"])
    for (const lookup of ["geolocate", "reputation", "assess"] as const)
      server.answer(lookup, ip, "IP_ADDRESS_RESERVED");
  for (const email of ["jane@example.com", "john@example.com", "jane@acme.com"])
    server.answer("assess", email, {});
  server.answer("assess", "jane@disposable.example", {
    action: "deny",
    reasons: [{ code: "disposable", weight: 0.9 }],
  });
  for (const email of ["notanemail", "jane@invalid.example"])
    server.answer("assess", email, { action: "deny", reasons: [{ code: "invalid_email", weight: 0.9 }] });
  return client;
}
