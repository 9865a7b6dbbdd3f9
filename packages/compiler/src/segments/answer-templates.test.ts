// Tests that answers that share templates have the same bytes as whole answers, and that damaged templates are
// detected.

import { describe, expect, test } from "bun:test";
import { Answers, openSegment, type PartSink, SegmentError, type SegmentFile } from "@inkling/engine";
import { randomBelow } from "../../../../test/harness/random.ts";
import { dividePlace, encodePlace } from "../place/encode-place.ts";
import type { Place } from "../place/place.ts";
import { AnswerRecords } from "./answer-records.ts";
import { AnswerTemplates } from "./answer-templates.ts";
import { type SectionData, writeSegment } from "./segment-writer.ts";

const segmentOf = (sections: readonly SectionData[]): SegmentFile =>
  openSegment(Uint8Array.from(writeSegment("geo", sections, {})), "geo");

/** Names that look like the text around them, long names, and no name. */
const NAMES = [
  undefined,
  "Berlin",
  'x"},"continent":{"code":"EU',
  '"location":{"accuracy_radius":1',
  '},"postal":{',
  ',"time_zone":"Z"',
  "}}}{{",
  "\\\\",
  "São Tomé 東京 🏝",
  "ü".repeat(127),
  "ü".repeat(128),
  "x".repeat(400),
  "y".repeat(30_000),
];
const CODES = [undefined, "10115", '"}', "},"];
const COUNTRIES = ["DE", "GB", undefined];

function randomPlace(random: (below: number) => number): Place {
  const one = <T>(values: readonly T[]): T => values[random(values.length)]!;
  const isLocated = random(4) > 0;
  return {
    cityName: one(NAMES),
    countryCode: one(COUNTRIES),
    ...(isLocated && { latitude: random(180) - 90 + 0.25, longitude: random(360) - 179.5 }),
    ...(random(3) > 0 && { accuracyRadius: 1 + random(1000) }),
    ...(random(3) > 0 && { timeZone: one(["Europe/Berlin", "}", ',"postal":{']) }),
    postalCode: one(CODES),
    registeredCountryCode: one(COUNTRIES),
    subdivisions: random(2) === 0 ? [] : [{ isoCode: "BE", name: one(NAMES) }],
  };
}

class Copied implements PartSink {
  readonly parts: Uint8Array[] = [];
  append(source: Uint8Array, start: number, end: number): void {
    this.parts.push(source.slice(start, end));
  }
}

function read(answers: Answers, number: number): string {
  const bytes = answers.at(number);
  const out = new Copied();
  const length = answers.copy(number, out);
  const whole = Buffer.concat(out.parts);
  expect(whole.length).toBe(length);
  expect(Buffer.compare(whole, bytes ?? Buffer.alloc(0))).toBe(0);
  return whole.toString("utf8");
}

test.each([1, 7, 600])("records of which %d are whole have the answers that they were made from", (whole) => {
  const random = randomBelow(20_261_123);
  const records = new AnswerRecords("");
  const templates = new AnswerTemplates();
  const answers = new Set([""]);
  while (answers.size < 600) answers.add(encodePlace(randomPlace(random)));
  answers.add("no place");
  const numbers = [...answers].map((answer) => (answer === "" ? 0 : records.add(templates.divide(answer))));
  expect([...answers].slice(1).map((answer) => records.add(templates.divide(answer)))).toEqual(
    numbers.slice(1),
  );
  const first = Uint32Array.from({ length: 600 }, (_, i) => (i === 0 ? 0 : records.size - i));
  const moved = records.putFirst(first, whole, (record) => templates.join(record));
  const section = new Answers(segmentOf([...records.sections(), templates.section(whole)]));
  section.verify();
  expect(section.count).toBe(answers.size);
  for (const _ of [1, 2]) {
    [...answers].forEach((answer, i) => {
      expect(read(section, moved[numbers[i]!]!)).toBe(answer);
    });
  }
});

