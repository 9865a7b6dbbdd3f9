import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatPrefix } from "@inkling/engine";
import { readAnonymous } from "./anonymous-ip.ts";

const shown = (files: readonly Uint8Array[]) => {
  const { byLabel, entries, publishedAt } = readAnonymous(files);
  const labels = Object.fromEntries(
    [...byLabel].map(([label, networks]) => [label, networks.map(formatPrefix)]),
  );
  return { labels, entries, publishedAt };
};

test("the sample: a network is listed under each of its labels, in address order; is_anonymous alone is ignored", () => {
  const file = readFileSync(join(import.meta.dir, "../../fixtures/feeds/geoip2-anonymous-ip.mmdb"));
  expect(shown([file])).toEqual({
    labels: {
      vpn: ["192.0.2.0/25"],
      public_proxy: ["192.0.2.200/32", "203.0.113.9/32", "2001:db8:1::/64"],
      hosting: ["192.0.2.200/32", "198.51.100.0/24"],
      tor_exit: ["203.0.113.9/32"],
    },
    entries: 5,
    publishedAt: new Date("2026-08-01T12:00:00Z"),
  });
});
