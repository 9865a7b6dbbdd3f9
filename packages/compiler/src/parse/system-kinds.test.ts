// Tests lists of autonomous systems, in the publishers' formats and in invalid forms.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Format } from "../catalog/feed.ts";
import { parseSystemKinds } from "./system-kinds.ts";

const FIXTURES = join(import.meta.dir, "../../fixtures/feeds");
const bytes = (text: string) => Buffer.from(text);
const read = (format: Format, text: string) => parseSystemKinds(format, bytes(text), "hosting");
const kindsIn = (format: Format, text: string) => Object.fromEntries(read(format, text).kinds);

test.each<[file: string, format: Format, kinds: object]>([
  ["x4bnet-datacenter-asn.txt", "asn-lines", { 64496: "hosting", 64497: "hosting" }],
  ["bad-asn-list.csv", "asn-entities", { 64496: "hosting", 64497: "hosting" }],
  // The systems with null, or with a category of a later version, get no kind.
  ["as-metadata.json", "as-metadata", { 64496: "isp", 64497: "education" }],
  // An NSP can be of any kind, and the last operator chose two kinds.
  ["peeringdb-net.json", "peeringdb-net", { 64496: "isp", 64497: "hosting" }],
])("the sample %s", (file, format, kinds) => {
  const parsed = parseSystemKinds(format, readFileSync(join(FIXTURES, file)), "hosting");
  expect<object>(Object.fromEntries(parsed.kinds)).toEqual(kinds);
});

test("quotes, spaces, lower case, a comment and CRLF are read", () => {
  expect(kindsIn("asn-lines", "# data centres\r\nas64496\r\nAS64497\t# B\r\n")).toEqual({
    64496: "hosting",
    64497: "hosting",
  });
  expect(kindsIn("asn-entities", 'ASN,Entity\n"64496","A, Inc."\n64497 , B\n')).toEqual({
    64496: "hosting",
    64497: "hosting",
  });
});

test("a line that is none is skipped and named; a system that cannot be is none", () => {
  const lines = Array.from({ length: 30 }, (_, i) => `AS${64_496 + i}`);
  const parsed = read("asn-lines", [...lines, "Hetzner", "AS4294967296", ""].join("\n"));
  expect([parsed.kinds.size, parsed.skippedCount]).toEqual([30, 2]);
  expect(parsed.skipped[0]).toEqual({ line: 31, reason: "is not an autonomous system" });
});

describe("refused", () => {
  test.each<[name: string, format: Format, text: string, reason: RegExp]>([
    ["another list", "asn-lines", "192.0.2.1\n192.0.2.2\n192.0.2.3\n", /is not an autonomous system/],
    ["a table without its header", "asn-entities", "64496,A\n", /^line 1 is not the header ASN,Entity$/],
    ["a web page", "asn-lines", "<!doctype html><title>404</title>", /web page|HTML/i],
    [
      "cut short",
      "as-metadata",
      '[{"asn":64496,"metadata":{"category":"isp"}},{"asn":',
      /is not JSON, or is truncated/,
    ],
    [
      "an error",
      "peeringdb-net",
      '{"meta":{"error":"rate limit"}}',
      /does not have the expected format at data/,
    ],
    ["no list", "as-metadata", '{"asn":64496}', /does not have the expected format/],
    ["a number of a system that cannot be", "as-metadata", '[{"asn":-1,"metadata":null}]', /at 0\.asn/],
  ])("%s", (_name, format, text, reason) => expect(() => read(format, text)).toThrow(reason));
});
