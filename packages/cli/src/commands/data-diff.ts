// data-diff.ts: `inkling data diff` compares two kept releases: their feeds, and the networks and domains that are
// flagged in only one of them. The console shows the same comparison.

import {
  openManifest,
  openRelease,
  ReleaseError,
  releasesBefore,
  requireCurrentName,
  requireKeptName,
} from "@inkling/data";
import { type FeedReport, feedAgeSeconds, type Release } from "@inkling/engine";
import { changedFeeds, type ReleaseChanges, releaseChanges } from "@inkling/server/diff";
import { finish } from "@inkling/server/steps";
import type { Command } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { feedAge } from "../terminal/release-tables.ts";
import { formatAgo, formatCount, roomyTable, table } from "../terminal/terminal.ts";

export function addDiff(data: Command, context: Context): void {
  const command = data
    .command("diff")
    .description(
      "show what changed between two kept releases: feeds, flagged networks and disposable domains",
    )
    .argument(
      "[older]",
      "id or name of a kept release, from `data status` (default: the release before the newer one)",
    )
    .argument("[newer]", "id or name of another kept release (default: the release in use)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Ages are counted until now. Overrides are not compared, because they do not belong to a release. To list the networks or
domains, export both releases with \`inkling export csv --release\`, and compare the files.

Examples:
  inkling data diff
  inkling data diff 0123456789ab
  inkling data diff 0123456789ab ba9876543210 --json`,
    );
  addAction(command, context, ["dataDir"], ({ settings: { dataDir } }, older?: string, newer?: string) => {
    const name = newer === undefined ? requireCurrentName(dataDir) : requireKeptName(dataDir, newer);
    const before = older === undefined ? previousOf(dataDir, name) : requireKeptName(dataDir, older);
    const [then, now] = [openManifest(dataDir, before), openManifest(dataDir, name)];
    const changes = finish(releaseChanges(openRelease(dataDir, before), openRelease(dataDir, name)));
    const at = new Date();
    const feeds = feedChanges(then, now, at);
    return {
      json: { before, release: name, feeds_changed: feeds.map(({ json }) => json), changes },
      text: () =>
        [
          `Release ${name}, built ${formatAgo(at.getTime() - Date.parse(now.created_at))}`,
          `compared with ${before}, built ${formatAgo(at.getTime() - Date.parse(then.created_at))}`,
          "",
          feeds.length === 0
            ? "No feed changed."
            : roomyTable([FEED_HEAD, ...feeds.map(({ row }) => row)], [3, 4], 5, context.terminal.width),
          "",
          changesText(changes),
        ].join("\n"),
    };
  });
}

function previousOf(dataDir: string, name: string): string {
  const [previous] = releasesBefore(dataDir, name);
  if (previous !== undefined) return previous;
  throw new ReleaseError(
    `there is no release before ${name}`,
    "name the older release; `inkling data status` lists the kept releases",
  );
}

const FEED_HEAD = ["FEED", "SETS", "CHANGE", "BEFORE", "ENTRIES", "AGE BEFORE", "AGE"];

/** A feed counts as present only if the release has a copy of it. */
const copyOf = (report: FeedReport | undefined) => (report?.sha256 === undefined ? undefined : report);

function feedChanges(older: Release, newer: Release, at: Date) {
  const age = (report: FeedReport | undefined) => (report && feedAgeSeconds(report, at.getTime())) ?? null;
  return changedFeeds(older, newer).map(({ id, ...reports }) => {
    const [before, after] = [copyOf(reports.before), copyOf(reports.after)];
    const sets = (reports.after ?? reports.before)!.sets; // one of the releases has the feed
    const change = before === undefined ? "added" : after === undefined ? "removed" : "changed";
    const count = (report: FeedReport | undefined) =>
      report === undefined ? "-" : formatCount(report.entries);
    return {
      json: {
        feed: id,
        sets,
        change,
        entries_before: before?.entries ?? 0,
        entries: after?.entries ?? 0,
        age_seconds_before: age(before),
        age_seconds: age(after),
      },
      row: [id, sets, change, count(before), count(after), feedAge(before, at), feedAge(after, at)],
    };
  });
}

/** Formats how many addresses, networks and domains gained or lost each flag. */
function changesText({ flags, disposable }: ReleaseChanges): string {
  const rows = Object.entries(flags ?? {}).flatMap(([flag, { added, removed }]) => [
    [flag, "IPv4 addresses", formatCount(added.ipv4_addresses), formatCount(removed.ipv4_addresses)],
    [flag, "IPv6 networks", formatCount(added.ipv6_networks), formatCount(removed.ipv6_networks)],
  ]);
  if (disposable !== undefined)
    rows.push(["disposable", "domains", formatCount(disposable.added), formatCount(disposable.removed)]);
  const missing = [
    ...(flags === undefined ? ["flags of addresses"] : []),
    ...(disposable === undefined ? ["disposable"] : []),
  ];
  return [
    ...(rows.length > 0 ? [table([["FLAG", "COUNTS", "ADDED", "REMOVED"], ...rows], [2, 3])] : []),
    ...missing.map((what) => `Not compared, because a release lacks this data: ${what}`),
  ].join("\n");
}
