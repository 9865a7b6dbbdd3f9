// release-follower.ts: in a process that answers: the release that the primary names, all of whose bytes were verified.
//
// out  `current`, mapped
// err  a release that cannot be opened here is reported, and tried again each second; the one before remains in use, unless
//      the primary has left it as unsound

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

/** Which release to answer from, as the primary follows it. */
export interface ReleaseMessage {
  readonly type: "release";
  readonly name: string | undefined;
  /** Of its files when they were verified: no others are answered from. */
  readonly stamps: Stamps | undefined;
  /** The release that should answer. */
  readonly wanted: string | undefined;
  /** The last one that was found unsound while it answered, until it answers again. */
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

/** @param isFirst false when another try with the same release has failed */
type OnFailed = (name: string, reason: string, isFirst: boolean) => void;

export class ReleaseFollower {
  /** The release in use. Read it once for each request. */
  current: LoadedRelease | undefined;
  private readonly report: FeedsReportFile;
  private readonly channelReport: ChannelReportFile;
  private message: Omit<ReleaseMessage, "type"> | undefined;
  private readonly live: Live<LoadedRelease | undefined>;
  /** The release whose failure was reported. */
  private failed: string | undefined;

  /** @param onSettled called when what the primary names is in use */
  constructor(dataDir: string, onFailed: OnFailed, onSettled = () => {}) {
    this.report = new FeedsReportFile(dataDir);
    this.channelReport = new ChannelReportFile(dataDir);
    this.live = new Live<LoadedRelease | undefined>({
      initial: undefined,
      source: {
        // One that was given up because the primary had left it is opened again when the primary names it again.
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

  /** Resolves when it was opened, or could not be; then it is tried again each second. */
  async follow(message: ReleaseMessage): Promise<void> {
    const isFirst = this.message === undefined;
    this.message = message;
    await (isFirst ? this.live.start() : this.live.refresh());
  }

  stop(): Promise<void> {
    return this.live.stop();
  }

  /** Can requests be answered as they are elsewhere: from a release, or because there is none? */
  get isReady(): boolean {
    return this.current !== undefined || this.message?.name === undefined;
  }

  get feeds(): readonly FeedReport[] {
    return this.report.feedsOf(this.current);
  }

  get held(): HeldRelease | undefined {
    return this.report.held;
  }

  /** The latest build, if it failed. */
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

/** Changes when another release is to be opened, or other files of the same one. */
const versionOf = (message: Pick<ReleaseMessage, "name" | "stamps"> | undefined) =>
  JSON.stringify([message?.name, message?.stamps]);
