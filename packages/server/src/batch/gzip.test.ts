// Tests the optional parts of a gzip header (RFC 1952 2.3), which precede a member's compressed bytes.

import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { type ByteStream, gunzipped } from "./gzip.ts";

const EXTRA = 4;
const NAME = 8;
const COMMENT = 16;
const TEXT = '"8.8.8.8"\n';

/** Creates a member with these flags, and with these bytes after the first ten bytes of its header. */
function member(flags: number, part: Uint8Array): Uint8Array {
  const bytes = gzipSync(TEXT);
  bytes[3] = flags;
  return Buffer.concat([bytes.subarray(0, 10), part, bytes.subarray(10)]);
}

function extra(length: number): Uint8Array {
  const part = Buffer.alloc(2 + length, 7);
  part.writeUInt16LE(length);
  return part;
}

/** Sends the bytes in pieces, so that each part of a header is cut somewhere. */
function read(bytes: Uint8Array, pieceBytes: number): Promise<string> {
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += pieceBytes)
        controller.enqueue(bytes.slice(at, at + pieceBytes));
      controller.close();
    },
  });
  return new Response(gunzipped(source as ByteStream)).text();
}

describe("a header", () => {
  const parts: [name: string, flags: number, part: Uint8Array][] = [
    ["with a name", NAME, Buffer.from("visitors.ndjson\0")],
    ["with a comment", COMMENT, Buffer.from("of today\0")],
    ["with both", NAME | COMMENT, Buffer.from("a\0b\0")],
    ["with an empty extra field", EXTRA, extra(0)],
    ["with the longest extra field", EXTRA, extra(65_535)],
  ];
  test.each(parts)("%s is skipped", async (_, flags, part) => {
    for (const pieceBytes of [7, 4_096, 1 << 20])
      expect(await read(member(flags, part), pieceBytes)).toBe(TEXT);
  });

  test.each([
    ["name", NAME],
    ["comment", COMMENT],
  ])("with a %s that is too long is refused before it is read", async (_, flags) => {
    const endless = member(flags, Buffer.alloc(1 << 20, "a"));
    await expect(read(endless, 65_536)).rejects.toThrow("a name or comment is too long");
  });
});
