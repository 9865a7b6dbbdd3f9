// release-gate.ts: decides whether the amount of address space that a release flags is plausible. It has no side
// effects; the previous release is an argument.
//
// The gates for one copy (copy-gates.ts) stop a list that changes suddenly. This gate also stops many lists that change
// together, and a list that grows a little each day. It also stops a release that loses many flags, because visitors
// from those addresses would be let in.

import {
  ADDRESS_FLAGS,
  type FeedReport,
  type FlaggedSpace,
  type Release,
  type SegmentKind,
  SPECIAL_USE,
  type Space,
} from "@inkling/engine";
import type { Flag } from "../catalog/claims.ts";
import { FLAG_BITS, FLAG_BOUNDS } from "../policy/labels.ts";
import { type Judgement, OVERRULED } from "../policy/reputation.ts";
import { spaceByValue, spaceOf } from "./space.ts";

/**
 * All IPv4 addresses that a visitor can have: 3,702,258,432. About 3.1 billion of them are routed. The gate does not read
 * which.
 */
const PUBLIC_4 = 2 ** 32 - spaceOf(SPECIAL_USE.map(({ prefix }) => prefix)).v4;

/** Returns how much address space a release may flag. */
function largest(flag: Flag, family: keyof Space): number {
  const { v4, v6 } = FLAG_BOUNDS[flag].largest;
  return family === "v4" ? v4 * PUBLIC_4 : v6;
}
/** Maximum growth from one release to the next. Copies of most default feeds may change by 30 to 50%. */
const MAX_GROWTH = 1.5;
/** Growth that needs no explanation: 0.05% of public IPv4, or 256 IPv6 networks of /32. */
const FREE_GROWTH: Space = { v4: 1_850_000, v6: 2 ** 40 };
/**
 * Maximum share of the guarded addresses that lists may have. The share has been 0.5% for is_proxy and 0.007% for
 * is_abuser.
 */
const MAX_OVERRULED = 0.05;
/** Number of guarded addresses up to which lists may have all of them. */
const FREE_OVERRULED: Space = { v4: 2 ** 16, v6: 2 ** 32 };
/** Minimum share of the previous release's flagged space that a release must keep. */
const MIN_KEPT = 0.5;
/** Loss that needs no explanation: less than a third of the Tor exits, which are the smallest group. */
const FREE_LOSS: Space = { v4: 500, v6: 2 ** 32 };
const FREE_LOST_DOMAINS = 500;
const MAX_NAMED = 3;

type Flagged = NonNullable<Release["flagged"]>;
type Known = Pick<Release, "flagged" | "disposable" | "feeds">;

interface Problem {
  /** The segment that flags too much or too little. */
  readonly kind: SegmentKind;
  readonly why: string;
}

/** Returns the address space that a judgement flags and overrules, by flag. */
export function flaggedBy({ flags, guards }: Pick<Judgement, "flags" | "guards">): Flagged {
  const [flags4, flags6] = [spaceByValue(flags.v4), spaceByValue(flags.v6)];
  const [guards4, guards6] = [spaceByValue(guards.v4), spaceByValue(guards.v6)];
  return Object.fromEntries(
    ADDRESS_FLAGS.map((flag): [Flag, FlaggedSpace] => {
      const bit = FLAG_BITS[flag];
      return [
        flag,
        {
          flagged: { v4: withBit(flags4, bit), v6: withBit(flags6, bit) },
          guarded: { v4: withBit(guards4, bit), v6: withBit(guards6, bit) },
          overruled: { v4: withBit(guards4, bit << OVERRULED), v6: withBit(guards6, bit << OVERRULED) },
        },
      ];
    }),
  );
}

function withBit(spaces: ReadonlyMap<number, number>, bit: number): number {
  let sum = 0;
  for (const [value, space] of spaces) if ((value & bit) !== 0) sum += space;
  return sum;
}

/**
 * @param before the newest release; undefined for the first release
 * @param accepted feeds that the operator accepts in this build. The flags that they set are not checked
 */
export function findProblems(
  next: Known,
  before: Known | undefined,
  accepted: readonly string[],
): readonly Problem[] {
  const isAccepted = (what: string) => listsOf(what, next).some(({ id }) => accepted.includes(id));
  const problems = ADDRESS_FLAGS.flatMap((flag): Problem | [] => {
    const found = next.flagged?.[flag];
    const earlier = before?.flagged?.[flag];
    if (found === undefined || isAccepted(flag) || Bun.deepEquals(found, earlier)) return [];
    const last = hasNewList(flag, next, before) ? undefined : earlier;
    const why = (["v4", "v6"] as const).flatMap((family) => whyFlag(flag, family, found, last));
    if (why.length === 0) return [];
    return { kind: "reputation", why: `${flag}: ${why.join(", ")} (${causes(flag, next, before)})` };
  });
  return before === undefined ? problems : [...problems, ...findLosses(next, before, accepted)];
}

