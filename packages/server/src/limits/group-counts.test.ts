// Simulates a group: hosts with clocks of their own, and a database that may be slow, unreachable, or lose an answer.

import { describe, expect, test } from "bun:test";
import type { Key } from "@inkling/store/keys/key";
import { randomBelow } from "../../../../test/harness/random.ts";
import { share } from "../../../../test/harness/share.ts";
import { LimitCells } from "./cells.ts";
import {
  CUT_OFF_MS,
  EXCHANGE_MS,
  GroupCounts,
  type GroupRequest,
  type GroupTotals,
  LATE_MS,
} from "./group-counts.ts";
import { KeyCells } from "./key-cells.ts";
import { Buckets, eachOf } from "./token-bucket.ts";

const KEY = { id: "key_a" } as Key;
const START = 1_780_000_000_000;
/** The database's clock at the start. */
const DATABASE = START + 12_345_678;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

interface Limits {
  readonly rate: number;
  readonly burst: number;
}

/** What the statement in group-tables.ts does. */
class Rows {
  total = 0;
  private readonly sequences = new Map<Host, number>();
  private late: { readonly host: Host; readonly at: number; readonly since: number }[] = [];

  exchange(host: Host, { sequence, since, taken }: GroupRequest, readAt: number, now: number): GroupTotals {
    if (sequence > (this.sequences.get(host) ?? 0)) {
      this.sequences.set(host, sequence);
      for (const [, count] of taken) this.total += count;
      if (taken.length > 0 && now - since > LATE_MS) this.late.push({ host, at: now, since });
    }
    const late = this.late
      .filter((one) => one.host !== host && one.at > readAt)
      .map(({ since }) => now - since);
    return { now, totals: new Map([[KEY.id, this.total]]), lateMs: Math.max(0, ...late) };
  }
}

/** One host. All times are milliseconds since the start of the simulation. */
class Host {
  readonly counts: GroupCounts;
  readonly cells = new LimitCells(START);
  readonly buckets: Buckets;
  /** This host's clock minus the simulation's. */
  readonly offset: number;
  nextAt: number;
  usedAt: number | undefined;
  readAt = 0;
  answeredAt = 0;
  /** While true, statements do not reach the database. */
  isCut = false;
  waiting: { readonly at: number; readonly act: () => void } | undefined;
  took = 0;

  constructor({ rate, burst }: Limits, offset: number, nextAt: number) {
    this.cells.grow();
    this.offset = offset;
    this.nextAt = nextAt;
    const keyCells = new KeyCells(this.cells, new Map([[KEY.id, 0]]));
    this.buckets = new Buckets({ rate, burst }, keyCells);
    const each = eachOf(rate);
    this.counts = new GroupCounts(this.cells, () => ({ cell: 0, each, whole: burst * each }));
  }

  take(now: number, cost = 1): boolean {
    this.usedAt ??= now;
    const { allowed } = this.buckets.take(KEY, START + now + this.offset, cost);
    if (allowed) this.took += cost;
    return allowed;
  }
}

interface Faults {
  /** Of 1,000 statements, how many do not arrive, and how many answers do not. */
  readonly lost: number;
  readonly unanswered: number;
  readonly latencyMs: number;
}
const NO_FAULTS: Faults = { lost: 0, unanswered: 0, latencyMs: 20 };

class Group {
  readonly rows = new Rows();
  readonly hosts: Host[];
  readonly passed: [at: number, cost: number][] = [];
  readonly below: (below: number) => number;
  private readonly faults: Faults;
  /** The longest time from a use to the moment when every host in contact has been charged with it. */
  longestGap = 0;
  now = 0;

  constructor(hosts: number, limits: Limits, seed: number, faults: Faults = NO_FAULTS) {
    this.below = randomBelow(seed);
    this.faults = faults;
    this.hosts = Array.from({ length: hosts }, () => this.join(limits));
  }

  join(limits: Limits): Host {
    return new Host(limits, this.below(7_200_000) - 3_600_000, this.now + this.below(EXCHANGE_MS));
  }

  take(host: Host, cost = 1): boolean {
    const isAllowed = host.take(this.now, cost);
    if (isAllowed) this.passed.push([this.now, cost]);
    return isAllowed;
  }

