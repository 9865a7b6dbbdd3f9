// Hosts on one simulated database: random demand, pauses, cut-offs, lost answers. Never above the limit; nearly all usable.

import { expect, test } from "bun:test";
import { randomWords } from "../../../../test/random.ts";
import { share } from "../../../../test/share.ts";
import { dayOf } from "../keys/day.ts";
import type { Key } from "../keys/key.ts";
import { CELL_BYTES } from "../limits/cells.ts";
import { KeyCells } from "../limits/key-cells.ts";
import { LeasedCells } from "../limits/leased-cells.ts";
import { Buckets } from "../limits/token-bucket.ts";
import { type LeaseAnswer, LeaseBook, type LeaseRequest } from "./book.ts";
import { confirmHost, exchangeKey, type GroupHost, type KeyState, shareAmong } from "./group.ts";
import { EXCHANGE_MS } from "./size.ts";

const KEY_ID = "key_a";
const START = Date.parse("2026-06-01T12:00:00Z");
const SHORT_MS = 3_000;

/** What the tables do (tables.ts), in memory. */
class Database {
  state: KeyState | undefined;
  shortAt = 0;
  readonly hosts = new Map<string, GroupHost>();

  exchange(host: string, { confirmed, wishes }: LeaseRequest, now: number): LeaseAnswer {
    const known = this.hosts.get(host) ?? {
      id: host,
      confirmedAt: now,
      hosts: this.hosts.size + 1,
      aloneMs: 0,
    };
    this.hosts.set(
      host,
      confirmed === undefined ? known : confirmHost(known, confirmed.at, confirmed.among, now),
    );
    const group = { now, members: [...this.hosts.values()] };
    const grants = wishes.map((wish) => {
      const { state, grant, isShort } = exchangeKey(this.state, wish, host, group, 0);
      this.state = JSON.parse(JSON.stringify(state));
      if (isShort) this.shortAt = now;
      return grant;
    });
    const short = new Set(now - this.shortAt < SHORT_MS ? [KEY_ID] : []);
    const { members } = group;
    const among = shareAmong(host, members);
    const own = this.hosts.get(host)!;
    this.hosts.set(host, { ...own, hosts: Math.min(own.hosts, among) });
    return { now, day: dayOf(now), hosts: members.length, among, grants, short };
  }
}

class Host {
  readonly cells = new LeasedCells(new Uint8Array(CELL_BYTES), 0);
  readonly keyCells = new KeyCells(this.cells);
  readonly buckets: Buckets;
  readonly book: LeaseBook;
  readonly id: string;
  /** Its clock is wrong by so much. */
  readonly offset: number;
  nextLook: number;
  pausedUntil = 0;
  cutUntil = 0;
  /** Lookups per second. */
  demand = 0;
  due = 0;
  pending: { at: number; answer: LeaseAnswer | undefined } | undefined;

  constructor(id: string, key: Key, now: number, firstLook: number, offset: number) {
    this.id = id;
    this.offset = offset;
    const byKey = new Map([[KEY_ID, 0]]);
    this.keyCells.replace(this.cells, byKey);
    this.buckets = new Buckets({ rate: 0, burst: 1 }, this.keyCells);
    this.book = new LeaseBook(() => this.cells, { rate: 0, burst: 1 }, undefined, now);
    this.book.replaceKeys([key], byKey);
    this.nextLook = now + firstLook;
  }

  lookUp(key: Key, now: number): boolean {
    const time = now + this.offset;
    if (!this.buckets.take(key, time).allowed) {
      this.keyCells.record(KEY_ID, "rate_limited", time);
      return false;
    }
    if (this.keyCells.takeQuota(key, time, 1) === 0) {
      this.keyCells.record(KEY_ID, "quota_exceeded", time);
      return false;
    }
    return true;
  }
}

interface Faults {
  readonly pauses: boolean;
  readonly cuts: boolean;
  readonly losses: boolean;
}

