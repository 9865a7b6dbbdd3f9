// exchange.ts: a host's exchange with its group, in four steps:
//
//   1 request  The host looks up what each key has left and lacks. What it gives back leaves its cells now (lease-state.ts).
//   2 read     It reads the time of the database, the hosts, and the state of these keys (tables.ts). A host that is not
//              among them, or that may have a larger share, joins first.
//   3 compute  Each key's next state, and the host's grant, follow from both (group.ts).
//   4 write    It writes a key's state only if the version that it read is still there. Keys that another host wrote in
//              between take steps 2 to 4 again. Written grants go into the cells; the next request confirms the answer.
//
// in   what the host's keys want; the rows of the group
// out  what they get
// err  what the rows throw: nothing was given, or it is unknown: the host then acts as if nothing was
// cost a round trip to read and one to write, for 500 keys
//
// No lock is held from step 2 to step 4: an exchange counts as of its reading, however late its writing arrives. The host
// looked up what it has left before that moment, so it had no less. (With one round trip the state would be older than the
// request, and what the bucket gained in between could be counted although there was no room for it.)

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
/** With 8 hosts that are 20 ms from the database one of three is too late: four in a row, one of a hundred. */
const TRIES = 5;

export interface StoredKey {
  /** One more with each write; 0: not there yet. */
  readonly version: number;
  readonly state: KeyState;
}

/** The rows of a group, all of one moment. */
export interface GroupRows {
  /** Of the database's clock. */
  readonly now: number;
  readonly hosts: readonly GroupHost[];
  /** Those of the keys asked for that are there. */
  readonly keys: ReadonlyMap<KeyId, StoredKey>;
  /** Keys of which a host lacked some in the last seconds. */
  readonly short: readonly KeyId[];
}

export interface KeyWrite extends StoredKey {
  readonly keyId: KeyId;
  /** When a host lacked some; 0: not now. */
  readonly shortAt: number;
}

/** Where the rows are: in the tables of the store, or in a simulation. */
export interface LeaseRows {
  read(keyIds: readonly KeyId[]): Promise<GroupRows>;
  /** Puts this host's row in place as `joinedHost` has it, while no other host does the same. */
  join(join: (hosts: readonly GroupHost[], now: number) => GroupHost): Promise<void>;
  /** What keys used on a day by the store's count. */
  readUsed(keyIds: readonly KeyId[], day: string): Promise<ReadonlyMap<KeyId, number>>;
  /**
   * Writes this host's row and those keys that have the version before still; nothing where the host's row is not `before` any more.
   * @returns the keys that were written
   */
  write(before: GroupHost, host: GroupHost, keys: readonly KeyWrite[]): Promise<ReadonlySet<KeyId>>;
}

/** One exchange of any number of keys. */
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

/** Steps 2 to 4. @returns the grants of keys that were written */
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

/** What is there, with this host among the members and its last receipt confirmed. */
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
  if (joined === undefined) throw new Error("this host's row was removed as soon as it was there");
  return { ...joined, among: Math.max(joined.among, joined.own.hosts) };
}

function memberIn(rows: GroupRows, host: HostId, confirmed: LeaseRequest["confirmed"]) {
  const before = rows.hosts.find(({ id }) => id === host);
  if (before === undefined) return undefined;
  const own = confirmHost(before, confirmed, rows.now);
  const members = membersOf(rows.hosts, own, rows.now);
  return { ...rows, before, own, members, among: shareAmong(host, members) };
}

/** Only where the state has another day: once a day and key. */
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
