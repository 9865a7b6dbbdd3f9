// group.ts: what a group of hosts may give out together: the state of one key, and one host's exchange with it. Pure.
//
// in   the state of a key as the database holds it; the time of the database's clock; the hosts of the group; what one host
//      has left, and wants
// out  the next state, and what the host gets
//
// The bound. Tokens are either in the group's bucket (`level`), or held by a host, which took them in advance. Together
// they never exceed the burst, and grow by the rate only; so any window of T seconds sees at most rate * T + burst
// lookups, by all hosts. What a host reports as held is what it had when it sent its report, so more than it has.
//
// A host without the database uses up what it holds; after SILENT_MS without an answer it refills by its share, rate /
// hosts (`shareAmong`), up to what the group has set aside for that (`alone`). The group withholds the same from its own refill, from
// SILENT_MS after the last answer that the host is known to have received: never later than the host begins. After GONE_MS
// the host is held to be gone; one that still runs, cut off for so long, would add its share to the limit.

import { GONE_MS } from "@inkling/release-store";
import { dayOf } from "../keys/day.ts";
import type { KeyId } from "../keys/key.ts";

/** Without an answer for so long, a host is alone. */
export const SILENT_MS = 2_000;
/** Further ahead than this: the database's clock was set back. */
const CLOCK_SLACK_MS = 5_000;

export type HostId = string;

/** One host, as the others see it. Times are epoch ms of the database's clock. */
export interface GroupHost {
  readonly id: HostId;
  /** Of the last answer that it is known to have received. */
  readonly confirmedAt: number;
  /** Among how many it shares the rate while it is alone: the least that it was given then, or since. */
  readonly hosts: number;
  /** How long it was alone before that, each time divided by the number of hosts that it knew: it only grows. */
  readonly aloneMs: number;
}

/** The last answer that a host has received: its time, and the `among` in it. */
export interface Receipt {
  readonly at: number;
  readonly among: number;
}

/** How long a host may have been alone until now, divided by the number of hosts. */
const aloneMsOf = ({ confirmedAt, hosts, aloneMs }: GroupHost, now: number) =>
  aloneMs + Math.max(0, now - (confirmedAt + SILENT_MS)) / hosts;

/**
 * A host reports the last answer that it has received. Keys settle what it refilled alone when they are exchanged next.
 * It received that answer at some moment from `at` to now, and was not alone for SILENT_MS after it: what it was alone at
 * most is found at the first or the last of these moments. No time counts twice.
 */
export function confirmHost(before: GroupHost, receipt: Receipt | undefined, now: number): GroupHost {
  if (receipt === undefined || receipt.at <= before.confirmedAt) return before;
  const { at, among: hosts } = receipt;
  const since = Math.max(0, now - (at + SILENT_MS)) / hosts;
  const aloneMs = Math.max(aloneMsOf(before, now), aloneMsOf(before, at) + since);
  return { id: before.id, confirmedAt: at, hosts, aloneMs: aloneMs - since };
}

/** A share of next to nothing; also the most that the column holds. */
const NO_SHARE = 2 ** 31 - 1;

/**
 * Among how many a host shares the rate while it is alone: all members; more of them where others know of fewer, because
 * they have not had an answer since this one joined. The shares of all together are the whole at most.
 */
export function shareAmong(host: HostId, members: readonly GroupHost[]): number {
  let free = 1;
  for (const { id, hosts } of members) if (id !== host) free -= 1 / hosts;
  // 1e-9: in a settled group what is free is one of the members' equal shares, but for rounding.
  const among = free > 1e-9 ? Math.min(NO_SHARE, Math.ceil(1 / free - 1e-9)) : NO_SHARE;
  return Math.max(members.length, among);
}

/** Those that are not gone; this host as it is now. */
export const membersOf = (hosts: readonly GroupHost[], own: GroupHost, now: number): GroupHost[] => [
  ...hosts.filter(({ id, confirmedAt }) => id !== own.id && confirmedAt > now - GONE_MS),
  own,
];

/**
 * The row of a host that joins, or whose share becomes larger: its receipt of that may never be known. One host after
 * another: two that do it at once would not see each other's.
 */
export function joinedHost(
  id: HostId,
  hosts: readonly GroupHost[],
  receipt: Receipt | undefined,
  now: number,
): GroupHost {
  const before = hosts.find((host) => host.id === id);
  // A host that was there before may still count as cut off for the other hosts.
  const joining = { id, confirmedAt: now, hosts: hosts.length + 1, aloneMs: 0 };
  const own = before === undefined ? joining : confirmHost(before, receipt, now);
  return { ...own, hosts: Math.min(own.hosts, shareAmong(id, membersOf(hosts, own, now))) };
}

