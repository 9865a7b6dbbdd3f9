import { describe, expect, test } from "bun:test";
import { formatPrefix, IpAddress, parsePrefix, parseRawIp } from "@inkling/engine";
import { randomBelow } from "../../../../test/harness/random.ts";
import {
  assemble,
  control,
  double,
  encode,
  float,
  MARKER,
  type Parts,
  pointer,
  raw,
  uint16,
  uint64,
  uint128,
  writeMmdb,
} from "../../test/mmdb-writer.ts";
import { shortestFloat32 } from "./decode.ts";
import { Mmdb, MmdbError } from "./mmdb.ts";

/** Returns all networks of a family as "network": value. */
function read(db: Mmdb, family: 4 | 6): Record<string, unknown> {
  const networks: Record<string, unknown> = {};
  db.walk(family, (w0, w1, w2, w3, bits, dataOffset) => {
    const address = new IpAddress();
    address.family = family;
    address.words.set([w0, w1, w2, w3]);
    networks[formatPrefix({ address, bits })] = db.decode(dataOffset);
  });
  return networks;
}

function lookup(db: Mmdb, text: string): unknown {
  const found = db.find(parseRawIp(text)!);
  return found && { bits: found.bits, value: db.decode(found.dataOffset) };
}

describe("networks", () => {
  const v4 = {
    "1.0.0.0/24": "first",
    "1.0.1.0/25": "quarter",
    "203.0.113.7/32": "host",
    "255.255.255.255/32": "last",
  };
  const v6 = { "2001:db8::/32": "documentation", "2400::/12": "apnic", "ffff::1/128": "host6" };
  for (const recordSize of [24, 28, 32] as const) {
    test(`IPv4 tree of ${recordSize} bits`, () => {
      const db = Mmdb.open(writeMmdb({ ipVersion: 4, recordSize, networks: Object.entries(v4) }));
      expect(db.metadata).toMatchObject({ recordSize, ipVersion: 4, buildEpoch: 1_780_000_000 });
      expect(read(db, 4)).toEqual(v4);
      expect(Object.keys(read(db, 4))).toEqual(Object.keys(v4));
      expect(read(db, 6)).toEqual({});
      expect(lookup(db, "1.0.1.127")).toEqual({ bits: 25, value: "quarter" });
      expect(lookup(db, "255.255.255.255")).toEqual({ bits: 32, value: "last" });
      expect(lookup(db, "1.0.1.128")).toBeUndefined();
      expect(lookup(db, "::1.0.1.127")).toBeUndefined();
      expect(lookup(db, "100:17f::")).toBeUndefined(); // begins with the bits of 1.0.1.127
    });
    test(`IPv6 tree of ${recordSize} bits with IPv4 networks and aliases of them`, () => {
      const mapped = Object.entries(v4).map(([network, value]) => {
        const { address, bits } = parsePrefix(network)!;
        const word = address.words[0]!;
        return [
          `::${(word >>> 16).toString(16)}:${(word & 0xffff).toString(16)}/${bits + 96}`,
          value,
        ] as const;
      });
      const db = Mmdb.open(
        writeMmdb({
          ipVersion: 6,
          recordSize,
          networks: [...mapped, ...Object.entries(v6)],
          // parsePrefix reads ::ffff:0:0/96 as 0.0.0.0/0, so this list does not include it
          aliases: ["2002::/16", "2001::/32", "64:ff9b::/96"],
        }),
      );
      expect(read(db, 4)).toEqual(v4);
      expect(read(db, 6)).toEqual(v6);
      expect(Object.keys(read(db, 6))).toEqual(Object.keys(v6));
      expect(lookup(db, "203.0.113.7")).toEqual({ bits: 32, value: "host" });
      expect(lookup(db, "2002:cb00:7107::1")).toEqual({ bits: 48, value: "host" });
      expect(lookup(db, "2001:db8:1::")).toEqual({ bits: 32, value: "documentation" });
      expect(lookup(db, "ffff::2")).toBeUndefined();
    });
  }

  test("a record above ::/96 is one network for each family", () => {
    const db = Mmdb.open(writeMmdb({ ipVersion: 6, recordSize: 24, networks: [["::/64", "all"]] }));
    expect(read(db, 4)).toEqual({ "0.0.0.0/0": "all" });
    expect(read(db, 6)).toEqual({ "::/64": "all" });
    expect(lookup(db, "192.0.2.1")).toEqual({ bits: 0, value: "all" });
  });

  test("a database of one network of all addresses", () => {
    const all = assemble({ nodes: [[17, 17]], recordSize: 24, data: encode("all") });
    expect(read(Mmdb.open(all), 4)).toEqual({ "0.0.0.0/1": "all", "128.0.0.0/1": "all" });
  });

  test("a file inside a larger buffer", () => {
    const file = writeMmdb({
      ipVersion: 4,
      recordSize: 28,
      networks: [["192.0.2.0/24", { a: float(1.5), b: "x" }]],
    });
    const larger = new Uint8Array(file.length + 26).fill(0xff);
    larger.set(file, 13);
    const db = Mmdb.open(larger.subarray(13, 13 + file.length));
    expect(read(db, 4)).toEqual({ "192.0.2.0/24": { a: 1.5, b: "x" } });
  });

  test("find agrees with walk on random networks", () => {
    const random = randomBelow(7);
    const networks = new Map<string, number>();
    for (let i = 0; i < 400; i++) {
      const bits = 8 + random(25);
      const word = bits === 32 ? random(2 ** 32) : random(2 ** bits) * 2 ** (32 - bits);
      networks.set(`${word >>> 24}.${(word >>> 16) & 255}.${(word >>> 8) & 255}.${word & 255}/${bits}`, i);
    }
    const db = Mmdb.open(writeMmdb({ ipVersion: 4, recordSize: 28, networks: [...networks] }));
    let count = 0;
    let end = -1;
    db.walk(4, (w0, _w1, _w2, _w3, bits, dataOffset) => {
      expect(w0).toBeGreaterThan(end);
      end = w0 + 2 ** (32 - bits) - 1;
      for (const word of [w0, end]) {
        const address = new IpAddress();
        address.words[0] = word;
        expect(db.find(address)).toEqual({ dataOffset, bits });
      }
      count++;
    });
    expect(count).toBeGreaterThan(400);
  });
});

