// release-changes.ts: counts the subjects that one of two releases flags and the other does not, and finds the feeds
// whose data changed.
//
// Cost: visiting every network of both releases takes half a second for real releases, in small steps.

import { recordOf } from "@inkling/contract";
import { openManifest, openRelease } from "@inkling/data";
import {
  ADDRESS_FLAGS,
  addSize,
  alignedBits,
  type FeedReport,
  feedAgeSeconds,
  IpAddress,
  type IpSegment,
  type LoadedRelease,
  type Release,
} from "@inkling/engine";
import { z } from "zod";
import type { OperationContext, Steps } from "./context.ts";
import { count, text, time } from "./operation.ts";

/** IPv6 counts networks as the tables store them, because IPv6 networks hold too many addresses to count. */
const flagChange = z.strictObject({ ipv4_addresses: count, ipv6_networks: count });
const flagChanges = z.strictObject({ added: flagChange, removed: flagChange });
/** What changed between two releases. */
export const changes = z.strictObject({
  release: text,
  created_at: time,
  before: text.nullable(),
  before_created_at: time.nullable(),
  feeds_changed: z
    .array(
      z.strictObject({
        feed: text,
        sets: text,
        change: z.enum(["added", "removed", "changed"]),
        entries_before: count,
        entries: count,
        age_seconds_before: count.nullable(),
        age_seconds: count.nullable(),
      }),
    )
    .nullable(),
  changes: z
    .strictObject({
      flags: z.strictObject(recordOf(ADDRESS_FLAGS, () => flagChanges)).optional(),
      disposable: z.strictObject({ added: count, removed: count }).optional(),
    })
    .nullable(),
});

type ReleaseChanges = NonNullable<z.output<typeof changes>["changes"]>;

/** The feed's reports in the two releases; undefined in a release that does not have the feed. */
interface FeedChange {
  readonly id: string;
  readonly before: FeedReport | undefined;
  readonly after: FeedReport | undefined;
}

/** Lists the feeds whose data differs, including feeds that only one of the releases has. */
export function changedFeeds(before: Pick<Release, "feeds">, after: Pick<Release, "feeds">): FeedChange[] {
  const rows = ({ feeds }: Pick<Release, "feeds">) => new Map(feeds.map((feed) => [feed.id, feed]));
  const [old, young] = [rows(before), rows(after)];
  return [...new Set([...young.keys(), ...old.keys()])].flatMap((id) => {
    const change = { id, before: old.get(id), after: young.get(id) };
    return change.before?.sha256 === change.after?.sha256 ? [] : [change];
  });
}

type OpenRelease = Pick<LoadedRelease, "reputation" | "email">;

export function* releaseChanges(before: OpenRelease, after: OpenRelease): Steps<ReleaseChanges> {
  return {
    ...(before.reputation === undefined || after.reputation === undefined
      ? {}
      : { flags: yield* addressChanges(before.reputation, after.reputation) }),
    ...(before.email === undefined || after.email === undefined
      ? {}
      : { disposable: yield* domainChanges(before.email, after.email) }),
  };
}

type Domains = Pick<NonNullable<LoadedRelease["email"]>, "domains">;

const NONE = "[]";
/** Number of networks or domains that are visited before a pause. */
const STEP_SUBJECTS = 4_096;
const decoder = new TextDecoder();

/**
 * Finds the names that a segment marks as disposable. The segment also contains other names, with other facts about
 * them.
 */
function* disposable(segment: Domains): Steps<Set<string>> {
  const names = new Set<string>();
  let visited = 0;
  for (const { name, providers } of segment.domains()) {
    if (++visited % STEP_SUBJECTS === 0) yield;
    if (providers.length > NONE.length) names.add(name);
  }
  return names;
}

function* domainChanges(before: Domains, after: Domains) {
  const [old, young] = [yield* disposable(before), yield* disposable(after)];
  const isIn = (names: Set<string>) => (name: string) => names.has(name);
  const kept = [...young].filter(isIn(old)).length;
  return { added: young.size - kept, removed: old.size - kept };
}

/** An address's flags as bits, in the order of ADDRESS_FLAGS. */
class Flags {
  private readonly segment: IpSegment;
  private readonly byRecord = new Map<number, number>();

  constructor(segment: IpSegment) {
    this.segment = segment;
  }

