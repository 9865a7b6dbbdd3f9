// notices.ts: receives notices that another process has changed keys, overrides or rulesets (PostgreSQL's LISTEN and
// NOTIFY).
//
// After each new connection, all kinds are loaded again, because notices sent while disconnected are lost. Without
// notices (state "polling"), the checks that run every second find the same changes later. Cost: one notice to itself
// every 10 s, and one after each new connection.
//
// PgBouncer in transaction mode accepts LISTEN but drops the notices, and a network can fall silent. The listener
// therefore relies on a notice to itself, and reconnects if the notice does not come back. Jitter keeps the hosts of a
// group from reconnecting to a restarted database at the same moment.

import type { EventLog } from "@inkling/contract";
import { backoffMs, within } from "@inkling/data";
import type { SQL } from "bun";
import { type Database, NOTICED, NOTICES, type Noticed } from "./database.ts";
import { StoreError } from "./error.ts";

const DEFAULTS = {
  probeMs: 10_000,
  /** Maximum milliseconds until the listener's own notice must come back. It usually comes back after 2 ms. */
  probeTimeoutMs: 3_000,
  firstRetryMs: 500,
  /** Milliseconds of a monotonic clock. */
  elapsed: () => performance.now(),
  random: Math.random,
};
const MAX_RETRY_MS = 60_000;
/** Milliseconds between two reports. If a pooler lets only some notices through, one report an hour is enough. */
const REPORT_MS = 3_600_000;
/** If notices have arrived for this many milliseconds, their absence is worth a log line. */
const STEADY_MS = 60_000;
/**
 * Milliseconds between two notices that are passed on. It limits rereading to ten times a second while an operator
 * creates hundreds of keys.
 */
const MIN_BETWEEN_MS = 100;

const NO_NOTICE =
  "a notification that the server sent to itself did not arrive: check whether this server connects to PostgreSQL through PgBouncer in transaction mode";

/** "off" is for SQLite, which has no notices. */
type NoticeState = "off" | "polling" | "listening";

interface NoticeOptions extends Partial<typeof DEFAULTS> {
  /** What is loaded again after a notice. */
  readonly live: Readonly<Record<Noticed, { refresh(): Promise<unknown> }>>;
  /** Gets an event for each change of state, but at most one an hour while notices come and go. */
  readonly log?: EventLog;
}

export class NoticeListener {
  private readonly database: Database;
  private readonly options: NoticeOptions & typeof DEFAULTS;
  private readonly id = crypto.randomUUID();
  private readonly lastAt = new Map<Noticed, number>();
  private readonly late = new Map<Noticed, ReturnType<typeof setTimeout>>();
  private current: NoticeState;
  /** When the current state began, on the monotonic clock. */
  private since = Number.NEGATIVE_INFINITY;
  private reported: NoticeState | undefined;
  private missingReportedAt = Number.NEGATIVE_INFINITY;
  private client: SQL | undefined;
  private onProbe: (() => void) | undefined;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isStopped = false;

  constructor(database: Database, options: NoticeOptions) {
    this.database = database;
    this.options = { ...DEFAULTS, ...options };
    this.current = database.isShared ? "polling" : "off";
  }

  get state(): NoticeState {
    return this.current;
  }

  /** Resolves after the first attempt, successful or not. */
  async start(): Promise<void> {
    if (this.current !== "off") await this.connect();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    for (const timer of this.late.values()) clearTimeout(timer);
    this.discard();
  }

  private async connect(): Promise<void> {
    const client = this.database.connectForNotices(() => {
      if (this.client === client) this.fail("the connection for notifications was closed");
    });
    if (client === undefined) return;
    this.client = client;
    try {
      const listening = client.listen(NOTICES, (text) => this.take(text));
      await this.answered(listening, "the database did not respond to LISTEN");
      await this.probe();
    } catch (error) {
      if (this.client === client) this.fail(this.database.errorFrom(error).message);
      return;
    }
    if (this.client !== client) return;
    this.failures = 0;
    this.become("listening", undefined);
    for (const kind of NOTICED) this.take(kind);
    this.schedule(this.options.probeMs, () => this.probeAgain(client));
  }

  private async probeAgain(client: SQL): Promise<void> {
    try {
      await this.probe();
      if (this.client === client) {
        this.schedule(this.options.probeMs, () => this.probeAgain(client));
      }
    } catch (error) {
      if (this.client === client) this.fail(this.database.errorFrom(error).message);
    }
  }

  /** Sends a notice to itself through a different connection. @throws Error if the notice does not come back */
  private async probe(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.onProbe = resolve;
    await this.database.run((sql) => sql`SELECT pg_notify(${NOTICES}, ${this.id})`);
    await this.answered(promise, NO_NOTICE);
  }

  /** @throws StoreError after the time-out */
  private async answered(work: Promise<unknown>, message: string): Promise<void> {
    await within(this.options.probeTimeoutMs, work, () => {
      throw new StoreError("UNREACHABLE", message, "the server checks for changes once a second instead");
    });
  }

  private take(text: string): void {
    if (text === this.id) this.onProbe?.();
    const kind = NOTICED.find((known) => known === text);
    if (kind === undefined || this.late.has(kind) || this.isStopped) return;
    const wait = (this.lastAt.get(kind) ?? Number.NEGATIVE_INFINITY) + MIN_BETWEEN_MS - performance.now();
    const pass = () => {
      this.late.delete(kind);
      this.lastAt.set(kind, performance.now());
      void this.options.live[kind].refresh();
    };
    if (wait <= 0) pass();
    else this.late.set(kind, setTimeout(pass, wait));
  }

  /** Reconnects later. */
  private fail(why: string): void {
    this.discard();
    if (this.isStopped) return;
    this.become("polling", why);
    const wait = backoffMs(this.options.firstRetryMs, MAX_RETRY_MS, this.failures++);
    this.schedule(wait * (0.5 + this.options.random()), () => this.connect());
  }

  private become(state: NoticeState, why: string | undefined): void {
    const now = this.options.elapsed();
    const wasSteady = this.current === "listening" && now - this.since >= STEADY_MS;
    if (state !== this.current) this.since = now;
    this.current = state;
    const isDue =
      state === "polling"
        ? wasSteady || now - this.missingReportedAt >= REPORT_MS
        : this.reported !== "listening";
    if (!isDue) return;
    if (state === "polling") this.missingReportedAt = now;
    this.reported = state;
    if (state === "listening") this.options.log?.info("notices-listening");
    else {
      const effect = "the server checks for changes once a second";
      this.options.log?.error("notices-missing", { reason: why, effect });
    }
  }

  private schedule(wait: number, work: () => Promise<void>): void {
    if (this.isStopped) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void work(), wait);
  }

  private discard(): void {
    const { client } = this;
    this.client = undefined;
    client?.close({ timeout: 0 }).catch(() => {}); // its error is no longer relevant
  }
}
