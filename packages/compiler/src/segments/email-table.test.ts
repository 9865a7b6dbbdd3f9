// Compares the email table with an independent oracle: a Map that is searched for each parent in turn.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  answerEmail,
  crc32,
  domainKeys,
  EmailSegment,
  hashWithKeys,
  MAX_DOMAIN_PROBES,
  openSegment,
  type SectionName,
  SegmentError,
} from "@inkling/engine";
import fc from "fast-check";
import { getDomain } from "tldts";
import type { EvidenceText } from "../policy/evidence.ts";
import { emailSections as sectionsOf } from "./email-table.ts";
import { type SectionData, writeSegment } from "./segment-writer.ts";

type Table = ReadonlyMap<string, readonly string[]>;

type Reasons = ReadonlyMap<string, readonly EvidenceText[]>;

/** The first keys if every word is 2^31. */
const KEYS = domainKeys(2 ** 31, 2 ** 31);
const emailSections = (domains: Table, evidence: Reasons = new Map(), drawWord = () => 2 ** 31) =>
  sectionsOf(domains, evidence, drawWord);

function bytesOf(domains: Table, evidence: Reasons = new Map()): Uint8Array {
  return new Uint8Array(writeSegment("email", emailSections(domains, evidence), { made: "for a test" }));
}

function segmentFrom(bytes: Uint8Array): EmailSegment {
  const segment = EmailSegment.open(bytes);
  segment.verify();
  return segment;
}

const segmentOf = (domains: Table): EmailSegment => segmentFrom(bytesOf(domains));

function providers(segment: EmailSegment, host: string): unknown {
  const bytes = segment.providers(host);
  return bytes === undefined ? undefined : JSON.parse(new TextDecoder().decode(bytes));
}

function oracle(domains: Table, host: string): readonly string[] | undefined {
  const registrable = getDomain(host, { allowPrivateDomains: true });
  const labels = host.split(".");
  for (let i = 0; i < labels.length && registrable !== null; i++) {
    const name = labels.slice(i).join(".");
    const found = domains.get(name);
    if (found !== undefined) return found;
    if (name === registrable) return undefined;
  }
  return undefined;
}

/** The same domains as packages/engine/fixtures/email.seg. */
const GOLDEN: Table = new Map([
  ["mailinator.com", ["mailinator.com"]],
  ["sub.mailinator.com", ["sub.mailinator.com", "mailinator.com"]],
  ["throw-away.tk", ["throw-away.tk", "mohmal.com"]],
  ["xn--wegwerf-brse-djb.de", ["xn--wegwerf-brse-djb.de"]],
  ["someone.github.io", ["someone.github.io"]],
  ["trash.co.uk", ["trash.co.uk"]],
]);

const LISTED: EvidenceText = {
  feed: "a",
  label: "disposable",
  effect: "sets",
  flags: ["disposable"],
  span: 2,
};
const GOLDEN_EVIDENCE: Reasons = new Map([
  ["mailinator.com", [LISTED]],
  ["sub.mailinator.com", [LISTED, { ...LISTED, feed: "b", span: 3 }]],
  ["throw-away.tk", [LISTED]],
  ["gmail.com", [{ feed: "c", label: "free_mail", effect: "label", span: 2 }]],
  ["ok.mailinator.com", [{ feed: "c", label: "free_mail", effect: "label", span: 3 }]],
]);

const HOSTS: readonly [host: string, providers: readonly string[] | undefined][] = [
  ["mailinator.com", ["mailinator.com"]],
  ["a.b.mailinator.com", ["mailinator.com"]],
  ["sub.mailinator.com", ["sub.mailinator.com", "mailinator.com"]],
  ["x.sub.mailinator.com", ["sub.mailinator.com", "mailinator.com"]],
  ["ok.mailinator.com", ["mailinator.com"]], // has evidence, but no answer
  ["notmailinator.com", undefined],
  ["mailinator.com.de", undefined],
  ["mailinator.co", undefined],
  ["throw-away.tk", ["throw-away.tk", "mohmal.com"]],
  ["tk", undefined],
  ["someone.github.io", ["someone.github.io"]],
  ["mail.someone.github.io", ["someone.github.io"]],
  ["other.github.io", undefined],
  ["github.io", undefined],
  ["trash.co.uk", ["trash.co.uk"]],
  ["co.uk", undefined],
  ["", undefined],
];

