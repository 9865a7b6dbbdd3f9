// Tests what unpack.ts extracts from archives, and which archives it refuses.

import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { tar, zip } from "./archive.testing.ts";
import { unpack } from "./unpack.ts";

const LIST = "192.0.2.1\n".repeat(200);
const MAX_UNPACKED_BYTES = 100_000;

const unpackAll = async (bytes: Uint8Array, most = MAX_UNPACKED_BYTES): Promise<string> =>
  Buffer.from(await unpack(bytes, most)).toString();

const problem = (bytes: Uint8Array, most?: number): Promise<string> =>
  unpackAll(bytes, most).then(
    () => "no error",
    (error) => `${error.name}: ${error.message}`,
  );

/** Changes the 16 bits that begin `offset` bytes after the start of the last occurrence of `mark`. */
function changed(bytes: Buffer, mark: number, offset: number, value: number): Buffer {
  const sign = Buffer.alloc(4);
  sign.writeUInt32LE(mark);
  bytes.writeUInt16LE(value, bytes.lastIndexOf(sign) + offset);
  return bytes;
}

/** Builds a ZIP64 archive with the sizes in an extra field, like programs that do not know the sizes in advance. */
function zip64(name: string, text: string): Buffer {
  const plain = zip([{ name, text }]);
  const directory = plain.lastIndexOf(Buffer.from("PK\x01\x02"));
  const end = plain.lastIndexOf(Buffer.from("PK\x05\x06"));
  const entry = Buffer.from(plain.subarray(directory, end));
  const extra = Buffer.alloc(20);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(16, 2);
  extra.writeBigUInt64LE(BigInt(entry.readUInt32LE(24)), 4);
  extra.writeBigUInt64LE(BigInt(entry.readUInt32LE(20)), 12);
  entry.writeUInt32LE(0xffffffff, 20);
  entry.writeUInt32LE(0xffffffff, 24);
  entry.writeUInt16LE(extra.length, 30);
  const record = Buffer.alloc(56);
  record.write("PK\x06\x06", "latin1");
  record.writeBigUInt64LE(44n, 4);
  record.writeBigUInt64LE(1n, 24);
  record.writeBigUInt64LE(1n, 32);
  record.writeBigUInt64LE(BigInt(entry.length + extra.length), 40);
  record.writeBigUInt64LE(BigInt(directory), 48);
  const locator = Buffer.alloc(20);
  locator.write("PK\x06\x07", "latin1");
  locator.writeBigUInt64LE(BigInt(directory + entry.length + extra.length), 8);
  locator.writeUInt32LE(1, 16);
  const last = Buffer.from(plain.subarray(end));
  last.writeUInt16LE(0xffff, 10);
  last.writeUInt32LE(0xffffffff, 16);
  return Buffer.concat([plain.subarray(0, directory), entry, extra, record, locator, last]);
}

const BODY = Buffer.from("after");
const BESIDE = [
  { name: "LICENSE_LITE.TXT", text: "do" },
  { name: "db/README_LITE.TXT", text: "read" },
];
const good: readonly [name: string, bytes: Buffer][] = [
  ["one file", zip([{ name: "list.csv", text: LIST }])],
  ["stored, not packed", zip([{ name: "list.csv", text: LIST, method: 0 }])],
  ["sizes behind the body", zip([{ name: "list.csv", text: LIST, flags: 8 }])],
  ["a licence and a read-me beside it", zip([...BESIDE, { name: "IP2PROXY-LITE-PX2.CSV", text: LIST }])],
  ["ZIP64", zip64("list.csv", LIST)],
  ["with a comment", zip([{ name: "list.txt", text: LIST }], "made by hand")],
  [
    "tar",
    tar([
      { name: "GeoLite2-City_2026/", text: "", type: "5" },
      { name: "GeoLite2-City_2026/x.mmdb", text: LIST },
    ]),
  ],
  [
    "tar.gz, with a licence",
    gzipSync(tar([...BESIDE, { name: "x.mmdb", text: LIST }, { name: "COPYRIGHT.txt", text: "c" }])),
  ],
  ["no archive", Buffer.from(LIST)],
  ["shorter than a block", Buffer.from(LIST.slice(0, 2000))],
];