  /** Lets a millisecond pass. */
  tick(): void {
    this.now++;
    for (const host of this.hosts) {
      if (host.waiting !== undefined && host.waiting.at <= this.now) {
        const { act } = host.waiting;
        host.waiting = undefined;
        act();
      }
      if (host.waiting === undefined && this.now >= host.nextAt) this.exchange(host);
    }
  }

  private exchange(host: Host): void {
    const { faults, rows, now } = this;
    host.nextAt = now + EXCHANGE_MS;
    if (host.usedAt !== undefined) host.counts.use(KEY.id, host.usedAt);
    host.usedAt = undefined;
    if (!host.counts.isDue && host.readAt > 0) return;
    const request = host.counts.request(START + now + host.offset, now);
    const sentAt = now;
    const there = 1 + this.below(faults.latencyMs);
    const isLost = host.isCut || this.below(1_000) < faults.lost;
    const isUnanswered = this.below(1_000) < faults.unanswered;
    host.waiting = {
      at: now + there,
      act: () => {
        if (isLost) return;
        const arrivedAt = this.now;
        const answer = rows.exchange(host, request, host.readAt, DATABASE + arrivedAt);
        if (isUnanswered) return;
        host.waiting = {
          at: arrivedAt + 1 + this.below(faults.latencyMs),
          act: () => {
            this.longestGap = Math.max(this.longestGap, this.now - host.answeredAt, this.now - sentAt);
            host.readAt = DATABASE + arrivedAt;
            host.answeredAt = this.now;
            host.counts.accept(answer, START + this.now + host.offset, this.now);
          },
        };
      },
    };
  }

  /** The maximum, over all windows that begin after `from`, of what passed beyond the rate. */
  excess({ rate }: Limits, from = 0): number {
    let [level, most, last] = [0, 0, 0];
    for (const [at, cost] of this.passed) {
      if (at < from) continue;
      level = Math.max(0, level - (rate * (at - last)) / SECOND) + cost;
      last = at;
      most = Math.max(most, level);
    }
    return most;
  }

  /** The most that passed in any window of `ms`. */
  mostIn(ms: number, from = 0): number {
    let [sum, most, first] = [0, 0, 0];
    for (const [at, cost] of this.passed) {
      sum += cost;
      while (this.passed[first]![0] <= at - ms) sum -= this.passed[first++]![1];
      if (at >= from) most = Math.max(most, sum);
    }
    return most;
  }
}