test("most texts of places are divided, and others are not", () => {
  const random = randomBelow(1);
  const names = (json: string) => JSON.parse(json).city.name;
  let divided = 0;
  for (let i = 0; i < 1_000; i++) {
    const json = encodePlace(randomPlace(random));
    if (json === "") continue;
    const [city, numbers, rest] = dividePlace(json)!;
    expect(names(`${json.slice(0, city)}}}`)).toBe(names(json));
    expect(numbers).toBeGreaterThan(city);
    expect(rest).toBeGreaterThanOrEqual(numbers);
    expect(() => JSON.parse(`{${json.slice(city + 2)}`)).not.toThrow();
    divided++;
  }
  expect(divided).toBeGreaterThan(900);
  for (const text of ["", "x", '},"continent":', '{"asn":1}']) expect(dividePlace(text)).toBeUndefined();
});

/** Two whole records, then two divided records that use the template at position 4: `ab|cd`. */
const TEMPLATES = [2, 0, 0, 0, 2, 0, 2, 0, 0x61, 0x62, 0x63, 0x64];
const STARTS = [0, 0, 2, 9, 16];
const OWN = [4, 0, 0, 0, 1, 0x78, 0x79];
const sectionsOf = (templates: readonly number[], own: readonly number[], starts: readonly number[]) => [
  { name: "answers" as const, data: Uint8Array.from([0x7b, 0x7d, ...own, ...OWN]) },
  { name: "answerStarts" as const, data: Uint32Array.from(starts) },
  { name: "answerTemplates" as const, data: Uint8Array.from(templates) },
];

describe("divided records", () => {
  test("are put together", () => {
    const answers = new Answers(segmentOf(sectionsOf(TEMPLATES, OWN, STARTS)));
    answers.verify();
    expect([0, 1, 2, 3, 4].map((number) => read(answers, number))).toEqual([
      "",
      "{}",
      "xabycd",
      "xabycd",
      "",
    ]);
  });

  const withWhole = (count: number) => [count, ...TEMPLATES.slice(1)];
  const atOpen: readonly [name: string, place: RegExp, templates: readonly number[]][] = [
    ["nothing", /^section answerTemplates: has 0 bytes, want at least 4/, []],
    ["more whole records than there are", /^section answerTemplates: got 5 whole records of 4/, withWhole(5)],
  ];
  test.each(atOpen)("with %s in their section are refused when they are opened", (_, place, templates) => {
    expect(() => new Answers(segmentOf(sectionsOf(templates, OWN, STARTS)))).toThrow(place);
  });

  const cut = TEMPLATES.slice(0, -1);
  const refused: readonly [
    name: string,
    place: RegExp,
    templates: readonly number[],
    own: readonly number[],
    starts: readonly number[],
  ][] = [
    ["shorter than a head", /^answers, record 2: has 4 bytes/, TEMPLATES, OWN, [0, 0, 2, 6, 16]],
    [
      "with a part beyond the end",
      /^answers, record 2: has a part of 3 bytes in 2/,
      TEMPLATES,
      [4, 0, 0, 0, 3, 1, 1],
      STARTS,
    ],
    [
      "of no template",
      /^answers, record 2: no template starts at 5/,
      TEMPLATES,
      [5, 0, 0, 0, 1, 1, 1],
      STARTS,
    ],
    [
      "of a template far out",
      /^answers, record 2: no template starts at 4294967295/,
      TEMPLATES,
      [255, 255, 255, 255, 1, 1, 1],
      STARTS,
    ],
    ["of a template that is cut short", /^answerTemplates, offset 4: runs past the end/, cut, OWN, STARTS],
    [
      "of a template without a head",
      /^answerTemplates, offset 12: runs past the end/,
      [...TEMPLATES, 0],
      OWN,
      STARTS,
    ],
  ];
  test.each(refused)(
    "%s are refused by verify, and read as bytes of the file or none",
    (_, place, templates, own, starts) => {
      const answers = new Answers(segmentOf(sectionsOf(templates, own, starts)));
      expect(() => answers.verify()).toThrow(SegmentError);
      expect(() => answers.verify()).toThrow(place);
      for (const number of [0, 1, 2, 3, 4, 1e6]) read(answers, number);
      answers.touch(Uint32Array.of(0, 1, 2, 3), 4);
    },
  );
});
