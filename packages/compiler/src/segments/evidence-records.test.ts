// Tests evidence from its writer to the bytes that a server sends, and records that every reader refuses.

import { describe, expect, test } from "bun:test";
import {
  EvidenceBody,
  EvidenceRecords,
  MAX_EVIDENCE_BYTES,
  MAX_EVIDENCE_ENTRIES,
  openSegment,
  SegmentError,
  SPAN_NONE,
} from "@inkling/engine";
import fc from "fast-check";
import type { EvidenceText } from "../policy/evidence.ts";
import { EvidenceWriter } from "./evidence-records.ts";
import { writeSegment } from "./segment-writer.ts";

const TOR: EvidenceText = {
  feed: "tor",
  label: "tor_exit",
  effect: "sets",
  flags: ["is_tor_exit"],
  span: 32,
};
const RELAY: EvidenceText = {
  feed: "relay",
  label: "relay",
  effect: "removes",
  flags: ["is_proxy"],
  span: 24,
};
const HOSTING: EvidenceText = { feed: "cloud", label: "hosting", effect: "label", span: 16 };
const NOTE: EvidenceText = {
  feed: "inkling",
  label: "derived",
  effect: "fills",
  fields: ["a.b"],
  span: SPAN_NONE,
};

/** Writes these lists. Returns the records and the value of each list. */
function written(...lists: readonly (readonly EvidenceText[])[]) {
  const writer = new EvidenceWriter();
  const values = lists.map((list) => writer.add(list));
  const records = new EvidenceRecords(openSegment(writeSegment("email", writer.sections(), {}), "email"));
  const isRecord = records.verify();
  for (const value of values) expect(isRecord(value)).toBe(true);
  return { values, records };
}

const encode = (text: string) => new TextEncoder().encode(text);
const PLAIN = encode('{"is_proxy":true}');
const subject = (span: number) => (span === SPAN_NONE ? "" : `,"network":"192.0.2.0/${span}"`);

function goesOut(record: Uint8Array, tails: readonly string[] = []): string {
  const body = new EvidenceBody();
  body.addRecord(record, tails.map(encode), subject);
  return new TextDecoder().decode(body.appendTo(PLAIN));
}

describe("evidence records as JSON", () => {
  test("network from the span, details from the feed, entries that set flags first", () => {
    const { values, records } = written([HOSTING, RELAY, NOTE, TOR]);
    expect(records.feeds).toEqual(["tor", "relay", "inkling", "cloud"]);
    const text = goesOut(records.at(values[0]!)!, [',"fetched_at":"then"}', "}", "}", "}"]);
    expect(text).toBe(
      '{"is_proxy":true,"evidence":[' +
        '{"feed":"tor","label":"tor_exit","effect":"sets","flags":["is_tor_exit"],"network":"192.0.2.0/32","fetched_at":"then"},' +
        '{"feed":"relay","label":"relay","effect":"removes","flags":["is_proxy"],"network":"192.0.2.0/24"},' +
        '{"feed":"inkling","label":"derived","effect":"fills","fields":["a.b"]},' +
        '{"feed":"cloud","label":"hosting","effect":"label","network":"192.0.2.0/16"}]}',
    );
  });

  test("nothing at all", () => {
    const { values, records } = written([]);
    expect(values).toEqual([0]);
    expect(records.at(0)).toBeUndefined();
    expect(new TextDecoder().decode(new EvidenceBody().appendTo(PLAIN))).toBe(
      '{"is_proxy":true,"evidence":[]}',
    );
  });

  test("equal lists are one record, whatever the network", () => {
    const { values } = written([TOR], [RELAY], [{ ...TOR }], [{ ...TOR, span: 31 }]);
    expect(values[0]).toBe(values[2]!);
    expect(new Set(values).size).toBe(3);
  });

  test("an answer contains nothing of the previous one", () => {
    const { values, records } = written([TOR], [HOSTING]);
    const body = new EvidenceBody();
    body.addRecord(records.at(values[0]!)!, [], subject);
    const first = body.appendTo(PLAIN);
    body.clear();
    body.addRecord(records.at(values[1]!)!, [], subject);
    const second = new TextDecoder().decode(body.appendTo(PLAIN));
    expect(JSON.parse(second).evidence).toHaveLength(1);
    expect(new TextDecoder().decode(first)).toContain("tor_exit");
  });
});

