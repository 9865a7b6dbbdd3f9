// Tests damage to a segment: what open refuses, what only verify detects, and that lookups always terminate.

import { describe, expect, test } from "bun:test";
import { cover, HEADER_BYTES, IpSegment, parseIp, parsePrefix, SegmentError } from "@inkling/engine";
import { randomBelow } from "../../../../test/harness/random.ts";
import { encodePlace } from "../place/encode-place.ts";
import { AnswerRecords } from "./answer-records.ts";
import { AnswerTemplates } from "./answer-templates.ts";
import { EvidenceWriter } from "./evidence-records.ts";
import { rangeSections } from "./range-table.ts";
import { writeSegment } from "./segment-writer.ts";

const ADDRESSES = [
  "8.8.8.8",
  "8.8.4.255",
  "1.1.1.1",
  "2001:4860::1",
  "2001:4860:4860:0:ffff::1",
  "2a00:1450:4001:900::2",
  "::2",
].map((text) => parseIp(text)!);

const berlin = encodePlace({ cityName: "Berlin", countryCode: "DE", subdivisions: [] });

/** Returns a segment with six records, three of which are whole. */
function smallSegment(wrongNote?: number): Uint8Array {
  const records = new AnswerRecords("");
  const templates = new AnswerTemplates();
  const evidence = new EvidenceWriter();
  const notes = ["a", "b"].map((feed) =>
    evidence.add([{ feed, label: "location", effect: "sets", span: 254 }]),
  );
  const columns = (family: 4 | 6, rows: readonly (readonly [network: string, answer: string])[]) =>
    cover(family, (add) => {
      for (const [network, answer] of rows) {
        const { address, bits } = parsePrefix(network)!;
        const w = address.words;
        add(
          w[0]!,
          w[1]!,
          w[2]!,
          w[3]!,
          bits,
          records.add(templates.divide(answer), wrongNote ?? notes[bits % 2]),
        );
      }
    });
  const v4 = columns(4, [
    ["8.8.4.0/24", '{"a":1}'],
    ["8.8.8.0/23", '{"a":2}'],
  ]);
  const v6 = columns(6, [
    ["2001:4860::/32", '{"a":3}'],
    ["2a00:1450:4001:800::/56", '{"a":1}'],
    ["2a00:1450:4001:900::1/128", '{"a":4}'],
    ["2a00:1450:4001:900::2/128", berlin],
  ]);
  records.putFirst(Uint32Array.of(0, 1, 2), 3, (record) => templates.join(record));
  const sections = [...rangeSections(v4), ...rangeSections(v6)];
  const answers = [
    ...records.sections(),
    templates.section(3),
    records.noteSection(),
    ...evidence.sections(),
  ];
  return writeSegment("geo", [...sections, ...answers], { feeds: [] });
}

const good = smallSegment();
const copy = () => new Uint8Array(good);
const verify = (bytes: Uint8Array) => IpSegment.open(bytes, "geo").verify();

