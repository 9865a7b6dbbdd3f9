// lease-client.ts: keeps this host's leases: a check every 250 ms, and an exchange with the group (exchange.ts) when a key
// needs it: after each check while demand shifts or the limit is short, after every other one while it is steady, and at
// least after every third.
//
// err  none: without the database this host does what a host alone may do; `state` and onAlone report it

import type { Key, KeyId } from "../keys/key.ts";
import type { CellIndex } from "../limits/cells.ts";
import { SILENT_MS } from "./group.ts";
import type { LeaseAnswer, LeaseRequest, LeaseState } from "./lease-state.ts";
import { EXCHANGE_MS } from "./size.ts";

interface LeaseSource {
  exchange(request: LeaseRequest, report?: string): Promise<LeaseAnswer>;
  leave(request: LeaseRequest): Promise<void>;
}

interface LeaseClientOptions {
  readonly source: LeaseSource;
  readonly held: LeaseState;
  readonly elapsed?: () => number;
  /** Epoch ms. */
  readonly now?: () => number;
  /** This host is alone, or no longer. */
  readonly onAlone?: (reason: string | undefined) => void;
  /** The number of hosts in the group is another. */
  readonly onHosts?: (hosts: number) => void;
}

/** Longest wait of keys that are new for their first lease: without it their first requests would be refused. */
const FIRST_LEASE_MS = 1_000;
/** Without a key that needs it, so that the group knows that this host is there. */
export const MIN_LOOKS = 3;

export class LeaseClient {
  private readonly options: LeaseClientOptions;
  private readonly elapsed: () => number;
  private running: Promise<void> | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;
  private isStopped = false;
  private looks = 0;
  private isAlone = false;
  private failures = 0;
  private reason = "the database has not answered yet";
  private clockOffsetMs: number | undefined;
  /** What the other hosts and their operators see of this one; sent with each exchange. */
  reportHost: (() => string) | undefined;

  constructor(options: LeaseClientOptions) {
    this.options = options;
    this.elapsed = options.elapsed ?? (() => performance.now());
  }

  start(): void {
    this.timer = setInterval(() => this.look(), EXCHANGE_MS);
  }

  /** For metrics. */
  get state() {
    const { held } = this.options;
    const { isAlone, failures, clockOffsetMs } = this;
    const silentSeconds = held.silentMs(this.elapsed()) / 1_000;
    return { hosts: held.hosts, leases: held.leases, isAlone, failures, silentSeconds, clockOffsetMs };
  }

  /** Keys are about to be active. Resolves when new ones have a lease, or after a second. */
  async replaceKeys(keys: Iterable<Key>, cellOf: ReadonlyMap<KeyId, CellIndex>): Promise<void> {
    if (!this.options.held.replaceKeys(keys, cellOf)) return;
    const first = (this.running ?? Promise.resolve()).then(() => this.exchange());
    await Promise.race([first, Bun.sleep(FIRST_LEASE_MS)]);
  }

  /** Of keys that have no own limits. */
  set defaults(defaults: LeaseState["defaults"]) {
    this.options.held.defaults = defaults;
  }

  /** Gives everything back, and leaves the group: an exchange after that would join it again. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.timer);
    await this.running;
    await this.options.source.leave(this.options.held.giveBack()).catch(() => {}); // the group withholds it for a while
  }

  private look(): void {
    const { held } = this.options;
    const now = this.elapsed();
    held.tick(now);
    this.report(held.silentMs(now) > SILENT_MS);
    void this.exchange();
  }

  private async exchange(): Promise<void> {
    if (this.isStopped) return;
    this.running ??= this.askGroup().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async askGroup(): Promise<void> {
    const { held, source, onHosts } = this.options;
    const request = held.request();
    if (request.wishes.length === 0 && ++this.looks < MIN_LOOKS) return;
    try {
      const answer = await source.exchange(request, this.reportHost?.());
      this.clockOffsetMs = (this.options.now ?? Date.now)() - answer.now;
      const before = held.hosts;
      held.accept(answer, this.elapsed());
      this.failures = 0;
      this.looks = 0;
      this.report(false);
      if (answer.hosts !== before) onHosts?.(answer.hosts);
    } catch (error) {
      this.failures++;
      this.looks = MIN_LOOKS;
      this.reason = error instanceof Error ? error.message : String(error);
    }
  }

  private report(isAlone: boolean): void {
    if (isAlone === this.isAlone) return;
    this.isAlone = isAlone;
    this.options.onAlone?.(isAlone ? this.reason : undefined);
  }
}
