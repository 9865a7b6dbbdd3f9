// Tests what `data update` prints after a build: the feeds that are held or missing, and the command that helps. Also
// tests which changed files `data status` reports, and how `data diff` compares releases.

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { requireCurrent, writeChannelReport } from "@inkling/data";
import type { FeedReport, Release } from "@inkling/engine";
import { smallRelease, temporaryFolder } from "../../../../test/harness/release.ts";
import { runHere } from "../program.testing.ts";
import type { BuildDone } from "../runtime/build.ts";
import { makeStyle } from "../terminal/terminal.ts";
import { updateText } from "./data.ts";

const about = { source: "none", entries: 0, licence: "x" } as const;
const NO_TROUBLE = { held: [], expired: [], failed: [], unreached: [], missing: [] };

function printed(lists: Partial<BuildDone>) {
  const release = { feeds: [], missing: [], partial: [] } as unknown as Release;
  const built = { type: "done", name: "r1", published: true, seconds: 1, peakBytes: 1, ...NO_TROUBLE };
  const feeds = (lists.held ?? []).map((id) => ({
    ...about,
    id,
    held: { sha256: "b".repeat(64), why: "x" },
  })) as unknown as FeedReport[];
  return updateText({ ...built, ...lists, release } as BuildDone, feeds, makeStyle(false)).split("\n");
}