describe("the laws of a group's rate", () => {
  test("one host answers as without a group, request for request", () => {
    let [allowed, refused] = [0, 0];
    for (let seed = 1; seed <= share(50, 8); seed++) {
      const limits = { rate: [0.5, 3, 10, 1_000][seed % 4]!, burst: [1, 20, 2_000][seed % 3]! };
      const group = new Group(1, limits, seed, { lost: 100, unanswered: 100, latencyMs: 300 });
      const alone = new Host(limits, group.hosts[0]!.offset, 0);
      for (let i = 0; i < 60_000; i++) {
        group.tick();
        if (group.below(100) > 3) continue;
        const cost = 1 + group.below(group.below(10) === 0 ? limits.burst : 2);
        const wanted = alone.take(group.now, cost);
        expect(group.take(group.hosts[0]!, cost)).toBe(wanted);
        if (wanted) allowed++;
        else refused++;
      }
    }
    expect(allowed).toBeGreaterThan(1_000);
    expect(refused).toBeGreaterThan(1_000);
  });

  test("no request is refused while the group stays below rate and burst", () => {
    let [sent, atTheEdge] = [0, 0];
    for (let seed = 1; seed <= share(60, 12); seed++) {
      const limits = { rate: [2, 10, 50][seed % 3]!, burst: [5, 40, 200][(seed >> 1) % 3]! };
      const faults = { lost: 30, unanswered: 30, latencyMs: [5, 100, 400][seed % 3]! };
      const group = new Group(2 + (seed % 11), limits, seed, faults);
      const one = new Host(limits, 0, 0); // a single bucket for the whole group
      for (let i = 0; i < 2 * MINUTE; i++) {
        group.tick();
        if (group.below(20_000) === 0) {
          const host = group.hosts[group.below(group.hosts.length)]!;
          host.isCut = !host.isCut;
        }
        const isBusy = Math.floor(i / 7_000) % 2 === 0;
        if (group.below(isBusy ? 20 : 400) > 0) continue;
        const cost = 1 + group.below(isBusy ? 3 : limits.burst);
        if (!one.take(group.now, cost)) {
          atTheEdge++;
          continue;
        }
        const host = group.hosts[group.below(1 + group.below(group.hosts.length))]!;
        expect(group.take(host, cost)).toBe(true);
        sent++;
      }
    }
    expect(sent).toBeGreaterThan(5_000);
    expect(atTheEdge).toBeGreaterThan(2_000);
  });

  test.each([
    [2, 2],
    [2, 10],
    [12, 2],
    [12, 10],
    [100, 2],
    [100, 10],
  ])(
    "%i hosts at %i times the limit for ten minutes: the rate, a burst, and what the group takes between two exchanges",
    (count, times) => {
      const limits = { rate: 40, burst: 80 };
      const group = new Group(count, limits, count * times, { lost: 5, unanswered: 5, latencyMs: 40 });
      const perTick = (limits.rate * times) / SECOND;
      let due = 0;
      const minutes = 10;
      while (group.now < minutes * MINUTE) {
        group.tick();
        for (due += perTick; due >= 1; due--) group.take(group.hosts[group.below(count)]!);
      }
      // A use waits for the exchange of its host, and then for that of the others.
      const gap = 2 * group.longestGap;
      const isNew = count * limits.burst;
      expect(group.excess(limits)).toBeLessThanOrEqual(limits.burst + group.mostIn(gap) + isNew);
      const settled = MINUTE + (1_000 * isNew) / limits.rate;
      if (settled > minutes * MINUTE) return;
      expect(group.excess(limits, settled)).toBeLessThanOrEqual(limits.burst + group.mostIn(gap, settled));
      // and the limit is used
      const passed = group.passed.filter(([at]) => at >= settled).length;
      const wanted = (limits.rate * (minutes * MINUTE - settled)) / SECOND;
      expect(passed / wanted).toBeGreaterThan(0.97);
      expect(passed / wanted).toBeLessThan(1.1);
    },
  );

  test("no count is lost or doubled when a statement or its answer is lost", () => {
    for (let seed = 1; seed <= share(60, 12); seed++) {
      const limits = { rate: 50, burst: 100 };
      const group = new Group(5, limits, seed, { lost: 250, unanswered: 250, latencyMs: 100 });
      while (group.now < MINUTE) {
        group.tick();
        if (group.below(10) === 0) group.take(group.hosts[group.below(5)]!);
      }
      while (group.hosts.some(({ counts, usedAt }) => counts.isDue || usedAt !== undefined)) group.tick();
      expect(group.rows.total).toBe(group.hosts.reduce((sum, { took }) => sum + took, 0));
      expect(group.rows.total).toBeGreaterThan(1_000);
    }
  });

  test("a debt larger than the burst is paid in full, and not forgiven after five seconds", () => {
    const limits = { rate: 10, burst: 20 };
    const group = new Group(20, limits, 1);
    for (const host of group.hosts) group.take(host);
    for (let i = 0; i < 4 * SECOND; i++) group.tick();
    for (const host of group.hosts) for (let i = 0; i < 20; i++) expect(group.take(host)).toBe(true);
    const from = group.now;
    // 20 bursts of 2 s: the group owes 19 of them. What passes until each host has learned of them is owed as well.
    let late = 0;
    let first: number | undefined;
    while (first === undefined) {
      group.tick();
      if (group.now % 100 > 0) continue;
      for (const host of group.hosts) {
        if (!group.take(host)) continue;
        if (group.now <= from + 1_200) late++;
        else first ??= group.now - from;
      }
    }
    expect(first).toBeGreaterThan(32 * SECOND + late * 100);
    expect(first).toBeLessThan(39 * SECOND + late * 100);
  });

  test("after an outage, a key that every host used is not refused for as long as the outage took", () => {
    const limits = { rate: 10, burst: 20 };
    const group = new Group(3, limits, 1);
    const load = (ms: number) => {
      const before = group.passed.length;
      for (const until = group.now + ms; group.now < until; ) {
        group.tick();
        if (group.now % 10 === 0) for (const host of group.hosts) group.take(host);
      }
      return group.passed.length - before;
    };
    load(MINUTE);
    for (const host of group.hosts) host.isCut = true;
    load(CUT_OFF_MS);
    const alone = load(10 * MINUTE);
    expect(alone).toBeGreaterThan(3 * 590 * limits.rate); // each host uses only its own count
    for (const host of group.hosts) host.isCut = false;
    load(10 * SECOND);
    const back = load(MINUTE);
    expect(back).toBeGreaterThan(58 * limits.rate);
    expect(back).toBeLessThan(62 * limits.rate);
  });

  test("one host that was cut off for ten minutes does not stop the others when it is back", () => {
    const limits = { rate: 10, burst: 20 };
    const group = new Group(3, limits, 1);
    const [cut, ...others] = group.hosts as [Host, ...Host[]];
    let refused = 0;
    const load = (ms: number) => {
      for (const until = group.now + ms; group.now < until; ) {
        group.tick();
        if (group.now % 100 === 0) group.take(cut);
        if (group.now % 400 === 0) for (const host of others) if (!group.take(host)) refused++;
      }
    };
    cut.isCut = true;
    load(10 * MINUTE);
    expect(refused).toBe(0);
    cut.isCut = false;
    load(2 * SECOND);
    // Together, they are above the limit now. The others still get what the rate allows.
    const before = group.passed.length;
    load(MINUTE);
    expect(group.passed.length - before).toBeGreaterThan(58 * limits.rate);
  });

  test("counts that arrive five seconds late are charged as of then", () => {
    const limits = { rate: 20, burst: 100 };
    const group = new Group(2, limits, 1);
    const [host, late] = group.hosts as [Host, Host];
    const load = (ms: number) => {
      for (const until = group.now + ms; group.now < until; ) {
        group.tick();
        if (group.now % 100 === 0) expect(group.take(host)).toBe(true);
      }
    };
    expect(group.take(late)).toBe(true);
    load(3 * SECOND);
    late.isCut = true;
    expect(group.take(late, 90)).toBe(true);
    load(5 * SECOND); // meanwhile, the group takes 10 a second and gains 20
    late.isCut = false;
    load(2 * SECOND);
    expect(group.take(host, 70)).toBe(true);
  });

  test("a host that leaves takes nothing with it, and one that joins may use one burst", () => {
    const limits = { rate: 1, burst: 50 };
    const group = new Group(1, limits, 1);
    const first = group.hosts[0]!;
    for (let i = 0; i < SECOND; i++) group.tick();
    for (let i = 0; i < 50; i++) expect(group.take(first)).toBe(true);
    for (let i = 0; i < SECOND; i++) group.tick();
    const second = group.join(limits);
    group.hosts.splice(0, 1, second);
    let passed = 0;
    for (let i = 0; i < 10 * SECOND; i++) {
      group.tick();
      if (group.take(second)) passed++;
    }
    expect(passed).toBeLessThanOrEqual(60);
    const third = group.join(limits);
    group.hosts.push(third);
    expect(third.take(group.now)).toBe(true);
  });

  test("a clock that is set back by an hour blocks no key, whatever it owed", () => {
    const limits = { rate: 10, burst: 20 };
    const hosts = new Group(4, limits, 1).hosts;
    const one = hosts[0]!;
    const rows = new Rows();
    let clock = START;
    const exchange = (host: Host, elapsed: number) => {
      host.counts.use(KEY.id, elapsed);
      const answer = rows.exchange(host, host.counts.request(clock, elapsed), 0, DATABASE + elapsed);
      host.counts.accept(answer, clock, elapsed);
    };
    for (const elapsed of [0, 100]) for (const host of hosts) exchange(host, elapsed);
    clock += 100;
    for (const host of hosts) expect(host.buckets.takeUpTo(KEY, clock, 100)).toBe(20);
    clock += 500;
    for (const host of [...hosts, one]) exchange(host, 600);
    expect(one.buckets.take(KEY, clock, 1).retryAfterSeconds).toBeGreaterThan(4);
    clock -= 3_600_000;
    exchange(one, 1_100);
    expect(one.buckets.take(KEY, clock, 1).retryAfterSeconds).toBe(1);
  });
});