describe("values", () => {
  const value = (bytes: readonly number[]) =>
    Mmdb.open(assemble({ nodes: [[17, 1]], recordSize: 24, data: bytes })).decode(0);

  const rows: [name: string, value: unknown, want?: unknown][] = [
    ["empty string", ""],
    ["string of 28 bytes", "x".repeat(28)],
    ["string of 29 bytes", "x".repeat(29)],
    ["string of 284 bytes", "x".repeat(284)],
    ["string of 285 bytes", "x".repeat(285)],
    ["string of 65,821 bytes", "x".repeat(65_821)],
    ["string with every length of UTF-8", "a é ☯ 𝄞 \u0000"],
    ["byte order mark at the start of a string", "\ufeffa"],
    ["bytes", Uint8Array.of(0, 0, 0, 42)],
    ["true", true],
    ["false", false],
    ["double", 42.123456],
    ["double that a 32-bit float could hold", double(0.333251953125), 0.333251953125],
    ["float", float(51.5074), 51.5074],
    ["float infinity", float(Number.POSITIVE_INFINITY), Number.POSITIVE_INFINITY],
    ["uint16", uint16(65_535), 65_535],
    ["uint16 of no bytes", uint16(0), 0],
    ["uint32", 4_294_967_295],
    ["int32", -268_435_456],
    ["short int32 is positive", raw(...control(8, 1), 0xff), 255],
    ["uint64", uint64(2n ** 64n - 1n), 2n ** 64n - 1n],
    ["uint128", uint128(2n ** 128n - 1n), 2n ** 128n - 1n],
    ["array", [1, ["a", {}], []]],
    ["map", { a: { b: [true] }, "": 0 }],
    ["map with the key __proto__", JSON.parse('{"__proto__": {"x": 1}, "y": 2}')],
  ];
  test.each(rows)("%s", (_name, written, want = written) => {
    expect(value(encode(written))).toEqual(want);
  });

  test("the key __proto__ is a field like any other", () => {
    const map = value(encode(JSON.parse('{"__proto__": {"x": 1}}'))) as object;
    expect(Object.keys(map)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(map)).toBe(Object.prototype);
  });

  test("pointers of every length", () => {
    for (const offset of [0, 2047, 2048, 526_335, 526_336, 600_000]) {
      const data = [...new Array(offset).fill(0), ...encode("there")];
      const at = data.length;
      data.push(...encode([pointer(offset), pointer(offset), "here"]));
      const four = data.length;
      // The low three bits of a four-byte pointer are ignored.
      data.push(0x3f, 0, (offset >> 16) & 255, (offset >> 8) & 255, offset & 255);
      const db = Mmdb.open(assemble({ nodes: [[17, 1]], recordSize: 32, data }));
      expect(db.decode(at)).toEqual(["there", "there", "here"]);
      expect(db.decode(four)).toBe("there");
    }
  });

  test("kept values count as if they were read again", () => {
    // 200 lists of 200 strings exceed 2 MiB of text, even if parts of them were decoded before.
    const data = encode("k".repeat(60));
    const list = data.length;
    data.push(...encode(new Array(200).fill(pointer(0))));
    const lists = data.length;
    data.push(...encode(new Array(200).fill(pointer(list)))); // 2.4 MB of text
    const db = Mmdb.open(assemble({ nodes: [[17, 1]], recordSize: 24, data }));
    for (let i = 0; i < 3; i++) {
      expect(() => db.decode(lists)).toThrow(`data section, byte 0: record holds more than 2097152 bytes`);
      expect(db.decode(list)).toHaveLength(200);
    }
  });

  test("a record may hold 65,536 values and 2 MiB of text, not more", () => {
    const values = (count: number) => value(encode(new Array(count).fill(true)));
    expect(values(65_535)).toHaveLength(65_535);
    expect(() => values(65_536)).toThrow("record holds more than 65536 values");
    const mib = "x".repeat(1024 * 1024);
    expect(value(encode([mib, mib]))).toHaveLength(2);
    expect(() => value(encode([mib, mib, "x"]))).toThrow("record holds more than 2097152 bytes");
  });

  test("pointers that double forty times are refused quickly", () => {
    const data = encode(0);
    let top = 0;
    for (let level = 0; level < 40; level++) {
      const below = top;
      top = data.length;
      data.push(...encode([pointer(below), pointer(below)]));
    }
    const db = Mmdb.open(assemble({ nodes: [[17, 1]], recordSize: 24, data }));
    expect(() => db.decode(top)).toThrow("record holds more than 65536 values");
  });

  test("containers may nest 512 deep, through pointers too", () => {
    const nested = (depth: number) => {
      const data = encode([]);
      let top = 0;
      for (let level = 1; level < depth; level++) {
        const below = top;
        top = data.length;
        data.push(...encode([pointer(below)]));
      }
      return { db: Mmdb.open(assemble({ nodes: [[17, 1]], recordSize: 24, data })), top };
    };
    const { db, top } = nested(513);
    expect(() => db.decode(top)).toThrow("nested deeper than 512");
    expect(db.decode(top - 4)).toBeArray(); // this caches its parts ...
    expect(() => db.decode(top)).toThrow("nested deeper than 512"); // ... which does not change the result
    const inner = nested(512);
    expect(inner.db.decode(inner.top)).toBeArray();
  });

  const broken: [name: string, bytes: number[], message: string][] = [
    ["string cut short", [0x45, 0x61], "byte 0: 5 bytes run past the end of the section"],
    ["string size cut short", [0x5f, 0xff], "byte 2: value runs past the end"],
    ["string of 16 MB that is not there", [0x5f, 0xff, 0xff, 0xff], "more than 2097152 bytes"],
    ["string that is not UTF-8", [0x42, 0xc3, 0x28], "byte 0: string is not UTF-8"],
    ["overlong UTF-8", [0x42, 0xc0, 0xaf], "not UTF-8"],
    ["surrogate in UTF-8", [0x43, 0xed, 0xa0, 0x80], "not UTF-8"],
    ["bytes cut short", [0x82, 0x61], "byte 0: 2 bytes run past"],
    ["double of four bytes", [0x64, 0, 0, 0, 0], "number of 4 bytes"],
    ["float of eight bytes", [...control(15, 8), 0, 0, 0, 0, 0, 0, 0, 0], "number of 8 bytes"],
    ["double cut short", [0x68, 0, 0], "8 bytes run past"],
    ["uint16 of three bytes", [0xa3, 0, 0, 0], "number of 3 bytes, want at most 2"],
    ["uint32 of five bytes", [0xc5, 0, 0, 0, 0, 0], "number of 5 bytes"],
    ["int32 of five bytes", [...control(8, 5), 0, 0, 0, 0, 0], "number of 5 bytes"],
    ["uint64 of nine bytes", [...control(9, 9), ...new Array(9).fill(0)], "number of 9 bytes"],
    ["uint128 of seventeen bytes", [...control(10, 17), ...new Array(17).fill(0)], "number of 17 bytes"],
    ["boolean of size 2", control(14, 2), "boolean of size 2"],
    ["data cache container", control(12, 0), "type 12 is not a value"],
    ["end marker", control(13, 0), "type 13 is not a value"],
    ["type 16", control(16, 0), "type 16 is not a value"],
    ["extended type of a map", [0x00, 0x00], "type 7 is not an extended type"],
    ["extended type cut short", [0x00], "byte 1: value runs past"],
    ["map whose key is a number", [0xe1, 0xa0, 0xa0], "byte 1: map key is not a string"],
    ["map of more pairs than bytes", [0xe2, 0x41, 0x61, 0xa0], "map of 2 entries runs past"],
    ["map cut after a key", [0xe1, 0x41, 0x61], "byte 3: value runs past"],
    ["array of 16 million in four bytes", [0x1f, 4, 0xff, 0xff, 0xff], "array of 16843036 entries runs past"],
    ["array cut short", [0x02, 4, 0x41, 0x61], "byte 4: value runs past"],
    ["pointer cut short", [0x28, 0], "byte 2: value runs past"],
    ["pointer past the end", [0x20, 0x40], "byte 0: offset 64 is past the section's 2 bytes"],
    ["pointer to a pointer", [0x20, 2, 0x20, 4, 0x41, 0x61], "byte 0: pointer to a pointer"],
    ["pointer to itself", [0x20, 0], "pointer to a pointer"],
    ["array that holds itself", [0x01, 4, 0x20, 0], "nested deeper than 512"],
    ["map that holds itself", [0xe1, 0x41, 0x61, 0x20, 0], "nested deeper than 512"],
  ];
  test.each(broken)("refuses: %s", (_name, bytes, message) => {
    expect(() => value(bytes)).toThrow(MmdbError);
    expect(() => value(bytes)).toThrow(message);
  });

  test("refuses invalid offsets", () => {
    const db = Mmdb.open(assemble({ nodes: [[17, 1]], recordSize: 24, data: encode("a") }));
    for (const offset of [-1, 2, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32]) {
      expect(() => db.decode(offset)).toThrow(MmdbError);
    }
  });
});

