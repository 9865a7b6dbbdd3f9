// group-exchange.ts: exchanges this host's counts with its group: every 500 ms while keys are in use, and otherwise
// every 10 s, so that the group sees that this host is running.
//
// Without the database, each host uses only its own count, which `state` and the log report.

import type { EventLog } from "@inkling/contract";
import { backoffMs, messageOf } from "@inkling/data";
import type { EpochMs } from "@inkling/store/keys/key";
import type { AssignedCells } from "./assigned-cells.ts";
import { EXCHANGE_MS, type GroupCounts } from "./group-counts.ts";
import type { GroupAnswer, GroupTables } from "./group-tables.ts";
import type { QuotaClock } from "./key-cells.ts";

/** Milliseconds between two checks for keys in use. */
const LOOK_MS = 100;
/** Milliseconds between two exchanges of a host without traffic. */
const IDLE_MS = 10_000;
/**
 * Exchanges take at most 1/BUSY_FACTOR of a host's time. If many hosts use thousands of keys, their statements wait for
 * each other, and must become less frequent.
 */
const BUSY_FACTOR = 5;
/** Maximum milliseconds between two attempts while the database is unreachable. */
const MAX_BACKOFF_MS = 5_000;
/** Milliseconds without an answer after which a host is reported as cut off. */
const UNREACHABLE_MS = 2_000;
/** Maximum milliseconds that a start waits for its first exchange. */
const FIRST_MS = 1_000;
/** The clock of quotas ignores smaller changes of its offset from the database's clock. */
const CLOCK_SLACK_MS = 1_000;
const NO_ANSWER = `the database has not answered for ${UNREACHABLE_MS / 1_000} s`;

const DEFAULTS = {
  /** Milliseconds of a monotonic clock. */
  elapsed: () => performance.now(),
  now: Date.now as () => EpochMs,
};

interface GroupExchangeOptions extends Partial<typeof DEFAULTS> {
  readonly counts: GroupCounts;
  readonly source: Pick<GroupTables, "exchange" | "leave">;
  readonly keyCells: Pick<AssignedCells, "takeUsed" | "takeStored">;
  /** The clock of quotas, which follows the database's clock. */
  readonly clock?: QuotaClock;
  /** The threads that answer requests, each with its own clock. */
  readonly serving?: { publish(change: "clock"): void };
  readonly log?: EventLog;
}

export class GroupExchange {
  private readonly options: GroupExchangeOptions & typeof DEFAULTS;
  private timer: ReturnType<typeof setInterval> | undefined;
  private running: Promise<void> | undefined;
  private lookedAt: number;
  private nextAt = 0;
  private isUrgent = false;
  private answeredAt: number;
  /** Duration of the last exchange in milliseconds. */
  private tookMs = 0;
  private failures = 0;
  private reason: string | undefined;
  private isUnreachable = false;
  private hosts = 1;
  private clockOffsetMs: number | undefined;
  private reported = "";
  /** The report about this host for other hosts and operators, and the part of it that others wait for. */
  reportHost: (() => { readonly text: string; readonly urgent: string }) | undefined;

  constructor(options: GroupExchangeOptions) {
    this.options = { ...DEFAULTS, ...options };
    this.lookedAt = this.options.elapsed();
    this.answeredAt = this.lookedAt;
  }

  /** Resolves after the first exchange, or after FIRST_MS. */
  async start(): Promise<void> {
    this.timer = setInterval(() => void this.look(), LOOK_MS);
    await Promise.race([this.look(), Bun.sleep(FIRST_MS)]);
  }

  /** The state of the group, for metrics. */
  get state() {
    const { hosts, isUnreachable, failures, clockOffsetMs } = this;
    const silentSeconds = (this.options.elapsed() - this.answeredAt) / 1_000;
    return { hosts, isUnreachable, failures, silentSeconds, clockOffsetMs };
  }

  /** Sends the last counts, and leaves the group. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
    const { counts, source } = this.options;
    this.takeUsed(this.options.elapsed());
    // If this fails, the other hosts do not learn of the last half second, and list this host for a while.
    await source.leave(counts.request(this.options.now(), this.options.elapsed())).catch(() => {});
  }

  /** Starts an exchange if one is due. */
  look(): Promise<void> {
    const elapsed = this.options.elapsed();
    this.takeUsed(elapsed);
    if (this.options.counts.waitingMs(elapsed) > UNREACHABLE_MS) this.report(this.reason ?? NO_ANSWER);
    if (this.running !== undefined) return this.running;
    const report = this.reportHost?.();
    const isChanged = report !== undefined && report.urgent !== this.reported;
    const isFast = this.failures === 0 && this.tookMs < LOOK_MS;
    const isDue = isFast && (this.isUrgent || isChanged || this.isIdleOver(elapsed));
    const isWanted = this.options.counts.isDue || isChanged || this.isIdleOver(elapsed);
    if (!isDue && (elapsed < this.nextAt || !isWanted)) return Promise.resolve();
    this.nextAt = elapsed + EXCHANGE_MS;
    this.isUrgent = false;
    this.running = this.exchange(report).finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private isIdleOver(elapsed: number): boolean {
    return elapsed - this.answeredAt >= IDLE_MS || this.clockOffsetMs === undefined;
  }

  private takeUsed(elapsed: number): void {
    const { counts, keyCells } = this.options;
    for (const keyId of keyCells.takeUsed()) if (counts.use(keyId, this.lookedAt)) this.isUrgent = true;
    this.lookedAt = elapsed;
  }

  private async exchange(
    report: { readonly text: string; readonly urgent: string } | undefined,
  ): Promise<void> {
    const { counts, source } = this.options;
    try {
      const startedAt = this.options.elapsed();
      const answer = await source.exchange(counts.request(this.options.now(), startedAt), report?.text);
      const now = this.options.now();
      this.answeredAt = this.options.elapsed();
      this.tookMs = this.answeredAt - startedAt;
      this.nextAt = startedAt + Math.max(EXCHANGE_MS, BUSY_FACTOR * this.tookMs);
      counts.accept(answer, now, this.answeredAt);
      this.clockOffsetMs = now - answer.now;
      this.hosts = answer.hosts;
      this.reported = report?.urgent ?? "";
      this.failures = 0;
      this.reason = undefined;
      this.report(undefined);
      this.apply(answer);
    } catch (error) {
      this.failures++;
      this.reason = messageOf(error);
      this.nextAt = this.options.elapsed() + backoffMs(EXCHANGE_MS, MAX_BACKOFF_MS, this.failures - 1);
    }
  }

  /** Lets quotas follow the database's clock and what the group has used. */
  private apply({ now, lowQuotas }: GroupAnswer): void {
    const { keyCells, clock, serving } = this.options;
    if (clock !== undefined) {
      const offsetMs = this.options.now() - now;
      if (Math.abs(offsetMs - clock.offsetMs) > CLOCK_SLACK_MS) {
        clock.offsetMs = offsetMs;
        serving?.publish("clock");
      }
    }
    for (const [keyId, used] of lowQuotas) keyCells.takeStored(keyId, used, now);
  }

  /** @param reason undefined if this host is in contact with the group */
  private report(reason: string | undefined): void {
    const isUnreachable = reason !== undefined;
    if (isUnreachable === this.isUnreachable) return;
    this.isUnreachable = isUnreachable;
    if (!isUnreachable) this.options.log?.info("group-back");
    else {
      const effect = "this host uses only its own count for each key's rate";
      this.options.log?.error("group-unreachable", { reason, effect });
    }
  }
}
