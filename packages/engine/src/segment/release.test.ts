import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ageText, dataAges, oldestAge } from "./release.ts";

const NOW = Date.parse("2026-11-23T12:00:00Z");
const HOUR = 3_600;
const DAY = 24 * HOUR;
const feed = (
  id: string,
  sets: string,
  entries: number,
  days: number | undefined,
  more: { readonly state?: "loaded" | "expired"; readonly fetched_at?: string } = {},
) => {
  const published_at = days === undefined ? undefined : new Date(NOW - days * DAY * 1000).toISOString();
  return { id, sets, entries, published_at, state: "loaded" as const, ...more };
};

describe("the age of an answer's data", () => {
  const rows: readonly [name: string, feeds: Parameters<typeof dataAges>[0], want: string][] = [
    ["one feed", [feed("a", "is_proxy", 10, 3)], "a 3"],
    ["the oldest of several", [feed("a", "is_proxy", 500, 3), feed("b", "is_proxy", 500, 90)], "b 90"],
    [
      "one entry of 15,916, of 260 days ago: the age of a list is not that of one address",
      [
        feed("ipsum-3", "is_abuser", 14_217, 0),
        feed("spamhaus-drop-v4", "is_abuser", 1_698, 93),
        feed("feodo-recommended", "is_abuser", 1, 260),
      ],
      "spamhaus-drop-v4 93",
    ],
    ["exactly one in a hundred", [feed("a", "is_proxy", 99, 3), feed("b", "is_proxy", 1, 90)], "b 90"],
    ["just less", [feed("a", "is_proxy", 100, 3), feed("b", "is_proxy", 1, 90)], "a 3"],
    [
      "a feed that is not loaded",
      [feed("a", "is_proxy", 9, 3), feed("b", "is_proxy", 9, 90, { state: "expired" })],
      "a 3",
    ],
    ["a feed without a date", [feed("a", "is_proxy", 9, undefined), feed("b", "is_proxy", 9, 2)], "b 2"],
    ["no date at all", [feed("a", "is_proxy", 9, undefined)], ""],
    ["nothing listed", [feed("a", "is_abuser", 0, 4)], "a 4"],
    ["a feed of something else", [feed("a", "guard", 9, 4)], ""],
    [
      "without the publisher's date: when it was fetched",
      [feed("a", "is_proxy", 9, undefined, { fetched_at: new Date(NOW - 5 * DAY * 1000).toISOString() })],
      "a 5",
    ],
  ];
  for (const [name, feeds, want] of rows)
    test(name, () => {
      const ages = dataAges(feeds, NOW);
      assert.equal(ages.map(({ feed: id, seconds }) => `${id} ${seconds / DAY}`).join(), want);
    });

  test("each answer has its own, in the order of answers; the oldest of all", () => {
    const feeds = [
      feed("mail", "disposable", 9, 278),
      feed("vpn", "is_proxy", 9, 0),
      feed("db", "geolocation", 9, 171),
    ];
    const ages = dataAges(feeds, NOW);
    assert.deepEqual(
      ages.map(({ answer }) => answer),
      ["geolocation", "is_proxy", "disposable"],
    );
    assert.deepEqual(oldestAge(ages), { answer: "disposable", feed: "mail", seconds: 278 * DAY });
    assert.equal(oldestAge([]), undefined);
  });

  test("a clock that is behind the publisher's: no time has passed", () => {
    assert.equal(dataAges([feed("a", "is_proxy", 9, -1)], NOW)[0]?.seconds, 0);
  });
});

for (const [seconds, text] of [
  [0, "0h"],
  [HOUR - 1, "0h"],
  [47 * HOUR, "47h"],
  [2 * DAY, "2d"],
  [171.9 * DAY, "171d"],
] as const)
  test(`${seconds} seconds as ${text}`, () => assert.equal(ageText(seconds), text));
