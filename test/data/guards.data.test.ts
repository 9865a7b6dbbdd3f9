// Tests that guarded networks and domains are never flagged, for all of guards/ in the vectors, with a release from the
// mirror's lists and the resolvers' warning lists. docs/policy.md has the promise and its cost.

import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRelease } from "@inkling/data";
import {
  answerEmail,
  formatPrefix,
  INCLUDE,
  IpAddress,
  type LoadedRelease,
  OptIns,
  type Prefix,
  parsePrefix,
  type UnwrappedAddress,
} from "@inkling/engine";
import { FEEDS } from "../../packages/compiler/src/catalog/feeds.ts";
import { build } from "../../packages/compiler/src/pipeline/build.ts";
import { copyMirror, VECTORS } from "../harness/data-folders.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

const FLAGS = ["is_abuser", "is_proxy", "is_tor_exit"] as const;
type Flag = (typeof FLAGS)[number];
const GUARDS = join(VECTORS, "guards");
/** Feeds for which the vectors have the publisher's own file. */
const WARNING_LISTS = FEEDS.filter(({ format }) => format === "misp-json").map(({ id }) => id);
const NOT_PLACES = FEEDS.filter(({ sets }) => sets !== "geolocation" && sets !== "registered_country");

const read = (file: string) => readFileSync(join(GUARDS, file), "utf8");
const networksOf = (file: string) =>
  (JSON.parse(read(file)) as { list: string[] }).list.map((text) => parsePrefix(text)!);

/** A network in which every address has the same answer for the same reasons. */
interface Reasons {
  readonly network: Prefix;
  readonly flags: readonly Flag[];
  readonly evidence: readonly {
    feed: string;
    label: string;
    effect: string;
    flags?: Flag[];
    network?: string;
  }[];
}

/** Yields the answers for a network, from its first address to its last. */
function* reasonsOf(release: LoadedRelease, prefix: Prefix): Generator<Reasons> {
  const reputation = release.reputation!;
  const optIns = new OptIns();
  const { family } = prefix.address;
  const width = family === 4 ? 32 : 128;
  const first = numberOf(prefix.address);
  const end = first + (1n << BigInt(width - prefix.bits));
  for (let at = first; at < end; ) {
    const address = addressOf(family, at) as UnwrappedAddress; // lookups use the same form as compiled networks
    // The largest such network around an address may begin before the address if it contains the whole prefix.
    const bits = Math.max(prefix.bits, reputation.reasonBits(address));
    const plain = reputation.lookup(address)!; // includes special-use addresses, which are never looked up
    const body = optIns.addToAddress(plain, "reputation", address, release, INCLUDE.evidence);
    const answer = JSON.parse(new TextDecoder().decode(body));
    const flags = FLAGS.filter((flag) => answer[flag]);
    yield { network: { address, bits }, flags, evidence: answer.evidence };
    at += 1n << BigInt(width - bits);
  }
}

function numberOf({ family, words }: IpAddress): bigint {
  if (family === 4) return BigInt(words[0]!);
  return words.reduce((sum, word) => (sum << 32n) | BigInt(word), 0n);
}

function addressOf(family: 4 | 6, at: bigint): IpAddress {
  const address = new IpAddress();
  address.family = family;
  if (family === 4) address.words[0] = Number(at);
  else for (let k = 0; k < 4; k++) address.words[k] = Number((at >> BigInt(96 - 32 * k)) & 0xffffffffn);
  return address;
}

describe("no entry of the vectors is flagged", () => {
  let folder: string;
  let release: LoadedRelease;
  beforeAll(async () => {
    folder = temporaryFolder();
    const mirror = copyMirror();
    for (const id of WARNING_LISTS) writeFileSync(join(mirror, `${id}.json`), read(`${id}.json`));
    const dataDir = join(folder, "data");
    const request = { dataDir, mirror, fetch: false, onlyDue: false, accept: [], credentials: {} };
    const effects = { now: () => new Date(), emit: () => {}, chance: () => 0.5, feeds: NOT_PLACES };
    const { name, release: made } = await build(request, effects);
    for (const id of WARNING_LISTS)
      expect(made.feeds.find((feed) => feed.id === id)).toMatchObject({ source: "mirror", state: "loaded" });
    release = openRelease(dataDir, name);
  });

  const lists = readdirSync(GUARDS).filter(
    (file) => file.endsWith(".json") && !file.startsWith("university"),
  );
  test.each(lists)("no address of %s", (file) => {
    let checked = 0;
    for (const prefix of networksOf(file))
      for (const { network, flags, evidence } of reasonsOf(release, prefix)) {
        checked++;
        // Akamai rents out these networks, so its guard does not cover them.
        if (file === "akamai.json" && !evidence.some(({ feed }) => feed === "akamai")) continue;
        const isExit = flags.join() === "is_tor_exit" && isNamedExit(prefix, network, evidence);
        if (flags.length > 0 && !isExit) throw new Error(`${formatPrefix(network)}: ${flags.join()}`);
      }
    expect(checked).toBeGreaterThan(5);
  });
  /**
   * True if a Tor list names this exact address and the guard's network is wide. docs/policy.md has the
   * number of such addresses.
   */
  function isNamedExit(guarded: Prefix, network: Prefix, evidence: Reasons["evidence"]): boolean {
    const text = formatPrefix(network);
    const isNamed = evidence.some((entry) => entry.label === "tor_exit" && entry.network === text);
    return isNamed && guarded.bits < (guarded.address.family === 4 ? 24 : 48);
  }

  test("Akamai's guard removes no flag by itself, and not those of the networks that Akamai rents out", () => {
    let [alone, rented] = [0, 0];
    for (const prefix of networksOf("akamai.json"))
      for (const { flags, evidence } of reasonsOf(release, prefix)) {
        const removes = evidence.filter(({ effect }) => effect === "removes");
        const others = removes.filter(({ feed }) => feed !== "akamai").flatMap(({ flags }) => flags!);
        const own = removes.find(({ feed }) => feed === "akamai")?.flags ?? [];
        if (own.some((flag) => !others.includes(flag))) alone++;
        if (flags.includes("is_abuser") && !evidence.some(({ feed }) => feed === "akamai")) rented++;
      }
    expect(alone).toBe(0);
    expect(rented).toBeGreaterThan(10);
  });

  test("Apple's relay still has its label", () => {
    const labels = networksOf("icloud-private-relay.json").flatMap((prefix) =>
      [...reasonsOf(release, prefix)].map(({ evidence }) => evidence.some(({ label }) => label === "relay")),
    );
    expect(labels.length).toBeGreaterThan(10_000);
    expect(labels).not.toContain(false);
  });

  test("no domain of whitelist.txt and university_domains.json", () => {
    const lines = read("whitelist.txt").split("\n");
    const whitelist = lines.map((line) => line.replace(/#.*/, "").trim()).filter((line) => line !== "");
    const universities: string[] = JSON.parse(read("university_domains.json")).list;
    const domains = [...whitelist, ...universities];
    const flagged = domains.filter((domain) => {
      const answer = new TextDecoder().decode(answerEmail(`someone@${domain}`, release.email!));
      return JSON.parse(answer).disposable;
    });
    expect(flagged).toEqual([]);
    expect(domains.length).toBeGreaterThan(10_000);
  });
});
