// tally.ts: counts the entries that a parser used and skipped, and refuses a file with too many unusable ones.
//
// A feed may have a broken line (the free-mail list has one); a file of which a tenth cannot be read is another file,
// another format, or damaged.
// cost at most MAX_NAMED entries are kept, and an invalid file is refused early: 60 million commas took 35 s and 8 GB

import { FeedError } from "../catalog/feed.ts";

/** A skipped line or record, for the report. */
export interface Skipped {
  /** Counted from 1; records of a JSON document are counted alike. */
  readonly line: number;
  /** What was expected, never what was there. */
  readonly reason: string;
}

export interface Skips {
  /** The first thousand, and how many there were. */
  readonly skipped: readonly Skipped[];
  readonly skippedCount: number;
}

const UNUSABLE_SHARE = 0.1;
const MAX_NAMED = 1_000;
const HOPELESS = 10_000;

export class Tally {
  private readonly unit: "line" | "record";
  private readonly named: Skipped[] = [];
  private used = 0;
  private passed = 0;
  private unusable = 0;
  private firstUnusable: Skipped | undefined;
  /** The latest entry, if that was unusable. */
  private latestUnusable: Skipped | undefined;

  /** @param unit what is counted */
  constructor(unit: "line" | "record" = "line") {
    this.unit = unit;
  }

  /** One entry was read. */
  use(): void {
    this.used++;
    this.latestUnusable = undefined;
  }

  /** Skips a well-formed entry, which is no sign of a broken file. */
  pass(line: number, reason: string): void {
    this.passed++;
    this.name({ line, reason });
    this.latestUnusable = undefined;
  }

  /**
   * An entry that is not of the feed's form.
   * @throws FeedError when nearly all entries so far are unusable
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

  /** @throws FeedError when more than a tenth of the entries were unusable */
  check(): void {
    const total = this.used + this.unusable;
    if (this.firstUnusable === undefined || this.unusable <= total * UNUSABLE_SHARE) return;
    const { line, reason } = this.firstUnusable;
    throw new FeedError(
      `${this.unusable} of ${total} ${this.unit}s cannot be used; the first is ${this.unit} ${line}: ${reason}`,
    );
  }

  /**
   * As {@link check}, for text that came line by line.
   * @throws FeedError also when the last line is unusable and has no line end: the file is truncated
   */
  checkLines(text: string): void {
    if (this.latestUnusable !== undefined && !text.endsWith("\n")) {
      const { line, reason } = this.latestUnusable;
      throw new FeedError(`is cut short inside line ${line}, which ${reason}`);
    }
    this.check();
  }

  /** For the report: the number of skipped entries, and the first ones. */
  get report(): Skips {
    return { skipped: this.named, skippedCount: this.passed + this.unusable };
  }
}