describe("providers", () => {
  const segment = segmentOf(GOLDEN);
  for (const [host, want] of HOSTS) {
    test(host || "nothing", () => expect(providers(segment, host)).toEqual(want as string[]));
  }
  test("no domains at all", () => {
    const empty = segmentOf(new Map());
    for (const [host] of HOSTS) expect(empty.providers(host)).toBeUndefined();
  });
});

describe("a name in a public suffix has no answer, whichever host is asked about first", () => {
  const verdict = (segment: EmailSegment, host: string) =>
    Buffer.from(answerEmail(`a@${host}`, segment)).toString("latin1");
  const listed = '{"valid":true,"disposable":true,"providers":["amazonaws.com"]}';
  const clean = '{"valid":true,"disposable":false,"providers":[]}';
  const rows: [host: string, want: string][] = [
    ["amazonaws.com", listed],
    ["AmazonAWS.com", listed],
    ["a.amazonaws.com", listed],
    ["s3.amazonaws.com", clean], // a public suffix
    ["a.s3.amazonaws.com", clean],
    ["a.b.compute.amazonaws.com", clean], // because of *.compute.amazonaws.com
  ];
  for (const order of [rows, rows.toReversed()]) {
    const segment = segmentOf(new Map([["amazonaws.com", ["amazonaws.com"]]]));
    for (const [host, want] of [...order, ...order])
      test(`${host}, of ${order[0]![0]} and others`, () => expect(verdict(segment, host)).toBe(want));
  }

  test("a name that became one", () => {
    const sections = emailSections(new Map([["throw-away.tk", ["throw-away.tk"]]]));
    const dataOf = (name: SectionName) => sections.find((section) => section.name === name)!.data;
    const names = dataOf("domainNames") as Uint8Array;
    names.set(Buffer.from("myshopify.com"), Buffer.from(names).indexOf("throw-away.tk"));
    const slots = dataOf("domainSlots") as Uint32Array;
    const pointer = slots[3]! || slots[5]!;
    const hash = hashWithKeys("myshopify.com", KEYS);
    slots.set(hash % 2 === 1 ? [0, 0, hash, pointer] : [hash, pointer, 0, 0], 2);
    const segment = segmentFrom(new Uint8Array(writeSegment("email", sections, { made: "for a test" })));
    for (const host of ["myshopify.com", "shop.myshopify.com", "myshopify.com"])
      expect(verdict(segment, host)).toBe(clean);
  });
});

test("each name that only has evidence is found, in tables of any size", () => {
  let [sizes, wrapped] = [0, 0];
  for (let count = 1; count <= 200; count++) {
    const names = Array.from({ length: count }, (_, i) => `${spread(1000 * count + i)}.com`);
    const evidence = new Map(names.map((name) => [name, [LISTED]]));
    const bytes = bytesOf(new Map(), evidence);
    const segment = segmentFrom(bytes);
    for (const name of names) expect(segment.evidenceFrom(`x.${name}`, 2)).toBeDefined();
    for (let i = 0; i < 20; i++) expect(segment.evidenceFrom(`absent-${i}.com`, 0)).toBeUndefined();
    const slots = openSegment(bytes, "email").u32("evidenceSlots");
    const size = (slots.length - 2) / 2;
    expect(size).toBe(Math.ceil(count / 0.6));
    if ((size & (size - 1)) !== 0) sizes++;
    if (slots[3] !== 0 && slots[2]! % size > size / 2) wrapped++;
  }
  expect(sizes).toBeGreaterThan(180);
  expect(wrapped).toBeGreaterThan(10); // the first slot has a name whose home slot is at the end
});

test("a table returns exactly its input", () => {
  const label = fc.constantFrom("a", "b", "mail", "x-y", "xn--mnchen-3ya", "9", "z".repeat(63));
  const suffix = fc.constantFrom("com", "co.uk", "github.io", "xn--fiqs8s", "tk", "nosuchtld");
  const host = fc
    .tuple(fc.array(label, { minLength: 1, maxLength: 3 }), suffix)
    .map(([labels, end]) => [...labels, end].join("."));
  const service = fc.constantFrom("mohmal.com", "emailfake.com");
  const entry = fc.tuple(host, fc.option(service));
  let found = 0;
  let lookups = 0;
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 60 }), fc.array(host, { maxLength: 40 }), (entries, hosts) => {
      const domains = new Map(entries.map(([name, by]) => [name, by === null ? [name] : [name, by]]));
      const segment = segmentOf(domains);
      for (const asking of [...hosts, ...domains.keys()]) {
        const want = oracle(domains, asking);
        expect(providers(segment, asking)).toEqual(want as string[]);
        lookups++;
        if (want !== undefined) found++;
      }
    }),
    { numRuns: 300 },
  );
  expect(found).toBeGreaterThan(lookups / 5);
  expect(lookups - found).toBeGreaterThan(lookups / 20);
});

