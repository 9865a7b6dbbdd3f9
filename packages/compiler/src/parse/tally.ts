// tally.ts: counts the entries that a parser used or skipped, and refuses a file with too many unusable entries.
//
// A feed may contain a broken line (the free-mail list does). If more than a tenth of a file cannot be read, it is the
// wrong file, has another format, or is damaged.
// cost keeps at most MAX_NAMED entries and refuses an invalid file early. Without these limits, 60 million commas took
//      35 s and 8 GB

import { FeedError } from "../catalog/feed.ts";

/** A skipped line or record, for the report. */
export interface Skipped {
  /** Number of the line or JSON record, counted from 1. */
  readonly line: number;
  /** The problem with the entry. It never repeats the content. */
  readonly reason: string;
}

export interface Skips {
  /** The first thousand skipped entries, and the number of all skipped entries. */
  readonly skipped: readonly Skipped[];
  readonly skippedCount: number;
}

const UNUSABLE_SHARE = 0.1;
const MAX_NAMED = 1_000;
const HOPELESS = 10_000;
/**
 * Networks that the ranges of a file may have together, and how many each of them may have on average if there are
 * more.
 */
const MANY_NETWORKS = 1_000_000;
const PER_RANGE = 4;

export class Tally {
  private readonly unit: "line" | "record";
  private readonly named: Skipped[] = [];
  private used = 0;
  private passed = 0;
  private unusable = 0;
  private ranges = 0;
  private networksOfRanges = 0;
  private firstUnusable: Skipped | undefined;
  /** The latest entry, if it was unusable. */
  private latestUnusable: Skipped | undefined;

  /** @param unit what is counted, for messages */
  constructor(unit: "line" | "record" = "line") {
    this.unit = unit;
  }

  /** Counts an entry that was used. */
  use(): void {
    this.used++;
    this.latestUnusable = undefined;
  }

  /**
   * Counts the networks of a range. A line of 40 bytes can have 254, so a small file could fill the memory.
   * @throws FeedError if there are implausibly many
   */
  expand(networks: number): void {
    this.ranges++;
    this.networksOfRanges += networks;
    if (this.networksOfRanges > Math.max(MANY_NETWORKS, PER_RANGE * this.ranges))
      throw new FeedError(
        `has ${this.ranges} ranges with ${this.networksOfRanges} networks, which is too many`,
      );
  }

  /** Skips a well-formed entry. Such entries are not a sign of a broken file. */
  pass(line: number, reason: string): void {
    this.passed++;
    this.name({ line, reason });
    this.latestUnusable = undefined;
  }

  /**
   * Counts an entry that is not in the feed's format.
   * @throws FeedError if at least 10,000 entries are unusable so far, and more than were used
   */
  fail(line: number, reason: string): void {
    const skipped = { line, reason };
    this.unusable++;
    this.name(skipped);
    this.firstUnusable ??= skipped;
    this.latestUnusable = skipped;
    if (this.unusable >= HOPELESS && this.unusable > this.used) this.check();
  }

  private name(skipped: Skipped): void {
    if (this.named.length < MAX_NAMED) this.named.push(skipped);
  }

  /** @throws FeedError if more than a tenth of the entries are unusable */
  check(): void {
    const total = this.used + this.unusable;
    if (this.firstUnusable === undefined || this.unusable <= total * UNUSABLE_SHARE) return;
    const { line, reason } = this.firstUnusable;
    throw new FeedError(
      `has unusable entries, ${this.unusable} of ${total}; the first is ${this.unit} ${line}: ${reason}`,
    );
  }

  /**
   * Like {@link check}, for text that was read line by line.
   * @throws FeedError also if the last line is unusable and has no line end, because the file was then cut short
   */
  checkLines(text: string): void {
    if (this.latestUnusable !== undefined && !/[\r\n]$/.test(text)) {
      const { line, reason } = this.latestUnusable;
      throw new FeedError(`is truncated in line ${line}, which ${reason}`);
    }
    this.check();
  }

  /** Returns the number of skipped entries, and the first thousand of them. */
  get report(): Skips {
    return { skipped: this.named, skippedCount: this.passed + this.unusable };
  }
}
