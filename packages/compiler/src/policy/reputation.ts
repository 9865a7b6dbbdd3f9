// reputation.ts: what the lists say of networks -> the flags of every address.
//
// in   claims of each loaded feed, never-flag guards
// out  one covering of each address space; a value is a set of flag bits (flags.ts)
// err  none thrown
// cost 42,000 networks of the default feeds: 30 ms
//
// The rules, in the order they apply to one address (docs/policy.md gives their reasons):
//   1 special-use: no flag at all
//   2 is_tor_exit, is_proxy: one list is enough
//   3 is_abuser: one list whose evidence is strong enough for such an address (EVIDENCE, NEEDED)
//   4 relay: never is_proxy or is_abuser
//   5 guard: never the flags that its kind takes away

import { type Prefix, SPECIAL_USE } from "@inkling/engine";
import type { NetworkClaims } from "../claims.ts";
import { RangeColumns } from "../range-columns.ts";
import { ALL_FLAGS, FLAG_BITS, IS_ABUSER, IS_PROXY, IS_TOR_EXIT } from "./flags.ts";
import { GUARD_KINDS, type Guard, type GuardKind } from "./guards.ts";
import { type Interval, sweep } from "./sweep.ts";

/** A covering of each address space; values are flag bits, 0 where no flag is set. */
export interface FlagRanges {
  readonly v4: RangeColumns;
  readonly v6: RangeColumns;
}

/** What an abuse list knows: 1 what came from the address, 2 who runs it. */
export type Evidence = 1 | 2;

/**
 * Abuse lists whose evidence does not come from traffic alone; all others have evidence 1.
 * Lists of traffic do not add up: they count the same users of the same address.
 */
export const EVIDENCE: Readonly<Record<string, Evidence>> = {
  "spamhaus-drop-v4": 2, // networks that were hijacked or are leased by criminals
  "spamhaus-drop-v6": 2,
  "feodo-recommended": 2, // command servers of botnets, confirmed to be running
};

/**
 * Evidence that is_abuser needs. What comes from a Tor exit is its users' traffic, and there are lists
 * for that flag: 240 of the 14,217 addresses of ipsum-3 are exits.
 */
export const NEEDED: { readonly ordinary: Evidence; readonly torExit: Evidence } = {
  ordinary: 1,
  torExit: 2,
};

/** Label `relay`: ordinary people, many behind one address; their operator refuses abusers itself. */
export const RELAY_TAKES: number = IS_PROXY | IS_ABUSER;

/** One set of networks of the same effect: a feed, a kind of guard, or special use. */
interface Source {
  readonly adds: number;
  readonly takes: number;
  readonly evidence: number;
  readonly networks: readonly Prefix[];
}

/** The flags of every address. */
export function judgeNetworks(claims: readonly NetworkClaims[], guards: readonly Guard[]): FlagRanges {
  const sources = [specialUseSource(), ...claims.map(claimSource), ...guardSources(guards)];
  const v4 = new RangeColumns(4);
  sweep(0, 2 ** 32, intervals(sources, 4, interval4), sources.length, (start, covers) =>
    v4.append(start, 0, 0, 0, judge(sources, covers)),
  );
  const v6 = new RangeColumns(6);
  sweep(0n, 1n << 128n, intervals(sources, 6, interval6), sources.length, (start, covers) =>
    v6.append(word(start, 96n), word(start, 64n), word(start, 32n), word(start, 0n), judge(sources, covers)),
  );
  return { v4, v6 };
}

/** The flags of an address that these sources cover. */
function judge(sources: readonly Source[], covers: Readonly<Uint32Array>): number {
  let adds = 0;
  let takes = 0;
  let evidence = 0;
  for (let i = 0; i < sources.length; i++) {
    if (covers[i] === 0) continue;
    const source = sources[i]!;
    adds |= source.adds;
    takes |= source.takes;
    if (source.evidence > evidence) evidence = source.evidence;
  }
  const needed = (adds & IS_TOR_EXIT) === 0 ? NEEDED.ordinary : NEEDED.torExit;
  if (evidence < needed) takes |= IS_ABUSER;
  return adds & ~takes;
}

function specialUseSource(): Source {
  return { adds: 0, takes: ALL_FLAGS, evidence: 0, networks: SPECIAL_USE.map((row) => row.prefix) };
}

function claimSource({ feed, subject, networks }: NetworkClaims): Source {
  if (subject === "relay") return { adds: 0, takes: RELAY_TAKES, evidence: 0, networks };
  const evidence = subject === "is_abuser" ? (EVIDENCE[feed] ?? 1) : 0;
  return { adds: FLAG_BITS[subject], takes: 0, evidence, networks };
}

function guardSources(guards: readonly Guard[]): Source[] {
  const kinds = Object.entries(GUARD_KINDS) as [GuardKind, (typeof GUARD_KINDS)[GuardKind]][];
  return kinds.map(([kind, { takes }]) => ({
    adds: 0,
    takes,
    evidence: 0,
    networks: guards.filter((guard) => guard.kind === kind).map((guard) => guard.network),
  }));
}

function intervals<Key extends number | bigint>(
  sources: readonly Source[],
  family: 4 | 6,
  of: (prefix: Prefix, source: number) => Interval<Key>,
): Interval<Key>[] {
  return sources.flatMap(({ networks }, source) =>
    networks.filter((prefix) => prefix.address.family === family).map((prefix) => of(prefix, source)),
  );
}

function interval4({ address, bits }: Prefix, source: number): Interval<number> {
  const start = address.words[0]!;
  return { start, end: start + 2 ** (32 - bits), source };
}

function interval6({ address: { words }, bits }: Prefix, source: number): Interval<bigint> {
  let start = 0n;
  for (const part of words) start = (start << 32n) | BigInt(part);
  return { start, end: start + (1n << BigInt(128 - bits)), source };
}

function word(address: bigint, shift: bigint): number {
  return Number((address >> shift) & 0xffffffffn);
}
