// data-diff.ts: formats the text of `inkling data diff`. The console shows the same comparison.

import { ReleaseError, releasesBefore, requireCurrentName, requireKeptName } from "@inkling/data";
import type { DATA, Input, Output } from "@inkling/operations";
import type { OperationCall } from "../runtime/operation-command.ts";
import { copyAge } from "../terminal/release-tables.ts";
import { formatAgo, formatCount, roomyTable, type Terminal, table } from "../terminal/terminal.ts";

type Diff = (typeof DATA.operations)["release_changes"];
type Changes = NonNullable<Output<Diff>["changes"]>;

/** @throws ReleaseError if the release to compare with is not given, and there is no earlier one */
export async function requireEarlier(input: Input<Diff>, { settings: { dataDir } }: OperationCall) {
  const name = input.id === "current" ? requireCurrentName(dataDir) : requireKeptName(dataDir, input.id);
  if (input.before !== undefined || releasesBefore(dataDir, name).length > 0) return input;
  throw new ReleaseError(
    `there is no release before ${name}`,
    "give the older release; run `inkling data status` to see the stored releases",
  );
}

const FEED_HEAD = ["FEED", "SETS", "CHANGE", "BEFORE", "ENTRIES", "AGE BEFORE", "AGE"];

export const diffText =
  ({ width }: Terminal) =>
  (diff: Output<Diff>): string => {
    const { release, created_at, before, before_created_at, feeds_changed, changes } = diff;
    const built = (at: string | null) =>
      at === null ? "" : `built ${formatAgo(Date.now() - Date.parse(at))}`;
    const rows = (feeds_changed ?? []).map(({ feed, sets, change, ...counts }) => [
      feed,
      sets,
      change,
      change === "added" ? "-" : formatCount(counts.entries_before),
      change === "removed" ? "-" : formatCount(counts.entries),
      copyAge(counts.age_seconds_before),
      copyAge(counts.age_seconds),
    ]);
    return [
      `Release ${release}, ${built(created_at)}`,
      `compared with ${before}, ${built(before_created_at)}`,
      "",
      rows.length === 0 ? "No feed changed." : roomyTable([FEED_HEAD, ...rows], [3, 4], 5, width),
      "",
      changesText(changes ?? {}),
    ].join("\n");
  };

/** Formats how many addresses, networks and domains gained or lost each flag. */
function changesText({ flags, disposable }: Changes): string {
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
