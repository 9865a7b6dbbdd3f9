// Simulates hours of `inkling serve` in seconds: the scheduler, the compiler and our own publisher on the test's clock,
// with a poisoned feed in the middle. Every release is opened and used for lookups, as the server does.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { openServable } from "@inkling/data";
import type { FeedReport } from "@inkling/engine";
import { answer, sourceOf } from "../../../packages/cli/src/runtime/answer.ts";
import type { BuildResult } from "../../../packages/cli/src/runtime/build.ts";
import { FreshData } from "../../../packages/cli/src/runtime/keep-fresh.ts";
import type { Feed } from "../../../packages/compiler/src/catalog/feed.ts";
import { FEEDS } from "../../../packages/compiler/src/catalog/feeds.ts";
import { build } from "../../../packages/compiler/src/pipeline/build.ts";
import { temporaryFolder } from "../../harness/temporary-folder.ts";

const FIXTURES = resolve(import.meta.dir, "../../../packages/compiler/fixtures/feeds");
const START = Date.parse("2026-08-22T10:00:00Z");
const MINUTE = 60_000;
const temp = temporaryFolder();

/** Only lists, with the entry limits of samples and without seeds, so the publisher has all the data. */
const TABLE: readonly Feed[] = FEEDS.filter(
  ({ optIn, format, own }) => optIn === undefined && format !== "mmdb" && own === undefined,
).map(({ seed: _, ...feed }) => ({
  ...feed,
  entries: { least: feed.entries.least > 0 ? 1 : 0, most: 1_000 },
}));

/** Minutes since the start. The publisher, the scheduler and the compiler all use this clock. */
let now = 0;
const requests: { at: number; feed: string; status: number }[] = [];
let server: Bun.Server<undefined>;

/** Returns the content of ipsum-3 at this minute: good, then a web page from minute 60 to 100, then new content. */
function ipsum(): string {
  if (now < 60) return "81.2.69.1\n81.2.69.2\n81.2.69.3\n";
  if (now < 100) return "<!doctype html><title>We are moving</title>";
  return "81.2.69.1\n81.2.69.2\n81.2.69.4\n";
}

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const feed = new URL(request.url).pathname.slice(1).replace(/\.[a-z]+$/, "");
      const file = readdirSync(FIXTURES).find((name) => new URL(request.url).pathname === `/${name}`);
      const body = feed === "ipsum-3" ? ipsum() : file && readFileSync(join(FIXTURES, file), "utf8");
      const etag = body === undefined ? "" : `"${Bun.hash(body).toString(36)}"`;
      const status = body === undefined ? 404 : request.headers.get("if-none-match") === etag ? 304 : 200;
      requests.push({ at: now, feed, status });
      return new Response(status === 200 ? body : null, { status, headers: etag ? { etag } : {} });
    },
  });
});
afterAll(async () => {
  await server.stop(true);
});

test("three hours: each feed at its own pace, the poison named and passed over, the next good file taken", async () => {
  const log: [event: string, at: number, fields: Record<string, unknown>][] = [];
  /** The answers about two addresses after each build. */
  const seen: [at: number, first: boolean, fourth: boolean][] = [];
  const isAbuser = (ip: string) =>
    JSON.parse(answer(sourceOf({ release: openServable(temp) }, 0), "reputation", ip)).is_abuser;
  const keep = (event: string, fields: Readonly<Record<string, unknown>> = {}) =>
    void log.push([event, Math.round(now), fields]);
  let builds = 0;
  // Here, the sample of a daily list is fetched every half hour, so an afternoon is enough.
  const table = TABLE.map((feed) => (feed.id === "ipsum-3" ? { ...feed, cadenceHours: 0.5 } : feed));
  const data = new FreshData(
    temp,
    async () => {
      builds++;
      const request = {
        dataDir: temp,
        mirror: `http://127.0.0.1:${server.port}/`,
        fetch: false,
        onlyDue: true,
        accept: [],
        credentials: {},
      };
      const feeds: FeedReport[] = [];
      const done = await build(request, {
        now: () => new Date(START + now * MINUTE),
        emit: (event) => void (event.type === "feed" && feeds.push(event.feed)),
        chance: () => 0.5,
        feeds: table,
      });
      seen.push([Math.round(now), isAbuser("81.2.69.1"), isAbuser("81.2.69.4")]);
      return {
        done: { ...done, type: "done", seconds: 0, peakBytes: 0 },
        feeds,
        conflicts: [],
      } as BuildResult;
    },
    0,
    () => START + now * MINUTE,
    () => 0,
  );
  const { signal } = new AbortController();
  for (let seconds = 0; seconds < 180 * 60; seconds++) {
    now = seconds / 60;
    await data.check({ log: { info: keep, error: keep } }, signal);
  }

  const requestsFor = (feed: string) => requests.filter((request) => request.feed === feed);
  // Hourly lists are fetched three to four times, and a list that hardly changes once. After the first time,
  // the answer is "not modified".
  expect([requestsFor("tor-bulk-exits").length >= 3, requestsFor("tor-bulk-exits").length <= 4]).toEqual([
    true,
    true,
  ]);
  expect(
    requestsFor("tor-bulk-exits")
      .map(({ status }) => status)
      .slice(0, 2),
  ).toEqual([200, 304]);
  expect(requestsFor("free-mail").length).toBe(1);
  expect(builds).toBeLessThan(30);

  const events = log.filter(([event, , { feed }]) => event.startsWith("feed-") && feed === "ipsum-3");
  expect(events.map(([event]) => event)).toEqual(["feed-held", "feed-updated-again"]);
  expect(events[0]![2]).toMatchObject({ state: "loaded", reason: expect.stringContaining("is a web page") });
  expect(events[0]![1]).toBeGreaterThanOrEqual(60);
  expect(events[1]![1]).toBeGreaterThanOrEqual(100);
  // After a failure, the next attempt comes sooner than after a success.
  const bad = requestsFor("ipsum-3").filter(({ at }) => at >= 60 && at < 100);
  expect(bad.length).toBeGreaterThan(1);

  // The last good list is always in use, and the new list as soon as it exists.
  expect(seen.filter(([, first]) => !first)).toEqual([]);
  expect(seen.filter(([at, , fourth]) => at < 100 && fourth)).toEqual([]);
  expect(seen.at(-1)![2]).toBe(true);
});
