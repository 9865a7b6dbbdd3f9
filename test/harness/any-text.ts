// any-text.ts: random text with any code points for property tests, half of them ASCII. It has no lone surrogates.
//
// fast-check's unit "binary" is not used: it first creates a table of all code points, which takes 0.7 to 10 s in each
// test file.

import fc from "fast-check";

const SURROGATES = 0x800;

const codePoint = fc
  .oneof(fc.nat(0x7f), fc.nat(0x10ffff - SURROGATES))
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + SURROGATES));

export function anyText(maxLength?: number): fc.Arbitrary<string> {
  return fc.string({ unit: codePoint, ...(maxLength !== undefined && { maxLength }) });
}