  at(address: IpAddress): number {
    const record = this.segment.record(address);
    let bits = this.byRecord.get(record);
    if (bits === undefined) {
      const bytes = this.segment.answer(record);
      const answer =
        bytes === undefined ? {} : (JSON.parse(decoder.decode(bytes)) as Record<string, boolean>);
      bits = ADDRESS_FLAGS.reduce((sum, flag, i) => sum | (answer[flag] === true ? 1 << i : 0), 0);
      this.byRecord.set(record, bits);
    }
    return bits;
  }
}

function* addressChanges(before: IpSegment, after: IpSegment) {
  const zero = () => ADDRESS_FLAGS.map(() => ({ ipv4_addresses: 0, ipv6_networks: 0 }));
  const added = zero();
  const removed = zero();
  const [old, young] = [new Flags(before), new Flags(after)];
  for (const family of [4, 6] as const) {
    yield* walk(family, [before, after], (address, bits) => {
      const was = old.at(address);
      const is = young.at(address);
      if (was === is) return;
      for (let i = 0; i < ADDRESS_FLAGS.length; i++) {
        const change = ((is >> i) & 1) - ((was >> i) & 1);
        if (change === 0) continue;
        const sum = (change > 0 ? added : removed)[i]!;
        if (family === 4) sum.ipv4_addresses += 2 ** (32 - bits);
        else sum.ipv6_networks++;
      }
    });
  }
  return recordOf(ADDRESS_FLAGS, (_, i) => ({ added: added[i]!, removed: removed[i]! }));
}

/** Visits a family's whole address space, in networks that have one answer in each segment. */
function* walk(
  family: 4 | 6,
  segments: readonly IpSegment[],
  visit: (address: IpAddress, bits: number) => void,
): Steps<void> {
  let visited = 0;
  const address = new IpAddress(family);
  for (let isOpen = true; isOpen; ) {
    let bits = alignedBits(address);
    for (const segment of segments) bits = Math.max(bits, segment.networkBits(address));
    visit(address, bits);
    if (++visited % STEP_SUBJECTS === 0) yield;
    isOpen = addSize(address.words, bits);
  }
}

/** Maximum number of results of comparisons that are kept. */
const MAX_COMPARISONS = 50;
/** Results of comparisons, by the names of both releases, which never change. */
const comparisons = new Map<string, Promise<ReleaseChanges>>();

function compareReleases({ dataDir, inSteps }: OperationContext, before: string, after: string) {
  const pair = JSON.stringify([dataDir, before, after]);
  const known = comparisons.get(pair);
  if (known !== undefined) return known;
  if (comparisons.size >= MAX_COMPARISONS) comparisons.clear();
  const changes = inSteps(releaseChanges(openRelease(dataDir, before), openRelease(dataDir, after)));
  comparisons.set(pair, changes);
  return changes;
}

/** @param before undefined for the oldest release. @throws ReleaseError */
export async function changesSince(context: OperationContext, release: string, before: string | undefined) {
  const { dataDir, now } = context;
  const { created_at, feeds } = openManifest(dataDir, release);
  if (before === undefined)
    return { release, created_at, before: null, before_created_at: null, feeds_changed: null, changes: null };
  const then = openManifest(dataDir, before);
  return {
    release,
    created_at,
    before,
    before_created_at: then.created_at,
    feeds_changed: feedChanges(then, { feeds }, now()),
    changes: await compareReleases(context, before, release),
  };
}

/** A feed counts as present only if the release has a copy of it. */
const copyOf = (report: FeedReport | undefined) => (report?.sha256 === undefined ? undefined : report);

function feedChanges(older: Pick<Release, "feeds">, newer: Pick<Release, "feeds">, now: number) {
  const age = (report: FeedReport | undefined) => (report && feedAgeSeconds(report, now)) ?? null;
  return changedFeeds(older, newer).map(({ id, ...reports }) => {
    const [before, after] = [copyOf(reports.before), copyOf(reports.after)];
    return {
      feed: id,
      sets: (reports.after ?? reports.before)!.sets, // one of the releases has the feed
      change:
        before === undefined
          ? ("added" as const)
          : after === undefined
            ? ("removed" as const)
            : ("changed" as const),
      entries_before: before?.entries ?? 0,
      entries: after?.entries ?? 0,
      age_seconds_before: age(before),
      age_seconds: age(after),
    };
  });
}
