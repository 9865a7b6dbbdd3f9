// Follows evidence from list to answer on the mirror. A small parser in this file reads the lists again. The
// test compares both at both ends of every network and for every domain.

import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { currentName, openRelease } from "@inkling/data";
import {
  EFFECTS,
  formatPrefix,
  IpAddress,
  type IpSegment,
  type LoadedRelease,
  openSegment,
  type Prefix,
  parseEmail,
  parsePrefix,
  prefixContains,
  publicSuffix,
  specialUse,
  toAsciiDomain,
  type UnwrappedAddress,
  unwrapIpv4,
} from "@inkling/engine";
import { FEEDS, PLACE_PREFERENCE } from "../../packages/compiler/src/catalog/feeds.ts";
import { parseGeofeed } from "../../packages/compiler/src/parse/geofeed.ts";
import { MIRROR, mirrorRelease } from "../harness/data-folders.ts";
import {
  docsTable,
  type Entry,
  email,
  FLAGS,
  flagsOf,
  geolocate,
  reputation,
} from "../harness/evidence-answers.ts";
import { randomWords } from "../harness/random.ts";

/** The feeds of places, and the lists of VPN servers, which state places as well. */
const PLACE_FEEDS = [...PLACE_PREFERENCE, ...FEEDS.flatMap(({ id, label }) => (label === "vpn" ? [id] : []))];

const decoder = new TextDecoder();

/** Returns the first and last address of a network. */
function ends({ address, bits }: Prefix): IpAddress[] {
  const last = new IpAddress();
  last.family = address.family;
  for (let k = 0; k < (address.family === 4 ? 1 : 4); k++) {
    const kept = Math.min(32, Math.max(0, bits - 32 * k));
    last.words[k] = kept === 32 ? address.words[k]! : address.words[k]! | (0xffffffff >>> kept);
  }
  return [address, last];
}

/** Lists that have one network on each line, or in one column of each line. */
const NETWORK_LISTS: Readonly<Record<string, (line: string) => string>> = {
  "tor-bulk-exits.txt": (line) => line,
  "ipsum-3.txt": (line) => line,
  "x4bnet-vpn-v4.txt": (line) => line,
  "x4bnet-vpn-v6.txt": (line) => line,
  "icloud-private-relay.csv": (line) => line.split(",")[0]!,
  "spamhaus-drop-v4.json": (line) => JSON.parse(line).cidr ?? "",
};
const DOMAIN_LISTS = {
  "disposable-email-domains": "disposable",
  "disposable-domains": "disposable",
  fakefilter: "disposable",
  "free-mail": "free_mail",
  "relay-mail": "relay",
} as const;

function lines(file: string): string[] {
  const text = readFileSync(join(MIRROR, file), "utf8");
  return text
    .split("\n")
    .flatMap((line) => (line.trim() === "" || line.startsWith("#") ? [] : [line.trim()]));
}

