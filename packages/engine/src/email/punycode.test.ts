import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { decodeALabel } from "./punycode.ts";

describe("decodeALabel", () => {
  const rows: readonly [name: string, label: string, unicode: string | undefined][] = [
    ["mixed", "xn--mnchen-3ya", "münchen"],
    ["no plain letter", "xn--85x722f", "食狮"],
    ["RFC 3492 7.1 (B), Chinese", "xn--ihqwcrb4cv8a8dqg056pqjye", "他们为什么不说中文"],
    ["RFC 3492 7.1 (L), mixed", "xn--3b-ww4c5e180e575a65lsy2b", "3年b組金八先生"],
    ["beyond the basic plane", "xn--ls8h", "💩"],
    ["leading hyphen", "xn---exmple-7wa", "-exämple"],
    ["ends in the middle of a number", "xn--z", undefined],
    ["not a digit", "xn--a!", undefined],
    ["number too large", "xn--zzzzzz99999999", undefined],
    ["code point too large", "xn--99999a", undefined],
  ];
  for (const [name, label, unicode] of rows) test(name, () => assert.equal(decodeALabel(label), unicode));
});

// The runtime's own encoder as oracle.
declare const URL: { new (text: string): { readonly hostname: string } };

test("decodes what the runtime encodes", () => {
  const letters = fc.array(fc.constantFrom(..."aze0-é中а𠀀ü食ñ"), { minLength: 1, maxLength: 10 });
  let encoded = 0;
  fc.assert(
    fc.property(letters, (chars) => {
      const label = chars.join("");
      const host = hostnameOf(label);
      if (!host?.startsWith("xn--")) return;
      encoded++;
      assert.equal(decodeALabel(host.slice(0, host.indexOf("."))), label);
    }),
    { numRuns: 2_000 },
  );
  assert.ok(encoded > 1_000, `only ${encoded} of 2,000 were encoded`);
});

function hostnameOf(label: string): string | undefined {
  try {
    return new URL(`http://${label}.com/`).hostname;
  } catch {
    return undefined;
  }
}
