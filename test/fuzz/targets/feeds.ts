// Fuzzes feed files, each with the parser of any format. The result is entries or a FeedError.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FEEDS } from "../../../packages/compiler/src/catalog/feeds.ts";
import {
  isDomainFormat,
  isNetworkFormat,
  parseDomains,
  parseNetworks,
} from "../../../packages/compiler/src/parse/index.ts";
import { parseNroDelegated } from "../../../packages/compiler/src/parse/nro-delegated.ts";
import type { Target } from "../target.ts";

const FIXTURES = join(import.meta.dir, "../../../packages/compiler/fixtures/feeds");

export default function feeds(): Target {
  const formats = [
    ...new Set(FEEDS.flatMap((feed) => [feed.format, ...Object.values(feed.otherFormats ?? {})])),
  ].filter((format) => isNetworkFormat(format) || isDomainFormat(format));
  const ownFormat = (file: string) => {
    const feed = FEEDS.find(({ id }) => file.startsWith(`${id}.`))!;
    return formats.indexOf(feed.otherFormats?.[file.slice(feed.id.length + 1)] ?? feed.format);
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
      const format = formats[(input[0] ?? 0) % formats.length]!;
      const body = input.subarray(1);
      try {
        if (body[0] === 0x32) parseNroDelegated(body);
        const found = isNetworkFormat(format)
          ? parseNetworks(format, body).networks.length
          : parseDomains(format, body).domains.size;
        return found > 0 ? "read" : "empty";
      } catch (error) {
        if ((error as Error).name === "FeedError") return "refused";
        throw error;
      }
    },
  };
}
