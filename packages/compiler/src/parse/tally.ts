// tally.ts: what a parser used, what it passed over, and whether so much was unusable that the file is not believed.
//
// A feed has its odd broken line (the free-mail list holds one); a file of which a tenth cannot be read
// is another file, another form, or damaged.

import { FeedError, type Skipped } from "../feed.ts";
import { excerpt, MAX_LINE } from "./text.ts";

const UNUSABLE_SHARE = 0.1;

export class Tally {
  readonly skipped: Skipped[] = [];
  private readonly unit: string;
  private used = 0;
  private unusable = 0;
  private firstUnusable: Skipped | undefined;
  /** Was the latest entry unusable? */
  failedLast = false;

  /** @param unit what is counted, in the plural: "lines", "records" */
  constructor(unit = "lines") {
    this.unit = unit;
  }

  /** One entry was read. */
  use(): void {
    this.used++;
    this.failedLast = false;
  }

  /** A well-formed entry that is not wanted: no sign of a broken file. */
  pass(line: number, reason: string): void {
    this.skipped.push({ line, reason });
    this.failedLast = false;
  }

  /** An entry that is not of the feed's form. */
  fail(line: number, value: string, problem: string): void {
    const skipped = {
      line,
      reason:
        value.length > MAX_LINE ? `is longer than ${MAX_LINE} characters` : `${problem}: ${excerpt(value)}`,
    };
    this.skipped.push(skipped);
    this.firstUnusable ??= skipped;
    this.unusable++;
    this.failedLast = true;
  }

  /** @throws FeedError when more than a tenth of the entries were unusable */
  check(): void {
    const total = this.used + this.unusable;
    if (this.firstUnusable === undefined || this.unusable <= total * UNUSABLE_SHARE) return;
    const { line, reason } = this.firstUnusable;
    const unit = this.unit === "lines" ? "line" : "record";
    throw new FeedError(
      `${this.unusable} of ${total} ${this.unit} cannot be used; the first is ${unit} ${line}: ${reason}`,
    );
  }
}
