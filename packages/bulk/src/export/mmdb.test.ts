// Reads the exported files with Inkling's own strict reader, which also passes MaxMind's conformance files.

import { describe, expect, test } from "bun:test";
import { parseIp, RangeColumns } from "@inkling/engine";
import fc from "fast-check";
import { Mmdb } from "../../../compiler/src/mmdb/mmdb.ts";
import { readAnonymous } from "../../../compiler/src/parse/anonymous-ip.ts";
import type { Request } from "./format.ts";
import { mmdb } from "./mmdb.ts";
import { MmdbData, type MmdbValue, Unsigned } from "./mmdb-data.ts";
import { MmdbTree, recordBitsFor } from "./mmdb-tree.ts";
import type { ExportSource } from "./source.ts";

/** Writes a file with these ranges. */
function file(v4: RangeColumns, v6: RangeColumns, answers: readonly string[], lookup = "reputation"): Mmdb {
  const source = {
    *ranges() {
      yield; // pauses like a source that takes long
      return { v4, v6, answers };
    },
  } as unknown as ExportSource;
  const request = {
    source,
    lookup,
    unknown: [],
    attributions: ["from X"],
    release: "r1",
    builtAt: 1_780_000_000,
  } as Request;
  return Mmdb.open(bytesOf(request));
}

const bytesOf = (request: Request) =>
  Buffer.concat(Array.from(mmdb.pieces(request), ({ data }) => Buffer.from(data)));

function ranges(family: 4 | 6, rows: readonly (readonly [start: string, value: number])[]): RangeColumns {
  const columns = new RangeColumns(family, 4);
  for (const [start, value] of rows) {
    const [w0, w1, w2, w3] = parseIp(start)!.words;
    columns.append(w0!, w1!, w2!, w3!, value);
  }
  return columns;
}

function recordOf(db: Mmdb, text: string): unknown {
  const found = db.find(parseIp(text)!);
  return found && db.decode(found.dataOffset);
}

const V4 = ranges(4, [
  ["0.0.0.0", 0],
  ["81.2.69.0", 1],
  ["81.2.69.142", 2],
  ["81.2.69.143", 0],
]);
const V6 = ranges(6, [
  ["::", 0],
  ["2a00::", 2],
  ["2a01::", 0],
]);
const FLAGS = ['{"is_tor_exit":false}', '{"is_tor_exit":true}'];

test("addresses of both families, and IPv4 inside IPv6", () => {
  const db = file(V4, V6, ["", ...FLAGS]);
  const rows: [address: string, answer: unknown][] = [
    ["81.2.69.141", { is_tor_exit: false }],
    ["81.2.69.142", { is_tor_exit: true }],
    ["81.2.69.143", undefined],
    ["81.2.68.255", undefined],
    ["::ffff:81.2.69.142", { is_tor_exit: true }],
    ["2002:5102:458e::1", { is_tor_exit: true }],
    ["64:ff9b::81.2.69.142", { is_tor_exit: true }],
    ["64:ff9b::81.2.69.143", undefined],
    ["2a00:ffff::", { is_tor_exit: true }],
    ["2a01::", undefined],
  ];
  expect(rows.map(([address]) => [address, recordOf(db, address)])).toEqual(rows);
});

test("the metadata names the release and the sources", () => {
  const { metadata } = file(V4, V6, ["", ...FLAGS]);
  expect(metadata).toMatchObject({
    ipVersion: 6,
    databaseType: "Inkling-Reputation",
    languages: ["en"],
    description: { en: "Inkling, release r1. from X" },
    buildEpoch: 1_780_000_000,
  });
});

