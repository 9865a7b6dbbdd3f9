// group.ts: decides what the hosts of a group may use together. It computes the state of one key, and one host's
// exchange with that key. All functions are pure.
//
// in   a key's state in the database; the time by the database's clock; the group's hosts; what one host has left and
//      requests
// out  the key's next state, and what is granted to the host
//
// The bound: tokens are either in the group's bucket (`level`), or held by a host that took them in advance. Together,
// they never exceed the burst, and they grow only by the rate. So in any window of T seconds, all hosts together allow
// at most rate * T + burst lookups. A host reports the tokens that it held when it sent the report, so by now it holds
// at most that many.
//
// A host that cannot reach the database uses up what it holds. After SILENT_MS without an answer, it refills at its
// share of the rate, which is rate / hosts (`shareAmong`). It refills up to the level that the group has set aside for
// it (`alone`). The group withholds the same amount from its own refill, beginning SILENT_MS after the last answer that
// the host is known to have received. The group therefore never begins later than the host.
//
// After GONE_MS, the group considers the host gone. If such a host still runs without a connection, its share is added
// to the limit.

import { GONE_MS } from "@inkling/release-store";
import { dayOf } from "../keys/day.ts";
import type { KeyId } from "../keys/key.ts";

/** Milliseconds without an answer after which a host is cut off. */
export const SILENT_MS = 2_000;
/** If the time in a state is more than this many milliseconds ahead, the database's clock was set back. */
const CLOCK_SLACK_MS = 5_000;

export type HostId = string;

/** One host, as recorded in its row. Times are epoch ms by the database's clock. */
export interface GroupHost {
  readonly id: HostId;
  /** Time of the last answer that the host is known to have received. */
  readonly confirmedAt: number;
  /**
   * The number by which the host divides the rate while it is cut off. It is the smallest number in that answer or any
   * later one.
   */
  readonly hosts: number;
  /**
   * Milliseconds that the host was cut off before that answer. Each period is divided by the number of hosts at the time,
   * and the sum only grows.
   */
  readonly aloneMs: number;
}

/** The last answer that a host received: its time, and its `among`. */
export interface Receipt {
  readonly at: number;
  readonly among: number;
}

/** Returns the milliseconds that a host may have been cut off so far, divided by the number of hosts. */
const aloneMsOf = ({ confirmedAt, hosts, aloneMs }: GroupHost, now: number) =>
  aloneMs + Math.max(0, now - (confirmedAt + SILENT_MS)) / hosts;

/**
 * Returns a host's row after the host has reported the last answer that it received. At the host's next exchange, each
 * key accounts for the tokens that the host refilled by itself.
 *
 * The host received the answer at some time from `at` to now, and was not cut off for SILENT_MS after it. The longest
 * possible time that it was cut off results from either the first or the last of these times. No period counts twice.
 */
export function confirmHost(before: GroupHost, receipt: Receipt | undefined, now: number): GroupHost {
  if (receipt === undefined || receipt.at <= before.confirmedAt) return before;
  const { at, among: hosts } = receipt;
  const since = Math.max(0, now - (at + SILENT_MS)) / hosts;
  const aloneMs = Math.max(aloneMsOf(before, now), aloneMsOf(before, at) + since);
  return { id: before.id, confirmedAt: at, hosts, aloneMs: aloneMs - since };
}

/** A divisor that leaves nearly nothing of a rate. It is also the maximum of the database column. */
const NO_SHARE = 2 ** 31 - 1;

/**
 * Returns the number by which a host divides the rate while it is cut off: at least the number of members. The number is
 * larger while other members still divide by a smaller number, because they have received no answer since this host
 * joined. The shares of all hosts never add up to more than the rate.
 */
export function shareAmong(host: HostId, members: readonly GroupHost[]): number {
  let free = 1;
  for (const { id, hosts } of members) if (id !== host) free -= 1 / hosts;
  // 1e-9 absorbs rounding: in a settled group, `free` is exactly one member's equal share.
  const among = free > 1e-9 ? Math.min(NO_SHARE, Math.ceil(1 / free - 1e-9)) : NO_SHARE;
  return Math.max(members.length, among);
}

/** Returns the hosts that are not gone, including this host with its current row. */
export const membersOf = (hosts: readonly GroupHost[], own: GroupHost, now: number): GroupHost[] => [
  ...hosts.filter(({ id, confirmedAt }) => id !== own.id && confirmedAt > now - GONE_MS),
  own,
];

/**
 * Returns the row for a host that joins, or whose share grows. The row counts the larger share at once, because the
 * group may never learn that the host received it. Only one host may do this at a time: two hosts would not read each
 * other's rows.
 */
export function joinedHost(
  id: HostId,
  hosts: readonly GroupHost[],
  receipt: Receipt | undefined,
  now: number,
): GroupHost {
  const before = hosts.find((host) => host.id === id);
  // The other hosts may still consider a host with an older row as cut off.
  const joining = { id, confirmedAt: now, hosts: hosts.length + 1, aloneMs: 0 };
  const own = before === undefined ? joining : confirmHost(before, receipt, now);
  return { ...own, hosts: Math.min(own.hosts, shareAmong(id, membersOf(hosts, own, now))) };
}

/** The group at one point in time. */
interface Group {
  readonly now: number;
  /** All hosts that are not gone, including the host that makes the exchange. */
  readonly members: readonly GroupHost[];
}

