// publisher-lock.ts: one publisher at a time in a store, also of other channels: two may share segments.
//
// in   a store whose writes become visible to all within its `settleMs`
// out  the lock, an object that names its holder and when it ends; renewed while objects are sent
// err  ChannelError "busy" where another publisher has it, or took it over

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../error-message.ts";
import { ChannelError } from "./channel-error.ts";
import { type ObjectStore, readText } from "./object-store.ts";
import { CHANNEL_PATHS } from "./statement.ts";

const LOCK_MS = 15 * 60_000;
const LOCK_LIMIT = 64 << 10;
const REMOVE_MS = 10_000;
const MAX_TRIES = 5;

interface PublisherLockOptions {
  readonly store: ObjectStore;
  /** Epoch ms. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** How long another publisher's lock may take to be seen; that of the store without. */
  readonly settleMs?: number;
  /** What could not be tidied up. */
  readonly onWarning?: (message: string) => void;
}

export class PublisherLock {
  private readonly options: PublisherLockOptions;
  /** What this publisher wrote last. */
  private content: string | undefined;
  private isHeldBeside: () => Promise<boolean> = async () => true;

  constructor(options: PublisherLockOptions) {
    this.options = options;
  }

  /**
   * Whoever else found it free has written by the end of the wait; the last one has it. One that took longer to write than
   * others wait may have come after that: it writes and waits again, while the other finds that it has lost the lock.
   * @param isHeldBeside whether the lock of the database, which ends with its process, is held too
   */
  async take(isHeldBeside: () => Promise<boolean>): Promise<void> {
    const { store, settleMs = store.settleMs } = this.options;
    this.isHeldBeside = isHeldBeside;
    if (!(await isHeldBeside()))
      throw new ChannelError("busy", "another publisher has the lock of the database");
    let tookMs = 0;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const begun = performance.now();
      if (tries === 0) await this.requireFree();
      await this.write();
      tookMs = performance.now() - begun;
      await sleep(settleMs);
      if (!(await this.isOurs())) throw this.busy();
      if (tookMs < store.settleMs) return;
    }
    throw new ChannelError(
      "unreachable",
      `${store.location} took ${Math.round(tookMs)} ms to write ${CHANNEL_PATHS.lock}, want less than ${store.settleMs}`,
    );
  }

  /** Makes sure that nobody has taken the lock over, and renews it: an upload may be slow. */
  async hold(): Promise<void> {
    if (!(await this.isHeldBeside()) || !(await this.isOurs())) throw this.busy();
    await this.write();
  }

  async remove(): Promise<void> {
    if (this.content === undefined) return;
    const late = AbortSignal.timeout(REMOVE_MS);
    try {
      if (await this.isOurs(late)) await this.options.store.remove(CHANNEL_PATHS.lock, late);
    } catch (error) {
      this.options.onWarning?.(`the lock stays for a quarter of an hour: ${messageOf(error)}`);
    }
  }

  busy(): ChannelError {
    return new ChannelError(
      "busy",
      "another publisher is at work",
      `if it is not, delete ${CHANNEL_PATHS.lock} in ${this.options.store.location}`,
    );
  }

  private read(signal: AbortSignal): Promise<string | undefined> {
    return readText(this.options.store, CHANNEL_PATHS.lock, LOCK_LIMIT, signal);
  }

  private async isOurs(signal = this.options.signal): Promise<boolean> {
    return (await this.read(signal)) === this.content;
  }

  private async write(): Promise<void> {
    const { store, signal, now } = this.options;
    const until = new Date(now() + LOCK_MS).toISOString();
    this.content = JSON.stringify({ holder: randomUUID(), until });
    await store.write(CHANNEL_PATHS.lock, this.content, signal);
  }

  private async requireFree(): Promise<void> {
    const { signal, now } = this.options;
    const text = await this.read(signal);
    if (text === undefined) return;
    try {
      const { until } = JSON.parse(text) as { until: string };
      // A time further off than any lock was written by a clock that is wrong.
      const left = Date.parse(until) - now();
      if (left > 0 && left <= LOCK_MS) throw this.busy();
    } catch (error) {
      if (error instanceof ChannelError) throw error;
      // no lock of Inkling's: written over
    }
  }
}