test("the order of the domains does not change a byte", () => {
  const turned = new Map([...GOLDEN].reverse());
  expect(bytesOf(turned, GOLDEN_EVIDENCE)).toEqual(bytesOf(GOLDEN, GOLDEN_EVIDENCE));
});

test("the golden segment is what this compiler writes", () => {
  const golden = readFileSync(join(import.meta.dir, "../../../engine/fixtures/email.seg"));
  const got = bytesOf(GOLDEN, GOLDEN_EVIDENCE);
  const differs = got.findIndex((byte, i) => byte !== golden[i]);
  expect({ length: got.length, firstDifference: differs }).toEqual({
    length: golden.length,
    firstDifference: -1,
  });
});

test("domains with the same providers share one answer", () => {
  const shared = ["mohmal.com"];
  const one = emailSections(new Map([["a.com", shared]]));
  const three = emailSections(
    new Map([
      ["a.com", shared],
      ["b.com", ["mohmal.com"]],
      ["c.com", shared],
    ]),
  );
  expect(three[0]!.data.length).toBe(one[0]!.data.length);
});

test("answers that share a place among the kept ones are not taken for each other", () => {
  const names = Array.from({ length: 70_000 }, (_, i) => `n${i}.com`); // more than the answer cache has places
  const segment = EmailSegment.open(bytesOf(new Map(names.map((name) => [name, [name]]))));
  const hosts = ["n1.com", "free.com", "n1.com", ...names, ...names];
  const wrong = hosts.filter((name) => {
    const { providers } = JSON.parse(new TextDecoder().decode(answerEmail(`jane@${name}`, segment)));
    return providers[0] !== (name === "free.com" ? undefined : name);
  });
  expect(wrong).toEqual([]);
});

test("each host has the evidence of its closest listed name", () => {
  const segment = EmailSegment.open(bytesOf(GOLDEN, GOLDEN_EVIDENCE));
  const feedsOf = (host: string) => {
    const record = segment.evidenceFrom(host, host.lastIndexOf(".", host.lastIndexOf(".") - 1) + 1);
    return record && [...new TextDecoder().decode(record).matchAll(/"feed":"(\w)"/g)].map(([, feed]) => feed);
  };
  expect(segment.evidenceFeeds).toEqual(["c", "a", "b"]);
  expect(feedsOf("mailinator.com")).toEqual(["a"]);
  expect(feedsOf("x.sub.mailinator.com")).toEqual(["a", "b"]);
  expect(feedsOf("mail.gmail.com")).toEqual(["c"]);
  expect(feedsOf("x.ok.mailinator.com")).toEqual(["c"]); // the closest name only has evidence, its parent has an answer
  expect(feedsOf("example.com")).toBeUndefined();
  expect(providers(segment, "gmail.com")).toBeUndefined();
});

describe("an entry that no lookup may match is found by verify", () => {
  const rows: readonly [name: string, entry: string, providers: readonly string[], problem: string][] = [
    ["top-level domain", "com", ["com"], "is not a domain name"],
    ["upper case", "A.com", ["a.com"], "is not a domain name"],
    ["Unicode", "münchen.de", ["münchen.de"], "is not a domain name"],
    ["no provider", "a.com", [], "is not a list of providers"],
    ["provider twice", "a.com", ["a.com", "a.com"], "is not a list of providers"],
    ["provider that is no domain", "a.com", ["a.com", "Mohmal"], "is not a list of providers"],
  ];
  test.each(rows)("%s", (_, entry, list, problem) => {
    const domains = new Map([
      ["good.com", ["good.com"]],
      [entry, list],
    ]);
    expect(() => segmentOf(domains)).toThrow(problem);
  });
});

/** Returns a name without a pattern. The hash is a sum, so a pattern in the names would carry over to the hash. */
const spread = (i: number) => `${crc32(Uint8Array.of(i, i >> 8, i >> 16)).toString(36)}${i.toString(36)}`;

