// Fuzzes batch bodies as JSON, NDJSON and gzip, over a real socket. The server returns answers or a problem, never a
// 5xx, and a line for each line.

import { gunzipSync, gzipSync } from "node:zlib";
import { startSmallServer } from "../../harness/server.ts";
import type { Target } from "../target.ts";

const PATHS = ["/v1/ip-intel/geolocate", "/v1/ip-intel/reputation", "/v1/user-intel/email"];
const TYPES = ["application/json", "application/x-ndjson", "text/plain"];
const VALUES = ["81.2.69.142", "8.8.8.8", "::1", "me", "jane@disposable-1.com", "\ud83d\ude00@gmail.com"];

export default async function batches(): Promise<Target> {
  const { server, origin, keys } = await startSmallServer();
  // The first byte encodes path, type and packing.
  const input = (path: number, type: number, isGzip: boolean, body: string) =>
    Buffer.concat([
      Uint8Array.of(path + 4 * type + (isGzip ? 16 : 0)),
      isGzip ? gzipSync(body) : Buffer.from(body),
    ]);
  const lines = VALUES.map((value) => JSON.stringify(value)).join("\n");
  return {
    corpus: [0, 1, 2].flatMap((path) => [
      input(path, 0, false, JSON.stringify({ values: VALUES })),
      input(path, 0, true, JSON.stringify({ values: VALUES })),
      input(path, 1, false, lines),
      input(path, 1, true, lines),
    ]),
    tokens: [
      '"',
      "\n",
      "\r\n",
      "[",
      "]",
      "{",
      "}",
      ",",
      "null",
      "1e999",
      "\\u0000",
      '"values":',
      "\xff",
      "\x1f\x8b\x08",
    ],
    check: async (bytes) => {
      const first = bytes[0] ?? 0;
      const type = TYPES[(first >> 2) % TYPES.length]!;
      const isGzip = (first & 16) !== 0;
      const response = await fetch(origin + PATHS[(first & 3) % PATHS.length], {
        method: "POST",
        headers: {
          Authorization: `Bearer ${keys.live}`,
          "Content-Type": type,
          ...(isGzip && { "Content-Encoding": "gzip" }),
        },
        body: bytes.slice(1),
      });
      const text = await response.text();
      if (response.status >= 500) throw new Error(`${response.status} ${text}`);
      if (response.status !== 200) return JSON.parse(text).code;
      if (type !== TYPES[1]) return JSON.parse(text) && "JSON";
      const answers = text.split("\n").filter(Boolean);
      for (const line of answers) JSON.parse(line);
      const plain = isGzip ? unpacked(bytes.subarray(1)) : bytes.subarray(1);
      if (plain === undefined) return "damaged gzip";
      const sent = Buffer.from(plain)
        .toString("latin1")
        .split("\n")
        .filter((line) => /[^ \t\r]/.test(line)).length; // not trim(), which also removes the byte 0xA0
      // Every line that is not blank gets exactly one answer, even a line that exceeds the maximum length.
      if (answers.length !== sent) throw new Error(`${answers.length} answers to ${sent} lines`);
      return "NDJSON";
    },
    close: () => server.stop(),
  };
}

function unpacked(bytes: Uint8Array): Uint8Array | undefined {
  try {
    return gunzipSync(bytes);
  } catch {
    return undefined;
  }
}