function run(
  seed: number,
  {
    hosts: count,
    seconds,
    rate,
    burst,
    quota,
    load,
    faults,
    away,
    start = START,
  }: {
    hosts: number;
    seconds: number;
    rate: number;
    burst: number;
    quota?: number;
    /** Of the rate, by all hosts together. */
    load: number;
    faults: Faults;
    /** No host has the database from the first of these seconds to the second. */
    away?: readonly [from: number, to: number];
    start?: number;
  },
) {
  const words = randomWords(seed);
  const random = () => words() / 2 ** 32;
  const key = { id: KEY_ID, rate, burst, quota, mode: "live" } as Key;
  const database = new Database();
  const offsets = [0, 0, 3_600_000, -3_600_000, 1_700];
  const hosts = Array.from(
    { length: count },
    (_, i) =>
      new Host(`h${i}`, key, start, random() * EXCHANGE_MS, offsets[Math.floor(random() * offsets.length)]!),
  );
  const spread = () => {
    const weights = hosts.map(() => random() ** 3 + 0.01);
    const sum = weights.reduce((a, b) => a + b, 0);
    for (const [i, host] of hosts.entries()) host.demand = (rate * load * weights[i]!) / sum;
  };
  spread();
  // The ideal bucket of the group: it may never be empty when a lookup is allowed.
  let level = burst;
  let lowest = burst;
  let allowed = 0;
  let wanted = 0;
  let warm = 0;
  const bySecond = Array.from({ length: seconds }, () => 0);
  const byDay = new Map<string, number>();
  const STEP = 5;
  for (let now = start; now < start + seconds * 1_000; now += STEP) {
    level = Math.min(burst, level + (rate * STEP) / 1_000);
    const isAway = away !== undefined && now >= start + away[0] * 1_000 && now < start + away[1] * 1_000;
    if (faults.pauses && random() < 0.0005)
      hosts[Math.floor(random() * count)]!.pausedUntil = now + random() * 10_000;
    if (faults.cuts && random() < 0.0007) {
      const until = now + random() * 20_000;
      for (const host of hosts) if (random() < 0.5) host.cutUntil = until;
    }
    if (random() < 0.0005) spread();
    for (const host of hosts) {
      host.due = Math.min(host.due + ((host.demand * STEP) / 1_000) * 2 * random(), 50);
      if (now < host.pausedUntil) continue;
      while (host.due >= 1) {
        host.due--;
        wanted++;
        if (!host.lookUp(key, now)) continue;
        level--;
        allowed++;
        bySecond[Math.floor((now - start) / 1_000)]!++;
        if (now > start + 5_000) warm++;
        lowest = Math.min(lowest, level);
        byDay.set(dayOf(now), (byDay.get(dayOf(now)) ?? 0) + 1);
      }
      const { pending } = host;
      if (pending !== undefined && now >= pending.at) {
        host.pending = undefined;
        if (pending.answer !== undefined) host.book.accept(pending.answer, now);
      }
      if (now < host.nextLook) continue;
      host.nextLook = now + EXCHANGE_MS;
      host.book.tick(now);
      if (host.pending !== undefined) continue;
      const request = host.book.request();
      const isLost = isAway || now < host.cutUntil || (faults.losses && random() < 0.1);
      const isAnswerLost = isLost && !isAway && random() < 0.5;
      const answer = isLost && !isAnswerLost ? undefined : database.exchange(host.id, request, now);
      host.pending = { at: now + 5 + random() * (isLost ? 3_000 : 20), answer: isLost ? undefined : answer };
    }
  }
  return { lowest, allowed, wanted, warm, byDay, bySecond };
}

const NO_FAULTS: Faults = { pauses: false, cuts: false, losses: false };

test("random hosts, demand, pauses, cut-offs and lost answers: never above the limit, in any window", () => {
  let cut = 0;
  for (let seed = 1; seed <= share(10_000, 60); seed++) {
    const words = randomWords(seed + 1_000_000);
    const pick = <T>(values: readonly T[]) => values[words() % values.length]!;
    const faults = { pauses: words() % 2 === 0, cuts: words() % 4 > 0, losses: words() % 2 === 0 };
    const rate = pick([1, 10, 100]);
    const options = {
      hosts: pick([1, 2, 3, 8]),
      seconds: 60,
      rate,
      burst: Math.ceil(rate * pick([0.5, 1, 2, 10])),
    };
    const { lowest, allowed } = run(seed, { ...options, load: pick([0.5, 1.5, 4]), faults });
    expect([seed, lowest >= -1e-6]).toEqual([seed, true]);
    if (options.burst >= 2 * options.hosts) expect(allowed).toBeGreaterThan(0);
    if (faults.cuts) cut++;
  }
  expect(cut).toBeGreaterThan(20);
});

