// exchange.ts: performs a host's exchange with its group, in four steps:
//
//   1 request  The host determines what each key has left and what it needs. Whatever the host returns leaves its cells
//              at once (lease-state.ts).
//   2 read     It reads the database's time, the hosts, and the state of these keys (tables.ts). A host joins first if
//              it is not among them, or if its share may grow.
//   3 compute  It computes each key's next state, and its own grant (group.ts).
//   4 write    It writes a key's state only if the version that it read is still current. Steps 2 to 4 are repeated for
//              keys that another host wrote in between. Written grants go into the cells, and the next request
//              confirms the answer.
//
// in   what the host's keys request; the rows of the group
// out  what the keys are granted
// err  the errors of the rows. Nothing was granted, or the outcome is unknown. The host then acts as if nothing
//      was granted.
// cost one round trip to read and one to write, per 500 keys; one more to join, and one more on a new day
//
// No lock is held from step 2 to step 4. An exchange takes effect as of the time of its read, however late its write
// arrives. The host determined its remaining tokens before that time, so the bucket held at least that many then. (With
// a single round trip, the state would be older than the request. Tokens that the bucket gained in between could then
// count although the bucket had no room for them.)

import { dayOf } from "../keys/day.ts";
import type { KeyId } from "../keys/key.ts";
import {
  confirmHost,
  exchangeKey,
  type GroupHost,
  type HostId,
  joinedHost,
  type KeyState,
  type LeaseGrant,
  type LeaseWish,
  membersOf,
  shareAmong,
} from "./group.ts";
import type { LeaseAnswer, LeaseRequest } from "./lease-state.ts";

const KEYS_AT_ONCE = 500;
/**
 * Maximum number of attempts. With 8 hosts that are 20 ms away from the database, one attempt in three is too late.
 * About 1 % of exchanges therefore fail four times in a row.
 */
const TRIES = 5;

export interface StoredKey {
  /** Version of the row. It increases by one with each write, and is 0 if the key has no row yet. */
  readonly version: number;
  readonly state: KeyState;
}

/** The rows of a group, all read at the same time. */
export interface GroupRows {
  /** Time by the database's clock, epoch ms. */
  readonly now: number;
  readonly hosts: readonly GroupHost[];
  /** The requested keys that have a row. */
  readonly keys: ReadonlyMap<KeyId, StoredKey>;
  /** Keys for which some host ran short of lookups in the last few seconds. */
  readonly short: readonly KeyId[];
}

export interface KeyWrite extends StoredKey {
  readonly keyId: KeyId;
  /** Time of this exchange if this host ran short of lookups in it; otherwise 0, which keeps the stored time. */
  readonly shortAt: number;
}

/** Access to the rows, which are in the store's tables or in a simulation. */
export interface LeaseRows {
  read(keyIds: readonly KeyId[]): Promise<GroupRows>;
  /** Writes this host's row as returned by `joinedHost`. Only one host may join at a time. */
  join(join: (hosts: readonly GroupHost[], now: number) => GroupHost): Promise<void>;
  /** Reads what keys have used on a day, according to the store. */
  readUsed(keyIds: readonly KeyId[], day: string): Promise<ReadonlyMap<KeyId, number>>;
  /**
   * Writes this host's row, and the keys whose version is unchanged. It writes nothing if the host's row is no longer
   * `before`.
   * @returns the keys that were written
   */
  write(before: GroupHost, host: GroupHost, keys: readonly KeyWrite[]): Promise<ReadonlySet<KeyId>>;
}

/** Exchanges any number of keys. */
export async function exchangeLeases(
  rows: LeaseRows,
  host: HostId,
  { confirmed, wishes }: LeaseRequest,
): Promise<LeaseAnswer> {
  let answer = await exchangeSome(rows, host, confirmed, wishes.slice(0, KEYS_AT_ONCE));
  for (let at = KEYS_AT_ONCE; at < wishes.length; at += KEYS_AT_ONCE) {
    const next = await exchangeSome(rows, host, confirmed, wishes.slice(at, at + KEYS_AT_ONCE));
    answer = { ...next, grants: [...answer.grants, ...next.grants] };
  }
  return answer;
}