test("a place has the fields of GeoIP2 City, and none that is unknown", () => {
  const place = (answer: object) =>
    recordOf(file(V4, V6, ["", JSON.stringify(answer), JSON.stringify(answer)], "geolocate"), "81.2.69.142");
  const empty = {
    city: {},
    continent: {},
    country: {},
    location: {},
    postal: {},
    registered_country: {},
    subdivisions: [],
  };
  expect(place(empty)).toEqual({});
  expect(
    place({
      ...empty,
      city: { name: "Zürich" },
      continent: { code: "EU", name: "Europe" },
      country: { iso_code: "DE", name: "Germany" },
      location: { accuracy_radius: 20, latitude: 47.3, longitude: 8.5, time_zone: "Europe/Zurich" },
      registered_country: { iso_code: "CH", name: "Switzerland" },
      subdivisions: [{ iso_code: "ZH", name: "Zurich" }],
    }),
  ).toEqual({
    city: { names: { en: "Zürich" } },
    continent: { code: "EU", names: { en: "Europe" } },
    country: { is_in_european_union: true, iso_code: "DE", names: { en: "Germany" } },
    location: { accuracy_radius: 20, latitude: 47.3, longitude: 8.5, time_zone: "Europe/Zurich" },
    registered_country: { iso_code: "CH", names: { en: "Switzerland" } },
    subdivisions: [{ iso_code: "ZH", names: { en: "Zurich" } }],
  });
});

test("a record of Anonymous IP has what evidence proves, and is read as GeoIP2's own", () => {
  const entry = (feed: string, label: string, effect = "sets") => ({ feed, label, effect });
  const answers: [answer: object, record: object | undefined][] = [
    [{ is_proxy: true, evidence: [entry("a", "vpn"), entry("b", "public_proxy")] }, VPN_AND_PROXY],
    [{ is_proxy: true, evidence: [entry("a", "vpn", "label")] }, ANONYMOUS],
    [{ is_tor_exit: true, evidence: [entry("t", "tor_exit"), entry("a", "vpn")] }, TOR],
    [{ is_abuser: true, evidence: [entry("h", "hosting", "label")] }, { is_hosting_provider: true }],
    [{ is_abuser: true, evidence: [entry("x", "attacker")] }, undefined],
  ];
  for (const [answer, record] of answers) {
    const source = {
      *ranges(_: string, explained: (answer: object) => string) {
        yield;
        const text = explained(answer);
        const v4 = ranges(4, [
          ["0.0.0.0", 0],
          ["81.2.69.0", text === "" ? 0 : 1],
          ["81.2.70.0", 0],
        ]);
        return { v4, v6: V6, answers: ["", text || "{}", '{"is_anonymous":true}'] };
      },
    } as unknown as ExportSource;
    const request = { source, lookup: "reputation" as const, databaseType: "GeoIP2-Anonymous-IP" };
    const bytes = bytesOf({ ...request, unknown: [], attributions: [], release: "r", builtAt: 1 });
    expect(recordOf(Mmdb.open(bytes), "81.2.69.7")).toEqual(record);
    const { byLabel } = readAnonymous([bytes]);
    const isVpn = record !== undefined && "is_anonymous_vpn" in record;
    expect(byLabel.get("vpn")?.some(({ bits }) => bits === 24) ?? false).toBe(isVpn);
  }
});
const ANONYMOUS = { is_anonymous: true };
const TOR = { is_anonymous: true, is_tor_exit_node: true };
const VPN_AND_PROXY = { is_anonymous: true, is_anonymous_vpn: true, is_public_proxy: true };

test("any ranges: each address has the answer of its range", () => {
  let known = 0;
  const address = fc.nat(0xffffffff);
  fc.assert(
    fc.property(
      fc.uniqueArray(address, { minLength: 1, maxLength: 60 }),
      fc.array(address),
      (starts, others) => {
        starts.sort((a, b) => a - b);
        const v4 = new RangeColumns(4, 1);
        v4.append(0, 0, 0, 0, 0);
        for (const [i, start] of starts.entries()) v4.append(start, 0, 0, 0, i % 3);
        const db = file(v4, V6, ["", ...FLAGS]);
        for (const at of [...others, ...starts]) {
          const i = starts.findLastIndex((start) => start <= at);
          const want = i < 0 || i % 3 === 0 ? undefined : JSON.parse(FLAGS[(i % 3) - 1]!);
          const text = [at >>> 24, (at >>> 16) & 255, (at >>> 8) & 255, at & 255].join(".");
          expect([text, recordOf(db, text)]).toEqual([text, want]);
          if (want) known++;
        }
      },
    ),
    { numRuns: 50 },
  );
  expect(known).toBeGreaterThan(100);
});

