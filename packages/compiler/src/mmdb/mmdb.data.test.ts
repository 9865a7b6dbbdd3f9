// Tests MaxMind's conformance files: valid files have their documented content, and each broken file fails at a known
// stage.

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { formatPrefix, IpAddress, type Prefix, parseIp, prefixContains } from "@inkling/engine";
import { VECTORS } from "../../../../test/harness/data-folders.ts";
import { openPlaces } from "../geo/place-source.ts";
import { MmdbDecoder } from "./decode.ts";
import { Mmdb, MmdbError } from "./mmdb.ts";

const folder = join(VECTORS, "maxmind-db");
const good = join(folder, "test-data");
const bad = join(folder, "bad-data");
const open = (name: string) => Mmdb.open(readFileSync(join(good, name)));

interface Network {
  readonly prefix: Prefix;
  readonly dataOffset: number;
}

function networks(db: Mmdb, family: 4 | 6): Network[] {
  const all: Network[] = [];
  db.walk(family, (w0, w1, w2, w3, bits, dataOffset) => {
    const address = new IpAddress();
    address.family = family;
    address.words.set([w0, w1, w2, w3]);
    all.push({ prefix: { address, bits }, dataOffset });
  });
  return all;
}

function content(db: Mmdb, family: 4 | 6): Record<string, unknown> {
  return Object.fromEntries(
    networks(db, family).map(({ prefix, dataOffset }) => [formatPrefix(prefix), db.decode(dataOffset)]),
  );
}

function valueAt(db: Mmdb, address: IpAddress): unknown {
  const found = db.find(address);
  return found && db.decode(found.dataOffset);
}

/**
 * Parses a network from the sources of these files. They write 1.2.3.0/24 as "::1.2.3.0/120", and some networks have
 * bits set after the prefix.
 */
function sourcePrefix(text: string): Prefix {
  const [ip, length] = text.split("/");
  const address = parseIp(ip!)!;
  const bits = Number(length);
  const [w0, w1, w2, w3] = address.words;
  if (address.family === 4 || bits < 96 || w0 !== 0 || w1 !== 0 || w2 !== 0) return masked(address, bits);
  const v4 = new IpAddress();
  v4.words[0] = w3!;
  return masked(v4, bits - 96);
}

function masked(address: IpAddress, bits: number): Prefix {
  for (let k = 0; k < 4; k++) {
    const kept = Math.min(32, Math.max(0, bits - 32 * k));
    if (kept < 32) address.words[k]! &= ~(0xffffffff >>> kept);
  }
  return { address, bits };
}

function lastAddress({ address, bits }: Prefix): IpAddress {
  const last = new IpAddress();
  last.family = address.family;
  for (let k = 0; k < (address.family === 4 ? 1 : 4); k++) {
    const kept = Math.min(32, Math.max(0, bits - 32 * k));
    last.words[k] = address.words[k]! | (kept === 32 ? 0 : 0xffffffff >>> kept);
  }
  return last;
}

