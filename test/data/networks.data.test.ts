// Tests what the mirror's lists of bots, gateways and proxies become in answers: each service has its operator, whole
// networks of an operator verify nobody, and doubtful networks have no flag.

import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openServable } from "@inkling/data";
import {
  Answerer,
  bodyOf,
  INCLUDE,
  type LoadedRelease,
  Overrides,
  type Prefix,
  parsePrefix,
} from "@inkling/engine";
import {
  assess,
  DEFAULT_RULESET,
  lookUpVisitor,
  readDecisionInput,
  visitorFacts,
} from "@inkling/engine/assess";
import { FEEDS } from "../../packages/compiler/src/catalog/feeds.ts";
import { isDomainFormat } from "../../packages/compiler/src/parse/index.ts";
import { build } from "../../packages/compiler/src/pipeline/build.ts";
import { copyMirror, MIRROR } from "../harness/data-folders.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

const OF_NETWORKS = FEEDS.filter(
  ({ sets, format }) => sets !== "geolocation" && sets !== "registered_country" && !isDomainFormat(format),
);
const answerer = new Answerer();
const decoder = new TextDecoder();
let release: LoadedRelease;
const source = () => ({ release, overrides: Overrides.NONE, now: Date.now(), allowMissing: true }) as const;

beforeAll(async () => {
  const dataDir = temporaryFolder();
  const request = {
    dataDir,
    mirror: copyMirror(),
    fetch: false,
    onlyDue: false,
    accept: [],
    credentials: {},
  };
  await build(request, { now: () => new Date(), emit: () => {}, chance: () => 0.5, feeds: OF_NETWORKS });
  release = openServable(dataDir);
}, 300_000);

const firstOf = (network: string) => network.split("/")[0]!;

function answer(address: string) {
  expect(answerer.readAddress(address)).toBeUndefined();
  const outcome = answerer.answerAddress(
    "reputation",
    answerer.address,
    source(),
    INCLUDE.evidence | INCLUDE.network,
  );
  if ("reason" in outcome) throw new Error(outcome.reason);
  return JSON.parse(decoder.decode(bodyOf(outcome)));
}

/** Returns the codes of the reasons of a decision, and the check of the crawler that the visitor claims to be. */
function decide(ip: string, user_agent: string) {
  const input = readDecisionInput({ event: "sign_up", ip, user_agent }, DEFAULT_RULESET.schema);
  if (!("event" in input)) throw new Error(input.join());
  expect(answerer.readAddress(ip)).toBeUndefined();
  const subject = { address: answerer.address, email: undefined };
  const answers = lookUpVisitor(answerer, subject, source(), (body) => JSON.parse(decoder.decode(body)));
  if ("reason" in answers) throw new Error(answers.reason);
  const facts = visitorFacts(input, answers, DEFAULT_RULESET.schema, Date.now());
  const decision = assess(facts, DEFAULT_RULESET, answers.degraded);
  return {
    reasons: decision.reasons.map(({ code }) => code),
    check: facts[DEFAULT_RULESET.schema.find("ip.crawler_check")!.index],
  };
}

const services = (file: string): Record<string, { ipv4: string[]; ipv6: string[] }> =>
  JSON.parse(readFileSync(join(MIRROR, file), "utf8")).services;

describe("the networks of a service", () => {
  test.each([
    ["Amazonbot", "amazon"],
    ["ClaudeBot", "anthropic"],
    ["Kagibot", "kagi"],
    ["SE Ranking", "seranking"],
    ["SERankingBacklinksBot", "seranking"],
    ["DuckDuckBot", "duckduckgo"],
  ])("%s is a crawler of %s, and verified", (name, operator) => {
    const { ipv4, ipv6 } = services("ipverse-crawlers.json")[name]!;
    for (const network of [...ipv4, ...ipv6]) {
      const { network: found, is_abuser, is_proxy } = answer(firstOf(network));
      expect([network, found.services, found.operator, is_abuser, is_proxy]).toEqual([
        ...[network, ["crawler"], operator, false, false],
      ]);
    }
    const token = name === "SE Ranking" ? "SEBot-WA" : name;
    expect(decide(firstOf(ipv4[0]!), `Mozilla/5.0 (compatible; ${token}/1.0)`).check).toBe("verified");
  });
  test.each([...["StatusCake", "Datadog", "Checkly", "New Relic", "HetrixTools", "updown.io", "Oh Dear"]])(
    "%s is a monitor",
    (name) => {
      const { ipv4, ipv6 } = services("ipverse-monitoring.json")[name]!;
      for (const network of [...ipv4, ...ipv6]) {
        const { network: found, is_abuser, is_proxy } = answer(firstOf(network));
        expect([network, found.services.includes("monitor"), is_abuser, is_proxy]).toEqual([
          network,
          true,
          false,
          false,
        ]);
      }
    },
  );
  test.each([
    ["Meta-ExternalAgent", "meta", "facebookexternalhit/1.1"],
    ["Yandex", "yandex", "Mozilla/5.0 (compatible; YandexBot/3.0)"],
  ])("%s has all networks of %s, so nobody there is verified", (name, operator, userAgent) => {
    for (const network of services("ipverse-crawlers.json")[name]!.ipv4) {
      const { network: found } = answer(firstOf(network));
      expect([network, found.services, found.operator]).toEqual([network, [], operator]);
      expect(decide(firstOf(network), userAgent).check).toBe("unverifiable");
    }
    expect(decide("86.150.10.20", userAgent)).toMatchObject({ check: "forged" });
  });
});

test("Zscaler's networks are gateways, and nobody there is in a data centre", () => {
  for (const ip of ["136.226.94.1", "165.225.0.1", "104.129.192.1", "147.161.200.1", "167.103.30.1"]) {
    expect(answer(ip).network).toMatchObject({ services: ["gateway"], shared: true, operator: "zscaler" });
    expect(decide(ip, "Mozilla/5.0").reasons).not.toContain("hosting_network");
  }
  expect(decide("172.232.10.1", "Mozilla/5.0").reasons).toContain("hosting_network");
});

test("Linode's networks are not Akamai's CDN", () => {
  for (const ip of ["172.232.10.1", "172.236.0.9", "172.104.1.1"])
    expect(answer(ip).network).toMatchObject({ kind: "hosting", services: [] });
  expect(answer("23.40.1.1").network).toMatchObject({ services: ["cdn"], operator: "akamai" });
});

test("Avastel's networks set is_proxy only with confidence 1", () => {
  const rows = readFileSync(join(MIRROR, "avastel-8days.txt"), "utf8").matchAll(/^(\d[^;]*);.*;([\d.]+)$/gm);
  const count = { sure: 0, doubtful: 0 };
  for (const [, network = "", confidence] of rows) {
    const isSure = Number(confidence) === 1;
    count[isSure ? "sure" : "doubtful"]++;
    const { address } = parsePrefix(network) as Prefix;
    expect(address.family).toBe(4);
    const { evidence, network: found } = answer(firstOf(network));
    const own = evidence.find(
      ({ feed, effect }: { feed: string; effect: string }) => feed === "avastel-8days" && effect !== "fills",
    );
    expect([network, own.label, own.effect]).toEqual([
      network,
      ...(isSure ? ["proxy_network", "sets"] : ["proxy_seen", "label"]),
    ]);
    expect(found.services.includes("proxy_seen")).toBe(!isSure);
  }
  expect(count).toEqual({ sure: 74, doubtful: 226 });
});
