// Fuzzes feed files, each with the parser of any format. The result is entries or a FeedError.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { EXTENSIONS, type Feed, type Format } from "../../../packages/compiler/src/catalog/feed.ts";
import { FEEDS } from "../../../packages/compiler/src/catalog/feeds.ts";
import { readAsnCsv } from "../../../packages/compiler/src/parse/asn.ts";
import { parseFile } from "../../../packages/compiler/src/parse/index.ts";
import type { Target } from "../target.ts";

const FIXTURES = join(import.meta.dir, "../../../packages/compiler/fixtures/feeds");

const formatsOf = ({ format, otherFormats = {} }: Feed) => [format, ...Object.values(otherFormats)];

export default function feeds(): Target {
  // MMDB has a fuzzer of its own. A feed has the paths or the kind that its format needs.
  const rows = (Object.keys(EXTENSIONS) as Format[])
    .filter((format) => format !== "mmdb")
    .map((format) => ({ format, feed: FEEDS.find((feed) => formatsOf(feed).includes(format)) ?? {} }));
  const ownFormat = (file: string) => {
    const feed = FEEDS.find(({ id }) => file.startsWith(`${id}.`))!;
    const own = feed.otherFormats?.[file.slice(feed.id.length + 1)] ?? feed.format;
    return rows.findIndex(({ format }) => format === own);
  };
  const samples = readdirSync(FIXTURES).filter((name) => !name.endsWith(".mmdb"));
  return {
    // The first byte selects the format.
    corpus: samples.map((name) =>
      Buffer.concat([Uint8Array.of(Math.max(0, ownFormat(name))), readFileSync(join(FIXTURES, name))]),
    ),
    tokens: [
      "\n",
      "\r\n",
      ",",
      ";",
      "#",
      '"',
      "[",
      "{",
      "0.0.0.0/0",
      "::/0",
      "/33",
      "\xef\xbb\xbf",
      "<html>",
      "a.example",
    ],
    check: (input) => {
      const { feed, format } = rows[(input[0] ?? 0) % rows.length]!;
      const body = input.subarray(1);
      try {
        if (format === "asn-csv") return readAsnCsv([body]).systems.length > 0 ? "read" : "empty";
        const sizes = Object.values(parseFile(format, body, feed)).map((part) =>
          Array.isArray(part) ? part.length : part instanceof Map || part instanceof Set ? part.size : 0,
        );
        return Math.max(...sizes) > 0 ? "read" : "empty";
      } catch (error) {
        if ((error as Error).name === "FeedError") return "refused";
        throw error;
      }
    },
  };
}