describe("bounds", () => {
  const many = (count: number, flag: string) =>
    Array.from({ length: count }, (_, i): EvidenceText => ({ ...TOR, feed: `feed-${i}`, flags: [flag] }));

  test("of 60 entries 32 go out, marked, with one for each effect on each flag among them", () => {
    const { values, records } = written([
      ...many(60, "is_proxy"),
      { ...TOR, flags: ["is_abuser"] },
      RELAY,
      HOSTING,
    ]);
    const answer = JSON.parse(goesOut(records.at(values[0]!)!));
    expect(answer.evidence).toHaveLength(MAX_EVIDENCE_ENTRIES);
    expect(answer.evidence_truncated).toBe(true);
    const effects = new Set(answer.evidence.map(({ effect, flags }: EvidenceText) => `${effect} ${flags}`));
    expect(effects).toEqual(new Set(["sets is_proxy", "sets is_abuser", "removes is_proxy"]));
  });

  test("of 40 whole entries 32 go out, marked", () => {
    const body = new EvidenceBody();
    for (let i = 0; i < 40; i++) body.add(encode(`{"feed":"${i}"}`));
    const answer = JSON.parse(new TextDecoder().decode(body.appendTo(PLAIN)));
    expect(answer.evidence).toHaveLength(MAX_EVIDENCE_ENTRIES);
    expect(answer.evidence_truncated).toBe(true);
  });

  test("32 entries are written in full", () => {
    const { values, records } = written(many(32, "is_proxy"));
    const answer = JSON.parse(goesOut(records.at(values[0]!)!));
    expect(answer.evidence).toHaveLength(32);
    expect(answer).not.toHaveProperty("evidence_truncated");
  });

  test("answers stay within 8 KB whatever the entries contain", () => {
    let truncated = 0;
    const entry = fc.record({
      why: fc.integer({ min: 0, max: 900 }),
      span: fc.constantFrom(8, 32, SPAN_NONE),
    });
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 40, size: "max" }), (rows) => {
        const list = rows.map(({ why, span }) => ({ ...TOR, why: "x".repeat(why), span }));
        const { values, records } = written(list);
        const text = goesOut(records.at(values[0]!)!);
        const answer = JSON.parse(text);
        expect(JSON.stringify(answer.evidence).length).toBeLessThanOrEqual(MAX_EVIDENCE_BYTES);
        expect(answer.evidence_truncated === true).toBe(answer.evidence.length < list.length);
        if (answer.evidence_truncated) truncated++;
      }),
      { numRuns: 200 },
    );
    expect(truncated).toBeGreaterThan(40);
  });

  test.each([
    ["too long", { ...TOR, why: "x".repeat(2000) }],
    ["not ASCII", { ...TOR, why: "naïve" }],
  ])("an entry that is %s is not written", (_, entry) => {
    expect(() => new EvidenceWriter().add([entry])).toThrow(RangeError);
  });
});

describe("damage", () => {
  const writer = new EvidenceWriter();
  const value = writer.add([TOR, HOSTING]);
  const [records, starts, feeds] = writer.sections().map(({ data }) => data);
  const whole = Uint8Array.from(Buffer.concat(records as readonly Uint8Array[]));
  const evidenceStarts = starts as Uint32Array;
  const open = (evidence: Uint8Array, evidenceFeeds = feeds as Uint8Array) =>
    new EvidenceRecords(
      openSegment(
        writeSegment(
          "email",
          [
            { name: "evidence", data: evidence },
            { name: "evidenceStarts", data: evidenceStarts },
            { name: "evidenceFeeds", data: evidenceFeeds },
          ],
          {},
        ),
        "email",
      ),
    );
  const at = evidenceStarts[value]!; // the record's first byte

  const rows: readonly [name: string, change: (bytes: Uint8Array) => void, place: RegExp][] = [
    ["no entries", (b) => b.fill(0, at, at + 1), /has 0 entries/],
    ["33 entries", (b) => b.fill(33, at, at + 1), /has 33 entries/],
    ["one entry more", (b) => b.fill(3, at, at + 1), /entry 2: is not a feed entry/],
    ["one entry less", (b) => b.fill(1, at, at + 1), /bytes after its entries/],
    ["another mark", (b) => b.fill(2, at + 2, at + 3), /mark 2/],
    ["another feed", (b) => b.fill(1, at + 4, at + 5), /entry 0: is not a feed entry/],
    ["a feed that is none", (b) => b.fill(9, at + 4, at + 5), /entry 0: is not a feed entry/],
    ["a longer entry", (b) => b.fill(255, at + 6, at + 7), /entry 0: is not a feed entry/],
    ["a span that is none", (b) => b.fill(200, at + 8, at + 9), /entry 0: span 200/],
    ["no JSON", (b) => b.fill(0x20, at + 9, at + 10), /entry 0: is not a feed entry/],
  ];
  for (const [name, change, place] of rows) {
    test(`${name}: verify refuses`, () => {
      const bytes = whole.slice();
      change(bytes);
      const damaged = open(bytes);
      const record = damaged.at(value);
      if (record !== undefined) goesOut(record);
      expect(() => damaged.verify()).toThrow(SegmentError);
      expect(() => damaged.verify()).toThrow(place);
    });
  }

  test.each([
    ["no JSON", "["],
    ["no array", "{}"],
    ["no texts", "[1]"],
    ["one twice", '["a","a"]'],
    ["not ASCII", "[\u00e9]"],
  ])("feeds that are %s are refused at open", (_, text) => {
    expect(() => open(whole, encode(text))).toThrow(/^section evidenceFeeds/);
  });

  test("a truncated record gives the entries before the cut", () => {
    const record = open(whole).at(value)!;
    for (let length = 0; length < record.length; length++) {
      const { evidence } = JSON.parse(goesOut(record.slice(0, length)));
      expect(evidence.length).toBeLessThan(2);
    }
  });

  test("reading random bytes as a record terminates within the bounds", () => {
    let long = 0;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400, size: "max" }), fc.boolean(), (bytes, asEntries) => {
        const record = bytes.slice();
        if (asEntries && record.length > 9) record.set([40, 0, 0, 0, 0, 0, 4, 0]);
        const body = new EvidenceBody();
        body.addRecord(record, [encode("}")], subject);
        const out = body.appendTo(PLAIN);
        expect(out.length).toBeLessThan(PLAIN.length + MAX_EVIDENCE_BYTES + 50);
        if (out.length > PLAIN.length + 20) long++;
      }),
      { numRuns: 2_000 },
    );
    expect(long).toBeGreaterThan(200);
  });
});
