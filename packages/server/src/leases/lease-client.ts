// lease-client.ts: keeps this host's leases. It checks them every 250 ms, and exchanges with the group (exchange.ts) if
// a key needs it. While demand changes or lookups run short, it exchanges after every check. While demand is steady, it
// does so after every second check. Without demand, it does so after every third.
//
// err  none: without the database, this host only uses its own share; `state` and onAlone report it

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
  /** Called when this host loses or regains contact with the group. @param reason undefined once contact is back */
  readonly onAlone?: (reason: string | undefined) => void;
  /** Called when the number of hosts in the group changes. */
  readonly onHosts?: (hosts: number) => void;
}

/**
 * Maximum milliseconds that new keys wait for their first lease. Without a lease, the first requests with these keys
 * would be refused.
 */
const FIRST_LEASE_MS = 1_000;
/**
 * Number of checks after which an exchange takes place even if no key needs one, to show the group that this host is
 * running.
 */
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
  /** Why the last exchange failed; undefined if it succeeded. */
  private reason: string | undefined = "the database has not answered yet";
  private lookedAt: number | undefined;
  private clockOffsetMs: number | undefined;
  /** The report about this host for other hosts and operators. It is sent with each exchange. */
  reportHost: (() => string) | undefined;

  constructor(options: LeaseClientOptions) {
    this.options = options;
    this.elapsed = options.elapsed ?? (() => performance.now());
  }

  start(): void {
    this.timer = setInterval(() => this.look(), EXCHANGE_MS);
  }

  /** The lease state, for metrics. */
  get state() {
    const { held } = this.options;
    const { isAlone, failures, clockOffsetMs } = this;
    const silentSeconds = held.silentMs(this.elapsed()) / 1_000;
    return { hosts: held.hosts, leases: held.leases, isAlone, failures, silentSeconds, clockOffsetMs };
  }

  /** Prepares for new keys. Resolves when they have a lease, or after a second. */
  async replaceKeys(keys: Iterable<Key>, cellOf: ReadonlyMap<KeyId, CellIndex>): Promise<void> {
    if (!this.options.held.replaceKeys(keys, cellOf)) return;
    const first = (this.running ?? Promise.resolve()).then(() => this.exchange());
    await Promise.race([first, Bun.sleep(FIRST_LEASE_MS)]);
  }

  /** Limits for keys that have none in their settings. */
  set defaults(defaults: LeaseState["defaults"]) {
    this.options.held.defaults = defaults;
  }

  /**
   * Returns all leases and leaves the group. No exchange may follow, because it would make the host join the group
   * again.
   */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.timer);
    await this.running;
    // if this fails, the group withholds the tokens for a while
    await this.options.source.leave(this.options.held.giveBack()).catch(() => {});
  }

  private look(): void {
    const { held } = this.options;
    const now = this.elapsed();
    const sinceLook = now - (this.lookedAt ?? now);
    this.lookedAt = now;
    held.tick(now);
    const silentMs = held.silentMs(now);
    if (silentMs > SILENT_MS) this.report(this.reason ?? whySilent(silentMs, sinceLook));
    else this.report(undefined);
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
      this.reason = undefined;
      this.report(undefined);
      if (answer.hosts !== before) onHosts?.(answer.hosts);
    } catch (error) {
      this.failures++;
      this.looks = MIN_LOOKS;
      this.reason = error instanceof Error ? error.message : String(error);
    }
  }

  /** @param reason undefined if this host is in contact with the group */
  private report(reason: string | undefined): void {
    const isAlone = reason !== undefined;
    if (isAlone === this.isAlone) return;
    this.isAlone = isAlone;
    this.options.onAlone?.(reason);
  }
}

/** Explains a silence during which no exchange failed. @param sinceLook milliseconds between the last two checks */
function whySilent(silentMs: number, sinceLook: number): string {
  const seconds = Math.round(silentMs / 1_000);
  return sinceLook > SILENT_MS / 2
    ? `no exchange for ${seconds} s: this process was paused or busy`
    : `the database has not answered for ${seconds} s`;
}