test("names with the same hash are distinguished", () => {
  const seen = new Map<number, string>();
  let pair: [string, string] | undefined;
  for (let i = 0; pair === undefined && i < 1_000_000; i++) {
    const name = `${spread(i)}.com`;
    const hash = hashWithKeys(name, KEYS);
    const twin = seen.get(hash);
    if (twin !== undefined) pair = [twin, name];
    seen.set(hash, name);
  }
  const [one, other] = pair!; // a million names contain about a hundred such pairs
  expect(providers(segmentOf(new Map([[one, [one]]])), other)).toBeUndefined();
  const both = segmentOf(new Map([one, other].map((name) => [name, [name]])));
  expect([providers(both, one), providers(both, other)]).toEqual([[one], [other]]);
});

/** Returns more names than fit, which all share a slot under the first keys that are drawn. */
function crowded(): Map<string, readonly string[]> {
  const count = 128; // slots for 39 to 76 names
  const domains = new Map<string, readonly string[]>();
  for (let i = 0; domains.size < MAX_DOMAIN_PROBES + 1; i++) {
    const name = `n${i}.com`;
    if (hashWithKeys(name, KEYS) % count === 7) domains.set(name, [name]);
  }
  return domains;
}

test("names that share a slot do not lengthen lookups: other keys are drawn", () => {
  const domains = crowded();
  const slots = emailSections(domains).find((section) => section.name === "domainSlots")!.data;
  expect([...slots.slice(0, 2)]).toEqual([2 ** 31, 2 ** 31 + 1]);
  const segment = segmentOf(domains);
  for (const name of domains.keys()) expect(providers(segment, name)).toEqual([name]);
});

test("equal names give an equal table, in any order; another name gives other keys", () => {
  const names = Array.from({ length: 200 }, (_, i) => `name-${i}.com`);
  const slotsOf = (some: readonly string[]) =>
    sectionsOf(new Map(some.map((name) => [name, [name]])), new Map()).find(
      ({ name }) => name === "domainSlots",
    )!.data;
  const slots = slotsOf(names);
  expect(slotsOf(names.toReversed())).toEqual(slots);
  expect(slotsOf([...names, "another.com"]).slice(0, 2)).not.toEqual(slots.slice(0, 2));
});

test("names made against one table fit the next at once: who makes them cannot know its keys", () => {
  const domains = crowded();
  let draws = 0;
  const drawWord = () => {
    draws++;
    return 2 ** 30;
  };
  const sections = emailSections(domains, new Map(), drawWord);
  expect(draws).toBe(4); // one seed of two words for each of the two tables
  const segment = EmailSegment.open(new Uint8Array(writeSegment("email", sections, {})));
  segment.verify();
  for (const name of domains.keys()) expect(providers(segment, name)).toEqual([name]);
});

describe("sections that do not fit are refused at open", () => {
  const good = new Map(emailSections(GOLDEN, GOLDEN_EVIDENCE).map(({ name, data }) => [name, data]));
  const rows: readonly [name: string, section: SectionName, data: SectionData["data"] | undefined][] = [
    ["no slots section", "domainSlots", undefined],
    ["no word of slots", "domainSlots", new Uint32Array(0)],
    ["no slot", "domainSlots", new Uint32Array(2)],
    ["half a slot", "domainSlots", new Uint32Array(5)],
    ["slots as bytes", "domainSlots", new Uint8Array(2 + 2 * 16)],
    ["no names section", "domainNames", undefined],
    ["no names", "domainNames", new Uint8Array(0)],
    ["names that end amid a word", "domainNames", new Uint8Array(6)],
    ["no slots of names that only have evidence", "evidenceSlots", undefined],
    ["no names that only have evidence", "evidenceNames", undefined],
    ["no answers section", "answers", undefined],
    ["no starts of answers", "answerStarts", undefined],
    ["starts of no answer", "answerStarts", new Uint32Array(1)],
    ["starts of other answers", "answerStarts", Uint32Array.of(0, 3)],
    ["no evidence section", "evidence", undefined],
    ["starts of other evidence", "evidenceStarts", Uint32Array.of(0, 3)],
    ["no feeds of evidence", "evidenceFeeds", undefined],
  ];
  for (const [name, section, data] of rows) {
    test(name, () => {
      const sections = [...good].flatMap(([of, was]): SectionData[] => {
        const now = of === section ? data : was;
        return now === undefined ? [] : [{ name: of, data: now }];
      });
      const bytes = new Uint8Array(writeSegment("email", sections, {}));
      expect(() => EmailSegment.open(bytes)).toThrow(new RegExp(`^section ${section}: `));
    });
  }
});

