// clock-ahead.test.ts: tests builds while the clock is ahead, and after the clock is right again. Releases are ordered
// by their publication, not by the times in their names.

import { afterAll, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { currentName, pin, releaseNames, unpin, verifyRelease } from "@inkling/data";
import { build } from "../../../packages/compiler/src/pipeline/build.ts";
import { drilled } from "../../harness/recorded-rows.ts";
import { temporaryFolder } from "../../harness/release.ts";
import { smallFeeds } from "../../harness/small-feeds.ts";

const START = Date.parse("2026-08-22T10:00:00Z");
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The content of both lists. */
let letter = "a";
const publisher = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) =>
    new Response(
      request.url.endsWith("/networks") ? `185.220.101.${letter.charCodeAt(0)}\n` : `${letter}-mail.com\n`,
    ),
});
afterAll(() => publisher.stop(true));

test.each([
  ["a day ahead", DAY],
  ["a year ahead", 365 * DAY],
  ["a year behind", -365 * DAY],
])(
  "a clock that was %s: unchanged rounds publish nothing, and unpin goes to the last published",
  async (clock, off) => {
    const dataDir = temporaryFolder();
    const buildAt = (at: number, content: string) => {
      letter = content;
      const request = { dataDir, fetch: true, onlyDue: false, accept: [], credentials: {} };
      return build(request, {
        now: () => new Date(at),
        emit: () => {},
        chance: () => 0.5,
        feeds: smallFeeds(`http://127.0.0.1:${publisher.port}`),
      });
    };
    const first = await buildAt(START, "a");
    const wrong = await buildAt(START + off, "b");
    const last = await buildAt(START + HOUR, "c");
    expect([first, wrong, last].map(({ published }) => published)).toEqual([true, true, true]);
    const names = [last.name, wrong.name, first.name];
    expect(releaseNames(dataDir)).toEqual(names);

    const left = [".tmp-999999999.1-current", `segments/${"0".repeat(64)}.seg`];
    for (const file of left) writeFileSync(join(dataDir, file), "half");
    for (let round = 2; round <= 7; round++) {
      expect(await buildAt(START + round * HOUR, "c")).toMatchObject({ published: false, name: last.name });
      expect(left.filter((file) => existsSync(join(dataDir, file)))).toEqual([]);
    }
    expect(releaseNames(dataDir)).toEqual(names);
    expect(currentName(dataDir)).toBe(last.name);

    pin(dataDir, first.name);
    await unpin(dataDir, verifyRelease);
    expect(currentName(dataDir)).toBe(last.name);
    drilled(
      import.meta.path,
      `a build while the clock is ${clock}`,
      "the last published release, whatever the times in the names",
      "builds continue once the clock is right",
    );
  },
);
