// Tests operators' own lists of networks, and lists with several claims, from a publisher on this machine to answers: a
// good copy, and bad copies that leave the last good copy in use.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openServable } from "@inkling/data";
import { Answerer, bodyOf, INCLUDE, Overrides } from "@inkling/engine";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS } from "../catalog/feeds.ts";
import { type Script, startScript } from "../fetch/publisher.testing.ts";
import { build } from "./build.ts";
import type { BuildRequest } from "./events.ts";

const FIXTURES = join(import.meta.dir, "../../fixtures/feeds");
const DAY_1 = Date.UTC(2026, 7, 22, 12);
const DAY_MS = 24 * 3_600_000;
const ASNS =
  "45.66.0.0,45.66.255.255,200001,Example Hosting\n45.67.0.0,45.67.255.255,200002,Example Telecom\n";

let script: Script;
let dataDir: string;
beforeAll(async () => {
  script = await startScript();
});
afterAll(() => script.stop());
beforeEach(() => {
  dataDir = temporaryFolder();
});

/** Returns the feed's sample with public addresses instead of those for documentation, which are never flagged. */
const sample = (file: string) =>
  readFileSync(join(FIXTURES, file), "utf8")
    .replaceAll("192.0.2.", "45.66.2.")
    .replaceAll("198.51.100.", "45.66.3.")
    .replaceAll("203.0.113.", "45.67.4.")
    .replaceAll("2001:db8:", "2a0e:");

const row = (id: string): Feed => {
  const { seed: _, ...feed } = FEEDS.find((one) => one.id === id)!;
  return { ...feed, entries: { least: 1, most: 3_000 } };
};

/**
 * Builds a release from one list, from the systems that announce networks, and from a feed that decides about a flag.
 */
async function buildWith(id: string, body: string, day = 1, asns = ASNS) {
  script.answer = (request, response) =>
    void response.writeHead(200).end(request.url === "/asn" ? asns : body);
  const from = (path: string) => ({ urls: () => [`${script.base}${path}`] });
  const { otherFormats: _, ...systems } = row("asn");
  await build(
    { dataDir, fetch: true, onlyDue: false, accept: [], credentials: {} } as unknown as BuildRequest,
    {
      feeds: [
        { ...systems, ...from("/asn"), format: "asn-csv" },
        { ...row(id), ...from("/list"), change: Number.POSITIVE_INFINITY },
        row("tor-exit-networks"),
      ],
      now: () => new Date(DAY_1 + day * DAY_MS),
      emit: () => {},
      chance: () => 0.5,
      times: { responseMs: 30_000, totalMs: 60_000 },
    },
  );
}

function answer(address: string) {
  const answerer = new Answerer();
  expect(answerer.readAddress(address)).toBeUndefined();
  const source = {
    release: openServable(dataDir),
    overrides: Overrides.NONE,
    now: 0,
    allowMissing: true,
  } as const;
  const outcome = answerer.answerAddress(
    "reputation",
    answerer.address,
    source,
    INCLUDE.evidence | INCLUDE.network,
  );
  if ("reason" in outcome) throw new Error(outcome.reason);
  return JSON.parse(new TextDecoder().decode(bodyOf(outcome)));
}

const BAD: readonly (readonly [what: string, body: (good: string) => string])[] = [
  ["a web page", () => "<!doctype html><title>Just a moment...</title>"],
  ["a truncated copy", (good) => good.slice(0, good.length / 2)],
  ["an error", () => '{"errors":{"code":101301,"message":"Unavailable"}}'],
  ["an empty list", () => "[]"],
];

describe.each([
  ["nordvpn-list", "nordvpn-list.json", ["45.66.2.41", "45.66.2.42", "45.66.2.43", "2a0e:41::1"], "NordVPN"],
  ["mullvad-list", "mullvad-list.json", ["45.66.2.44", "2a0e:44::1", "45.66.2.45"], "Mullvad"],
  ["ivpn-list", "ivpn-list.json", ["45.66.2.46", "45.66.2.47"], "IVPN"],
  ["airvpn-list", "airvpn-list.json", ["45.66.2.48", "2a0e:48::1"], "AirVPN"],
  ["pia-list", "pia-list.json", ["45.66.2.52", "45.66.2.53", "45.66.2.54"], "Private Internet Access"],
  ["windscribe-servers", "windscribe-servers.json", ["45.66.2.31", "2a0e:1f::1"], "Windscribe"],
] as const)("%s", (id, file, addresses, provider) => {
  test("flags the servers, and names the VPN", async () => {
    await buildWith(id, sample(file), 1);
    for (const address of addresses) {
      const { is_proxy, evidence } = answer(address);
      expect(is_proxy).toBe(true);
      expect(evidence).toContainEqual(expect.objectContaining({ feed: id, label: "vpn", provider }));
    }
    const near = answer("45.66.2.200");
    expect(near.is_proxy).toBe(id === "nordvpn-list"); // it has four servers in this /24
    if (near.is_proxy) {
      expect(near.evidence).toContainEqual(expect.objectContaining({ label: "vpn_network", provider }));
      // A server's own entry says more than that of its network.
      expect(answer(addresses[0]).evidence).not.toContainEqual(
        expect.objectContaining({ label: "vpn_network" }),
      );
    }
  });
  test.each(BAD)("%s leaves the last good copy in use", async (_what, bad) => {
    await buildWith(id, sample(file), 1);
    await buildWith(id, bad(sample(file)), 2);
    expect(answer(addresses[0]).is_proxy).toBe(true);
  });
});

test("Avastel's networks set is_proxy only with full confidence", async () => {
  await buildWith("avastel-8days", sample("avastel-8days.txt"), 1);
  const sure = answer("45.66.2.9");
  expect([sure.is_proxy, sure.network.services]).toEqual([true, []]);
  const doubtful = answer("45.67.4.9");
  expect([doubtful.is_proxy, doubtful.network.services]).toEqual([false, ["proxy_seen"]]);
  expect(doubtful.evidence).toContainEqual(
    expect.objectContaining({ feed: "avastel-8days", label: "proxy_seen", effect: "label" }),
  );
});

test("a crawler's own networks are its service; a network of its operator is not", async () => {
  await buildWith("ipverse-crawlers", sample("ipverse-crawlers.json"), 1);
  expect(answer("45.66.2.60").network).toMatchObject({ services: ["crawler"], operator: "amazon" });
  expect(answer("45.66.3.9").network).toMatchObject({ services: [], operator: "meta" });
});

test("Zscaler's networks are gateways, which many people share", async () => {
  await buildWith("zscaler", sample("zscaler.json"), 1);
  const gateway = { services: ["gateway"], shared: true, operator: "zscaler", kind: "hosting" };
  expect(answer("45.66.2.129").network).toMatchObject(gateway);
});

test("Akamai's guard does not cover the networks that Akamai rents out", async () => {
  const rented = `${ASNS}104.64.0.0,104.64.0.255,63949,Akamai Technologies\n`;
  const list = JSON.stringify({ list: ["104.64.0.0/16"], version: 20260801 });
  await buildWith("akamai", list, 1, rented);
  expect(answer("104.64.0.9").network).toMatchObject({ asn: 63949, services: [] });
  expect(answer("104.64.1.9").network).toMatchObject({ services: ["cdn"], operator: "akamai" });
});
