import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseEmail } from "./email.ts";

const local64 = "a".repeat(64);
/** Returns a domain of exactly this many characters, at least 200. */
function domainOf(length: number): string {
  const label = "d".repeat(63);
  return `${label}.${label}.${label}.${"d".repeat(length - 196)}.com`;
}

describe("valid", () => {
  const rows: readonly [name: string, text: string, host: string][] = [
    ["plain", "jane@gmail.com", "gmail.com"],
    ["one character", "a@b.de", "b.de"],
    ["dots inside", "jane.m.doe@gmail.com", "gmail.com"],
    ["plus tag", "jane+news@gmail.com", "gmail.com"],
    ["every special character of a dot-atom", "!#$%&'*+-/=?^_`{|}~@gmail.com", "gmail.com"],
    ["digits only", "123456@qq.com", "qq.com"],
    ["hyphens at the edges of the local part", "-a-@gmail.com", "gmail.com"],
    ["upper case", "JANE@GMAIL.COM", "gmail.com"],
    ["sub-domain", "jane@mail.cs.ox.ac.uk", "mail.cs.ox.ac.uk"],
    ["local part of 64", `${local64}@gmail.com`, "gmail.com"],
    ["254 in all", `a@${domainOf(252)}`, domainOf(252)],
    ["quoted", '"jane doe"@gmail.com', "gmail.com"],
    ["quoted, with an at sign", '"a@b"@gmail.com', "gmail.com"],
    ["quoted, with dots anywhere", '".a..b."@gmail.com', "gmail.com"],
    ["quoted, with an escaped quote", '"a\\"b"@gmail.com', "gmail.com"],
    ["quoted, with an escaped backslash last", '"a\\\\"@gmail.com', "gmail.com"],
    ["quoted, with an escaped space", '"a\\ b"@gmail.com', "gmail.com"],
    ["quoted, empty", '""@gmail.com', "gmail.com"],
    ["quoted, of 64", `"${"a".repeat(62)}"@gmail.com`, "gmail.com"],
    ["quoted, Unicode", '"jäne döe"@gmail.com', "gmail.com"],
    ["Unicode local part", "用户@gmail.com", "gmail.com"],
    ["Unicode local part of 64 octets", `${"é".repeat(32)}@gmail.com`, "gmail.com"],
    ["emoji local part", "👩@gmail.com", "gmail.com"],
    ["combining character after a letter", "a\u0308@gmail.com", "gmail.com"],
    ["Devanagari vowel signs", "संपर्क@gmail.com", "gmail.com"],
    ["public suffix with mailboxes", "upsc@nic.in", "nic.in"],
    ["public suffix with mailboxes, in capitals", "UPSC@GOV.IN", "gov.in"],
    ["public suffix of a wildcard rule, with mailboxes", "gw19@glow.sch.uk", "glow.sch.uk"],
    ["emoji local part of 64 octets", `${"👩".repeat(16)}@gmail.com`, "gmail.com"],
    ["right-to-left local part", "משתמש@gmail.com", "gmail.com"],
    ["Unicode on both sides", "用户@食狮.中国", "xn--85x722f.xn--fiqs8s"],
    ["IDN", "info@münchen.de", "xn--mnchen-3ya.de"],
    ["IDN as A-labels", "info@xn--mnchen-3ya.de", "xn--mnchen-3ya.de"],
    ["fullwidth domain", "jane@ｇｍａｉｌ．ｃｏｍ", "gmail.com"],
    ["private suffix below which others register", "jane@someone.github.io", "someone.github.io"],
    ["private suffix itself", "jane@github.io", "github.io"],
  ];
  for (const [name, text, host] of rows) {
    test(name, () => {
      const { valid, host: got } = parseEmail(text);
      assert.deepEqual({ valid, host: got }, { valid: true, host });
    });
  }
});

