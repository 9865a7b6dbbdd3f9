// release-changes.ts: counts the subjects that one of two releases flags and the other does not, and finds the feeds whose data
// changed.
//
// Cost: visiting every network of both releases takes half a second for real releases, in small steps.

import { recordOf } from "@inkling/contract";
import {
  ADDRESS_FLAGS,
  type AddressFlag,
  addSize,
  alignedBits,
  type FeedReport,
  IpAddress,
  type IpSegment,
  type LoadedRelease,
  type Release,
} from "@inkling/engine";
import type { Steps } from "./context.ts";

interface FlagChange {
  readonly ipv4_addresses: number;
  /** IPv6 counts networks as the tables store them, because IPv6 networks hold too many addresses to count. */
  readonly ipv6_networks: number;
}

export interface ReleaseChanges {
  /** Undefined if one of the releases lacks this data. */
  readonly flags?: Readonly<
    Record<AddressFlag, { readonly added: FlagChange; readonly removed: FlagChange }>
  >;
  readonly disposable?: { readonly added: number; readonly removed: number };
}

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
      : { flags: yield* flagChanges(before.reputation, after.reputation) }),
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

function* flagChanges(before: IpSegment, after: IpSegment) {
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
  const address = new IpAddress();
  address.family = family;
  for (let isOpen = true; isOpen; ) {
    let bits = alignedBits(address);
    for (const segment of segments) bits = Math.max(bits, segment.networkBits(address));
    visit(address, bits);
    if (++visited % STEP_SUBJECTS === 0) yield;
    isOpen = addSize(address.words, bits);
  }
}
