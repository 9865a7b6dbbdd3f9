// Tests that every domain that is read from a list has the form that lookups use, so that no entry can stop a build.

import { expect, test } from "bun:test";
import { toAsciiDomain } from "@inkling/engine";
import fc from "fast-check";
import { parseDomains } from "./index.ts";

const character = fc.constantFrom(
  ..."abcxyz019-._",
  "é",
  "ß",
  "Σ",
  "ς",
  "ا",
  "๑",
  "\u200b",
  "。",
  "🙂",
  "xn--",
  "-é",
);
const label = fc.array(character, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
const name = fc.tuple(fc.constantFrom("", "xn--", "-"), label, label).map(([a, b, c]) => `${a}${b}.${c}`);

test("every domain read from a list is in the form that the engine looks up", () => {
  const ordinary = Array.from({ length: 200 }, (_, i) => `ordinary${i}.example`).join("\n");
  let taken = 0;
  fc.assert(
    fc.property(fc.array(name, { minLength: 5, maxLength: 15 }), (names) => {
      const { domains } = parseDomains("domain-lines", Buffer.from(`${names.join("\n")}\n${ordinary}`));
      for (const domain of domains.keys()) expect(toAsciiDomain(domain)).toBe(domain);
      taken += domains.size - 200;
    }),
    { numRuns: 500 },
  );
  expect(taken).toBeGreaterThan(200);
});

test("a zero-width character is dropped, as a lookup drops it", () => {
  const { domains } = parseDomains("domain-lines", Buffer.from("exa\u200bmple.test.example\n"));
  expect([...domains.keys()]).toEqual(["example.test.example"]);
});