/** The tokens of one key. */
interface RateState {
  /**
   * Tokens in the group's bucket. The level is below 0 if hosts that were cut off still refilled at a larger share than
   * the current one.
   */
  level: number;
  /** Time up to which the bucket has been refilled. */
  at: number;
  /**
   * For each host: the tokens that it holds, the level to which it refills while it is cut off, and the part of its
   * `aloneMs` that is already accounted for. If the host got fewer tokens than it requested: also the time of that
   * exchange, and the host's part of the tokens that the bucket has gained since.
   */
  hosts: Record<
    HostId,
    readonly [held: number, alone: number, settledMs: number, lackedAt?: number, part?: number]
  >;
}

/**
 * A host that lacks tokens asks again within 250 ms. A host that has not asked for this many milliseconds needs no more
 * tokens.
 */
const LACK_MS = 1_000;

/**
 * Limits the tokens reserved for a host that lacks some: at most one second of the rate, or one token if that is more.
 * A part may fall to -1, because a grant is a whole number of tokens.
 */
const boundPart = (part: number, rate: number) => Math.max(-1, Math.min(part, Math.max(1, rate)));

interface Limit {
  /** Tokens per second. */
  readonly rate: number;
  readonly burst: number;
}

interface Wanted {
  readonly host: HostId;
  /** The tokens that the host has left. */
  readonly held: number;
  /** The additional tokens that the host requests. */
  readonly want: number;
}

/**
 * Returns the level to which a host refills while it is cut off: half a second of its share, so that no token is lost
 * between two ticks. The level is at least one token, and at most the host's part of the burst. It is 0 if there are
 * more hosts than tokens in the burst.
 */
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
  // The hosts that lack tokens share equally what the bucket gains. Otherwise, the first host to ask would get all of
  // it.
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
  // The level to which the host may refill, and the tokens that the other hosts hold, must together fit into the burst.
  // The host keeps its known level until it learns a new one.
  const wanted = aloneOf(limit, members.length);
  const alone = Math.max(0, Math.min(wanted, Math.max(known, burst - others)));
  const setAside = Math.max(known, alone);
  // It is unknown when the host used the tokens that it held. They therefore count as held until now, and the bucket
  // cannot have refilled in their place in the meantime.
  const [heldBefore, aloneBefore] = before?.hosts[host] ?? [0, 0, 0];
  level = Math.min(level, burst - others - Math.max(held, heldBefore, wasAlone ? aloneBefore : 0));
  // The bucket keeps the parts that are reserved for other hosts. If this host's part is the largest, it takes
  // precedence.
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

/** One key's quota on one day. */
interface QuotaState {
  /** UTC, by the database's clock, as "2026-06-01". */
  day: string;
  /** Lookups used before the first exchange of the day. */
  base: number;
  /** For each host: lookups that it has used, and lookups that it holds. */
  hosts: Record<HostId, readonly [used: number, held: number]>;
}

interface RateWanted extends Wanted {
  /** The level to which the host refills while it is cut off, according to the last answer that the host received. */
  readonly alone: number;
}

interface QuotaWanted extends Wanted {
  /** The day to which `used` and `held` belong; undefined for a host that has just started. */
  readonly day: string | undefined;
  /** Lookups that the host has used on that day, including those before a restart. */
  readonly used: number;
}

/** @param base lookups used on this day, if the state is from another day */
function exchangeQuota(
  before: QuotaState | undefined,
  quota: number,
  { host, day: known, used, held, want }: QuotaWanted,
  day: string,
  base: number,
): { state: QuotaState; grant: number; used: number; left: number } {
  const today = quotaOn(day, before, base);
  const [usedBefore, heldBefore] = today.hosts[host] ?? [0, 0];
  // A host that has restarted, or whose request is from another day, has used everything that it no longer holds.
  const heldNow = known === undefined ? 0 : held;
  const usedNow = known === day ? used : usedBefore + Math.max(0, heldBefore - heldNow);
  delete today.hosts[host];
  let left = quota - today.base - usedNow - heldNow;
  for (const [othersUsed, othersHeld] of Object.values(today.hosts)) left -= othersUsed + othersHeld;
  const grant = Math.max(0, Math.floor(Math.min(want, left)));
  today.hosts[host] = [usedNow, heldNow + grant];
  return { state: today, grant, used: usedNow, left: Math.max(0, left - grant) };
}

/**
 * Returns the state for `day`, and starts a new day if necessary. Hosts may still use what they hold at midnight, so it
 * counts towards the new day.
 */
function quotaOn(day: string, before: QuotaState | undefined, base: number): QuotaState {
  if (before?.day === day) return { ...before, hosts: { ...before.hosts } };
  const held = Object.entries(before?.hosts ?? {}).filter(([, [, holds]]) => holds > 0);
  return { day, base, hosts: Object.fromEntries(held.map(([host, [, holds]]) => [host, [0, holds]])) };
}

/** What a host requests for one key. */
export interface LeaseWish {
  readonly keyId: KeyId;
  /** True if requests use the key; false if the host only fills a reserve. */
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

/** The state of one key in the database. */
export interface KeyState {
  readonly rate?: RateState | undefined;
  readonly quota?: QuotaState | undefined;
}

/**
 * Computes one key's part of an exchange.
 * @param base lookups that the key has used today, if its state is from another day
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