describe("not valid, host read", () => {
  const rows: readonly [name: string, text: string, host: string][] = [
    ["no local part", "@gmail.com", "gmail.com"],
    ["two at signs", "a@b@gmail.com", "gmail.com"],
    ["leading dot", ".a@gmail.com", "gmail.com"],
    ["trailing dot in the local part", "a.@gmail.com", "gmail.com"],
    ["two dots", "a..b@gmail.com", "gmail.com"],
    ["space", "a b@gmail.com", "gmail.com"],
    ["leading space", " a@gmail.com", "gmail.com"],
    ["parentheses: a comment", "a(x)@gmail.com", "gmail.com"],
    ["comma", "a,b@gmail.com", "gmail.com"],
    ["colon", "mailto:a@gmail.com", "gmail.com"],
    ["angle bracket", "<a@gmail.com", "gmail.com"],
    ["backslash outside quotes", "a\\b@gmail.com", "gmail.com"],
    ["quote inside", 'a"b@gmail.com', "gmail.com"],
    ["quote not closed", '"a@gmail.com', "gmail.com"],
    ["one quote", '"@gmail.com', "gmail.com"],
    ["quote closed early", '"a"b"@gmail.com', "gmail.com"],
    ["words mixed with quoted strings", '"a".b@gmail.com', "gmail.com"],
    ["closing quote escaped", '"a\\"@gmail.com', "gmail.com"],
    ["tab in quotes", '"a\tb"@gmail.com', "gmail.com"],
    ["escaped tab in quotes", '"a\\\tb"@gmail.com', "gmail.com"],
    ["delete in quotes", '"a\x7fb"@gmail.com', "gmail.com"],
    ["escaped Unicode in quotes", '"a\\é"@gmail.com', "gmail.com"],
    ["NUL", "a\0b@gmail.com", "gmail.com"],
    ["delete", "a\x7f@gmail.com", "gmail.com"],
    ["line break", "a\r\nRCPT TO:b@gmail.com", "gmail.com"],
    ["local part of 65", `a${local64}@gmail.com`, "gmail.com"],
    ["quoted, of 65", `"${"a".repeat(63)}"@gmail.com`, "gmail.com"],
    ["Unicode local part of 65 octets", `${"é".repeat(32)}a@gmail.com`, "gmail.com"],
    ["Unicode local part of 66 octets in 22 characters", `${"語".repeat(22)}@gmail.com`, "gmail.com"],
    ["emoji local part of 68 octets in 34 units", `${"👩".repeat(17)}@gmail.com`, "gmail.com"],
    ["255 in all", `ab@${domainOf(252)}`, domainOf(252)],
    ["domain of 253", `a@${domainOf(253)}`, domainOf(253)],
    ["a megabyte", `${"a".repeat(1e6)}@gmail.com`, "gmail.com"],
    ["C1 control", "a\x85b@gmail.com", "gmail.com"],
    ["line separator", "a\u2028b@gmail.com", "gmail.com"],
    ["no-break space", "a\u00a0b@gmail.com", "gmail.com"],
    ["no-break space in quotes", '"a\u00a0b"@gmail.com', "gmail.com"],
    ["right-to-left override", "\u202emoc@gmail.com", "gmail.com"],
    ["right-to-left override in quotes", '"\u202emoc"@gmail.com', "gmail.com"],
    ["isolate", "a\u2066b@gmail.com", "gmail.com"],
    ["zero-width space", "a\u200bb@gmail.com", "gmail.com"],
    ["zero-width space in quotes", '"a\u200bb"@gmail.com', "gmail.com"],
    ["byte order mark", "\ufeffa@gmail.com", "gmail.com"],
    ["soft hyphen", "a\u00adb@gmail.com", "gmail.com"],
    ["word joiner", "a\u2060b@gmail.com", "gmail.com"],
    ["private use", "a\ue000@gmail.com", "gmail.com"],
    ["private use of plane 16", "a\u{10fffd}@gmail.com", "gmail.com"],
    ["tag characters", "a\u{e0061}@gmail.com", "gmail.com"],
    ["emoji that are joined", "👩\u200d💻@gmail.com", "gmail.com"],
    ["combining character first", "\u0308a@gmail.com", "gmail.com"],
    ["combining character first in quotes", '"\u0308a"@gmail.com', "gmail.com"],
    ["combining character after a dot", "a.\u0308b@gmail.com", "gmail.com"],
    ["another suffix of the same registry", "a@sch.uk", "sch.uk"],
    ["lone high surrogate", "a\ud800@gmail.com", "gmail.com"],
    ["lone low surrogate", "a\udc00b@gmail.com", "gmail.com"],
    ["noncharacter", "a\ufffe@gmail.com", "gmail.com"],
    ["replacement character", "a\ufffd@gmail.com", "gmail.com"],
    ["trailing dot", "a@gmail.com.", "gmail.com"],
    ["trailing ideographic dot", "a@gmail.com。", "gmail.com"],
    ["white space after", "a@gmail.com\n", "gmail.com"],
    ["white space around the domain, and a dot", "a@ gmail.com. ", "gmail.com"],
    ["zero-width space after the domain", "jane@gmail.com\u200b", "gmail.com"],
    ["zero-width space before the domain", "jane@\u200bgmail.com", "gmail.com"],
    ["soft hyphen in the domain", "jane@gm\u00adail.com", "gmail.com"],
    ["variation selector in the domain", "jane@gmail\ufe0f.com", "gmail.com"],
    ["variation selector of plane 14 in the domain", "jane@gmail.com\u{e0100}", "gmail.com"],
    ["word joiner in the domain", "jane@gmail.co\u2060m", "gmail.com"],
    ["byte order mark after the domain", "jane@gmail.com\ufeff", "gmail.com"],
    ["zero-width space in a domain of A-labels", "info@m\u200bünchen.de", "xn--mnchen-3ya.de"],
    ["public suffix", "a@co.uk", "co.uk"],
    ["public suffix of a wildcard rule", "a@test.ck", "test.ck"],
    ["unknown top-level domain", "a@b.nosuchtld", "b.nosuchtld"],
    ["special use: example.com", "a@example.com", "example.com"],
    ["special use: below example.com", "a@mail.example.com", "mail.example.com"],
    ["special use: test", "a@b.test", "b.test"],
    ["special use: local", "a@printer.local", "printer.local"],
    ["special use: onion", "a@b.onion", "b.onion"],
    ["special use: home.arpa", "a@b.home.arpa", "b.home.arpa"],
    ["special use: internal", "a@b.internal", "b.internal"],
  ];
  for (const [name, text, host] of rows) {
    test(name, () => {
      const { valid, host: got } = parseEmail(text);
      assert.deepEqual({ valid, host: got }, { valid: false, host });
    });
  }
});