describe("the tree", () => {
  test("refuses a network inside another, in either order", () => {
    for (const [first, second] of [
      [8, 16],
      [16, 8],
      [8, 8],
    ]) {
      const tree = new MmdbTree();
      tree.add(parseIp("10.0.0.0")!, first!, 0);
      expect(() => tree.add(parseIp("10.0.0.0")!, second!, 1)).toThrow(RangeError);
    }
  });

  test.each([
    [24, 0xffff_ef, 0],
    [28, 0xffff_f0, 0],
    [28, 0xfff_ff00, 0xef],
    [32, 0xfff_ff00, 0xf0],
  ] as const)("%d bits hold %d nodes and %d bytes of data", (bits, nodes, data) =>
    expect(recordBitsFor(nodes, data)).toBe(bits),
  );

  test.each([24, 28, 32] as const)("records of %d bits say the same", (bits) => {
    const tree = new MmdbTree();
    tree.add(parseIp("81.2.69.0")!, 24, 0);
    const offset = bits === 24 ? 0x12_3456 : 0x0abc_def0;
    const bytes = Buffer.concat([...tree.bytes(bits, [offset])]);
    expect(bytes.length).toBe((tree.nodeCount * bits) / 4);
    const text = (tree.nodeCount + 16 + offset).toString(16).padStart(bits / 4, "0");
    // With 28 bits, the highest four bits are stored apart from the other 24.
    expect(bytes.toString("hex")).toContain(bits === 28 ? text.slice(1) : text);
  });
});

test("values come back, however long, and twice", () => {
  const value: MmdbValue = {
    short: "ab",
    text: "x".repeat(28),
    longer: "y".repeat(284),
    long: "z".repeat(70_000),
    longest: "é".repeat(40_000),
    yes: true,
    no: false,
    half: 0.5,
    zero: new Unsigned(16, 0),
    radius: new Unsigned(16, 1000),
    epoch: new Unsigned(64, 1_780_000_000),
    list: Array.from({ length: 300 }, (_, i) => ({ names: { en: `n${i % 7}` } })),
  };
  const data = new MmdbData();
  const first = data.add(value);
  const second = data.add(value);
  const sections = [new Uint8Array(16), data.toBytes()];
  const mark = Buffer.from("\xAB\xCD\xEFMaxMind.com", "latin1");
  const metadata = new MmdbData();
  metadata.add({
    binary_format_major_version: new Unsigned(16, 2),
    binary_format_minor_version: new Unsigned(16, 0),
    build_epoch: new Unsigned(64, 1),
    database_type: "t",
    description: {},
    ip_version: new Unsigned(16, 6),
    languages: [],
    node_count: new Unsigned(32, 1),
    record_size: new Unsigned(16, 24),
  });
  const db = Mmdb.open(
    Buffer.concat([new Uint8Array([0, 0, 1, 0, 0, 1]), ...sections, mark, metadata.toBytes()]),
  );
  const plain = JSON.parse(JSON.stringify(value, (_, v) => (v instanceof Unsigned ? v.value : v)));
  const read = (at: number) =>
    JSON.parse(JSON.stringify(db.decode(at), (_, v) => (typeof v === "bigint" ? Number(v) : v)));
  expect(read(first)).toEqual(plain);
  expect(read(second)).toEqual(plain);
  expect(data.length).toBeLessThan(160_000); // the long texts are stored only once
});
