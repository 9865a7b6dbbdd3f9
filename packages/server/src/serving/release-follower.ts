// release-follower.ts: in a process that answers: the release that the primary names, all of whose bytes were verified.
//
// out  `current`, mapped
// err  a release that cannot be opened here is reported, and tried again each second; the one before stays in use, unless
//      the primary has left it as unsound

import type { FailedBuild, FeedReport, HeldRelease, LoadedRelease } from "@inkling/engine";
import {
  type ChannelReport,
  ChannelReportFile,
  FeedsReportFile,
  messageOf,
  openRelease,
  type Stamps,
} from "@inkling/release-store";
import type { EpochMs } from "../keys/key.ts";
import type { Refusal, Releases } from "../releases/follow.ts";

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
  private readonly dataDir: string;
  private readonly onFailed: OnFailed;
  private readonly onSettled: () => void;
  private readonly report: FeedsReportFile;
  private readonly channelReport: ChannelReportFile;
  private message: Omit<ReleaseMessage, "type"> | undefined;
  /** Of the files of `current`. */
  private stamps: ReleaseMessage["stamps"];
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The release whose failure was reported. */
  private failed: string | undefined;

  /** @param onSettled called with each message that is followed: what the primary names is in use */
  constructor(dataDir: string, onFailed: OnFailed, onSettled = () => {}) {
    this.dataDir = dataDir;
    this.onFailed = onFailed;
    this.onSettled = onSettled;
    this.report = new FeedsReportFile(dataDir);
    this.channelReport = new ChannelReportFile(dataDir);
  }

  follow(message: ReleaseMessage): void {
    this.message = message;
    this.open();
  }

  stop(): void {
    clearTimeout(this.timer);
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

  private open(): void {
    clearTimeout(this.timer);
    const { name, stamps } = this.message ?? {};
    if (name !== this.current?.name || !Bun.deepEquals(stamps, this.stamps)) {
      try {
        this.current = name === undefined ? undefined : openRelease(this.dataDir, name, stamps);
        this.stamps = stamps;
      } catch (error) {
        if (this.current?.name === this.left) this.current = undefined;
        this.timer = setTimeout(() => this.open(), RETRY_MS);
        const isFirst = this.failed !== name;
        this.failed = name;
        this.onFailed(name!, messageOf(error), isFirst); // only one with a name is opened
        return;
      }
    }
    this.failed = undefined;
    this.onSettled();
  }
}