/** The group, at one moment. */
interface Group {
  readonly now: number;
  /** All hosts that are not gone, the one that exchanges included. */
  readonly members: readonly GroupHost[];
}

/** Tokens of one key. */
interface RateState {
  /** In the group's bucket; below 0 after hosts that were alone had larger shares. */
  level: number;
  /** Until when it was refilled. */
  at: number;
  /**
   * By host: what it holds, up to what it refills when it is alone, and until when of its `aloneMs` that is settled. Of one
   * that got less than it wanted also when that was, and its part of what the bucket has gained since.
   */
  hosts: Record<
    HostId,
    readonly [held: number, alone: number, settledMs: number, lackedAt?: number, part?: number]
  >;
}

/** A host that lacks tokens asks again within 250 ms: one that has not for so long wants none any more. */
const LACK_MS = 1_000;

/** What a host that lacks tokens waits for: at most a second of the rate, and no debt but that of a rounded token. */
const boundPart = (part: number, rate: number) => Math.max(-1, Math.min(part, Math.max(1, rate)));

interface Limit {
  /** Tokens per second. */
  readonly rate: number;
  readonly burst: number;
}

interface Wanted {
  readonly host: HostId;
  /** What it has left. */
  readonly held: number;
  /** More than that. */
  readonly want: number;
}

/** Half a second of a host's share, so that a tick loses nothing; none where hosts outnumber the burst. */
export function aloneOf({ rate, burst }: Limit, hosts: number): number {
  return burst < hosts ? 0 : Math.min(burst / hosts, Math.max(1, rate / (2 * hosts)));
}

function exchangeRate(
  before: RateState | undefined,
  limit: Limit,
  { host, held, alone: known, want }: RateWanted,
  isInUse: boolean,
  { now, members }: Group,
): { state: RateState; grant: number; alone: number } {
  const { rate, burst } = limit;
  const isAhead = before !== undefined && before.at > now + CLOCK_SLACK_MS;
  const from = before === undefined || isAhead ? now : Math.min(before.at, now);
  let level = before === undefined ? burst : before.level + (rate * (now - from)) / 1_000;
  // What the bucket gains goes in equal parts to the hosts that lack some: otherwise the first to ask would have it all.
  const lacking = members.filter(
    ({ id }) => now - (before?.hosts[id]?.[3] ?? Number.NEGATIVE_INFINITY) <= LACK_MS,
  );
  const gained = lacking.length === 0 ? 0 : (rate * (now - from)) / 1_000 / lacking.length;
  const parts = new Map(
    lacking.map(({ id }) => [id, boundPart((before?.hosts[id]?.[4] ?? 0) + gained, rate)]),
  );
  const ownPart = parts.get(host) ?? 0;
  parts.delete(host);
  let others = 0;
  let wasAlone = false;
  const hosts: RateState["hosts"] = {};
  let settled = 0;
  for (const member of members) {
    const { id } = member;
    const aloneMs = aloneMsOf(member, now);
    const [holds, alone, settledMs] = before?.hosts[id] ?? [0, 0, aloneMs];
    const withheld = Math.max(0, aloneMs - settledMs);
    if (alone > 0) level -= (rate * withheld) / 1_000;
    if (id === host) {
      wasAlone = withheld > 0;
      settled = aloneMs;
      continue;
    }
    const part = parts.get(id);
    if (part !== undefined) hosts[id] = [holds, alone, aloneMs, before!.hosts[id]![3]!, part];
    else if (holds > 0 || alone > 0) hosts[id] = [holds, alone, aloneMs];
    others += Math.max(holds, alone);
  }
  // What the host may refill to has to fit beside what the others hold. It keeps what it knows until it knows better.
  const wanted = aloneOf(limit, members.length);
  const alone = Math.max(0, Math.min(wanted, Math.max(known, burst - others)));
  const setAside = Math.max(known, alone);
  // Nobody knows when it used what it held: a bucket that was full until now has not refilled since.
  const [heldBefore, aloneBefore] = before?.hosts[host] ?? [0, 0, 0];
  level = Math.min(level, burst - others - Math.max(held, heldBefore, wasAlone ? aloneBefore : 0));
  // Of what is there the parts of the others remain; but when this host's is the largest, it gets that first.
  const reserved = [...parts.values()].reduce((sum, part) => sum + Math.max(0, part), 0);
  const isLargest = [...parts.values()].every((part) => part <= ownPart);
  const free = Math.max(level - reserved, isLargest ? Math.max(1, ownPart) : 0);
  const grant = Math.max(0, Math.floor(Math.min(want, level, free)));
  level = Math.min(level - grant, burst - others - held - grant);
  const isLacking = isInUse && want > grant;
  const part = boundPart(ownPart - grant, rate);
  hosts[host] = isLacking ? [held + grant, setAside, settled, now, part] : [held + grant, setAside, settled];
  const at = before === undefined || isAhead ? now : Math.max(before.at, now);
  return { state: { level, at, hosts }, grant, alone };
}