describe("good files", () => {
  const decoderNetworks = {
    4: ["0.0.0.0/32", "1.1.1.0/24", "2.2.0.0/16", "3.0.0.0/8", "4.5.6.7/32", "255.255.255.255/32"],
    6: ["1000::1234:0/112", "abcd::/64"],
  };

  test("MaxMind-DB-test-decoder.mmdb: every type", () => {
    const db = open("MaxMind-DB-test-decoder.mmdb");
    const allTypes = {
      array: [1, 2, 3],
      boolean: true,
      bytes: Uint8Array.of(0, 0, 0, 42),
      double: 42.123456,
      float: 1.1,
      int32: -(2 ** 28),
      map: { mapX: { arrayX: [7, 8, 9], utf8_stringX: "hello" } },
      uint16: 100,
      uint32: 2 ** 28,
      uint64: 2n ** 60n,
      uint128: 2n ** 120n,
      utf8_string: "unicode! ☯ - ♫",
    };
    const v4 = content(db, 4);
    expect(Object.keys(v4)).toEqual(decoderNetworks[4]);
    expect(v4["1.1.1.0/24"]).toEqual(allTypes);
    expect(v4["4.5.6.7/32"]).toEqual(allTypes);
    expect(content(db, 6)).toEqual({ "1000::1234:0/112": allTypes, "abcd::/64": allTypes });
    expect(v4["0.0.0.0/32"]).toEqual({
      array: [],
      boolean: false,
      bytes: new Uint8Array(0),
      double: 0,
      float: 0,
      int32: 0,
      map: {},
      uint16: 0,
      uint32: 0,
      uint64: 0n,
      uint128: 0n,
      utf8_string: "",
    });
    expect(v4["255.255.255.255/32"]).toEqual({
      double: Number.POSITIVE_INFINITY,
      float: Number.POSITIVE_INFINITY,
      int32: 2 ** 31 - 1,
      uint16: 0xffff,
      uint32: 0xffffffff,
      uint64: 2n ** 64n - 1n,
      uint128: 2n ** 128n - 1n,
    });
  });

  const ranges: [name: string, v4: string[], v6: string[]][] = [];
  const v4Range = ["1.1.1.1/32", "1.1.1.2/31", "1.1.1.4/30", "1.1.1.8/29", "1.1.1.16/28", "1.1.1.32/32"];
  const v6Range = ["::1:ffff:ffff/128", "::2:0:0/122", "::2:0:40/124", "::2:0:50/125", "::2:0:58/127"];
  for (const size of [24, 28, 32]) {
    ranges.push([`MaxMind-DB-test-ipv4-${size}.mmdb`, v4Range, []]);
    ranges.push([`MaxMind-DB-test-ipv6-${size}.mmdb`, [], v6Range]);
    ranges.push([`MaxMind-DB-test-mixed-${size}.mmdb`, v4Range, v6Range]);
  }
  test.each(ranges)("%s: exactly its networks, each naming itself", (name, v4, v6) => {
    const db = open(name);
    const expected = (list: string[], as: (ip: string) => string) =>
      Object.fromEntries(list.map((network) => [network, { ip: as(network.split("/")[0]!) }]));
    const mixed = name.includes("mixed");
    expect(content(db, 4)).toEqual(expected(v4, (ip) => (mixed ? `::${ip}` : ip)));
    expect(content(db, 6)).toEqual(expected(v6, (ip) => ip));
    if (mixed) {
      // 6to4 and IPv4-mapped addresses are aliases that lead to the IPv4 network.
      expect(valueAt(db, parseIp("2002:101:120::")!)).toEqual({ ip: "::1.1.1.32" });
      expect(valueAt(db, parseIp("::ffff:1.1.1.32")!)).toEqual({ ip: "::1.1.1.32" });
    }
  });

  test("MaxMind-DB-no-ipv4-search-tree.mmdb: one record above ::/96", () => {
    const db = open("MaxMind-DB-no-ipv4-search-tree.mmdb");
    expect(content(db, 4)).toEqual({ "0.0.0.0/0": "::/64" });
    expect(content(db, 6)).toEqual({ "::/64": "::/64" });
  });

  test("MaxMind-DB-string-value-entries.mmdb: records that are no maps", () => {
    expect(content(open("MaxMind-DB-string-value-entries.mmdb"), 4)).toEqual(
      Object.fromEntries(v4Range.map((network) => [network, network])),
    );
  });

  test("MaxMind-DB-test-nested.mmdb", () => {
    const nested = { map1: { map2: { array: [{ map3: { a: 1, b: 2, c: 3 } }] } } };
    const v4 = Object.values(content(open("MaxMind-DB-test-nested.mmdb"), 4));
    expect(v4.length).toBeGreaterThan(3);
    for (const value of v4) expect(value).toEqual(nested);
  });

  test("MaxMind-DB-test-metadata-pointers.mmdb: pointers inside the metadata", () => {
    const text = "Lots of pointers in metadata";
    expect(open("MaxMind-DB-test-metadata-pointers.mmdb").metadata).toMatchObject({
      databaseType: text,
      description: { en: text, es: text, zh: text },
      languages: ["en", "es", "zh"],
    });
  });

  test("maps-with-pointers.raw: pointers to keys, values and whole maps", () => {
    const bytes = readFileSync(join(good, "maps-with-pointers.raw"));
    const decoder = new MmdbDecoder(bytes, "raw", 0, bytes.length);
    const rows: [offset: number, value: object][] = [
      [0, { long_key: "long_value1" }],
      [22, { long_key: "long_value2" }],
      [37, { long_key2: "long_value1" }],
      [50, { long_key2: "long_value2" }],
      [55, { long_key: "long_value1" }],
      [57, { long_key2: "long_value2" }],
    ];
    for (const [offset, value] of rows) expect(decoder.decode(offset)).toEqual(value);
  });
});

describe("files against the source that they were made from", () => {
  const pairs = readdirSync(good)
    .filter((name) => name.endsWith("-Test.mmdb"))
    .map((name) => [name, name.replace("-Shield", "").replace(".mmdb", ".json")] as const)
    .filter(([, source]) => existsSync(join(folder, "source-data", source)));

  test("most files have a source", () => expect(pairs.length).toBeGreaterThanOrEqual(21));

  test.each(pairs)("%s equals %s", (name, source) => {
    const db = open(name);
    const json: Record<string, unknown>[] = JSON.parse(
      readFileSync(join(folder, "source-data", source), "utf8"),
    );
    const rows = json
      .flatMap((row) => Object.entries(row))
      .map(([network, value]) => ({ prefix: sourcePrefix(network), value }));
    // The writer inserts row by row, and a later row replaces the networks that it covers.
    const expectedAt = (address: IpAddress) => rows.findLast((row) => prefixContains(row.prefix, address));
    const filled = name.includes("Anonymous"); // these files begin with an empty map for all addresses

    let checked = 0;
    const check = (address: IpAddress) => {
      const row = expectedAt(address);
      if (row === undefined) expect(valueAt(db, address)).toEqual(filled ? {} : undefined);
      else expect(valueAt(db, address)).toEqual(row.value);
      checked++;
    };
    for (const { prefix } of rows) {
      check(prefix.address);
      check(lastAddress(prefix));
    }
    for (const family of [4, 6] as const) {
      for (const { prefix } of networks(db, family)) {
        check(prefix.address);
        check(lastAddress(prefix));
      }
    }
    expect(checked).toBeGreaterThan(rows.length * 3);
  });
});