test("an answer that names a provider twice is refused", () => {
  const bytes = bytesOf(new Map([["x.com", ["aa.com", "ab.com"]]]));
  const { answers } = sectionOffsets(bytes);
  const at = Buffer.from(bytes).indexOf("ab.com", answers);
  bytes[at + 1] = 0x61;
  mendChecksum(bytes);
  expect(() => EmailSegment.open(bytes).verify()).toThrow(/\(x\.com\): its answer is not a list/);
});

describe("damage", () => {
  const whole = bytesOf(GOLDEN, GOLDEN_EVIDENCE);
  const emails = HOSTS.map(([host]) => `a@${host}`);

  test("every truncation is refused at open", () => {
    for (let length = 0; length < whole.length; length++) {
      expect(() => EmailSegment.open(whole.slice(0, length))).toThrow(SegmentError);
    }
  });

  test("every flipped bit is refused at open or by verify, and no lookup throws meanwhile", () => {
    let opened = 0;
    for (let bit = 0; bit < whole.length * 8; bit++) {
      const bytes = whole.slice();
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      const segment = openOrRefuse(bytes);
      if (segment === undefined) continue;
      opened++;
      for (const email of emails) answerEmail(email, segment);
      for (const [host] of HOSTS) segment.evidenceFrom(host, 0);
      if (bit >> 3 >= 36 && bit >> 3 < 64) continue; // reserved bytes of the header; segment-writer.test.ts covers them
      expect(() => segment.verify()).toThrow(SegmentError);
    }
    expect(opened).toBeGreaterThan(whole.length * 4);
  });

  // The rows correct the checksum, so that the checks behind it report the damage.
  const sections = sectionOffsets(whole);
  const rows: readonly [name: string, damage: (bytes: Uint8Array) => void, place: RegExp][] = [
    ["another seed of the keys", (b) => poke32(b, sections.slots + 4, 1), /hash of/],
    ["another seed", (b) => poke32(b, sections.slots, 1), /hash of/],
    ["hash of a slot", (b) => pokeSlot(b, 0, (hash) => hash ^ 1), /hash of/],
    [
      "pointer of a slot beyond the names",
      (b) => pokeSlot(b, 1, () => 0x7fffffff),
      /does not point at a name/,
    ],
    [
      "pointer of a slot into a name",
      (b) => pokeSlot(b, 1, (pointer) => pointer + 1),
      /does not point at a name/,
    ],
    ["pointer of a slot to another's name", (b) => pokeSlot(b, 1, (p) => (p === 1 ? 7 : 1)), /domainSlots/],
    ["slot emptied", (b) => pokeSlot(b, 1, () => 0), /an empty slot has a hash/],
    [
      "slot emptied whole",
      (b) => {
        pokeSlot(b, 1, () => 0);
        pokeSlotHashOfEmpty(b);
      },
      /no slot points at it/,
    ],
    ["first bytes of the names", (b) => poke32(b, sections.names, 1), /byte 0/],
    ["value of a name", (b) => poke32(b, sections.names + 4, 0x7fffffff), /does not point at a record/],
    ["length of a name", (b) => (b[sections.names + 12] = 255), /domainNames, byte/],
    ["length of the last name", (b) => pokeLengthOfLastName(b), /runs past the end/],
    ["upper case in a name", (b) => (b[sections.names + 13]! ^= 0x20), /lower-case A-labels/],
    ["letter of a name", (b) => (b[sections.names + 13]! ^= 1), /hash of/],
    ["value of evidence", (b) => poke32(b, sections.names + 8, 0x7fffffff), /does not point at a record/],
    [
      "neither answer nor evidence",
      (b) => poke64(b, sections.names + 4, 0n),
      /has no answer and no evidence/,
    ],
    ["name without an answer", (b) => poke32(b, sections.names + 4, 0), /mailinator\.com has no answer/],
    [
      "no evidence of a name that only has evidence",
      (b) => poke32(b, sections.evidenceNames + 4, 0),
      /evidenceNames, byte 4: gmail\.com has no evidence/,
    ],
    [
      "name in both tables",
      (b) => b.set(new TextEncoder().encode("someone.github.io"), b.length - 19),
      /evidenceNames, .*: someone\.github\.io is in both tables/,
    ],
    ["quote of an answer", (b) => (b[sections.answers + 13] = 0x20), /not a list of providers/],
  ];
  for (const [name, damage, place] of rows) {
    test(name, () => {
      const bytes = whole.slice();
      damage(bytes);
      mendChecksum(bytes);
      const segment = EmailSegment.open(bytes);
      for (const email of emails) answerEmail(email, segment);
      expect(() => segment.verify()).toThrow(place);
    });
  }

  test("a lookup in a table of full slots terminates", () => {
    const bytes = whole.slice();
    for (let at = sections.slots + 8; at < sections.names; at += 4) poke32(bytes, at, 0xffffffff);
    const segment = EmailSegment.open(bytes);
    for (const email of emails) expect(answerEmail(email, segment).length).toBeGreaterThan(40);
  });

  test("so does a lookup in a table of full slots whose number is not a power of two", () => {
    const names = Array.from({ length: 40 }, (_, i) => `n${i}.com`);
    const bytes = bytesOf(new Map(), new Map(names.map((name) => [name, [LISTED]]))); // 67 slots
    const slots = openSegment(bytes, "email").u32("evidenceSlots");
    slots.fill(0xffffffff, 2);
    const segment = EmailSegment.open(bytes);
    for (const name of names) expect(segment.evidenceFrom(name, 0)).toBeUndefined();
  });

  /**
   * Changes the length of the last name, xn--…: its 23 characters and the nine bytes before them fill a multiple of
   * four.
   */
  function pokeLengthOfLastName(bytes: Uint8Array): void {
    const last = Buffer.from(bytes).indexOf("xn--wegwerf", sections.names) - 1;
    bytes[last]! += 1;
  }
  function pokeSlot(bytes: Uint8Array, word: 0 | 1, change: (value: number) => number): void {
    const at = firstSlot(bytes, sections.slots) + 4 * word;
    poke32(bytes, at, change(peek32(bytes, at)));
  }
  function pokeSlotHashOfEmpty(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer);
    for (let at = sections.slots + 8; at + 8 <= sections.slotsEnd; at += 8) {
      if (view.getUint32(at + 4, true) === 0) view.setUint32(at, 0, true);
    }
  }
});

