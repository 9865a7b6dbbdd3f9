// Tests what status and metrics report about feeds: the release's own reports, updated with the last build's report.

import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FeedReport, feedsNow, type Release } from "@inkling/engine";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { feedsReportFile } from "./reports.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = temporaryFolder();
  mkdirSync(join(dataDir, "feeds"));
});

const sha = (digit: string) => digit.repeat(64);
const feed = (more: Partial<FeedReport>): FeedReport => ({
  id: "tor",
  sets: "is_tor_exit",
  source: "fetched",
  state: "loaded",
  entries: 3,
  sha256: sha("a"),
  fetched_at: "2026-08-22T12:00:00.000Z",
  licence: "",
  ...more,
});
const manifest = { created_at: "2026-08-22T12:00:00.000Z", feeds: [feed({})] } as unknown as Release;
const write = (feeds: readonly FeedReport[], at = "2026-08-22T13:00:00.000Z") =>
  writeFileSync(
    join(dataDir, "feeds/report.json"),
    JSON.stringify({ format: 1, at, release: "20260822T120000000Z-0123456789ab", feeds }),
  );

test("without a readable report: the release's own feed reports", () => {
  const file = feedsReportFile(dataDir);
  expect(feedsNow(manifest, file.current)).toBe(manifest.feeds);
  writeFileSync(join(dataDir, "feeds/report.json"), "{");
  expect(feedsNow(manifest, file.current)).toBe(manifest.feeds);
});

test("a build without a new release updates the times at once", () => {
  const file = feedsReportFile(dataDir);
  expect(file.current).toBeUndefined();
  const now = feed({ fetched_at: "2026-08-22T13:00:00.000Z", checked_at: "2026-08-22T13:00:00.000Z" });
  write([now]);
  expect(feedsNow(manifest, file.current)).toEqual([now]);
});

test("an error is reported for the copy in use, also when that is not the newest one", () => {
  const file = feedsReportFile(dataDir);
  const failing = { error: "answered 500", failures: 3, checked_at: "2026-08-22T13:00:00.000Z" };
  write([feed({ sha256: sha("b"), entries: 9, ...failing })]);
  expect(feedsNow(manifest, file.current)).toEqual([feed(failing)]);
});

test("a report older than the release, or of other feeds, is ignored", () => {
  const file = feedsReportFile(dataDir);
  write([feed({ error: "old" })], "2026-08-22T11:00:00.000Z");
  expect(feedsNow(manifest, file.current)).toBe(manifest.feeds);
  write([feed({ id: "other", error: "of another" })]);
  expect(feedsNow(manifest, file.current)).toEqual([...manifest.feeds]);
});
