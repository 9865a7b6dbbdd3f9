// Tests what `data update` prints after a build: the feeds that wait or are missing, and the command that helps. Also
// tests which changed files `data status` reports.

import { expect, test } from "bun:test";
import { readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import type { FeedReport, Release } from "@inkling/engine";
import {
  removeMark,
  requireCurrent,
  stampsOf,
  suspendMarks,
  writeChannelReport,
} from "@inkling/release-store";
import { smallRelease, temporaryFolder } from "../../../../test/harness/release.ts";
import { runHere } from "../program.testing.ts";
import type { BuildDone } from "../runtime/build.ts";
import { makeStyle } from "../terminal/terminal.ts";
import { troubledFeeds, updateText } from "./data.ts";

const about = { source: "none", entries: 0, licence: "x" } as const;
const pending = { sha256: "0".repeat(64), why: "has 90 % of other entries" };
const FEEDS: FeedReport[] = [
  { ...about, id: "tor-bulk-exits", sets: "is_tor_exit", state: "loaded", pending },
  { ...about, id: "ipsum-3", sets: "is_abuser", state: "refused", error: "is a web page" },
  { ...about, id: "dbip-asn-lite", sets: "is_proxy", state: "expired" },
  { ...about, id: "x4bnet-vpn-v4", sets: "is_proxy", state: "missing" },
];

function printed(feeds: readonly FeedReport[], lists: Pick<BuildDone, "refused" | "missing">) {
  const release = { feeds, missing: [], partial: [] } as unknown as Release;
  const built = { type: "done", name: "r1", published: true, seconds: 1, peakBytes: 1, unreached: [] };
  return updateText({ ...built, ...lists, release } as unknown as BuildDone, feeds, makeStyle(false)).split(
    "\n",
  );
}

test("a feed that waits comes with the command that accepts it, an expired one under its name", () => {
  const lists = { refused: ["tor-bulk-exits", "ipsum-3"], missing: ["dbip-asn-lite", "x4bnet-vpn-v4"] };
  expect(printed(FEEDS, lists).slice(1)).toEqual([
    "Refused: ipsum-3. `inkling data status` shows why",
    "Needs your approval: `inkling data update --accept tor-bulk-exits` accepts these large changes.",
    expect.stringMatching(/^Expired: dbip-asn-lite\. `.*data status` shows why/),
    expect.stringMatching(/^Missing: x4bnet-vpn-v4\. `/),
  ]);
});

test("for programs, each feed is in one list", () => {
  const lists = {
    refused: ["tor-bulk-exits", "ipsum-3"],
    unreached: ["dbip-asn-lite"],
    missing: ["x4bnet-vpn-v4"],
  };
  expect(troubledFeeds(lists, FEEDS)).toEqual({
    refused: ["ipsum-3"],
    unreached: [],
    waiting: ["tor-bulk-exits"],
    expired: ["dbip-asn-lite"],
    missing: ["x4bnet-vpn-v4"],
  });
});

test("without any of them, nothing is named", () => {
  expect(printed([], { refused: [], missing: [] })).toHaveLength(1);
});

test("data status reports segments that were changed or replaced after their verification", async () => {
  const dataDir = temporaryFolder();
  const { files } = smallRelease(dataDir, 1);
  const { manifest } = requireCurrent(dataDir);
  const { sha256 } = manifest.segments.geo!;
  const geo = files.find((file) => file.endsWith(`${sha256}.seg`))!;
  const status = (...flags: string[]) =>
    runHere(["data", "status", "--data-dir", dataDir, ...flags], { cwd: dataDir });
  const changed = async () => JSON.parse((await status("--json")).out).changed;
  suspendMarks(dataDir, stampsOf(dataDir, manifest));
  expect(await changed()).toEqual([]);

  const sound = readFileSync(geo);
  writeFileSync(
    geo,
    sound.map((byte, i) => (i < sound.length / 2 ? byte : 0)),
  );
  expect(await changed()).toEqual(["geo"]);
  expect((await status()).out).toContain(
    "\nchanged  geo segment: the file was changed or replaced after it was verified; run `inkling data verify`\n",
  );
  removeMark(dataDir, sha256); // as the server that refuses the file does
  utimesSync(geo, new Date(), new Date(Date.now() + 1_000));
  expect(await changed()).toEqual(["geo"]);
  utimesSync(geo, 0, 0);
  expect(await changed()).toEqual([]);
  rmSync(geo);
  expect(JSON.parse((await status("--json")).out)).toMatchObject({
    changed: [],
    problem: expect.any(String),
  });
});

test("on a host that follows a channel, no hint is a build on this host", async () => {
  const dataDir = temporaryFolder();
  const none = { followed_at: null, version: null, release: null, percent: null, expires_at: null };
  writeChannelReport(dataDir, { channel: "stable", ...none, fault: null });
  const run = async (...args: string[]) => {
    const { out, err } = await runHere(["data", ...args, "--data-dir", dataDir], { cwd: dataDir });
    return out + err;
  };
  expect(await run("status")).toContain("hint: `inkling serve` fetches one from the channel\n");
  const { files } = smallRelease(dataDir, 1);
  writeFileSync(files[0]!, "x");
  const again = "the server fetches it from the channel again; if none is running, start `inkling serve`";
  expect(await run("status")).toContain(`: ${again}.`);
  expect(await run("verify")).toEndWith(`hint: ${again}\n`);
  expect(await run("rollback", requireCurrent(dataDir).name)).toContain(
    "on the host that builds, run `inkling data update`, then `inkling channel publish`",
  );
});
