import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { isMailDomain, SPECIAL_USE_DOMAINS } from "./domain.ts";
import { domainKeys, hashWithKeys } from "./domain-hash.ts";
import { parseEmail, parseEmailInFull } from "./email.ts";
import { PlainMailbox, readPlain } from "./plain-mailbox.ts";

const box = new PlainMailbox();
const KEYS = domainKeys(1, 2);
const label63 = "d".repeat(63);
const local64 = "a".repeat(64);
/** Returns a host of exactly this many characters, at least 200. */
const hostOf = (length: number) => `${label63}.${label63}.${label63}.${"d".repeat(length - 196)}.com`;

describe("plain", () => {
  const rows: readonly [name: string, text: string, registrable: string | undefined][] = [
    ["ordinary", "jane@gmail.com", "gmail.com"],
    ["shortest", "a@b.de", "b.de"],
    ["upper case and dots before the at sign", "J.A.Doe+news@gmail.com", "gmail.com"],
    ["every special character", "!#$%&'*+-/=?^_`{|}~@gmail.com", "gmail.com"],
    ["sub-domain", "jane@mail.cs.ox.ac.uk", "ox.ac.uk"],
    ["capitals", "JANE@AZ.GMAIL.CO.UK", "GMAIL.CO.UK"],
    ["capital X", "jane@X.Xn-X.com", "Xn-X.com"],
    ["below a private suffix", "jane@a.someone.github.io", "someone.github.io"],
    ["hyphens inside", "jane@r3---sn-4.x-y.com", "x-y.com"],
    ["begins like an A-label", "jane@xn-x.com", "xn-x.com"],
    ["digits", "jane@1und1.163.com", "163.com"],
    ["label of 63", `jane@${label63}.com`, `${label63}.com`],
    ["local part of 64", `${local64}@gmail.com`, "gmail.com"],
    ["254 in all", `a@${hostOf(252)}`, hostOf(252).slice(192)],
    ["exception to a rule", "a@www.ck", "www.ck"],
    ["126 labels", `a@${"b.".repeat(124)}c.de`, "c.de"],
    ["one label", "a@com", undefined],
    ["last label of digits", "a@192.0.2.1", undefined],
    ["last label that begins with a digit", "a@b.1com", undefined],
    ["public suffix", "a@co.uk", undefined],
    ["public suffix of the private section", "a@github.io", undefined],
    ["unknown ending", "a@b.nosuchtld", undefined],
    ["special use in capitals", "a@b.TEST", undefined],
    ["special use in capitals, below .com", "a@EXAMPLE.com", undefined],
    ...SPECIAL_USE_DOMAINS.flatMap(([name]): [string, string, undefined][] => [
      [`special use: ${name}`, `a@${name}`, undefined],
      [`below special use: ${name}`, `a@b.${name}`, undefined],
    ]),
    ["ends like special use", "a@notexample.com", "notexample.com"],
    ["ends like special use, in capitals", "a@NOTEXAMPLE.com", "NOTEXAMPLE.com"],
  ];
  for (const [name, text, registrable] of rows) {
    test(name, () => {
      assert.ok(readPlain(text, box, KEYS));
      assert.equal(text.slice(box.hostStart), text.slice(text.indexOf("@") + 1));
      const labels = text.slice(box.hostStart).split(".");
      assert.equal(box.labels, labels.length);
      for (let i = 0; i < labels.length; i++) {
        const below = labels.slice(labels.length - 1 - i).join(".");
        assert.equal(text.slice(box.starts[i]), below);
        assert.equal(box.keyedHashes[i]! >>> 0, hashWithKeys(below.toLowerCase(), KEYS));
      }
      const parsed = parseEmail(text);
      assert.deepEqual(parsed, parseEmailInFull(text));
      const { valid, registrableStart } = parsed;
      if (registrable !== undefined) assert.equal(text.slice(box.hostStart + registrableStart), registrable);
      assert.equal(valid, isMailDomain(text, box.hostStart));
      assert.equal(registrable !== undefined || text.endsWith("github.io"), valid);
    });
  }
});