describe("metadata", () => {
  const good: Parts = { nodes: [[17, 1]], recordSize: 24, data: encode("a") };
  const open = (metadata: Record<string, unknown>, parts: Partial<Parts> = {}) =>
    Mmdb.open(assemble({ ...good, ...parts, metadata }));

  test("optional fields may be absent, and unknown ones present", () => {
    const db = open({ languages: undefined, description: undefined, later: { x: 1 }, build_epoch: 0 });
    expect(db.metadata).toEqual({
      nodeCount: 1,
      recordSize: 24,
      ipVersion: 4,
      databaseType: "Inkling-Test",
      languages: [],
      description: {},
      minorVersion: 0,
      buildEpoch: 0,
    });
  });

  const fields: [name: string, metadata: Record<string, unknown>, message: string][] = [
    ["format 3", { binary_format_major_version: 3 }, "binary_format_major_version: got 3, want 2"],
    ["no format", { binary_format_major_version: undefined }, "binary_format_major_version: got undefined"],
    ["no minor version", { binary_format_minor_version: undefined }, "binary_format_minor_version"],
    ["IP version 5", { ip_version: 5 }, "ip_version: got 5, want 4 or 6"],
    ["record size 16", { record_size: 16 }, "record_size: got 16"],
    ["record size 26", { record_size: 26 }, "record_size: got 26, want 24, 28 or 32"],
    ["record size as text", { record_size: "24" }, "record_size: got a string"],
    ["no nodes", { node_count: 0 }, "node_count: got 0"],
    ["node count with a fraction", { node_count: double(1.5) }, "node_count: got 1.5"],
    ["node count of 64 bits", { node_count: uint64(1n) }, "node_count: got 1,"],
    [
      "more nodes than bytes",
      { node_count: 1000 },
      "1000 nodes of 24 bits need 6016 bytes, but there are 24",
    ],
    ["the most nodes", { node_count: 0xffffffff }, "4294967295 nodes of 24 bits"],
    ["no type", { database_type: undefined }, "database_type: got undefined"],
    ["type that is a map", { database_type: {} }, "database_type: got another type"],
    ["languages that are text", { languages: "en" }, "languages: got a string"],
    ["languages that are numbers", { languages: [1] }, "languages"],
    ["description that is an array", { description: ["x"] }, "description"],
    ["description of numbers", { description: { en: 1 } }, "description"],
    [
      "build epoch beyond the year 9999",
      { build_epoch: uint64(2n ** 64n - 1n) },
      "build_epoch: got 18446744073709551615",
    ],
    ["no build epoch", { build_epoch: undefined }, "build_epoch: got undefined"],
    ["negative build epoch", { build_epoch: -1 }, "build_epoch: got -1"],
  ];
  test.each(fields)("refuses: %s", (_name, metadata, message) => {
    expect(() => open(metadata)).toThrow(MmdbError);
    expect(() => open(metadata)).toThrow(message);
  });

  const bytes = assemble(good);
  const marker = Buffer.from(bytes).lastIndexOf(Buffer.from(MARKER));
  const cut = (from: number, to: number) => bytes.slice(from, to);
  const files: [name: string, file: Uint8Array, message: string][] = [
    ["nothing", new Uint8Array(0), "metadata: not found in 0 bytes"],
    ["a web page", Buffer.from("<!doctype html><title>404</title>"), "not an MMDB file, or truncated"],
    ["a file cut before its metadata", cut(0, marker), "not found"],
    [
      "the marker alone",
      cut(marker, marker + 14),
      "metadata, byte 0: offset 0 is past the section's 0 bytes",
    ],
    ["metadata without tree", cut(marker, bytes.length), "1 nodes of 24 bits need 22 bytes, but there are 0"],
    ["metadata cut short", cut(0, bytes.length - 1), "metadata, byte"],
    ["metadata that is text", Uint8Array.from([...MARKER, ...encode("x")]), "metadata: is not a map"],
    ["metadata that holds itself", Uint8Array.from([...MARKER, 0xe1, 0x41, 0x61, 0x20, 0]), "nested deeper"],
    [
      "a marker more than 128 KiB before the end",
      Uint8Array.from([...bytes, ...new Array(131_072).fill(0)]),
      "not found",
    ],
    [
      "a separator that is not zero",
      bytes.map((byte, i) => (i === 21 ? 1 : byte)),
      "separator, byte 15: is not zero",
    ],
  ];
  test.each(files)("refuses: %s", (_name, file, message) => {
    expect(() => Mmdb.open(file)).toThrow(MmdbError);
    expect(() => Mmdb.open(file)).toThrow(message);
  });

  test("the last marker counts", () => {
    const data = [...encode("a"), ...MARKER, ...encode("x")];
    expect(read(Mmdb.open(assemble({ ...good, data })), 4)).toEqual({ "0.0.0.0/1": "a" });
  });
});