test("a held feed comes with the command that accepts it, an expired one under its name", () => {
  const lists = {
    held: ["tor-bulk-exits"],
    expired: ["dbip-asn-lite"],
    failed: ["ipsum-3"],
    missing: ["x4bnet-vpn-v4"],
  };
  expect(printed(lists).slice(1)).toEqual([
    "Failed: ipsum-3. Run `inkling data status` to see why",
    expect.stringMatching(
      /^Held: tor-bulk-exits\. .* `inkling data update --accept tor-bulk-exits@bbbbbbbbbbbb` uses them\.$/,
    ),
    expect.stringMatching(/^Expired: dbip-asn-lite\. Run `.*data status` to see why/),
    expect.stringMatching(/^Missing: x4bnet-vpn-v4\. Run `/),
  ]);
});

test("without any of them, nothing is listed", () => {
  expect(printed({})).toHaveLength(1);
});

test("data status --max-age lists older and missing data, and exits with 3", async () => {
  const dataDir = temporaryFolder();
  const feed = (id: string, sets: string, days: number): FeedReport => ({
    ...about,
    id,
    sets,
    state: "loaded",
    entries: 9,
    published_at: new Date(Date.now() - (days + 0.5) * 86_400_000).toISOString(),
  });
  const feeds = [
    feed("cities", "geolocation", 174),
    feed("tor", "is_tor_exit", 1),
    feed("vpn", "is_proxy", 50),
    feed("free", "free", 900),
  ];
  smallRelease(dataDir, 1, [], feeds);
  const status = async (...args: string[]) => {
    const { err, out, code } = await runHere(["data", "status", ...args, "--data-dir", dataDir], {
      cwd: dataDir,
    });
    return {
      code,
      err,
      release: out.startsWith("{") ? JSON.parse(out).name : /^Release (\S+),/.exec(out)?.[1],
    };
  };
  const { name: release } = requireCurrent(dataDir);
  const line = (lookup: string, feed: string, days: number, limit: string) =>
    `warning: the oldest data of ${lookup}, from ${feed}, is ${days} days old (--max-age ${limit}): build a new release with \`inkling data update\`\n`;
  expect(await status()).toEqual({ code: 0, err: "", release });
  expect(await status("--max-age", "175d")).toEqual({ code: 0, err: "", release });
  const both = line("geolocate", "cities", 174, "45d") + line("reputation", "vpn", 50, "45d");
  expect(await status("--max-age", "45d")).toEqual({ code: 3, err: both, release });
  expect(await status("--max-age", "45d", "--json")).toEqual({ code: 3, err: both, release });
  const hours = await status("--max-age", "1224h");
  expect([hours.code, hours.err]).toEqual([3, line("geolocate", "cities", 174, "1224h")]);
  smallRelease(dataDir, 2, ["is_abuser", "is_proxy"], feeds);
  const { name: without } = requireCurrent(dataDir);
  const none = ["is_abuser", "is_proxy"].map(
    (answer) =>
      `warning: there is no data for ${answer} (--max-age 175d): build a new release with \`inkling data update\`\n`,
  );
  expect(await status()).toEqual({ code: 0, err: "", release: without });
  expect(await status("--max-age", "175d")).toEqual({ code: 3, err: none.join(""), release: without });
  const wrong = await status("--max-age", "45");
  expect([wrong.code, wrong.err]).toEqual([
    2,
    expect.stringContaining("--max-age must be a number and s, m, h or d"),
  ]);
});

describe("data diff", () => {
  const dataDir = temporaryFolder();
  const feed = (id: string, entries: number, days: number, rest: Partial<FeedReport> = {}): FeedReport => ({
    id,
    sets: "is_proxy",
    source: "fetched",
    state: "loaded",
    entries,
    licence: "x",
    sha256: `${entries}`.padStart(64, "0"),
    fetched_at: new Date(Date.now() - days * 86_400_000).toISOString(),
    ...rest,
  });
  const missing = { state: "missing", source: "none", sha256: undefined } as const;
  const releases = [
    [feed("same", 1, 9), feed("changed", 1_234, 9), feed("gone", 5, 9), feed("came", 0, 9, missing)],
    [feed("same", 1, 1), feed("changed", 1_240, 2), feed("gone", 0, 9, missing), feed("came", 7, 1)],
    [feed("same", 1, 1)],
  ].map((feeds, n) => smallRelease(dataDir, n, [], feeds).id);
  const run = (...args: string[]) =>
    runHere(["data", "diff", ...args, "--data-dir", dataDir], { cwd: dataDir });
  const [first, second, third] = releases as [string, string, string];

  test("prints feeds with entries and ages, and what gained or lost each flag", async () => {
    const { out, code } = await run(first, second);
    expect(code).toBe(0);
    const lines = out.split("\n").slice(2);
    expect(lines.filter((line) => !/ 0 +0$/.test(line)).map((line) => line.replace(/ {2,}/g, "  "))).toEqual([
      "",
      "FEED  SETS  CHANGE  BEFORE  ENTRIES  AGE BEFORE  AGE",
      "changed  is_proxy  changed  1,234  1,240  9 days  2 days",
      "gone  is_proxy  removed  5  -  9 days  -",
      "came  is_proxy  added  -  7  -  1 day",
      "",
      "FLAG  COUNTS  ADDED  REMOVED",
      "is_abuser  IPv4 addresses  0  256",
      "is_proxy  IPv4 addresses  256  0",
      "disposable  domains  1  1",
      "",
    ]);
    expect(out).toMatch(new RegExp(`^Release \\S+-${second}, .* ago\ncompared with \\S+-${first}, .* ago\n`));
  });

  test("for programs, as the admin API counts them", async () => {
    const { before, release, feeds_changed, changes } = JSON.parse((await run(first, second, "--json")).out);
    expect([before, release]).toEqual([expect.stringContaining(first), expect.stringContaining(second)]);
    expect(feeds_changed[1]).toEqual({
      feed: "gone",
      sets: "is_proxy",
      change: "removed",
      entries_before: 5,
      entries: 0,
      age_seconds_before: expect.any(Number),
      age_seconds: null,
    });
    const none = { ipv4_addresses: 0, ipv6_networks: 0 };
    expect(changes.flags.is_proxy).toEqual({ added: { ...none, ipv4_addresses: 256 }, removed: none });
    expect(changes.disposable).toEqual({ added: 1, removed: 1 });
  });

  test("by default, compares the release in use with the one before it", async () => {
    const names = async (...args: string[]) => {
      const { before, release } = JSON.parse((await run(...args, "--json")).out);
      return [before.slice(-12), release.slice(-12)];
    };
    expect(await names()).toEqual([second, third]);
    expect(await names(first)).toEqual([first, third]);
    expect(await names(third, first)).toEqual([third, first]);
    const same = await run(third, third);
    expect(same.out).toContain("No feed changed.\n");
  });

  test("a release that is not kept, and no release to compare with: refused", async () => {
    const { err, code } = await run("0123456789ab");
    expect([code, err]).toEqual([1, expect.stringContaining("there is no release 0123456789ab in ")]);
    const own = temporaryFolder();
    smallRelease(own, 1);
    const only = await runHere(["data", "diff", "--data-dir", own], { cwd: own });
    expect([only.code, only.err]).toEqual([
      1,
      expect.stringMatching(/there is no release before \S+\nhint: give the older release/),
    ]);
  });
});

test("on a host that follows a channel, no hint is a build on this host", async () => {
  const dataDir = temporaryFolder();
  const none = { followed_at: null, version: null, release: null, expires_at: null };
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
