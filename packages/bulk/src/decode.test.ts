// Tests compressed files in chunks of any size, damaged files, and a decompression bomb.

import { describe, expect, test } from "bun:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { decode } from "./decode.ts";
import { BulkError } from "./errors.ts";

const TEXT = "ip,naïve 😀\n81.2.69.142,1\n";
const gzip = (bytes: string | Uint8Array) => new Uint8Array(gzipSync(bytes));
const zstd = (bytes: string | Uint8Array) => new Uint8Array(zstdCompressSync(bytes));
const joined = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));

async function* inChunks(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function decoded(bytes: Uint8Array, size = 7): Promise<[text: string, encodings: readonly string[]]> {
  const { chunks, encodings } = await decode(inChunks(bytes, size));
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return [Buffer.concat(parts).toString(), encodings];
}

/** A frame of 3 bytes that zstd skips. */
const SKIPPED = Uint8Array.of(0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3);

describe("recognized by the first bytes", () => {
  test.each<[what: string, bytes: Uint8Array, text: string, encodings: string[]]>([
    ["plain text", new TextEncoder().encode(TEXT), TEXT, []],
    ["nothing", new Uint8Array(), "", []],
    ["one byte", Uint8Array.of(0x1f), "\x1f", []],
    [
      "a table whose first column has the name of a format",
      new TextEncoder().encode("PAR1,ip\n"),
      "PAR1,ip\n",
      [],
    ],
    ["gzip", gzip(TEXT), TEXT, ["gzip"]],
    ["gzip files, one after the other", joined(gzip(TEXT), gzip("more\n")), `${TEXT}more\n`, ["gzip"]],
    ["gzip with zeros behind it", joined(gzip(TEXT), new Uint8Array(700)), TEXT, ["gzip"]],
    ["zstd", zstd(TEXT), TEXT, ["zstd"]],
    ["zstd behind a frame to skip", joined(SKIPPED, zstd(TEXT), SKIPPED), TEXT, ["zstd"]],
    ["zstd frames, one after the other", joined(zstd(TEXT), zstd("more\n")), `${TEXT}more\n`, ["zstd"]],
    ["gzip in zstd", zstd(gzip(TEXT)), TEXT, ["zstd", "gzip"]],
  ])("%s", async (_, bytes, text, encodings) => {
    for (const size of [1, 7, 1 << 20]) expect(await decoded(bytes, size)).toEqual([text, encodings]);
  });

  test("gzip in gzip in gzip is not unpacked to its end", async () => {
    const [, encodings] = await decoded(gzip(gzip(gzip(TEXT))), 1000);
    expect(encodings).toEqual(["gzip", "gzip"]);
  });
});

test.each<[name: string, magic: string]>([
  ["bzip2", "BZh91AY&SY"],
  ["zip", "PK\x03\x04\x14\x00"],
  ["xz", "\xfd7zXZ\x00"],
  ["7z", "7z\xbc\xaf\x27\x1c"],
  ["lz4", "\x04\x22\x4d\x18"],
])("%s is not supported, also in gzip", async (name, magic) => {
  const bytes = new Uint8Array(Buffer.from(magic, "latin1"));
  for (const input of [bytes, gzip(bytes)])
    await expect(decoded(input, 1)).rejects.toThrow(
      expect.objectContaining({
        message: `the input is compressed with ${name}, which is not supported`,
        isUsage: true,
      }),
    );
});

test.each<[name: string, magic: string, hint: string]>([
  ["Parquet", "PAR1\x15\x04\x15", "duckdb -c \"COPY (FROM 'IN.parquet') TO 'OUT.csv'\""],
  ["Avro", "Obj\x01\x04", "read_avro('IN.avro')"],
  ["UTF-16", "\xff\xfei\0p", "iconv -f UTF-16 -t UTF-8 IN.csv > OUT.csv"],
  ["UTF-16", "\xfe\xff\0i\0", "iconv -f UTF-16 -t UTF-8 IN.csv > OUT.csv"],
  ["the Excel format .xls", "\xd0\xcf\x11\xe0\xa1", "save the file as CSV"],
])("%s is not supported: the hint converts it", async (name, magic, hint) => {
  await expect(decoded(new Uint8Array(Buffer.from(magic, "latin1")), 1)).rejects.toThrow(
    expect.objectContaining({
      message: `${name} is not supported`,
      hint: expect.stringContaining(hint),
      isUsage: true,
    }),
  );
});

describe("damage", () => {
  const many = TEXT.repeat(1000);
  test.each<[what: string, bytes: Uint8Array]>([
    ["gzip that ends too early", gzip(many).slice(0, -9)],
    ["zstd that ends too early", zstd(many).slice(0, -3)],
    ["a second frame that ends too early", joined(zstd(many), zstd(many).slice(0, 8))],
    ["gzip with other data behind it", joined(gzip(many), new TextEncoder().encode("junk"))],
    ["gzip behind zeros behind gzip", joined(gzip(many), new Uint8Array(5), gzip(many))],
    ["zstd that never comes", joined(SKIPPED, new TextEncoder().encode("junk"))],
    ["gzip with a wrong byte", gzip(many).map((byte, i) => (i === 40 ? byte ^ 0xff : byte))],
  ])("%s", async (_, bytes) => {
    const error = await decoded(bytes).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(BulkError);
    expect((error as BulkError).message).toMatch(/^the (gzip|zstd) data is damaged or truncated/);
    expect((error as BulkError).hint).toBeDefined();
  });

  test("an error of the source stays what it is", async () => {
    const gone = new Error("gone");
    const source = (async function* () {
      yield gzip(many).slice(0, 50);
      throw gone;
    })();
    const read = async () => {
      for await (const _ of (await decode(source)).chunks);
    };
    await expect(read()).rejects.toBe(gone);
  });
});

test.each([
  ["gzip", gzip],
  ["zstd", zstd],
])("a %s bomb comes out in small chunks, and is read no further than asked", async (_, pack) => {
  const bomb = pack(new Uint8Array(64 << 20));
  expect(bomb.length).toBeLessThan(100_000);
  let given = 0;
  const { chunks } = await decode(
    (async function* () {
      for await (const chunk of inChunks(bomb, 512)) {
        given += chunk.length;
        yield chunk;
      }
    })(),
  );
  let total = 0;
  let largest = 0;
  for await (const chunk of chunks) {
    total += chunk.length;
    largest = Math.max(largest, chunk.length);
    if (total > 1 << 20) break;
  }
  expect(given).toBeLessThan(bomb.length);
  expect(largest).toBeLessThan(4 << 20);
});