function whyFlag(
  flag: Flag,
  family: keyof Space,
  { flagged, guarded, overruled }: FlaggedSpace,
  last: FlaggedSpace | undefined,
): string[] {
  const now = flagged[family];
  const why: string[] = [];
  if (now > largest(flag, family))
    why.push(
      `${amount(now, family)} would be flagged, but at most ${amount(largest(flag, family), family)} are expected`,
    );
  const most = last && last.flagged[family] * MAX_GROWTH + FREE_GROWTH[family];
  if (most !== undefined && now > most)
    why.push(`${amount(now, family)} would be flagged, up from ${amount(last!.flagged[family], family)}`);
  const share = overruled[family] / guarded[family];
  if (share > MAX_OVERRULED && overruled[family] > FREE_OVERRULED[family])
    why.push(`lists have ${percent(share)} of the space that guards protect (${name(family)})`);
  return why;
}

/** Finds what a release flags much less than the previous release. */
function findLosses(next: Known, before: Known, accepted: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  const report = (kind: SegmentKind, what: string, now: string, last: string) => {
    if (isLossExpected(what, next, before, accepted)) return;
    const why = `${what}: only ${now} would be flagged, down from ${last} (${causesOfLoss(what, next, before)})`;
    problems.push({ kind, why });
  };
  const isLoss = (now: number, last: number, free: number) => now < last * MIN_KEPT && last - now > free;
  for (const flag of ADDRESS_FLAGS) {
    const [found, last] = [next.flagged?.[flag]?.flagged, before.flagged?.[flag]?.flagged];
    if (last === undefined) continue;
    const family = (["v4", "v6"] as const).find((each) =>
      isLoss(found?.[each] ?? 0, last[each], FREE_LOSS[each]),
    );
    if (family !== undefined)
      report("reputation", flag, amount(found?.[family] ?? 0, family), amount(last[family], family));
  }
  const { disposable: last = 0 } = before;
  const { disposable: now = 0 } = next;
  if (isLoss(now, last, FREE_LOST_DOMAINS))
    report("email", "disposable", `${now} ${now === 1 ? "domain" : "domains"}`, `${last}`);
  return problems;
}

/** Returns whether a list from the previous release was turned off, has expired, or is accepted. */
function isLossExpected(what: string, next: Known, before: Known, accepted: readonly string[]): boolean {
  const now = new Map(next.feeds.map((feed) => [feed.id, feed]));
  return listsOf(what, before).some(({ id }) => {
    const feed = now.get(id);
    return feed === undefined || feed.state === "expired" || accepted.includes(id);
  });
}

/** Describes the lists that lost the most or are missing. */
function causesOfLoss(what: string, next: Known, before: Known): string {
  const now = new Map(next.feeds.map((feed) => [feed.id, feed]));
  const lost = listsOf(what, before).flatMap(({ id, entries }) => {
    const feed = now.get(id);
    if (feed?.state !== "loaded") return [{ by: entries, text: `${id} is ${feed?.state ?? "missing"}` }];
    const by = entries - feed.entries;
    return by > 0
      ? [
          {
            by,
            text: `${id} has ${feed.entries} ${feed.entries === 1 ? "entry" : "entries"}, down from ${entries}`,
          },
        ]
      : [];
  });
  const named = lost.sort((a, b) => b.by - a.by).slice(0, MAX_NAMED);
  return named.length === 0
    ? "no list has fewer entries than before"
    : named.map(({ text }) => text).join("; ");
}

/** Returns whether a list for this flag is new in this release. If so, growth is expected. */
function hasNewList(flag: Flag, next: Known, before: Known | undefined): boolean {
  const known = new Set(listsOf(flag, before).map(({ id }) => id));
  return listsOf(flag, next).some(({ id }) => !known.has(id));
}

const listsOf = (flag: string, release: Known | undefined): readonly FeedReport[] =>
  release?.feeds.filter(({ sets, state }) => sets === flag && state === "loaded") ?? [];

/** Describes the lists that grew the most. */
function causes(flag: Flag, next: Known, before: Known | undefined): string {
  const last = new Map(listsOf(flag, before).map(({ id, space }) => [id, space]));
  const grown = listsOf(flag, next)
    .map(({ id, space = NONE }) => ({ id, space, was: last.get(id) ?? NONE }))
    .map((row) => ({ ...row, by: row.space.v4 - row.was.v4 + (row.space.v6 - row.was.v6) / 2 ** 32 }))
    .filter(({ by }) => by > 0)
    .sort((a, b) => b.by - a.by)
    .slice(0, MAX_NAMED)
    .map(({ id, space, was }) => `${id} covers ${both(space)}, up from ${both(was)}`);
  return grown.length === 0 ? "no list covers more than before" : grown.join("; ");
}
const NONE: Space = { v4: 0, v6: 0 };

const both = ({ v4, v6 }: Space) =>
  [...(v4 > 0 || v6 === 0 ? [amount(v4, "v4")] : []), ...(v6 > 0 ? [amount(v6, "v6")] : [])].join(" and ");

const name = (family: keyof Space) => (family === "v4" ? "IPv4" : "IPv6");
const percent = (share: number) => `${(100 * share).toPrecision(2)}%`;

function amount(space: number, family: keyof Space): string {
  if (family === "v4") return `${percent(space / PUBLIC_4)} of public IPv4`;
  return `${Math.ceil(space / 2 ** 32).toLocaleString("en")} IPv6 networks of /32`;
}
