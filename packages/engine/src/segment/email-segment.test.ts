import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ascii } from "../email/ascii.ts";
import { toAsciiDomain } from "../email/domain.ts";
import { parseEmailInFull } from "../email/email.ts";
import { domainKeys, hashWithKeys } from "./domain-table.ts";
import { answerEmail, EmailSegment } from "./email-segment.ts";
import { EvidenceBody, MAX_EVIDENCE_BYTES } from "./evidence.ts";
import { SegmentError } from "./segment.ts";

// The compiler wrote this file. packages/compiler/src/segments/email-table.test.ts has its input and compares the
// result.
const file = readFileSync(new URL("../../fixtures/email.seg", import.meta.url));

/** Returns a writable copy, aligned as a segment must be. */
function copy(): Uint8Array {
  return Uint8Array.from(file);
}

const segment = EmailSegment.open(copy());

function answer(text: string): string {
  return Buffer.from(answerEmail(text, segment)).toString("latin1");
}

test("the segment verifies", () => {
  segment.verify();
});

describe("answerEmail", () => {
  const clean = '"disposable":false,"providers":[]';
  const mailinator = '"disposable":true,"providers":["mailinator.com"]';
  const rows: readonly [name: string, text: string, valid: boolean, rest: string][] = [
    ["ordinary", "jane@gmail.com", true, clean],
    ["listed", "jane@mailinator.com", true, mailinator],
    ["below a listed one", "jane@a.b.mailinator.com", true, mailinator],
    ["ends like a listed one", "jane@notmailinator.com", true, clean],
    ["begins like a listed one", "jane@mailinator.com.de", true, clean],
    [
      "the closest entry answers",
      "jane@x.sub.mailinator.com",
      true,
      '"disposable":true,"providers":["sub.mailinator.com","mailinator.com"]',
    ],
    [
      "entry, then service",
      "jane@throw-away.tk",
      true,
      '"disposable":true,"providers":["throw-away.tk","mohmal.com"]',
    ],
    ["IDN", "jane@wegwerf-börse.de", true, '"disposable":true,"providers":["xn--wegwerf-brse-djb.de"]'],
    [
      "below a private suffix",
      "jane@a.someone.github.io",
      true,
      '"disposable":true,"providers":["someone.github.io"]',
    ],
    ["a private suffix", "jane@github.io", true, clean],
    ["a neighbour below a private suffix", "jane@other.github.io", true, clean],
    ["two-level public suffix", "jane@trash.co.uk", true, '"disposable":true,"providers":["trash.co.uk"]'],
    ["its public suffix", "jane@co.uk", false, clean],
    ["broken local part, listed", "a b@mailinator.com", false, mailinator],
    ["no local part, listed", "@mailinator.com", false, mailinator],
    ["local part too long, listed", `${"a".repeat(65)}@mailinator.com`, false, mailinator],
    ["trailing dot, listed", "jane@mailinator.com.", false, mailinator],
    ["special use", "jane@example.com", false, clean],
    ["no domain", "jane", false, clean],
    ["a listed domain without at sign", "mailinator.com", false, clean],
    ["nothing", "", false, clean],
    ["address literal", "jane@[192.0.2.1]", false, clean],
  ];
  for (const [name, text, valid, rest] of rows) {
    test(name, () => assert.equal(answer(text), `{"valid":${valid},${rest}}`));
  }
});

describe("case, sub-domains, plus tags and IDN forms do not change an answer", () => {
  const rows: readonly (readonly string[])[] = [
    [
      "jane@mailinator.com",
      "JANE@Mailinator.COM",
      "jane+x@mailinator.com",
      "jane@a.mailinator.com",
      "jane@ｍａｉｌｉｎａｔｏｒ.com",
      "jane@mailinator。com",
      '"jane"@mailinator.com',
      "jane@A.B.mailinator.com",
    ],
    [
      "jane@wegwerf-börse.de",
      "jane@WEGWERF-BÖRSE.DE",
      "jane@xn--wegwerf-brse-djb.de",
      "jane@XN--Wegwerf-brse-DJB.de",
      "jane@wegwerf-bo\u0308rse.de",
      "jane@post.wegwerf-börse.de",
      "jane+tag@wegwerf-börse.de",
    ],
    ["jane@gmail.com", "jane@GMAIL.com", "j.a.n.e+x@mail.gmail.com"],
  ];
  for (const [first, ...others] of rows) {
    for (const other of others) test(other, () => assert.equal(answer(other), answer(first!)));
  }
});

