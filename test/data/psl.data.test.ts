// Runs the Public Suffix List's own test vectors through our suffix lookup.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { toAsciiDomain, walkUp } from "@inkling/engine";
import { VECTORS } from "../harness/data-folders.ts";

const file = join(VECTORS, "guards/test_psl.txt");

describe("test_psl.txt", () => {
  const lines = readFileSync(file, "utf8").split("\n");
  const rows = lines.flatMap((line) => {
    const match = /^checkPublicSuffix\((null|'[^']*'), (null|'[^']*')\);$/.exec(line);
    return match ? [{ line, input: unquote(match[1]!), want: unquote(match[2]!) }] : [];
  });

  test("every line is a comment, empty, or a row", () => {
    const others = lines.filter((line) => line !== "" && !line.startsWith("//"));
    expect(rows.map(({ line }) => line)).toEqual(others);
    expect(rows.length).toBeGreaterThan(70);
  });

  for (const { line, input, want } of rows) {
    test(line, () => {
      const host = input === undefined ? undefined : toAsciiDomain(input);
      const registrable = host === undefined ? undefined : walkUp(host).at(-1);
      expect(registrable).toBe(want === undefined ? undefined : toAsciiDomain(want));
    });
  }
});

function unquote(text: string): string | undefined {
  return text === "null" ? undefined : text.slice(1, -1);
}
