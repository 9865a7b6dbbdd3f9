// release-watcher.ts: keeps up with the releases of a data folder, and of a channel that fills it; runs in its own thread.
//
// in   the data folder's `current`, looked at once a second; the channel, every two
// out  each release that is sound: where files cannot be mapped, with the bytes of segments that the one before has not
// err  reported once for each reason, and tried again, later each time; what was handed over remains in use
// why  reading and verifying 280 MB takes a second, for which the application's own thread would answer nobody

import type { Release } from "@inkling/engine";
import {
  aborted,
  areMarked,
  currentName,
  explained,
  findFiles,
  isReleaseName,
  Live,
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
import {
  CHANNEL_POLL_MS,
  ChannelError,
  ChannelFollower,
  type ChannelRuleset,
  openReader,
} from "@inkling/release-store/channel";
import type { SourceOptions } from "./read-options.ts";
import { followRuleset, type RulesetMessage } from "./ruleset.ts";

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

export type WatcherMessage = Prepared | Refused | RulesetMessage;

/** What became of a release that was handed over: without a reason it answers. */
export interface Taken {
  readonly name: string;
  readonly reason?: string;
  readonly hint?: string | undefined;
}

export class ReleaseWatcher {
  private readonly options: SourceOptions;
  private readonly report: (message: WatcherMessage) => void;
  private readonly stopped = new AbortController();
  private readonly channel: Live<string | undefined> | undefined;
  private readonly releases: Live<string | undefined>;
  private readonly ruleset: Live<ChannelRuleset | undefined> | undefined;
  /** Is another process at work in the data folder, which will have a release? */
  private isFilled = false;
  /** The release that the application answers from. */
  private taken: string | undefined;
  /** The segments of the one that was handed over last. */
  private held: ReadonlySet<string> = new Set();
  private answer: ((taken: Taken) => void) | undefined;

  /** @throws ChannelError when a bucket has no credentials */
  constructor(options: SourceOptions, report: (message: WatcherMessage) => void) {
    this.options = options;
    this.report = report;
    const live = {
      initial: undefined,
      longestWaitMs: LONGEST_MS,
      onChecked: (error: Error | undefined, before: Error | undefined) => this.checked(error, before),
    };
    const follower = this.openFollower();
    if (follower !== undefined) {
      this.channel = new Live<string | undefined>({
        ...live,
        source: { load: async () => this.follow(follower) },
        // No second of the releases' own poll passes before a release that has arrived is handed over.
        onApplied: () => {
          void this.ruleset?.refresh();
          void this.releases.refresh();
        },
        pollMs: CHANNEL_POLL_MS,
      });
    }
    this.ruleset = options.isRulesetFollowed
      ? followRuleset(options.dataDir, (message) => {
          if (!this.stopped.signal.aborted) report(message);
        })
      : undefined;
    this.releases = new Live<string | undefined>({
      ...live,
      source: { load: () => ({ version: "", value: this.wanted() }) },
      apply: (wanted) => this.look(wanted),
      pollMs: POLL_MS,
    });
  }

  /** Until {@link stop}. */
  async run(): Promise<void> {
    await this.channel?.start();
    if (this.stopped.signal.aborted) return;
    await this.ruleset?.start(); // before the first release, with which the application begins to assess
    await this.releases.start();
    await aborted(this.stopped.signal);
    await Promise.all([this.channel?.stop(), this.ruleset?.stop(), this.releases.stop()]);
  }

  stop(): void {
    this.stopped.abort();
    this.answer?.({ name: "", reason: "the thread ends" });
  }

  /** The application has opened the release that was handed over, or could not. */
  settle(taken: Taken): void {
    this.answer?.(taken);
  }

  private openFollower(): ChannelFollower | undefined {
    const { channel, dataDir, env } = this.options;
    if (channel === undefined) return undefined;
    return new ChannelFollower({
      store: openReader(channel.base, env),
      channel: channel.channel,
      publicKeys: channel.publicKeys,
      dataDir,
      serverId: serverId(dataDir),
      verify: verifyRelease,
      served: () => this.taken,
      takesRuleset: this.options.isRulesetFollowed,
      now: Date.now,
    });
  }

  private async follow(follower: ChannelFollower) {
    this.isFilled = false;
    try {
      const { release } = await follower.follow(this.stopped.signal);
      return { version: release, value: release };
    } catch (error) {
      if (!(error instanceof ChannelError) || error.fault !== "busy") throw error;
      this.isFilled = true;
      return { version: "", value: undefined };
    }
  }

  /** The release that should answer; undefined while another process fills an empty folder. */
  private wanted(): string | undefined {
    const { dataDir } = this.options;
    if (this.isFilled && currentName(dataDir) === undefined) return undefined;
    return requireCurrentName(dataDir);
  }

  /** Reports a failure once for each reason. */
  private checked(error: Error | undefined, before: Error | undefined): void {
    if (error === undefined || error.message === before?.message || this.stopped.signal.aborted) return;
    const { hint } = error as { readonly hint?: string };
    this.report({ type: "refused", reason: messageOf(error), hint });
  }

  /** Hands over the release that should be in use, or, before there is any, the newest sound one. */
  private async look(wanted: string | undefined): Promise<void> {
    if (wanted === undefined || wanted === this.taken) return;
    try {
      await this.handOver(wanted);
    } catch (error) {
      if (this.taken === undefined) await this.handOverOlder(wanted);
      throw error;
    }
  }

  private async handOverOlder(wanted: string): Promise<void> {
    const { dataDir } = this.options;
    for (const name of isReleaseName(wanted) ? releasesBefore(dataDir, wanted) : []) {
      try {
        return await this.handOver(name);
      } catch {
        // the reason that counts is why the wanted one cannot be used
      }
    }
  }

  /** @throws ReleaseError; Error where the application cannot open it */
  private async handOver(name: string): Promise<void> {
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
    const settled = new Promise<Taken>((resolve) => {
      this.answer = resolve;
    });
    this.report({ type: "release", name, manifest, stamps, segments });
    const { reason, hint } = await settled;
    if (reason !== undefined) throw Object.assign(new Error(reason), { hint });
    this.taken = name;
  }
}