test("quotas: never above, with midnight in the middle, and all of it can be used", () => {
  for (let seed = 1; seed <= share(2_000, 30); seed++) {
    const words = randomWords(seed + 2_000_000);
    const hosts = [1, 2, 3, 8][words() % 4]!;
    const quota = [5, 100, 500, 2_000][words() % 4]!;
    const isFaulty = words() % 2 === 0;
    const faults = { pauses: isFaulty, cuts: isFaulty, losses: isFaulty };
    const start = Date.parse("2026-06-01T23:59:30Z");
    const { byDay } = run(seed, {
      hosts,
      seconds: 60,
      rate: 200,
      burst: 400,
      quota,
      load: 0.8,
      faults,
      start,
    });
    for (const used of byDay.values()) expect([seed, used <= quota]).toEqual([seed, true]);
    if (!isFaulty)
      expect([seed, quota, byDay.get("2026-06-01")! >= 0.95 * quota]).toEqual([seed, quota, true]);
  }
});

test("uneven demand that shifts: at least 95 % of the limit is usable", () => {
  for (let seed = 1; seed <= share(100, 5); seed++) {
    for (const load of [0.95, 3]) {
      const seconds = 35;
      const { warm, lowest } = run(seed, {
        hosts: 8,
        seconds,
        rate: 1_000,
        burst: 2_000,
        load,
        faults: NO_FAULTS,
      });
      expect(lowest).toBeGreaterThanOrEqual(-1e-6);
      const usable = 1_000 * (seconds - 5) * Math.min(1, load);
      expect([seed, load, warm / usable > 0.95]).toEqual([seed, load, true]);
    }
  }
});

test("after the database was away for all, the limit is usable again within two seconds of its return", () => {
  for (let seed = 1; seed <= share(300, 10); seed++) {
    const away = [10, 12 + ((7 * seed) % 40)] as const;
    const { bySecond, lowest } = run(seed, {
      hosts: 1 + (seed % 8),
      seconds: away[1] + 15,
      rate: 1_000,
      burst: 2_000,
      load: 3,
      faults: NO_FAULTS,
      away,
    });
    expect([seed, lowest >= -1e-6]).toEqual([seed, true]);
    const back = bySecond.slice(away[1] + 2);
    const usable = 1_000 * back.length;
    // Demand shifts here, too: a tenth is left for that.
    expect([seed, back.reduce((a, b) => a + b, 0) > 0.9 * usable]).toEqual([seed, true]);
  }
});

test("hosts that never had an answer do not know their share, and take none", () => {
  for (let seed = 1; seed <= 5; seed++) {
    const { bySecond, lowest } = run(seed, {
      hosts: 3,
      seconds: 12,
      rate: 100,
      burst: 100,
      load: 4,
      faults: NO_FAULTS,
      away: [0, 6],
    });
    expect([seed, lowest >= -1e-6, bySecond.slice(0, 6)]).toEqual([seed, true, [0, 0, 0, 0, 0, 0]]);
    expect(bySecond[11]!).toBeGreaterThan(50);
  }
});

test("other defaults: a key without limits of its own asks for a lease, and gets no more than that", () => {
  const key = { id: KEY_ID } as Key;
  const database = new Database();
  const host = new Host("a", key, START, 0, 0);
  const lookUps = () => Array.from({ length: 100 }, () => host.lookUp(key, START)).filter(Boolean).length;
  const exchange = () => host.book.accept(database.exchange("a", host.book.request(), START), START);
  expect(lookUps()).toBe(100); // 0 is no limit
  for (const [rate, burst] of [
    [40, 20],
    [80, 60],
  ] as const) {
    const before = burst === 60 ? 20 : 0; // what was used stays used
    host.buckets.setDefaults({ rate, burst });
    host.book.defaults = { rate, burst };
    expect(host.book.replaceKeys([key], new Map([[KEY_ID, 0]]))).toBe(true);
    exchange();
    const allowed = lookUps();
    expect(allowed).toBeGreaterThan(0);
    expect(allowed).toBeLessThanOrEqual(burst - before);
  }
});