test("any text has an answer of the right shape, in which disposable and providers agree", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "@",
      ".",
      '"',
      "\\",
      " ",
      "a",
      "mailinator.com",
      "sub.",
      "@mailinator.com",
      "\ud800",
      "é",
      "\0",
      "[",
      "。",
    ),
    fc.string({ unit: "binary", maxLength: 4 }),
  );
  let disposable = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), fc.boolean(), (pieces, listed) => {
      const parsed = JSON.parse(answer(pieces.join("") + (listed ? "@mailinator.com" : "")));
      assert.deepEqual(Object.keys(parsed), ["valid", "disposable", "providers"]);
      assert.equal(typeof parsed.valid, "boolean");
      assert.equal(parsed.disposable, parsed.providers.length > 0);
      for (const provider of parsed.providers) assert.equal(toAsciiDomain(provider), provider);
      if (parsed.disposable) disposable++;
    }),
    { numRuns: 5_000 },
  );
  assert.ok(disposable > 2_000, `only ${disposable} of 5,000 were disposable`);
});

describe("a lookup never matches a public suffix, even when it is listed", () => {
  // As if mailinator.com had become a public suffix after the segment was built.
  const rows: readonly [host: string, registrableStart: number, found: boolean][] = [
    ["a.mailinator.com", 2, true],
    ["a.mailinator.com", 0, false],
    ["b.a.mailinator.com", 2, false],
    ["mailinator.com", 0, true],
    ["mailinator.com", -1, false],
  ];
  for (const [host, registrableStart, found] of rows) {
    test(`${host} from ${registrableStart}`, () => {
      assert.equal(segment.providersFrom(host, registrableStart) !== undefined, found);
    });
  }
});

/** Returns the answer without using the fast path or the cache. */
function longAnswer(text: string): string {
  const { valid, host, registrableStart } = parseEmailInFull(text);
  const providers = host === undefined ? undefined : segment.providersFrom(host, registrableStart);
  const list = providers === undefined ? "[]" : Buffer.from(providers).toString("latin1");
  return `{"valid":${valid},"disposable":${providers !== undefined},"providers":${list}}`;
}

test("the fast and the general parser give the same answer", () => {
  const local = fc.constantFrom("jane", "j.d+x", "", '"a b"', "a b", "é");
  const label = fc.constantFrom(
    "a",
    "mailinator",
    "sub",
    "x-y",
    "-x",
    "A",
    "SUB",
    "gmail",
    "someone",
    "trash",
    "b1",
  );
  const ending = fc.constantFrom(
    "mailinator.com",
    "Mailinator.COM",
    "throw-away.tk",
    "someone.github.io",
    "trash.co.uk",
    "com",
    "co.uk",
  );
  let disposable = 0;
  let clean = 0;
  fc.assert(
    fc.property(local, fc.array(label, { maxLength: 3 }), ending, (left, labels, end) => {
      const text = `${left}@${[...labels, end].join(".")}`;
      const want = longAnswer(text);
      assert.equal(answer(text), want, text);
      want.includes('"disposable":true') ? disposable++ : clean++;
    }),
    { numRuns: 5_000 },
  );
  assert.ok(disposable > 1_000 && clean > 1_000, `${disposable} disposable, ${clean} clean`);
});

test("only answers about valid addresses are cached", () => {
  const texts = [
    "a@mailinator.com",
    "a b@mailinator.com",
    "a@x.mailinator.com",
    '"a b"@mailinator.com',
    "a@x",
  ];
  for (const text of [...texts, ...texts]) assert.equal(answer(text), longAnswer(text), text);
});

test("an answer is not changed by the next lookup", () => {
  const first = answerEmail("a@mailinator.com", segment);
  const text = Buffer.from(first).toString();
  answerEmail("a@throw-away.tk", segment);
  assert.equal(Buffer.from(first).toString(), text);
});