describe("not plain, valid or not: left to email.ts", () => {
  const rows: readonly [name: string, text: string][] = [
    ["nothing", ""],
    ["at sign", "@"],
    ["no at sign", "gmail.com"],
    ["no local part", "@gmail.com"],
    ["two at signs", "a@b@gmail.com"],
    ["quoted", '"a"@gmail.com'],
    ["leading dot", ".a@gmail.com"],
    ["trailing dot before the at sign", "a.@gmail.com"],
    ["two dots", "a..b@gmail.com"],
    ["space", "a b@gmail.com"],
    ["NUL", "a\0b@gmail.com"],
    ["delete", "a\x7f@gmail.com"],
    ["Unicode local part", "é@gmail.com"],
    ["Unicode whose low byte is a letter", "\u0161@gmail.com"],
    ["the same in the host", "a@gm\u0161il.com"],
    ["local part of 65", `${local64}a@gmail.com`],
    ["255 in all", `ab@${hostOf(252)}`],
    ["A-label in capitals", "a@XN--mnchen-3ya.de"],
    ["a character that is a hyphen but for the bit of lower case", "a@b\rc.com"],
    ["one bit away from a dot", "a@b\x0ec.com"],
    ["Kelvin sign", "a@\u212a.com"],
    ["empty label", "a@b..com"],
    ["leading dot in the host", "a@.com"],
    ["trailing dot", "a@gmail.com."],
    ["leading hyphen", "a@-b.com"],
    ["leading hyphen of a sub-domain", "a@-b.gmail.com"],
    ["trailing hyphen", "a@b-.com"],
    ["trailing hyphen of all", "a@b.com-"],
    ["a hyphen", "a@-.com"],
    ["label of 64", `a@${label63}d.com`],
    ["A-label", "a@xn--mnchen-3ya.de"],
    ["A-label of nothing", "a@xn--.com"],
    ["underscore", "a@b_c.com"],
  ];
  for (const [name, text] of rows) {
    test(name, () => {
      assert.ok(!readPlain(text, box));
      assert.deepEqual(parseEmail(text), parseEmailInFull(text));
    });
  }
});

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
const word = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 12 });
const local = fc.oneof(
  { weight: 12, arbitrary: word },
  { weight: 8, arbitrary: fc.tuple(word, word).map(([a, b]) => `${a}.${b}+${a}`) },
  { weight: 1, arbitrary: fc.string({ maxLength: 6 }) },
  { weight: 1, arbitrary: fc.constantFrom("", '"a b"', "é", local64, `${local64}a`, "a@b", "a..b", "a.") },
);
const label = fc.oneof(
  { weight: 16, arbitrary: word },
  { weight: 6, arbitrary: fc.tuple(word, word).map(([a, b]) => `${a}-${b}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "xn--mnchen-3ya",
      "xn--",
      "xn-",
      "-a",
      "a-",
      "",
      "A",
      "Xn--x",
      "Ab-C",
      "ü",
      label63,
      `${label63}d`,
      "_",
    ),
  },
);
const ending = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "com",
      "de",
      "co.uk",
      "github.io",
      "kawasaki.jp",
      "s3.amazonaws.com",
      "uk",
      "ck",
      "jp",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "test.ck",
      "www.ck",
      "city.kawasaki.jp",
      "compute.amazonaws.com",
      "amazonaws.com",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "example",
      "example.com",
      "arpa",
      "local",
      "nosuchtld",
      "1com",
      "COM",
      "net",
      "Org",
      "org.uk",
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom("com.", "com ", "xn--fiqs8s", "中国", "c\u212am") },
);
const mailbox = fc
  .tuple(local, fc.array(label, { maxLength: 4 }), ending)
  .map(([left, labels, end]) => `${left}@${[...labels, end].join(".")}`);
/** At most one typo: a character inserted, removed or changed. */
const slip = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  taken: fc.constantFrom(0, 1),
  put: fc.constantFrom("", "", ".", "-", "@", "A", "\0", " ", "é", "\u0161", "\ud800", "x", "1", "。", '"'),
});

test("readPlain and email.ts agree on random and nearly valid mailboxes", () => {
  let short = 0;
  let long = 0;
  fc.assert(
    fc.property(mailbox, fc.option(slip, { freq: 1 }), (meant, slipped) => {
      const at = slipped === null ? 0 : Math.floor(slipped.place * meant.length);
      const text =
        slipped === null ? meant : meant.slice(0, at) + slipped.put + meant.slice(at + slipped.taken);
      const whole = parseEmailInFull(text);
      assert.deepEqual(parseEmail(text), whole, JSON.stringify(text));
      const isPlain = readPlain(text, box);
      isPlain ? short++ : long++;
      if (isPlain) assert.equal(isMailDomain(text, box.hostStart), whole.valid, JSON.stringify(text));
    }),
    { numRuns: 20_000 },
  );
  assert.ok(short > 4_000, `only ${short} of 20,000 went the short way`);
  assert.ok(long > 4_000, `only ${long} of 20,000 went the long way`);
});