/** The stage that refuses a file. "answers" if the file is readable after all. */
type Stage = "open" | "walk" | "record" | "answers";

/** Every broken file, with the stage that refuses it and the reason. */
const BROKEN: Record<string, [stage: Stage, why: string]> = {
  "libmaxminddb-corrupt-search-tree.mmdb": ["answers", ""],
  "libmaxminddb-deep-nesting.mmdb": ["record", "nested deeper than 512"],
  "libmaxminddb-empty-array-last-in-metadata.mmdb": ["answers", ""],
  "libmaxminddb-empty-map-last-in-metadata.mmdb": ["answers", ""],
  "libmaxminddb-metadata-marker-only.mmdb": ["open", "metadata, byte 0"],
  "libmaxminddb-oversized-array.mmdb": ["record", "data section, byte 0: array of 1000000 entries runs past"],
  "libmaxminddb-separator-record-min-left.mmdb": ["walk", "node 0: record points into the separator"],
  "libmaxminddb-separator-record-min-right.mmdb": ["walk", "node 0: record points into the separator"],
  "libmaxminddb-uint64-max-epoch.mmdb": ["open", "metadata, build_epoch: got 18446744073709551615"],
  "invalid-bytes-length.mmdb": ["open", "metadata, byte 0: map of 9 entries runs past"],
  "invalid-data-record-offset.mmdb": ["open", "metadata, byte 1: string is not UTF-8"],
  "invalid-string-length.mmdb": ["open", "metadata, byte 140"],
  "unexpected-bytes.mmdb": ["open", "metadata, byte 262"],
  "bad-unicode-in-map-key.mmdb": ["open", "separator, byte 0: is not zero"],
  "GeoIP2-City-Test-Broken-Double-Format.mmdb": [
    "record",
    "data section, byte 367: number of 5 bytes, want 8",
  ],
  "GeoIP2-City-Test-Invalid-Node-Count.mmdb": ["open", "metadata: 100000 nodes of 28 bits need 700016 bytes"],
  "MaxMind-DB-test-broken-pointers-24.mmdb": ["walk", "node 36: record points past the data section"],
  "MaxMind-DB-test-broken-search-tree-24.mmdb": ["walk", "node 0: is reached twice"],
};

/** Reads the whole file. @returns the stage that failed */
function refusedBy(bytes: Uint8Array): [stage: Stage, why: string] {
  let stage: Stage = "open";
  try {
    const db = Mmdb.open(bytes);
    stage = "walk";
    const all = [...networks(db, 4), ...networks(db, 6)];
    stage = "record";
    for (const { dataOffset } of all) db.decode(dataOffset);
    return ["answers", ""];
  } catch (error) {
    if (!(error instanceof MmdbError)) throw error;
    return [stage, error.message];
  }
}

describe("broken files", () => {
  const paths = [
    ...readdirSync(bad, { recursive: true, encoding: "utf8" }).map((name) => join(bad, name)),
    ...readdirSync(good).map((name) => join(good, name)),
  ].filter((path) => path.endsWith(".mmdb"));
  const isBroken = (path: string) => path.startsWith(bad) || /broken|invalid/i.test(path);

  for (const path of paths.filter(isBroken)) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    test(name, () => {
      const [stage, why] = BROKEN[name] ?? ["open", "is not in the table of this test"];
      const got = refusedBy(readFileSync(path));
      expect(got[0]).toBe(stage);
      expect(got[1]).toContain(why);
      if (stage !== "answers") expect(() => openPlaces([readFileSync(path)])).toThrow(MmdbError);
    });
  }

  test("every valid file can be read", () => {
    const rest = paths.filter((path) => !isBroken(path));
    expect(rest.length).toBeGreaterThan(35);
    for (const path of rest) expect([path, ...refusedBy(readFileSync(path))]).toEqual([path, "answers", ""]);
  });

  test("libmaxminddb's readable files have their documented content", () => {
    const read = (name: string) => content(Mmdb.open(readFileSync(join(bad, "libmaxminddb", name))), 4);
    const all = { "0.0.0.0/1": { ip: "test" }, "128.0.0.0/1": { ip: "test" } };
    expect(read("libmaxminddb-empty-array-last-in-metadata.mmdb")).toEqual(all);
    expect(read("libmaxminddb-empty-map-last-in-metadata.mmdb")).toEqual(all);
    // Nodes 1 to 99 lead back to the root, but nothing leads to them.
    expect(read("libmaxminddb-corrupt-search-tree.mmdb")).toEqual(all);
  });
});

describe("the table of broken files", () => {
  test("has every stage", () => {
    const stages = new Set(Object.values(BROKEN).map(([stage]) => stage));
    expect([...stages].sort()).toEqual(["answers", "open", "record", "walk"]);
  });
});
