import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  cutSuffix,
  decodeALabel,
  isSpecialUseDomain,
  isUnderKnownSuffix,
  publicSuffix,
  SPECIAL_USE_DOMAINS,
  toAsciiDomain,
  walkUp,
} from "./domain.ts";

const label63 = "a".repeat(63);
const longest = `${label63}.${label63}.${label63}.${"a".repeat(57)}.com`; // 253

describe("toAsciiDomain reads", () => {
  const rows: readonly [name: string, text: string, host: string][] = [
    ["plain", "example.com", "example.com"],
    ["upper case", "Mail.EXAMPLE.Com", "mail.example.com"],
    ["digits first", "1und1.de", "1und1.de"],
    ["a label of digits", "163.com", "163.com"],
    ["hyphens inside, also third and fourth", "r3---sn-4.x-y.com", "r3---sn-4.x-y.com"],
    ["label of 63", `${label63}.com`, `${label63}.com`],
    ["253 in all", longest, longest],
    ["umlaut", "MÜNCHEN.de", "xn--mnchen-3ya.de"],
    ["A-label in upper case", "XN--MNCHEN-3YA.DE", "xn--mnchen-3ya.de"],
    ["decomposed umlaut", "mu\u0308nchen.de", "xn--mnchen-3ya.de"],
    ["sharp s is a letter (IDNA 2008)", "faß.de", "xn--fa-hia.de"],
    ["capital sharp s is the same letter", "FAẞ.de", "xn--fa-hia.de"],
    ["Chinese top-level domain", "食狮.公司.cn", "xn--85x722f.xn--55qx5d.cn"],
    ["ideographic full stop", "日本語。jp", "xn--wgv71a119e.jp"],
    ["fullwidth letters and dot", "ｅｘａｍｐｌｅ．ＣＯＭ", "example.com"],
    ["halfwidth ideographic full stop", "example｡com", "example.com"],
    ["Kelvin sign", "\u212a.com", "k.com"],
    ["soft hyphen is ignored", "exam\u00adple.com", "example.com"],
    ["right-to-left label", "אב.com", "xn--4dbc.com"],
    ["emoji (UTS #46 allows it)", "i❤.ws", "xn--i-7iq.ws"],
    ["emoji as A-label", "xn--i-7iq.ws", "xn--i-7iq.ws"],
  ];
  for (const [name, text, host] of rows) {
    test(name, () => assert.equal(toAsciiDomain(text), host));
  }
});

describe("toAsciiDomain refuses", () => {
  const rows: readonly [name: string, text: string][] = [
    ["nothing", ""],
    ["one label", "localhost"],
    ["one label of other letters", "中国"],
    ["a dot", "."],
    ["leading dot", ".example.com"],
    ["trailing dot", "example.com."],
    ["trailing ideographic dot", "exämple.com。"],
    ["empty label", "example..com"],
    ["empty label among other letters", "exämple..com"],
    ["a label of ignored characters only", "\u00ad.com"],
    ["leading hyphen", "-example.com"],
    ["trailing hyphen", "example-.com"],
    ["leading hyphen among other letters", "-exämple.com"],
    ["trailing hyphen among other letters", "exämple-.com"],
    ["label of 64", `a${label63}.com`],
    ["A-label of more than 63", `${"é".repeat(70)}.com`],
    ["254 in all", `a${longest}`],
    ["a megabyte", "a.".repeat(500_000)],
    ["underscore", "foo_bar.com"],
    ["underscore among other letters", "föö_bar.com"],
    ["space", "foo bar.com"],
    ["leading space", " example.com"],
    ["trailing space", "exämple.com "],
    ["ideographic space", "\u3000example.com"],
    ["tab, which URL would drop", "exä\tmple.com"],
    ["line feed, which URL would drop", "exä\nmple.com"],
    ["NUL", "exä\0mple.com"],
    ["percent escape", "ex%61mple.com"],
    ["percent escape among other letters", "exä%6Dple.com"],
    ["fullwidth percent escape", "ex％61mple.com"],
    ["path", "exämple.com/x.com"],
    ["fullwidth slash", "exämple.com／x.com"],
    ["backslash", "exämple.com\\x.com"],
    ["query", "exämple.com?x.com"],
    ["fullwidth question mark", "exämple.com？x.com"],
    ["fragment", "exämple.com#x.com"],
    ["port", "exämple.com:80"],
    ["user info", "ä@example.com"],
    ["fullwidth at sign", "ä＠example.com"],
    ["address literal", "[192.0.2.1]"],
    ["IPv6", "[2001:db8::1]"],
    ["dotted quad", "192.0.2.1"],
    ["fullwidth dotted quad", "１９２.０.２.１"],
    ["short IPv4", "127.1"],
    ["fullwidth hexadecimal IPv4", "０ｘ７ｆ.１"],
    ["last label of digits", "example.123"],
    ["last label that URL takes for a number", "example.0x7f"],
    ["the same among other letters", "exämple.0x7f"],
    ["last label that begins with a digit", "example.1com"],
    ["A-label of nothing", "xn--.com"],
    ["A-label that does not decode", "xn--a.com"],
    ["A-label of plain letters", "xn--abc-.com"],
    ["A-label of decomposed letters", "xn--u-ccb.com"],
    ["A-label of an upper-case letter", "xn--r8h-.com"],
    ["A-label of a leading hyphen", "xn---exmple-7wa.com"],
    ["A-label of a trailing hyphen", "xn--exmple--6wa.com"],
    ["broken A-label in upper case", "XN--A.com"],
    ["broken A-label as last label", "example.xn--zzzzzz99999999"],
    ["lone surrogate", "\ud800.com"],
    ["noncharacter", "\uffff.com"],
    ["zero width joiner out of place", "a\u200db.com"],
    ["left-to-right letter in a right-to-left label", "אa.com"],
  ];
  for (const [name, text] of rows) {
    test(name, () => assert.equal(toAsciiDomain(text), undefined));
  }
});

