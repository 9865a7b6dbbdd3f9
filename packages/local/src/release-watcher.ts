// release-watcher.ts: follows the releases of a data folder, and of the channel that fills it. It runs in its own
// thread.
//
// Reading and verifying 280 MB takes a second, during which the application's own thread would be blocked.

import {
  aborted,
  checkFiles,
  currentName,
  explained,
  isReleaseName,
  Live,
  MAPS_FILES,
  mapSegment,
  messageOf,
  ReleaseError,
  releasesBefore,
  remedyFor,
  requireCurrentName,
  segmentsOf,
  sha256Hex,
  verifyRelease,
} from "@inkling/data";
import {
  CHANNEL_POLL_MS,
  ChannelError,
  ChannelFollower,
  type ChannelRuleset,
  openReader,
} from "@inkling/data/channel";
import type { Release } from "@inkling/engine";
import type { SourceOptions } from "./read-options.ts";
import { followRuleset, type RulesetMessage } from "./ruleset.ts";

const POLL_MS = 1_000;
const LONGEST_MS = 60_000;

/** A sound release, ready for the application to open. */
export interface Prepared {
  readonly type: "release";
  readonly name: string;
  readonly manifest: Release;
  /**
   * The bytes of new segments, keyed by SHA-256; segments of the previous release are omitted. Empty if files are
   * mapped.
   */
  readonly segments: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

export interface Refused {
  readonly type: "refused";
  readonly reason: string;
  readonly hint: string | undefined;
}

export type WatcherMessage = Prepared | Refused | RulesetMessage;

/** What the application did with a release that was handed over. If `reason` is undefined, the release is in use. */
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
  /** Is another process filling the data folder, so that a release will follow? */
  private isFilled = false;
  /** The release that the application is using. */
  private taken: string | undefined;
  /** The segments of the release that was last handed over. */
  private held: ReadonlySet<string> = new Set();
  private answer: ((taken: Taken) => void) | undefined;
  /** Has the ruleset been loaded, from the channel or its snapshot? Until then, no release is handed over. */
  private hasRuleset = false;

  /** @throws ChannelError if there are no credentials for a bucket */
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
        // This does not wait for the next poll of the data folder.
        onApplied: () => void this.refresh(),
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

  /** Follows releases until {@link stop}. */
  async run(): Promise<void> {
    await this.channel?.start();
    if (this.stopped.signal.aborted) return;
    await this.ruleset?.start(); // before the first release, because the application can assess from then on
    this.hasRuleset = true;
    await this.releases.start();
    await aborted(this.stopped.signal);
    await Promise.all([this.channel?.stop(), this.ruleset?.stop(), this.releases.stop()]);
  }

  stop(): void {
    this.stopped.abort();
    this.answer?.({ name: "", reason: "the thread ends" });
  }

  /** The application calls this after it has opened the release that was handed over, or has failed to. */
  settle(taken: Taken): void {
    this.answer?.(taken);
  }

  /** Applies what has arrived from the channel. */
  private async refresh(): Promise<void> {
    if (!this.hasRuleset) return; // `run` loads both next
    await this.ruleset?.refresh();
    await this.releases.refresh();
  }

  private openFollower(): ChannelFollower | undefined {
    const { channel, dataDir, env } = this.options;
    if (channel === undefined) return undefined;
    return new ChannelFollower({
      store: openReader(channel.base, env),
      channel: channel.channel,
      publicKeys: channel.publicKeys,
      dataDir,
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

  /** Returns the release that should be in use; undefined while another process fills an empty folder. */
  private wanted(): string | undefined {
    const { dataDir } = this.options;
    if (this.isFilled && currentName(dataDir) === undefined) return undefined;
    return requireCurrentName(dataDir);
  }

  /** Reports a failure once for each reason. */
  private checked(error: Error | undefined, before: Error | undefined): void {
    if (error === undefined || error.message === before?.message || this.stopped.signal.aborted) return;
    const own = (error as { readonly hint?: string }).hint;
    const hint =
      own ?? (error instanceof ReleaseError ? remedyFor("damaged", this.options.dataDir) : undefined);
    this.report({ type: "refused", reason: messageOf(error), hint });
  }

  /** Hands over the wanted release. If this fails and no release is in use yet, hands over the newest sound one. */
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
        // only the reason why the wanted release cannot be used is reported
      }
    }
  }

  /** @throws ReleaseError if the release is not sound; Error if the application cannot open it */
  private async handOver(name: string): Promise<void> {
    const { dataDir } = this.options;
    const { manifest } = checkFiles(dataDir, name);
    const reports = segmentsOf(manifest);
    const segments = new Map<string, Uint8Array<ArrayBuffer>>();
    if (!MAPS_FILES) {
      explained(dataDir, name, () => {
        for (const segment of reports) {
          if (this.held.has(segment.sha256)) continue;
          const bytes = mapSegment(dataDir, segment);
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
    this.report({ type: "release", name, manifest, segments });
    const { reason, hint } = await settled;
    if (reason !== undefined) throw Object.assign(new Error(reason), { hint });
    this.taken = name;
  }
}