describe("search tree", () => {
  const data = encode("a"); // two bytes
  /** Builds a chain of `count` nodes along their left records, in a tree of `of` nodes. Everything else is empty. */
  const spine = (count: number, of: number) =>
    Array.from({ length: count }, (_, i): [number, number] => [i + 1, of]);
  const rows: [name: string, nodes: [number, number][], family: 4 | 6, message: string][] = [
    ["points into the separator, left", [[2, 1]], 4, "search tree, node 0: record points into the separator"],
    ["points into the separator, right", [[1, 16]], 4, "node 0: record points into the separator"],
    ["points past the data section", [[17, 19]], 4, "node 0: record points past the data section"],
    ["points far past everything", [[17, 0xffffff]], 4, "node 0: record points past the data section"],
    [
      "cycle to the root",
      [
        [1, 2],
        [0, 18],
      ],
      4,
      "node 0: is reached twice",
    ],
    ["node that is its own child", [[0, 17]], 4, "node 0: is reached twice"],
    [
      "a node with two parents",
      [
        [1, 1],
        [18, 18],
      ],
      4,
      "node 1: is reached twice",
    ],
    [
      "an IPv4 tree 33 deep",
      [...spine(32, 33), [33, 33]],
      4,
      "node 31: leads deeper than an address has bits",
    ],
    [
      "an IPv6 tree 129 deep",
      [[129, 1], ...spine(128, 129).slice(1), [129, 129]],
      6,
      "node 127: leads deeper",
    ],
    [
      "cycle on the path to ::/96",
      [
        [1, 2],
        [0, 18],
      ],
      6,
      "node 0: is reached twice on the way to ::/96",
    ],
    [
      "cycle among the IPv6 networks",
      [
        [2, 1],
        [2, 1],
      ],
      6,
      "node 1: is reached twice",
    ],
  ];
  test.each(rows)("refuses: %s", (_name, nodes, family, message) => {
    const file = assemble({ nodes, recordSize: 24, data, metadata: { ip_version: family } });
    const walk = () => Mmdb.open(file).walk(family, () => {});
    expect(walk).toThrow(MmdbError);
    expect(walk).toThrow(message);
  });

  const high: [name: string, recordSize: 24 | 28 | 32, left: number, right: number][] = [
    ["bit 24 of a 28-bit record, left", 28, 17 + 2 ** 24, 1],
    ["bit 24 of a 28-bit record, right", 28, 1, 17 + 2 ** 24],
    ["bit 27 of a 28-bit record, left", 28, 17 + 2 ** 27, 1],
    ["bit 31 of a 32-bit record, left", 32, 17 + 2 ** 31, 1],
    ["bit 31 of a 32-bit record, right", 32, 1, 17 + 2 ** 31],
  ];
  test.each(high)("reads %s", (_name, recordSize, left, right) => {
    const db = Mmdb.open(assemble({ nodes: [[left, right]], recordSize, data }));
    expect(() => db.walk(4, () => {})).toThrow("node 0: record points past the data section");
    expect(lookup(db, left === 1 ? "1.0.0.0" : "128.0.0.0")).toBeUndefined();
  });

  test("find refuses only the damage on its path", () => {
    const db = Mmdb.open(assemble({ nodes: [[17, 16]], recordSize: 24, data }));
    expect(lookup(db, "1.2.3.4")).toEqual({ bits: 1, value: "a" });
    expect(() => lookup(db, "128.0.0.0")).toThrow("node 0: record points into the separator");
    const loop = Mmdb.open(assemble({ nodes: [[17, 0]], recordSize: 24, data }));
    expect(lookup(loop, "1.2.3.4")).toEqual({ bits: 1, value: "a" });
    expect(() => lookup(loop, "255.255.255.255")).toThrow("node 0: leads deeper than an address has bits");
  });
});

describe("32-bit floats come as their shortest decimal", () => {
  const rows: [x: number, want: number][] = [
    [51.507400512695312, 51.5074],
    [-0.12780000269412994, -0.1278],
    [139.69171142578125, 139.69171],
    [0, 0],
    [-33.5, -33.5],
    [1e-7, 1e-7],
    [3.4028234663852886e38, 3.4028235e38],
    [1.401298464324817e-45, 1e-45],
  ];
  test.each(rows)("%p", (x, want) => {
    expect(shortestFloat32(Math.fround(x))).toBe(want);
  });

  test("every float round-trips in at most nine digits", () => {
    const bits = new DataView(new ArrayBuffer(4));
    let finite = 0;
    for (let i = 0; i < 20_000; i++) {
      bits.setUint32(0, Math.imul(i + 1, 0x9e3779b1));
      const x = bits.getFloat32(0);
      const shortest = shortestFloat32(x);
      expect(Math.fround(shortest)).toBe(x);
      if (!Number.isFinite(x)) continue;
      finite++;
      const digits = shortest.toExponential().replace(/e.*|[-.]/g, "");
      expect(digits.length).toBeLessThanOrEqual(9);
    }
    expect(finite).toBeGreaterThan(19_000);
  });
});