describe("evidence on the mirror", () => {
  let dataDir: string;
  let release: LoadedRelease;
  beforeAll(async () => {
    dataDir = await mirrorRelease();
    release = openRelease(dataDir, currentName(dataDir)!);
  });

  test("every list of the mirror passed its gates", () => {
    const used = release.manifest.feeds.filter(({ source }) => source === "mirror");
    expect(used.length).toBeGreaterThan(20);
    expect(used.filter(({ state }) => state !== "loaded").map(({ id }) => id)).toEqual([]);
    expect(release.manifest.missing).toEqual([]);
  });

  for (const [file, networkOf] of Object.entries(NETWORK_LISTS)) {
    const feed = file.split(".")[0]!;
    test(`${feed}: evidence at both ends of each network, and nowhere else`, () => {
      const networks = lines(file).flatMap((line) => parsePrefix(networkOf(line)) ?? []);
      const listed = new Set(networks.map(formatPrefix));
      expect(listed.size).toBeGreaterThan(200);
      let beside = 0;
      for (const network of networks) {
        for (const address of ends(network)) {
          const { evidence, ...plain } = reputation(release, address);
          const entries = evidence.filter((entry) => entry.feed === feed);
          expect(flagsOf(evidence)).toEqual(FLAGS.filter((flag) => plain[flag]));
          if (specialUse(address) !== undefined) continue; // never looked up
          expect(entries).toHaveLength(1);
          expect(listed.has(entries[0]!.network!)).toBe(true);
          const smallest = parsePrefix(entries[0]!.network!)!;
          expect(prefixContains(smallest, address)).toBe(true);
          expect(smallest.bits).toBeGreaterThanOrEqual(network.bits);
          expect(Date.parse(entries[0]!.fetched_at!)).toBeGreaterThan(0);
        }
        const after = ends(network)[1]!;
        const next = new IpAddress();
        next.family = after.family;
        next.words.set(after.words);
        const word = after.family === 4 ? 0 : 3;
        if (next.words[word] === 0xffffffff) continue;
        next.words[word]! += 1;
        for (const entry of reputation(release, next).evidence) {
          if (entry.feed !== feed) continue;
          expect(listed.has(entry.network!)).toBe(true);
          expect(prefixContains(parsePrefix(entry.network!)!, next)).toBe(true);
          beside++;
        }
      }
      expect(beside).toBeLessThan(networks.length);
    });
  }

  test("every flag has evidence, and only flags that are set do", () => {
    let flagged = 0;
    const next = randomWords(20_261_120);
    const address = new IpAddress();
    const check = () => {
      const { evidence, ...plain } = reputation(release, address);
      expect(flagsOf(evidence)).toEqual(FLAGS.filter((flag) => plain[flag]));
      if (flagsOf(evidence).length > 0) flagged++;
    };
    for (let i = 0; i < 100_000; i++) {
      address.words[0] = next();
      check();
    }
    expect(flagged).toBeGreaterThan(100);
  });

  for (const [feed, label] of Object.entries(DOMAIN_LISTS)) {
    test(`${feed}: evidence for each of its domains, and for names below`, () => {
      let checked = 0;
      for (const line of lines(`${feed}.txt`)) {
        const domain = toAsciiDomain(line);
        if (domain === undefined || publicSuffix(domain) === domain) continue;
        for (const host of [domain, `x-9-q.${domain}`]) {
          const { evidence, disposable } = email(release, `jane@${host}`);
          const isUnconfirmed = evidence.some((entry) => entry.label === "listed");
          const shown = label === "disposable" && isUnconfirmed ? "listed" : label;
          expect(evidence).toContainEqual(expect.objectContaining({ feed, label: shown, domain }));
          expect({ domain, flags: flagsOf(evidence) }).toEqual({
            domain,
            flags: disposable ? ["disposable"] : [],
          });
        }
        checked++;
      }
      expect(checked).toBeGreaterThan(20);
    });
  }

  const rows: readonly [name: string, text: string, entries: readonly Partial<Entry>[]][] = [
    ["a relay that a list names", "jane@duck.com", [{ label: "relay" }]],
    [
      "a vote that ordinary mail wins",
      "jane@sify.com",
      [
        { label: "disposable", effect: "sets", weight: 1 },
        { feed: "ordinary-mail", label: "free_mail", effect: "removes", weight: 8 },
      ],
    ],
    [
      "a vote that the name helps to win",
      "jane@tempmail.net",
      [
        { feed: "inkling", label: "name", effect: "sets", weight: 3 },
        { feed: "free-mail", effect: "label", weight: 2 },
      ],
    ],
    [
      "popularity against copied lists",
      "jane@theporndude.com",
      [
        { feed: "disposable-domains", effect: "sets", weight: 1 },
        { feed: "cloudflare-top-100k", label: "popular", effect: "removes", weight: 3 },
      ],
    ],
    [
      "popularity of a service",
      "jane@mailinator.com",
      [{ feed: "cloudflare-top-100k", label: "popular", effect: "label", weight: 3 }],
    ],
    ["an institution's name", "jane@harvard.ac.uk", [{ feed: "inkling", label: "name", effect: "removes" }]],
    ["a mistyped name", "jane@hotmil.com", [{ feed: "inkling", label: "name", effect: "removes" }]],
    [
      "a name below a shared domain",
      "jane@someone.mooo.com",
      [
        { feed: "shared-domains", label: "shared_domain", effect: "label" },
        { feed: "disposable-email-domains", effect: "label" },
      ],
    ],
    ["free mail", "jane@gmail.com", [{ label: "free_mail", effect: "label" }]],
    ["a public suffix on a list", "jane@edu.pl", [{ label: "public_suffix", effect: "removes" }]],
    ["a special-use name", "jane@example.com", [{ label: "special_use", effect: "removes" }]],
  ];
  test.each(rows)("%s", (_, text, entries) => {
    const { evidence } = email(release, text);
    for (const entry of entries) expect(evidence).toContainEqual(expect.objectContaining(entry));
  });

  test("an address on no list has no evidence", () => {
    expect(email(release, "jane@some-company-9q.com").evidence).toEqual([]);
    expect(email(release, "jane").evidence).toEqual([]);
    expect(email(release, "jane@[192.0.2.1]").evidence).toEqual([]);
    expect(parseEmail("jane@[192.0.2.1]").host).toBeUndefined();
  });

  test("a place names its source and the network that has the same answer", () => {
    const next = randomWords(7);
    let located = 0;
    let filled = 0;
    for (let i = 0; i < 5_000; i++) {
      const address = new IpAddress();
      address.words[0] = next();
      if (specialUse(address) !== undefined) continue;
      const answer = geolocate(release, address);
      if (answer === undefined) continue;
      const { evidence, ...place } = answer;
      for (const { effect, fields = [] } of evidence) {
        if (effect !== "fills") continue;
        filled++;
        for (const field of fields) expect(valuesAt(place, field.split("."))).not.toEqual([]);
      }
      const source = evidence.find((entry) => entry.label === "location");
      if (source === undefined) continue; // only the registry has the network
      located++;
      expect(source.effect).toBe("sets");
      expect(PLACE_FEEDS).toContain(source.feed);
      const network = parsePrefix(source.network!)!;
      expect(prefixContains(network, address)).toBe(true);
      for (const end of ends(network)) {
        const { evidence: others, ...same } = geolocate(release, end)!;
        expect(same).toEqual(place);
        expect(others).toEqual(evidence);
      }
      if (network.bits <= 8) continue;
      // One bit wider, the answer differs, or it is the same for other reasons.
      const outer = { address: new IpAddress(), bits: network.bits - 1 };
      outer.address.words[0] = (address.words[0]! & (0xffffffff << (32 - outer.bits))) >>> 0;
      expect(isUniform(release.geo!, outer)).toBe(false);
    }
    expect(located).toBeGreaterThan(3_000);
    expect(filled).toBeGreaterThan(3_000);
  });

  const geofeeds = FEEDS.filter(({ format }) => format === "geofeed-csv")
    .map(({ id }) => `${id}.csv`)
    .filter((name) => existsSync(join(MIRROR, name)));
  test.each(geofeeds)("%s: places are those that the operator states", (name) => {
    const { networks, stated } = parseGeofeed(readFileSync(join(MIRROR, name)));
    let checked = 0;
    let right = 0;
    networks.forEach((network, i) => {
      const { country, city } = stated.places[stated.placeOf[i]!]!;
      const inside = networks[i + 1];
      if (country === undefined || (inside && prefixContains(network, inside.address))) return;
      const { address } = network;
      unwrapIpv4(address);
      const answer = geolocate(release, address);
      const named = {
        country: valuesAt(answer ?? {}, ["country", "iso_code"])[0],
        city: valuesAt(answer ?? {}, ["city", "name"])[0],
      };
      checked++;
      if (named.country === country && (city === undefined || named.city !== undefined)) right++;
    });
    expect(checked).toBeGreaterThan(500);
    expect(right / checked).toBeGreaterThan(0.99);
  });

  test("no record is cut off or has more than eight entries, and every label is in docs/evidence.md", () => {
    const known = new Set(docsTable("label"));
    let records = 0;
    for (const kind of ["geo", "reputation", "email"] as const) {
      const { sha256 } = release.manifest.segments[kind]!;
      const file = openSegment(Bun.mmap(join(dataDir, `segments/${sha256}.seg`), { shared: false }), kind);
      const section = Buffer.from(file.u8("evidence"));
      // As packages/engine/segment-format.md describes it.
      const starts = file.u32("evidenceStarts");
      for (let i = 1; i + 1 < starts.length; i++) {
        records++;
        expect(section.readUInt16LE(starts[i])).toBeLessThanOrEqual(8);
        expect(section.readUInt16LE(starts[i]! + 2)).toBe(0);
        for (let entry = starts[i]! + 4; entry < starts[i + 1]!; ) {
          const size = section.readUInt16LE(entry + 2);
          const text = section.toString("latin1", entry + 5, entry + 5 + size);
          const { label, effect } = JSON.parse(`${text}}`);
          expect(known).toContain(label);
          expect(EFFECTS).toContain(effect);
          entry += 5 + size;
        }
      }
    }
    expect(records).toBeGreaterThan(200);
  });
});

/** Returns the values at a path, including those in lists. */
function valuesAt(value: unknown, path: readonly string[]): unknown[] {
  if (Array.isArray(value)) return value.flatMap((each) => valuesAt(each, path));
  if (path.length === 0) return value === undefined ? [] : [value];
  if (typeof value !== "object" || value === null) return [];
  return valuesAt((value as Record<string, unknown>)[path[0]!], path.slice(1));
}

/** Does the whole network have one answer with one list of evidence? */
function isUniform(segment: IpSegment, { address, bits }: Prefix): boolean {
  const answerText = (at: IpAddress) => {
    const here = at as UnwrappedAddress;
    const [answer, evidence] = [segment.lookup(here), segment.evidence(here)];
    return `${answer && decoder.decode(answer)} ${evidence && decoder.decode(evidence)}`;
  };
  const first = answerText(address);
  const here = new IpAddress();
  for (let at = 0; at < 2 ** (32 - bits); at += 2 ** (32 - segment.networkBits(here))) {
    here.words[0] = address.words[0]! + at;
    if (answerText(here) !== first) return false;
  }
  return true;
}
