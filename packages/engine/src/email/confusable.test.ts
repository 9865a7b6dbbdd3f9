import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { resembledDomain } from "./confusable.ts";
import { toAsciiDomain } from "./domain.ts";

describe("resembledDomain", () => {
  const rows: readonly [text: string, what: string, looksLike: string | undefined][] = [
    ["gma\u0456l.com", "a Cyrillic i", "gmail.com"],
    ["xn--gmal-n9d.com", "as A-labels", "gmail.com"],
    ["p\u0430yp\u0430l.com", "Cyrillic a", "paypal.com"],
    ["mail.g\u03bfogle.com", "a Greek o below another label", "mail.google.com"],
    ["gma\u0131l.com", "Latin alone, and popular", "gmail.com"],
    ["\u0430\u043e\u04cf.com", "Cyrillic alone; the last letter looks like i", undefined],
    ["\u0443\u0430\u04bb\u043e\u043e.com", "Cyrillic alone, and popular", "yahoo.com"],
    ["k\u0131y\u0131.com", "Turkish", undefined],
    ["m\u00fcnchen.de", "an umlaut is a letter of its own", undefined],
    ["gm\u00e4il.com", "an umlaut in a popular name", undefined],
    ["\u0440\u043e\u0441.\u0440\u0444", "a Cyrillic ending", undefined],
    ["\u4f8b\u5b50.com", "no letter that looks like ASCII", undefined],
    ["gmail.com", "ASCII", undefined],
    ["gmial.com", "ASCII, mistyped", undefined],
  ];
  for (const [text, what, looksLike] of rows)
    test(`${text} (${what}): ${looksLike ?? "nothing"}`, () => {
      const host = toAsciiDomain(text);
      assert.notEqual(host, undefined);
      assert.equal(resembledDomain(host!), looksLike);
    });
});
