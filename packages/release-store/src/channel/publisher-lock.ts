// publisher-lock.ts: allows only one publisher at a time in a store, even for different channels, because channels may
// share segments.
//
// in   a store whose writes become visible to everyone within its `settleMs`
// out  the lock, an object that names its holder and its expiry; it is renewed while objects are uploaded
// err  ChannelError: busy if another publisher holds the lock or has taken it over, unreachable if writing the lock
//      takes too long; the errors of the store

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
  /** Milliseconds until another publisher's lock is certainly visible; by default the store's `settleMs`. */
  readonly settleMs?: number;
  /** Called if the lock could not be removed. */
  readonly onWarning?: (message: string) => void;
}

export class PublisherLock {
  private readonly options: PublisherLockOptions;
  /** The lock's content as this publisher last wrote it. */
  private content: string | undefined;
  private isHeldBeside: () => Promise<boolean> = async () => true;

  constructor(options: PublisherLockOptions) {
    this.options = options;
  }

  /**
   * Writes the lock, waits, and checks that no other publisher has overwritten it. By the end of the wait, every
   * publisher that found the lock free has written its own lock, and the last writer holds it. If writing takes longer
   * than the wait of other publishers, one of them may already believe that it holds the lock. This publisher then
   * writes and waits again, so that the other publisher notices that it has lost the lock.
   * @param isHeldBeside returns whether the database lock, which ends with its process, is also held
   * @throws ChannelError
   */
  async take(isHeldBeside: () => Promise<boolean>): Promise<void> {
    const { store, settleMs = store.settleMs } = this.options;
    this.isHeldBeside = isHeldBeside;
    if (!(await isHeldBeside())) throw new ChannelError("busy", "another publisher holds the database lock");
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
      `${store.location} took ${Math.round(tookMs)} ms to write ${CHANNEL_PATHS.lock}, but must take less than ${store.settleMs} ms`,
    );
  }

  /** Checks that nobody has taken over the lock, and renews it, because an upload may be slow. @throws ChannelError */
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
      this.options.onWarning?.(`the lock remains for 15 minutes: ${messageOf(error)}`);
    }
  }

  busy(): ChannelError {
    return new ChannelError(
      "busy",
      "another publisher is running",
      `if no publisher is running, delete ${CHANNEL_PATHS.lock} in ${this.options.store.location}`,
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
      // If the expiry is further away than any lock lasts, a wrong clock wrote it.
      const left = Date.parse(until) - now();
      if (left > 0 && left <= LOCK_MS) throw this.busy();
    } catch (error) {
      if (error instanceof ChannelError) throw error;
      // this is not an Inkling lock, so it is overwritten
    }
  }
}
