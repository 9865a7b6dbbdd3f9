// release-follower.ts: in a worker: the release that the supervisor has found, verified where it was to be, and named.
//
// in   ReleaseNews
// out  `current`, as Releases has it
// err  a release that cannot be opened here is told once and tried again each second; the one before goes on

import { type FeedReport, feedsNow, type LoadedRelease } from "@inkling/engine";
import { currentName, FeedsReportFile, openRelease } from "@inkling/release-store";
import type { Refusal } from "../releases/follow.ts";
import type { ReleaseNews } from "./messages.ts";

const RETRY_MS = 1_000;

export class FollowedRelease {
  /** The release that answers now. Read it once for each request. */
  current: LoadedRelease | undefined;
  private readonly dataDir: string;
  private readonly onFailed: (name: string, reason: string) => void;
  private readonly report: FeedsReportFile;
  private news: ReleaseNews = { name: undefined, isVerified: false, refused: undefined, since: undefined };
  private timer: ReturnType<typeof setTimeout> | undefined;
  private told: string | undefined;
  /** Opened, and not yet named by the supervisor. */
  private likely: LoadedRelease | undefined;

  constructor(dataDir: string, onFailed: (name: string, reason: string) => void) {
    this.dataDir = dataDir;
    this.onFailed = onFailed;
    this.report = new FeedsReportFile(dataDir);
  }

  /**
   * Opens what `current` names, for the supervisor will most likely name it: opening takes as long here as there, and
   * the two can do it at once. Says nothing about one that does not open.
   */
  expect(): void {
    try {
      const name = currentName(this.dataDir);
      if (name !== undefined) this.likely = openRelease(this.dataDir, name);
    } catch {
      // the supervisor finds that, too, tells of it, and names another
    }
  }

  /** Takes over what the supervisor says. */
  follow(news: ReleaseNews): void {
    this.news = news;
    this.open();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  get feeds(): readonly FeedReport[] {
    return this.current === undefined ? [] : feedsNow(this.current.manifest, this.report.current);
  }

  get refused(): Refusal | undefined {
    return this.news.refused;
  }

  get isVerified(): boolean {
    return this.news.isVerified && this.current?.name === this.news.name;
  }

  get since(): number | undefined {
    return this.news.since;
  }

  private open(): void {
    clearTimeout(this.timer);
    const { name } = this.news;
    if (name === this.current?.name) return;
    if (name === undefined) {
      this.current = undefined;
      return;
    }
    const { likely } = this;
    this.likely = undefined;
    try {
      this.current = likely?.name === name ? likely : openRelease(this.dataDir, name);
      this.told = undefined;
    } catch (error) {
      this.timer = setTimeout(() => this.open(), RETRY_MS);
      if (this.told === name) return;
      this.told = name;
      this.onFailed(name, error instanceof Error ? error.message : String(error));
    }
  }
}