async function exchangeSome(
  rows: LeaseRows,
  host: HostId,
  confirmed: LeaseRequest["confirmed"],
  wishes: readonly LeaseWish[],
): Promise<LeaseAnswer> {
  const grants: LeaseGrant[] = [];
  let left = wishes;
  for (let tries = 1; ; tries++) {
    const { answer, given } = await attempt(rows, host, confirmed, left);
    grants.push(...given);
    const written = new Set(given.map(({ keyId }) => keyId));
    left = left.filter(({ keyId }) => !written.has(keyId));
    if (left.length === 0 || tries === TRIES) return { ...answer, grants };
  }
}

/** Steps 2 to 4. @returns the grants for the keys that were written */
async function attempt(
  rows: LeaseRows,
  host: HostId,
  confirmed: LeaseRequest["confirmed"],
  wishes: readonly LeaseWish[],
): Promise<{ answer: Omit<LeaseAnswer, "grants">; given: readonly LeaseGrant[] }> {
  const keyIds = wishes.map(({ keyId }) => keyId);
  const { now, members, among, before, own, keys, short } = await readAsMember(rows, host, confirmed, keyIds);
  const used = await readUsed(rows, wishes, keys, dayOf(now));
  const writes: KeyWrite[] = [];
  const grants: LeaseGrant[] = [];
  for (const wish of wishes) {
    const { keyId } = wish;
    const known = keys.get(keyId);
    const next = exchangeKey(known?.state, wish, host, { now, members }, used.get(keyId) ?? 0);
    const version = (known?.version ?? 0) + 1;
    writes.push({ keyId, version, state: next.state, shortAt: next.isShort ? now : 0 });
    grants.push(next.grant);
  }
  const written = await rows.write(before, own, writes);
  return {
    answer: { now, hosts: members.length, among, short: new Set(short) },
    given: grants.filter(({ keyId }) => written.has(keyId)),
  };
}

/** Reads the rows. Makes sure that this host is a member, and confirms its last receipt. */
async function readAsMember(
  rows: LeaseRows,
  host: HostId,
  confirmed: LeaseRequest["confirmed"],
  keyIds: readonly KeyId[],
) {
  const first = memberIn(await rows.read(keyIds), host, confirmed);
  if (first !== undefined && first.among >= first.own.hosts) return first;
  await rows.join((hosts, now) => joinedHost(host, hosts, confirmed, now));
  const joined = memberIn(await rows.read(keyIds), host, confirmed);
  if (joined === undefined) throw new Error("this host's row was removed immediately after it was written");
  return { ...joined, among: Math.max(joined.among, joined.own.hosts) };
}

function memberIn(rows: GroupRows, host: HostId, confirmed: LeaseRequest["confirmed"]) {
  const before = rows.hosts.find(({ id }) => id === host);
  if (before === undefined) return undefined;
  const own = confirmHost(before, confirmed, rows.now);
  const members = membersOf(rows.hosts, own, rows.now);
  return { ...rows, before, own, members, among: shareAmong(host, members) };
}

/** Reads a key's usage only if the key's state is from another day, which happens once per day and key. */
async function readUsed(
  rows: LeaseRows,
  wishes: readonly LeaseWish[],
  keys: GroupRows["keys"],
  day: string,
): Promise<ReadonlyMap<KeyId, number>> {
  const ids = wishes
    .filter(({ keyId, quota }) => quota !== undefined && keys.get(keyId)?.state.quota?.day !== day)
    .map(({ keyId }) => keyId);
  return ids.length === 0 ? new Map() : rows.readUsed(ids, day);
}
