// keeper.ts: keeps up with the releases of a data folder, and of a channel that fills it; runs in a thread of its own.
//
// in   the data folder's `current`, looked at once a second; the channel, every two
// out  each release that is sound: where files cannot be mapped, with the bytes of segments that the one before has not
// err  reported once for each reason, and tried again, later each time; what was handed over stays in use
// why  reading and verifying 280 MB takes a second, for which the application's own thread would answer nobody

import type { Release } from "@inkling/engine";
import {
  areMarked,
  currentName,
  explained,
  findFiles,
  isReleaseName,
  MAPS_FILES,
  mapSegment,
  messageOf,
  ReleaseError,
  releasesBefore,
  requireCurrentName,
  type Stamps,
  serverId,
  sha256Hex,
  verifyRelease,
} from "@inkling/release-store";
import { CHANNEL_POLL_MS, ChannelError, ChannelFollower, openReader } from "@inkling/release-store/channel";
import type { SourceOptions } from "./read-options.ts";

const POLL_MS = 1_000;
const LONGEST_MS = 60_000;

/** A sound release. */
export interface Prepared {
  readonly type: "release";
  readonly name: string;
  readonly manifest: Release;
  readonly stamps: Stamps;
  /** By SHA-256; without those that the release before has too. None where files are mapped. */
  readonly segments: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

export interface Refused {
  readonly type: "refused";
  readonly reason: string;
  readonly hint: string | undefined;
}

export type KeeperMessage = Prepared | Refused;

/** A release that was handed over and could not be opened. */
export interface NotTaken extends Omit<Refused, "type"> {
  readonly name: string;
  readonly inUse: string | undefined;
}

export class Keeper {
  private readonly options: SourceOptions;
  private readonly report: (message: KeeperMessage) => void;
  private readonly stopped = new AbortController();
  private readonly follower: ChannelFollower | undefined;
  private readonly channelTries = new Tries(CHANNEL_POLL_MS);
  private readonly releaseTries = new Tries(POLL_MS);
  /** The release in use, or handed over a moment ago. */
  private taken: string | undefined;
  /** The segments of the one that was handed over last. */
  private held: ReadonlySet<string> = new Set();
  /** The one that could not be used. */
  private refused: string | undefined;

  /** @throws ChannelError when a bucket has no credentials */
  constructor(options: SourceOptions, report: (message: KeeperMessage) => void) {
    this.options = options;
    this.report = report;
    const { channel, dataDir, env } = options;
    if (channel === undefined) return;
    this.follower = new ChannelFollower({
      store: openReader(channel.base, env),
      channel: channel.channel,
      publicKeys: channel.publicKeys,
      dataDir,
      serverId: serverId(dataDir),
      verify: verifyRelease,
      served: () => this.taken,
      now: Date.now,
    });
  }

  /** Until {@link stop}. */
  async run(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      const isBusy = await this.follow(signal);
      if (signal.aborted) return;
      // Another process fills an empty folder: there will be a release.
      if (!isBusy || currentName(this.options.dataDir) !== undefined) this.look();
      await sleep(POLL_MS, signal);
    }
  }

  stop(): void {
    this.stopped.abort();
  }

  /** The release that was handed over is tried again, as one that is not sound. */
  putBack({ name, inUse, ...failure }: NotTaken): void {
    if (name !== this.taken) return; // another has been handed over since
    this.taken = inUse;
    this.refused = name;
    if (this.releaseTries.failed(failure.reason)) this.report({ type: "refused", ...failure });
  }

  /** @returns is another process at work in the data folder? */
  private async follow(signal: AbortSignal): Promise<boolean> {
    const { follower, channelTries: tries } = this;
    if (follower === undefined || !tries.isDue) return false;
    try {
      await follower.follow(signal);
      tries.succeeded();
    } catch (error) {
      if (signal.aborted) return false;
      if (error instanceof ChannelError && error.fault === "busy") return true;
      if (tries.failed(messageOf(error))) this.refuse(error);
    }
    return false;
  }

  /** Hands over the release that should be in use, or, before there is any, the newest sound one. */
  private look(): void {
    const { dataDir } = this.options;
    try {
      const wanted = requireCurrentName(dataDir);
      if (wanted === this.taken) {
        this.releaseTries.succeeded();
        return;
      }
      if (wanted === this.refused && !this.releaseTries.isDue) return;
      this.refused = wanted;
      try {
        this.take(wanted);
      } catch (error) {
        if (this.taken === undefined) this.takeOlder(wanted);
        throw error;
      }
      this.refused = undefined; // it has succeeded when it is still in use at the next look
    } catch (error) {
      if (this.releaseTries.failed(messageOf(error))) this.refuse(error);
    }
  }

  private takeOlder(wanted: string): void {
    const { dataDir } = this.options;
    for (const name of isReleaseName(wanted) ? releasesBefore(dataDir, wanted) : []) {
      try {
        this.take(name);
        return;
      } catch {
        // the reason that counts is why the wanted one cannot be used
      }
    }
  }

  /** @throws ReleaseError */
  private take(name: string): void {
    const { dataDir } = this.options;
    const { manifest, stamps: found } = findFiles(dataDir, name);
    const stamps = areMarked(dataDir, found) ? found : verifyRelease(dataDir, name).stamps;
    const reports = Object.values(manifest.segments).filter((segment) => segment !== undefined);
    const segments = new Map<string, Uint8Array<ArrayBuffer>>();
    if (!MAPS_FILES) {
      explained(dataDir, name, () => {
        for (const segment of reports) {
          if (this.held.has(segment.sha256)) continue;
          const bytes = mapSegment(dataDir, segment, stamps);
          if (sha256Hex(bytes) !== segment.sha256)
            throw new ReleaseError(`its segment ${segment.sha256}.seg is damaged`);
          segments.set(segment.sha256, bytes as Uint8Array<ArrayBuffer>);
        }
      });
    }
    this.held = new Set(reports.map(({ sha256 }) => sha256));
    this.taken = name;
    this.report({ type: "release", name, manifest, stamps, segments });
  }

  private refuse(error: unknown): void {
    const { hint } = error as { readonly hint?: string };
    this.report({ type: "refused", reason: messageOf(error), hint });
  }
}

/** When to try again: after each failure twice as long as before. */
class Tries {
  private readonly first: number;
  private failures = 0;
  private reason: string | undefined;
  private dueAt = 0;

  constructor(first: number) {
    this.first = first;
  }

  get isDue(): boolean {
    return performance.now() >= this.dueAt;
  }

  succeeded(): void {
    this.failures = 0;
    this.reason = undefined;
    this.wait(this.first);
  }

  /** @returns is this another reason than before? */
  failed(reason: string): boolean {
    this.wait(Math.min(LONGEST_MS, this.first * 2 ** this.failures++));
    const isNew = this.reason !== reason;
    this.reason = reason;
    return isNew;
  }

  /** Chance keeps many hosts from asking at the same time. */
  private wait(ms: number): void {
    this.dueAt = performance.now() + ms * (1 + Math.random() / 5);
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}