describe("not valid, no host", () => {
  const rows: readonly [name: string, text: string][] = [
    ["empty", ""],
    ["at sign", "@"],
    ["no at sign", "gmail.com"],
    ["a word", "jane"],
    ["no domain", "a@"],
    ["a dot for a domain", "a@."],
    ["two trailing dots", "a@gmail.com.."],
    ["leading dot", "a@.gmail.com"],
    ["bare host", "a@localhost"],
    ["bare top-level domain", "a@com"],
    ["IPv4 literal", "a@[192.0.2.1]"],
    ["IPv6 literal", "a@[IPv6:2001:db8::1]"],
    ["IPv4 without brackets", "a@192.0.2.1"],
    ["underscore in the domain", "a@foo_bar.com"],
    ["space in the domain", "a@gmail .com"],
    ["comment after", "a@gmail.com(x)"],
    ["angle bracket after", "Jane <a@gmail.com>"],
    ["port", "a@gmail.com:25"],
    ["label of 64", `a@${local64}.com`],
    ["domain of 254", `a@${domainOf(254)}`],
    ["a megabyte after the at sign", `a@${"d".repeat(1e6)}`],
    ["a megabyte of spaces after the at sign", `a@${" ".repeat(1e6)}x`],
    ["lone surrogate", "a@\ud800.com"],
    ["at sign after everything", "a@gmail.com@"],
  ];
  for (const [name, text] of rows) {
    test(name, () => {
      const { valid, host } = parseEmail(text);
      assert.deepEqual({ valid, host }, { valid: false, host: undefined });
    });
  }
});