describe("a segment", () => {
  test("verifies, and the same input gives the same bytes", () => {
    verify(good);
    expect(Buffer.compare(good, smallSegment())).toBe(0);
  });

  test("answers from its table", () => {
    const segment = IpSegment.open(good, "geo");
    const answers = ADDRESSES.map((address) => {
      const bytes = segment.lookup(address);
      return bytes && new TextDecoder().decode(bytes);
    });
    expect(answers).toEqual(['{"a":2}', '{"a":1}', undefined, '{"a":3}', '{"a":3}', berlin, undefined]);
  });

  test("has evidence for its answers, and the network they apply to", () => {
    const segment = IpSegment.open(good, "geo");
    const evidence = ADDRESSES.map((address) => {
      const bytes = segment.evidence(address);
      return (
        bytes && [new TextDecoder().decode(bytes).match(/"feed":"(.)"/)![1], segment.networkBits(address)]
      );
    });
    expect(segment.evidenceFeeds).toEqual(["a", "b"]);
    expect(evidence).toEqual([
      ["b", 23],
      ["a", 24],
      undefined,
      ["a", 32],
      ["a", 32],
      ["a", 128],
      undefined,
    ] as never);
  });

  test("with a note that points at no evidence is refused by verify", () => {
    expect(() => verify(smallSegment(9999))).toThrow(
      /^answerNotes\[1\]: does not point at an evidence record: 9999/,
    );
  });

  const refusedAtOpen: readonly (readonly [
    name: string,
    place: RegExp,
    damage: (bytes: Uint8Array) => Uint8Array,
  ])[] = [
    ["empty", /^header: needs 64 bytes, the file has 0/, () => new Uint8Array(0)],
    ["a web page", /^magic/, () => new TextEncoder().encode("<!doctype html>".padEnd(100))],
    ["of an older version", /^version: got 7, this engine reads 8/, (bytes) => bytes.fill(7, 8, 9)],
    ["of a newer version", /^version: got 9, this engine reads 8/, (bytes) => bytes.fill(9, 8, 9)],
    ["of another kind", /^kind: got 2, want 1 \(geo\)/, (bytes) => bytes.fill(2, 12, 13)],
    ["cut short by a byte", /^file length/, (bytes) => bytes.slice(0, -1)],
    ["cut short in its table", /^file length/, (bytes) => bytes.slice(0, 100)],
    ["with a byte more", /^file length/, (bytes) => Uint8Array.from([...bytes, 0])],
    ["with a thousand sections", /^section count/, (bytes) => bytes.fill(255, 24, 25)],
    [
      "with a section moved",
      /^header checksum/,
      (bytes) => bytes.fill(64, HEADER_BYTES + 32, HEADER_BYTES + 33),
    ],
    ["with something in a reserved byte", /^header, byte 63/, (bytes) => bytes.fill(1, 63, 64)],
  ];
  for (const [name, place, damage] of refusedAtOpen) {
    test(`${name} is refused when it is opened`, () => {
      const open = () => IpSegment.open(damage(copy()), "geo");
      expect(open).toThrow(SegmentError);
      expect(open).toThrow(place);
    });
  }

  test("with any bit flipped is refused by verify, and lookups in it neither throw nor hang", () => {
    const random = randomBelow(20_261_120);
    let opened = 0;
    for (let round = 0; round < 400; round++) {
      const bytes = copy();
      const at = random(bytes.length);
      bytes[at]! ^= 1 << random(8);
      expect(() => verify(bytes), `bit of byte ${at}`).toThrow(SegmentError);
      try {
        const segment = IpSegment.open(bytes, "geo");
        for (const address of ADDRESSES) {
          segment.lookup(address);
          segment.evidence(address);
          segment.networkBits(address);
        }
        opened++;
      } catch (error) {
        expect(error).toBeInstanceOf(SegmentError);
      }
    }
    expect(opened).toBeGreaterThan(200);
  });

  test("with a run of random bytes after its table still terminates every lookup", () => {
    const random = randomBelow(1);
    const answersOf = (segment: IpSegment) => ADDRESSES.map((address) => segment.lookup(address));
    const intact = answersOf(IpSegment.open(copy(), "geo"));
    let changed = 0;
    for (let round = 0; round < 50; round++) {
      const bytes = copy();
      // The damage does not always reach the end, because opening refuses random bytes in the sections that it checks.
      const from = 512 + random(bytes.length - 512);
      const to = Math.min(bytes.length, from + random(bytes.length));
      for (let at = from; at < to; at++) bytes[at] = random(256);
      try {
        const segment = IpSegment.open(bytes, "geo");
        if (!Bun.deepEquals(answersOf(segment), intact)) changed++;
        for (const address of ADDRESSES) {
          segment.evidence(address);
          segment.networkBits(address);
        }
      } catch (error) {
        expect(error).toBeInstanceOf(SegmentError);
      }
    }
    expect(changed).toBeGreaterThan(10);
  });
});
