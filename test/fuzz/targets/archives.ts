// Fuzzes archives as publishers pack them. Unpacking yields at most MAX_UNPACKED_BYTES bytes, or throws a FeedError.

import { gzipSync } from "node:zlib";
import { tar, zip } from "../../../packages/compiler/src/fetch/archive.testing.ts";
import { unpack } from "../../../packages/compiler/src/fetch/unpack.ts";
import type { Target } from "../target.ts";

const LIST = "192.0.2.1\n".repeat(200);
const MAX_UNPACKED_BYTES = 100_000;

export default function archives(): Target {
  const files = [
    { name: "LICENSE.txt", text: "do" },
    { name: "list.csv", text: LIST },
  ];
  return {
    corpus: [
      zip(files),
      zip([{ name: "list.csv", text: LIST, method: 0 }]),
      zip([{ name: "list.csv", text: LIST, flags: 8 }], "a comment"),
      zip([{ name: "bomb.csv", text: "0".repeat(1 << 20) }]),
      tar(files),
      gzipSync(tar(files)),
      gzipSync(gzipSync(LIST)),
      Buffer.from(LIST),
    ],
    tokens: [
      "PK\x03\x04",
      "PK\x01\x02",
      "PK\x05\x06",
      "PK\x06\x06",
      "\x1f\x8b\x08",
      "ustar\0",
      "\xff\xff\xff\xff",
      "../",
    ],
    check: async (input) => {
      let length: number;
      try {
        ({ length } = await unpack(input, MAX_UNPACKED_BYTES));
      } catch (error) {
        if ((error as Error).name !== "FeedError") throw error;
        return /too? large|larger/.test((error as Error).message) ? "too large" : "refused";
      }
      if (length > MAX_UNPACKED_BYTES) throw new Error(`${length} bytes came out`);
      return "unpacked";
    },
  };
}