// A second implementation of RFC 5321 4.1.2 for ASCII, as one regular expression.
const DOT_ATOM = /^[\w!#$%&'*+\-/=?^`{|}~]+(\.[\w!#$%&'*+\-/=?^`{|}~]+)*$/;
const QUOTED_STRING = /^"([ !#-[\]-~]|\\[ -~])*"$/;

test("no invisible character that is sent vanishes from a valid address", () => {
  const valid: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    const c = String.fromCodePoint(code);
    if (!/[\p{DI}\p{Z}\p{Cc}\p{Cf}\p{M}]/u.test(c)) continue;
    for (const domain of [`gmail.com${c}`, `${c}gmail.com`, `gm${c}ail.com`]) {
      const read = parseEmail(`jane@${domain}`);
      if (read.valid && read.host === "gmail.com") valid.push(`U+${code.toString(16)}`);
    }
  }
  assert.deepEqual(valid, []);
});

test("joiners that a script needs are part of the domain", () => {
  for (const [domain, host] of [
    ["نامه\u200cای.com", "xn--mgba3gch31f060k.com"],
    ["क्\u200dष.com", "xn--11b2ezcw70k.com"],
  ])
    assert.deepEqual(parseEmail(`jane@${domain}`), { valid: true, host, registrableStart: 0 });
});

test("ASCII local parts agree with the grammar as an expression", () => {
  const piece = fc.constantFrom(...'ab.+"\\ @\t(_~\x7f', '"', "\\");
  let valid = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.boolean(), (pieces, quote) => {
      const local = quote ? `"${pieces.join("")}"` : pieces.join("");
      const want = DOT_ATOM.test(local) || QUOTED_STRING.test(local);
      const got = parseEmail(`${local}@gmail.com`);
      assert.equal(got.valid, want, JSON.stringify(local));
      assert.equal(got.host, "gmail.com");
      if (want) valid++;
    }),
    { numRuns: 20_000 },
  );
  assert.ok(valid > 2_000, `only ${valid} of 20,000 were valid`);
});

test("no text throws, and a valid one has a host", () => {
  const unit = fc.integer({ min: 0, max: 0xffff }).map((c) => String.fromCharCode(c)); // lone surrogates too
  const any = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(unit).map((units) => units.join("")),
    fc
      .array(fc.oneof(unit, fc.constantFrom("@", ".", '"', "a", "xn--", ".com", "é", "。", "\u202e")))
      .map((p) => p.join("")),
  );
  let hosts = 0;
  fc.assert(
    fc.property(any, any, fc.boolean(), (left, right, com) => {
      const { valid, host, registrableStart } = parseEmail(`${left}@${right}${com ? "x.com" : ""}`);
      if (valid) assert.ok(host !== undefined);
      if (host === undefined) assert.equal(registrableStart, -1);
      else hosts++;
    }),
    { numRuns: 5_000 },
  );
  assert.ok(hosts > 300, `only ${hosts} of 5,000 had a host`);
});

test("case, plus tags and IDN forms do not change the verdict", () => {
  const local = fc.stringMatching(/^[a-z0-9]{1,10}$/);
  const forms = fc.constantFrom(
    ["münchen.de", "MÜNCHEN.DE", "xn--mnchen-3ya.de", "XN--MNCHEN-3ya.de", "mu\u0308nchen.de", "münchen。de"],
    ["gmail.com", "Gmail.COM", "ｇｍａｉｌ.com", "gmail．com"],
    ["co.uk", "CO.UK", "ｃｏ.uk"],
    ["x.test", "X.TEST", "x。test"],
  );
  fc.assert(
    fc.property(local, local, forms, (name, tag, domains) => {
      const want = parseEmail(`${name}@${domains[0]}`);
      for (const domain of domains) {
        for (const left of [name, name.toUpperCase(), `${name}+${tag}`]) {
          assert.deepEqual(parseEmail(`${left}@${domain}`), want);
        }
      }
    }),
    { numRuns: 200 },
  );
});
