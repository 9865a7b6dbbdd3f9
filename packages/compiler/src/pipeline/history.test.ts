// Tests which days a feed's history gives its networks, and what it keeps of networks that left the list.

import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatPrefix } from "@inkling/engine";
import { temporaryFolder } from "../../../../test/harness/release.ts";
import { networks } from "../../test/policy-lists.ts";
import type { NetworkClaims } from "../catalog/claims.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { hasHistory, nextHistory, writeHistory } from "./history.ts";

const FEED = FEEDS.find(({ id }) => id === "nordvpn-daily")!;
const list = (...addresses: readonly string[]): NetworkClaims[] => [
  {
    feed: FEED.id,
    subject: "is_proxy",
    label: "vpn",
    networks: networks(addresses.map((one) => `${one}/32`)),
  },
];

/** Adds a copy, and returns the days of its networks and the networks that left. */
function add(dataDir: string, day: string, ...addresses: readonly string[]) {
  const history = nextHistory(FEED, dataDir, list(...addresses), new Date(`${day}T10:00:00Z`));
  writeHistory(FEED, dataDir, history);
  const [claim] = history.applyTo(list(...addresses));
  return {
    first: claim!.networks.map((network) => claim!.firstSeen!(network)),
    left: claim!.earlier!.map(formatPrefix),
  };
}

test("a network keeps its first day, also after it was away for up to 120 days", () => {
  const dataDir = temporaryFolder();
  expect(add(dataDir, "2026-01-01", "45.66.1.1", "45.66.1.2")).toEqual({
    first: ["2026-01-01", "2026-01-01"],
    left: [],
  });
  const left = ["45.66.1.1/32"];
  expect(add(dataDir, "2026-01-09", "45.66.1.2", "45.66.1.3")).toEqual({
    first: ["2026-01-01", "2026-01-09"],
    left,
  });
  expect(add(dataDir, "2026-05-01", "45.66.1.2")).toEqual({
    first: ["2026-01-01"],
    left: ["45.66.1.3/32", ...left],
  });
  expect(add(dataDir, "2026-05-02", "45.66.1.1", "45.66.1.3")).toEqual({
    first: ["2026-05-02", "2026-01-09"],
    left: ["45.66.1.2/32"],
  });
});

test("a copy that is older than the last one changes only first days", () => {
  const dataDir = temporaryFolder();
  add(dataDir, "2026-03-01", "45.66.1.1");
  expect(add(dataDir, "2026-02-01", "45.66.1.1").first).toEqual(["2026-02-01"]);
});

test("damaged lines are ignored", () => {
  const dataDir = temporaryFolder();
  const folder = join(dataDir, "feeds", FEED.id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "history.txt"),
    "45.66.1.1/32 x 20000\nnonsense 20000 20500\n45.66.1.2/32 20454 20454\n",
  );
  expect(add(dataDir, "2026-01-02", "45.66.1.1", "45.66.1.2")).toEqual({
    first: ["2026-01-02", "2026-01-01"],
    left: [],
  });
  expect(readFileSync(join(folder, "history.txt"), "utf8")).toBe(
    "45.66.1.1/32 20455 20455\n45.66.1.2/32 20454 20455\n",
  );
});

test("lists of proxies and abusers have a history, but no copies that a licence wants destroyed", () => {
  const ids = FEEDS.filter(hasHistory).map(({ id }) => id);
  expect(ids).toContain("ipsum-3");
  for (const id of ["geoip2-anonymous-ip", "vpn-systems", "tor-bulk-exits", "asn"])
    expect(ids).not.toContain(id);
});
