// release-follower.ts: in a process that answers requests, follows the verified release that the primary names.
//
// out  `current`, the release that is mapped into memory
// err  a release that cannot be opened here is reported and retried every second. The previous release remains in use,
//      unless the primary has dropped it as unsound

import type { FailedBuild, FeedReport, HeldRelease, LoadedRelease } from "@inkling/engine";
import {
  type ChannelReport,
  ChannelReportFile,
  FeedsReportFile,
  Live,
  messageOf,
  openRelease,
  type Stamps,
} from "@inkling/release-store";
import type { EpochMs } from "../keys/key.ts";
import type { Releases } from "../releases/follow.ts";
import type { Refusal } from "../releases/next-release.ts";

const RETRY_MS = 1_000;

/** The release to answer from, as the primary sends it. */
export interface ReleaseMessage {
  readonly type: "release";
  readonly name: string | undefined;
  /** The stamps that the files had when they were verified. The process uses no other files. */
  readonly stamps: Stamps | undefined;
  /** The release that should be in use. */
  readonly wanted: string | undefined;
  /** The last release that was found unsound while in use, until it is used again. */
  readonly left: string | undefined;
  readonly isVerified: boolean;
  readonly refused: Refusal | undefined;
  readonly since: EpochMs | undefined;
}

export function releaseMessage(releases: Releases): ReleaseMessage {
  const { current, wanted, left, isVerified, refused, since } = releases;
  const { name, stamps } = current ?? {};
  return { type: "release", name, stamps, wanted, left, isVerified, refused, since };
}

/** @param isFirst false if an earlier attempt with the same release has failed */
type OnFailed = (name: string, reason: string, isFirst: boolean) => void;

export class ReleaseFollower {
  /** The release in use. Read it once for each request. */
  current: LoadedRelease | undefined;
  private readonly report: FeedsReportFile;
  private readonly channelReport: ChannelReportFile;
  private message: Omit<ReleaseMessage, "type"> | undefined;
  private readonly live: Live<LoadedRelease | undefined>;
  /** The release whose failure has been reported. */
  private failed: string | undefined;

  /** @param onSettled called when the release that the primary names is in use, or if the primary names none */
  constructor(dataDir: string, onFailed: OnFailed, onSettled = () => {}) {
    this.report = new FeedsReportFile(dataDir);
    this.channelReport = new ChannelReportFile(dataDir);
    this.live = new Live<LoadedRelease | undefined>({
      initial: undefined,
      source: {
        // A release that this process dropped because the primary did is opened again when the primary names it again.
        version: () => (this.current?.name === this.message?.name ? versionOf(this.message) : undefined),
        load: () => {
          const { name, stamps } = this.message ?? {};
          const value = name === undefined ? undefined : openRelease(dataDir, name, stamps);
          return { version: versionOf(this.message), value };
        },
      },
      onApplied: (release) => {
        this.current = release;
      },
      onChecked: (error) => {
        const { name } = this.message ?? {};
        if (error === undefined || name === undefined) {
          this.failed = undefined;
          onSettled();
          return;
        }
        if (this.current?.name === this.left) this.current = undefined;
        const isFirst = this.failed !== name;
        this.failed = name;
        onFailed(name, messageOf(error), isFirst);
      },
      pollMs: RETRY_MS,
      longestWaitMs: RETRY_MS,
      reloadMs: Number.POSITIVE_INFINITY,
    });
  }

  /** Resolves after the first attempt to open the release. Failed attempts are repeated every second. */
  async follow(message: ReleaseMessage): Promise<void> {
    const isFirst = this.message === undefined;
    this.message = message;
    await (isFirst ? this.live.start() : this.live.refresh());
  }

  stop(): Promise<void> {
    return this.live.stop();
  }

  /**
   * Can this process answer requests like the other processes: either from a release, or with 503 if no release exists?
   */
  get isReady(): boolean {
    return this.current !== undefined || this.message?.name === undefined;
  }

  get feeds(): readonly FeedReport[] {
    return this.report.feedsOf(this.current);
  }

  get held(): HeldRelease | undefined {
    return this.report.held;
  }

  /** The latest build, if it failed; otherwise undefined. */
  get failedBuild(): FailedBuild | undefined {
    return this.report.failed;
  }

  get channel(): ChannelReport | undefined {
    return this.channelReport.current;
  }

  get refused(): Refusal | undefined {
    return this.message?.refused;
  }

  get left(): string | undefined {
    return this.message?.left;
  }

  get wanted(): string | undefined {
    return this.message?.wanted;
  }

  get isVerified(): boolean {
    return this.message?.isVerified === true && this.current?.name === this.message.name;
  }

  get since(): EpochMs | undefined {
    return this.message?.since;
  }
}

/** Changes when a different release, or different files of the same release, must be opened. */
const versionOf = (message: Pick<ReleaseMessage, "name" | "stamps"> | undefined) =>
  JSON.stringify([message?.name, message?.stamps]);
