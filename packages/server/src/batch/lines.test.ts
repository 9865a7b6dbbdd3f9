// Tests that lines do not depend on where the chunks are cut, and that a line that is too long is not kept.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Lines, MAX_LINE_BYTES } from "./lines.ts";

const blockOf = (lines: Lines) =>
  Array.from({ length: lines.length }, (_, i) =>
    lines.isTooLong(i) ? "TOO LONG" : lines.bytes.toString("latin1", lines.starts[i], lines.ends[i]),
  );

/** Splits the chunks into lines, as a stream does. Returns "TOO LONG" for a line that exceeds the limit. */
function linesOf(chunks: readonly Uint8Array[]): string[] {
  const lines = new Lines();
  const found: string[] = [];
  const collect = () => {
    while (lines.readBlock()) found.push(...blockOf(lines));
  };
  for (const chunk of chunks) {
    lines.feed(chunk);
    collect();
    expect(lines.isAtEnd).toBe(false);
  }
  lines.finish();
  collect();
  expect(lines.isAtEnd).toBe(true);
  return found;
}

const encode = (text: string) => new TextEncoder().encode(text);
const LONGEST = "x".repeat(MAX_LINE_BYTES);

describe("lines", () => {
  test.each([
    ["nothing", "", []],
    ["one", '"a"\n', ['"a"']],
    ["the last without a newline", "a\nb", ["a", "b"]],
    ["empty lines", "\n\na\n\n\nb\n\n", ["a", "b"]],
    ["lines of white space", " \n\t\r\n \t \r\na\n  ", ["a"]],
    ["CRLF", "a\r\nb\r\n", ["a", "b"]],
    ["a lone CR is part of the line", "a\rb\n", ["a\rb"]],
    ["white space after it stays", " \t\r a \n", ["a "]],
    ["the longest", `${LONGEST}\na`, [LONGEST, "a"]],
    ["one byte longer", `${LONGEST}x\na`, ["TOO LONG", "a"]],
    ["too long for its CR", `${LONGEST}\r\na`, ["TOO LONG", "a"]],
    ["much longer, at the end", `a\n${LONGEST.repeat(3)}`, ["a", "TOO LONG"]],
    ["two that are too long", `${LONGEST}x\n${LONGEST}x\na`, ["TOO LONG", "TOO LONG", "a"]],
    ["white space of any length", `${" ".repeat(MAX_LINE_BYTES + 1)}\na`, ["a"]],
    ["white space of any length in front", `${"\t".repeat(MAX_LINE_BYTES)}${LONGEST}\na`, [LONGEST, "a"]],
  ])("%s", (_, text, want) => {
    const bytes = encode(text);
    expect(linesOf([bytes])).toEqual(want);
    const odd = 4_093;
    const pieces = Array.from({ length: Math.ceil(bytes.length / odd) }, (_, i) =>
      bytes.subarray(i * odd, (i + 1) * odd),
    );
    expect(linesOf(pieces)).toEqual(want);
  });

  test("a cut at every byte changes nothing", () => {
    const bytes = encode('"a"\r\n\n"bc"\n \n"d');
    const want = ['"a"', '"bc"', '"d'];
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(linesOf([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(want);
    }
    expect(linesOf(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(want);
  });

  test("cuts anywhere change nothing", () => {
    let cutLines = 0;
    const line = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", " ", "\r", '"'), maxLength: 8 }),
      fc.integer({ min: MAX_LINE_BYTES - 2, max: MAX_LINE_BYTES + 2 }).map((length) => "x".repeat(length)),
    );
    const property = fc.property(
      fc.array(line, { maxLength: 6 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
      (lines, where) => {
        const bytes = encode(lines.join("\n"));
        const cuts = [0, ...where.map((part) => Math.floor(part * bytes.length)).sort((a, b) => a - b)];
        const chunks = cuts.map((cut, i) => bytes.subarray(cut, cuts[i + 1] ?? bytes.length));
        const whole = linesOf([bytes]);
        expect(linesOf(chunks)).toEqual(whole);
        if (chunks.length > 1 && whole.length > 1) cutLines++;
      },
    );
    fc.assert(property, { numRuns: 300 });
    expect(cutLines).toBeGreaterThan(100);
  });

  test("of a line without end nothing is kept", () => {
    const lines = new Lines();
    const chunk = new Uint8Array(1024 * 1024).fill(0x78);
    for (let i = 0; i < 1024; i++) {
      lines.feed(chunk);
      expect(lines.readBlock()).toBe(false);
    }
    lines.feed(encode('\n"a"\n'));
    expect(lines.readBlock() && blockOf(lines)).toEqual(["TOO LONG"]);
    expect(lines.readBlock() && blockOf(lines)).toEqual(['"a"']);
  });
});