test("a name stored twice is refused", () => {
  const domains = new Map([
    ["a.com", ["a.com"]],
    ["b.com", ["b.com"]],
  ]);
  const bytes = bytesOf(domains);
  const { names, slots, slotsEnd } = sectionOffsets(bytes);
  const second = new TextDecoder().decode(bytes.subarray(names + 20 + 9, names + 20 + 14));
  expect(second).toBe("b.com");
  bytes[names + 20 + 9] = 0x61; // "a.com" again
  // The slots are what a writer would store if it stored the name twice: the right hash, in the next free slot.
  const hash = hashWithKeys("a.com", KEYS);
  const count = (slotsEnd - slots - 8) / 8;
  for (let i = 0; i < count; i++) {
    poke32(bytes, slots + 8 + 8 * i, 0);
    poke32(bytes, slots + 12 + 8 * i, 0);
  }
  for (const [i, pointer] of [1, 5].entries()) {
    const at = slots + 8 + 8 * ((hash + i) % count);
    poke32(bytes, at, hash);
    poke32(bytes, at + 4, pointer);
  }
  mendChecksum(bytes);
  expect(() => EmailSegment.open(bytes).verify()).toThrow("stored twice");
});

function openOrRefuse(bytes: Uint8Array): EmailSegment | undefined {
  try {
    return EmailSegment.open(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(SegmentError);
    return undefined;
  }
}

function peek32(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer).getUint32(at, true);
}

function poke32(bytes: Uint8Array, at: number, value: number): void {
  new DataView(bytes.buffer).setUint32(at, value, true);
}

function poke64(bytes: Uint8Array, at: number, value: bigint): void {
  new DataView(bytes.buffer).setBigUint64(at, value, true);
}

function firstSlot(bytes: Uint8Array, slots: number): number {
  for (let at = slots + 8; ; at += 8) if (peek32(bytes, at + 4) !== 0) return at;
}

function sectionOffsets(bytes: Uint8Array) {
  const file = openSegment(bytes, "email");
  return {
    answers: file.u8("answers").byteOffset,
    slots: file.u32("domainSlots").byteOffset,
    slotsEnd: file.u32("domainSlots").byteOffset + file.u32("domainSlots").byteLength,
    names: file.u8("domainNames").byteOffset,
    evidenceNames: file.u8("evidenceNames").byteOffset,
  };
}

function mendChecksum(bytes: Uint8Array): void {
  const tableEnd = 64 + 24 * peek32(bytes, 24);
  poke32(bytes, 28, crc32(bytes.subarray(tableEnd)));
  poke32(bytes, 32, crc32(bytes.subarray(64, tableEnd), crc32(bytes.subarray(0, 32))));
}
