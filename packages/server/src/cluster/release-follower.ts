// release-follower.ts: in a worker: the release that the primary names, which it has verified where it had to.
//
// out  `current`, as Releases has it
// err  a release that cannot be opened here is reported once and tried again each second; the one before stays in use

import type { FeedReport, HeldRelease, LoadedRelease } from "@inkling/engine";
import { FeedsReportFile, messageOf, openRelease } from "@inkling/release-store";
import type { EpochMs } from "../keys/key.ts";
import type { Refusal } from "../releases/follow.ts";
import type { ReleaseMessage } from "./messages.ts";

const RETRY_MS = 1_000;

export class ReleaseFollower {
  /** The release in use. Read it once for each request. */
  current: LoadedRelease | undefined;
  private readonly dataDir: string;
  private readonly onFailed: (name: string, reason: string) => void;
  private readonly report: FeedsReportFile;
  private message: Omit<ReleaseMessage, "type"> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The release whose failure was reported. */
  private failed: string | undefined;

  constructor(dataDir: string, onFailed: (name: string, reason: string) => void) {
    this.dataDir = dataDir;
    this.onFailed = onFailed;
    this.report = new FeedsReportFile(dataDir);
  }

  follow(message: ReleaseMessage): void {
    this.message = message;
    this.open();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  get feeds(): readonly FeedReport[] {
    return this.report.feedsOf(this.current);
  }

  get held(): HeldRelease | undefined {
    return this.report.held;
  }

  get refused(): Refusal | undefined {
    return this.message?.refused;
  }

  get isVerified(): boolean {
    return this.message?.isVerified === true && this.current?.name === this.message.name;
  }

  get since(): EpochMs | undefined {
    return this.message?.since;
  }

  private open(): void {
    clearTimeout(this.timer);
    const name = this.message?.name;
    if (name === this.current?.name) return;
    if (name === undefined) {
      this.current = undefined;
      return;
    }
    try {
      this.current = openRelease(this.dataDir, name);
      this.failed = undefined;
    } catch (error) {
      this.timer = setTimeout(() => this.open(), RETRY_MS);
      if (this.failed === name) return;
      this.failed = name;
      this.onFailed(name, messageOf(error));
    }
  }
}