/** One key's day. */
interface QuotaState {
  /** UTC, by the database's clock, as "2026-06-01". */
  day: string;
  /** Used before the first exchange of the day. */
  base: number;
  /** By host: what it used, and what it holds. */
  hosts: Record<HostId, readonly [used: number, held: number]>;
}

interface RateWanted extends Wanted {
  /** Up to what it refills when it is alone, as it knows. */
  readonly alone: number;
}

interface QuotaWanted extends Wanted {
  /** The day that `used` and `held` are of; undefined from a host that has just started. */
  readonly day: string | undefined;
  /** What the host used on that day, those before a restart included. */
  readonly used: number;
}

/** @param base what was used on this day, if the state has another day */
function exchangeQuota(
  before: QuotaState | undefined,
  quota: number,
  { host, day: known, used, held, want }: QuotaWanted,
  day: string,
  base: number,
): { state: QuotaState; grant: number; used: number; left: number } {
  const today = quotaOn(day, before, base);
  const [usedBefore, heldBefore] = today.hosts[host] ?? [0, 0];
  // A host that has started again, or that comes from another day, used what it does not hold any more.
  const heldNow = known === undefined ? 0 : held;
  const usedNow = known === day ? used : usedBefore + Math.max(0, heldBefore - heldNow);
  delete today.hosts[host];
  let left = quota - today.base - usedNow - heldNow;
  for (const [othersUsed, othersHeld] of Object.values(today.hosts)) left -= othersUsed + othersHeld;
  const grant = Math.max(0, Math.floor(Math.min(want, left)));
  today.hosts[host] = [usedNow, heldNow + grant];
  return { state: today, grant, used: usedNow, left: Math.max(0, left - grant) };
}

/** What hosts hold at midnight they may use on the next day, so it counts there. */
function quotaOn(day: string, before: QuotaState | undefined, base: number): QuotaState {
  if (before?.day === day) return { ...before, hosts: { ...before.hosts } };
  const held = Object.entries(before?.hosts ?? {}).filter(([, [, holds]]) => holds > 0);
  return { day, base, hosts: Object.fromEntries(held.map(([host, [, holds]]) => [host, [0, holds]])) };
}

/** What one key wants. */
export interface LeaseWish {
  readonly keyId: KeyId;
  /** Or does it only fill a reserve? */
  readonly isInUse: boolean;
  /** Undefined for a key without a rate. */
  readonly rate?: {
    readonly rate: number;
    readonly burst: number;
    readonly held: number;
    readonly alone: number;
    readonly want: number;
  };
  /** Undefined for a key without a quota. */
  readonly quota?: {
    readonly quota: number;
    readonly day: string | undefined;
    readonly used: number;
    readonly held: number;
    readonly want: number;
  };
}

export interface LeaseGrant {
  readonly keyId: KeyId;
  readonly rate?: { readonly grant: number; readonly alone: number };
  readonly quota?: {
    /** UTC, by the database's clock, as "2026-06-01". */
    readonly day: string;
    readonly grant: number;
    readonly used: number;
    readonly left: number;
  };
}

/** What the database holds of one key. */
export interface KeyState {
  readonly rate?: RateState | undefined;
  readonly quota?: QuotaState | undefined;
}

/**
 * One key's part of an exchange.
 * @param base what the key used today, where its state has another day
 */
export function exchangeKey(
  before: KeyState | undefined,
  { keyId, isInUse, rate, quota }: LeaseWish,
  host: HostId,
  group: Group,
  base: number,
): { state: KeyState; grant: LeaseGrant; isShort: boolean } {
  const rates = rate && exchangeRate(before?.rate, rate, { host, ...rate }, isInUse, group);
  const day = dayOf(group.now);
  const quotas = quota && exchangeQuota(before?.quota, quota.quota, { host, ...quota }, day, base);
  const lacks = (wanted: number, grant: number | undefined) => isInUse && wanted > (grant ?? wanted);
  return {
    state: { rate: rates?.state, quota: quotas?.state },
    grant: {
      keyId,
      ...(rates && { rate: { grant: rates.grant, alone: rates.alone } }),
      ...(quotas && { quota: { day, grant: quotas.grant, used: quotas.used, left: quotas.left } }),
    },
    isShort: lacks(rate?.want ?? 0, rates?.grant) || lacks(quota?.want ?? 0, quotas?.grant),
  };
}