describe("archives", () => {
  test.each(good)("%s", async (_name, bytes) => {
    expect(await unpackAll(bytes)).toBe(LIST);
  });

  const two = [
    { name: "a.csv", text: LIST },
    { name: "b.csv", text: LIST },
  ];
  const bomb = "0".repeat(2 ** 22);
  const bad: readonly [name: string, bytes: Uint8Array, message: RegExp][] = [
    ["a zip file without data", zip(BESIDE), /without a data file$/],
    ["an empty zip file", zip([]), /without a data file$/],
    ["a zip file with two lists", zip(two), /several data files$/],
    ["a tar file with two lists", tar(two), /several data files$/],
    ["a tar file without data", tar(BESIDE), /without a data file$/],
    ["a sparse file", tar([{ name: "a.csv", text: LIST, type: "S" }]), /without a data file$/],
    ["a password", zip([{ name: "a.csv", text: LIST, flags: 1 }]), /with a password$/],
    ["another method", zip([{ name: "a.csv", text: LIST, method: 12 }]), /compression method 12/],
    [
      "a name that leads out of it",
      zip([{ name: "../../a.csv", text: LIST }]),
      /a damaged or truncated zip file/,
    ],
    ["an absolute name", zip([{ name: "/etc/a.csv", text: LIST }]), /a damaged or truncated zip file/],
    [
      "a directory of thousands",
      zip(Array.from({ length: 1_001 }, (_, i) => ({ name: `${i}.htm`, text: "" }))),
      /with 1001 files; the maximum is 1000$/,
    ],
    [
      "a disk of several",
      changed(zip([{ name: "a.csv", text: LIST }]), 0x06054b50, 4, 1),
      /a damaged or truncated zip file/,
    ],
    [
      "bytes after its end",
      Buffer.concat([zip([{ name: "a.csv", text: LIST }]), BODY]),
      /a damaged or truncated zip file/,
    ],
    ["a zip bomb", zip([{ name: "a.csv", text: bomb }]), /larger than 100000 bytes$/],
    ["a tar bomb", gzipSync(tar([{ name: "a.csv", text: bomb }])), /larger than 100000 bytes$/],
  ];
  test.each(bad)("%s is refused", async (_name, bytes, message) => {
    const outcome = await problem(bytes);
    expect(outcome).toStartWith("FeedError: ");
    expect(outcome).toMatch(message);
  });

  test("a zip bomb with a wrong size is refused while it unpacks", async () => {
    const bytes = zip([{ name: "a.csv", text: bomb }]);
    bytes.writeUInt32LE(10, bytes.lastIndexOf(Buffer.from("PK\x01\x02")) + 24);
    expect(await problem(bytes)).toBe("FeedError: is larger than 100000 bytes");
  });

  test.each(good.slice(0, 8))("%s: truncated anywhere, it is refused or complete", async (_name, bytes) => {
    let refused = 0;
    for (let length = 4; length < bytes.length; length += 7) {
      const outcome = await unpackAll(bytes.subarray(0, length)).catch((error) => error);
      if (outcome instanceof Error) {
        expect(outcome.name).toBe("FeedError");
        refused++;
      } else if (outcome !== LIST) {
        // A tar file shorter than a block is not recognized as an archive. Its bytes pass through, and a parser refuses
        // them as binary.
        expect(length).toBeLessThan(512);
      }
    }
    expect(refused).toBeGreaterThan(5);
  });

  test("a changed byte of a packed file is detected", async () => {
    const bytes = zip([{ name: "list.csv", text: LIST }]);
    const body = 30 + "list.csv".length;
    const end = bytes.lastIndexOf(Buffer.from("PK\x01\x02"));
    expect(end - body).toBeGreaterThan(20);
    let refused = 0;
    for (let at = body; at < end; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 0x10;
      // The last byte of the compressed data has unused bits. A change to these bits has no effect.
      const outcome = await unpackAll(changed).catch((error: Error) => error.name);
      expect(["FeedError", LIST]).toContain(outcome);
      if (outcome === "FeedError") refused++;
    }
    expect(refused).toBeGreaterThan(end - body - 3);
  });
});