describe("open refuses", () => {
  const rows: readonly [name: string, bytes: () => Uint8Array, place: RegExp][] = [
    ["nothing", () => new Uint8Array(0), /header/],
    ["half a segment", () => copy().slice(0, file.length / 2), /file length/],
    ["another kind", () => copy().fill(1, 12, 13), /kind/],
    ["a page of HTML", () => Buffer.from("<!doctype html>".padEnd(200)), /magic/],
  ];
  for (const [name, bytes, place] of rows) {
    test(name, () => assert.throws(() => EmailSegment.open(Uint8Array.from(bytes())), place));
  }
});

// The test damages only the bytes after the header: segment.ts and its tests cover the header.
test("random damage: refused, or each lookup terminates without throwing", () => {
  let opened = 0;
  let reasoned = 0;
  const body = new EvidenceBody();
  const plain = ascii('{"valid":true}');
  const splice = fc.record({
    at: fc.integer({ min: 64, max: file.length - 1 }),
    from: fc.integer({ min: 0, max: file.length - 1 }),
    length: fc.integer({ min: 1, max: 64 }),
  });
  fc.assert(
    fc.property(fc.array(splice, { minLength: 1, maxLength: 3 }), (splices) => {
      const bytes = copy();
      for (const { at, from, length } of splices)
        bytes.set(file.subarray(from, Math.min(from + length, file.length - at + from)), at);
      let damaged: EmailSegment;
      try {
        damaged = EmailSegment.open(bytes);
      } catch (error) {
        assert.ok(error instanceof SegmentError);
        return;
      }
      opened++;
      for (const host of ["mailinator.com", "x.sub.mailinator.com", "throw-away.tk", "gmail.com"]) {
        answerEmail(`a@${host}`, damaged);
        const record = damaged.evidenceFrom(host, 0);
        if (record === undefined) continue;
        body.clear();
        body.addRecord(record, [], (span) => `,"span":${span}`);
        assert.ok(body.appendTo(plain).length <= plain.length + MAX_EVIDENCE_BYTES + 50);
        reasoned++;
      }
      if (Buffer.compare(bytes, file) !== 0) assert.throws(() => damaged.verify(), SegmentError);
    }),
    { numRuns: 3_000 },
  );
  assert.ok(opened > 1_000, `only ${opened} of 3,000 were opened`);
  assert.ok(reasoned > 1_000, `only ${reasoned} records of evidence`);
});

test("the hash of a name is part of the format", () => {
  assert.equal(hashWithKeys("mailinator.com", domainKeys(0, 0)), 496275664);
  assert.equal(hashWithKeys("mailinator.com", domainKeys(1, 2)), 569361041);
});

/** Returns a name without a pattern. The hash is a sum, so a pattern in the names would carry over to the hash. */
const spread = (i: number) => `${(Math.imul(i, 0x9e3779b1) >>> 0).toString(36)}${i.toString(36)}`;

// With FNV-1a, names that collide under one seed collide under every seed, so an attacker could reuse them anywhere.
test("whether two names collide depends on the keys", () => {
  const collisions = (pairs: readonly (readonly [string, string])[], keys: ReturnType<typeof domainKeys>) =>
    pairs.filter(([a, b]) => hashWithKeys(a, keys) === hashWithKeys(b, keys)).length;
  const keys = domainKeys(1, 2);
  const seen = new Map<number, string>();
  const pairs: [string, string][] = [];
  for (let i = 0; i < 1_000_000; i++) {
    const name = `${spread(i)}.com`;
    const twin = seen.get(hashWithKeys(name, keys));
    if (twin !== undefined) pairs.push([twin, name]);
    seen.set(hashWithKeys(name, keys), name);
  }
  assert.ok(pairs.length > 20, `only ${pairs.length} pairs`);
  for (let seed = 3; seed < 20; seed++)
    assert.ok(collisions(pairs, domainKeys(seed, 2)) <= 2 && collisions(pairs, domainKeys(1, seed)) <= 2);
});