test("toAsciiDomain is idempotent", () => {
  const good = fc.constantFrom(
    "a",
    "Z",
    "0",
    "x-y",
    "é",
    "食",
    "א",
    "ß",
    "xn--mnchen-3ya",
    "\u00ad",
    "com",
    "ＪＰ",
  );
  const bad = fc.constantFrom("-", "%", "/", ":", "@", " ", "\0", "_", "\ud800", "xn--", "\u0661", "\u200d");
  const label = fc.oneof({ weight: 8, arbitrary: good }, { weight: 1, arbitrary: bad });
  const dot = fc.constantFrom(".", ".", "。", "．", "");
  const piece = fc.tuple(label, dot).map(([text, end]) => text + end);
  let read = 0;
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), label, (pieces, last) => {
      const host = toAsciiDomain(pieces.join("") + last);
      if (host === undefined) return;
      read++;
      assert.match(
        host,
        /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/,
      );
      assert.equal(toAsciiDomain(host), host);
      assert.equal(toAsciiDomain(host.toUpperCase()), host);
    }),
    { numRuns: 5_000 },
  );
  assert.ok(read > 200, `only ${read} of 5,000 were names`);
});

describe("suffixes", () => {
  const rows: readonly [host: string, suffix: string, registrable: string | undefined, known: boolean][] = [
    ["example.com", "com", "example.com", true],
    ["a.b.example.com", "com", "example.com", true],
    ["example.co.uk", "co.uk", "example.co.uk", true],
    ["co.uk", "co.uk", undefined, false],
    ["someone.github.io", "github.io", "someone.github.io", true],
    ["a.someone.github.io", "github.io", "someone.github.io", true],
    ["github.io", "github.io", undefined, true], // private section: the name has an owner
    ["a.compute.amazonaws.com", "a.compute.amazonaws.com", undefined, true],
    ["test.ck", "test.ck", undefined, false], // *.ck
    ["gov.in", "gov.in", undefined, true], // has mailboxes
    ["www.ck", "ck", "www.ck", true], // !www.ck
    ["xn--85x722f.xn--55qx5d.cn", "xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn", true],
    ["a.b.nosuchtld", "nosuchtld", "b.nosuchtld", false],
    ["b.example", "example", "b.example", false],
  ];
  for (const [host, suffix, registrable, known] of rows) {
    test(host, () => {
      assert.equal(publicSuffix(host), suffix);
      assert.equal(walkUp(host).at(-1), registrable);
      assert.equal(isUnderKnownSuffix(host), known);
      const cut = cutSuffix(host);
      assert.equal(cut.known, known);
      assert.equal(cut.registrableStart < 0 ? undefined : host.slice(cut.registrableStart), registrable);
    });
  }
});

describe("walkUp", () => {
  const rows: readonly [host: string, names: readonly string[]][] = [
    ["example.com", ["example.com"]],
    ["a.b.example.co.uk", ["a.b.example.co.uk", "b.example.co.uk", "example.co.uk"]],
    ["a.someone.github.io", ["a.someone.github.io", "someone.github.io"]],
    ["github.io", []],
    ["co.uk", []],
  ];
  for (const [host, names] of rows) test(host, () => assert.deepEqual(walkUp(host), names));
});

describe("special-use domains", () => {
  for (const [name] of SPECIAL_USE_DOMAINS) {
    test(name, () => {
      assert.ok(isSpecialUseDomain(name));
      assert.ok(isSpecialUseDomain(`a.b.${name}`));
      assert.ok(!isSpecialUseDomain(`not${name}`), "a name that only ends alike");
    });
  }
  for (const host of ["printer.home.arpa", "1.0.0.10.in-addr.arpa"]) {
    test(host, () => assert.ok(isSpecialUseDomain(host)));
  }
  for (const host of ["example.co.uk", "example.de", "test.com", "local.net", "onion.org", "a.com"]) {
    test(`${host} is not`, () => assert.ok(!isSpecialUseDomain(host)));
  }
});

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

// The test uses the runtime's encoder as its oracle.
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
