// enricher.ts: appends answers to a block of whole rows, and keeps the tally of a file.
//
// A row that cannot be read remains unchanged, and is counted. Cost: bench/parts/enrich.ts measures one address and two
// lookups per row.

import { ByteBuffer } from "@inkling/data";
import { BLOCK_ADDRESSES } from "@inkling/engine";
import type { Answers } from "./answers.ts";
import { appendedHeader } from "./appended-columns.ts";
import { lineEnds } from "./blocks.ts";
import { emailIn } from "./cells.ts";
import type { Plan } from "./plan.ts";
import { BOM, hasBom, Row, type RowReader, rowReader, textOf } from "./rows.ts";

const COMMA = 0x2c;
const SPACE = 0x20;
const LF = 0x0a;

export interface Tally {
  /** Number of rows, without the header and blank lines. */
  rows: number;
  /** Number of rows that cannot be read: broken JSON, or lines of another format. */
  broken: number;
  /** Number of the first line that is broken or counts in `openQuotes`, counted from 1. */
  firstUnparsable: number | undefined;
  /** Number of rows whose number of fields differs from the header's. */
  ragged: number;
  /** Number of the first line of such a row, counted from 1. */
  firstRagged: number | undefined;
  /** Number of rows with a quote that never closes, or that text follows. Each was read as one line. */
  openQuotes: number;
  /**
   * Number of rows without an address or email address that can be looked up. Only columns that are looked up count.
   */
  withoutIp: number;
  withoutEmail: number;
  /** Number of rows by country code, with "" for unknown. Empty without a summary, like the next three fields. */
  countries: Record<string, number>;
  /** Number of rows that have a flag, by flag. */
  flags: Record<string, number>;
  /** Number of rows by kind of network. Also empty if networks are not added. */
  kinds: Record<string, number>;
  email: { valid: number; disposable: number };
  /** The tally of the plan's `next`. */
  next?: Tally | undefined;
}

export function emptyTally(): Tally {
  return {
    rows: 0,
    broken: 0,
    firstUnparsable: undefined,
    ragged: 0,
    firstRagged: undefined,
    openQuotes: 0,
    withoutIp: 0,
    withoutEmail: 0,
    countries: {},
    flags: {},
    kinds: {},
    email: { valid: 0, disposable: 0 },
  };
}

/**
 * Returns the number of lines that cannot be parsed, and their share of all lines. The share is 0 for an empty file.
 */
export function unparsable({ rows, broken, openQuotes }: Tally): { lines: number; share: number } {
  const lines = broken + openQuotes;
  return { lines, share: lines === 0 ? 0 : lines / Math.max(lines, rows + broken) }; // the header may be such a line
}

const SUMS = ["rows", "broken", "ragged", "openQuotes", "withoutIp", "withoutEmail"] as const;
const COUNTS = ["countries", "flags", "kinds"] as const;

export function addTally(into: Tally, more: Tally): void {
  for (const sum of SUMS) into[sum] += more[sum];
  for (const counts of COUNTS)
    for (const [name, count] of Object.entries(more[counts])) bump(into[counts], name, count);
  into.email.valid += more.email.valid;
  into.email.disposable += more.email.disposable;
  if (more.next !== undefined) {
    into.next ??= emptyTally();
    addTally(into.next, more.next);
  }
}

function bump(counts: Record<string, number>, name: string, by: number): void {
  counts[name] = (counts[name] ?? 0) + by;
}

/** The result for one block. */
export interface Enriched {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of rows in all blocks so far. */
  readonly rows: number;
  /** Index of the first line in this block that cannot be parsed, counted from 0. */
  readonly unparsable: number | undefined;
  /** Index of the first line of the first row whose number of fields differs from the header's. */
  readonly ragged: number | undefined;
}

export class Enricher {
  private readonly plan: Plan;
  private readonly answers: Answers;
  private readonly readRow: RowReader;
  private readonly out = new ByteBuffer(1 << 20);
  /** The rows that are looked up together. */
  private readonly pending = Array.from({ length: BLOCK_ADDRESSES }, () => new Row());
  private readonly total = emptyTally();
  private readonly delimiter: Uint8Array;
  private readonly hasIp: boolean;
  private readonly hasEmail: boolean;
  private readonly next: Enricher | undefined;
  /** Offset of the block's first row that cannot be parsed. */
  private unparsableAt: number | undefined;
  /** Offset of the block's first row that does not have as many fields as the header. */
  private raggedAt: number | undefined;

  /** @param next processes the output of this enricher: `plan.next` */
  constructor(plan: Plan, answers: Answers, next?: Enricher) {
    this.next = next;
    this.plan = plan;
    this.answers = answers;
    this.readRow = rowReader(plan);
    this.delimiter = new TextEncoder().encode(plan.delimiter ?? "");
    this.hasIp = plan.ip !== undefined;
    this.hasEmail = plan.email !== undefined;
  }

  /** @param isFirst whether the block begins with the header */
  block(bytes: Uint8Array, isFirst: boolean): Enriched {
    const { answers, hasIp, pending, out, readRow } = this;
    out.length = 0;
    this.unparsableAt = undefined;
    this.raggedAt = undefined;
    let at = isFirst ? this.mark(bytes) : 0;
    if (isFirst && this.plan.hasHeader) at = this.header(bytes, at);
    while (at < bytes.length) {
      let count = 0;
      for (; count < BLOCK_ADDRESSES && at < bytes.length; count++) {
        const row = pending[count]!;
        at = readRow(bytes, at, row);
        if (!hasIp) continue;
        const { start, end, text = "" } = row.ip;
        if (row.isReadable && start >= 0) answers.addBytes(bytes, start, end);
        else answers.addText(text);
      }
      if (hasIp) answers.findAll();
      for (let i = 0; i < count; i++) this.write(bytes, pending[i]!, i);
    }
    const lineAt = (at: number | undefined) => (at === undefined ? at : lineEnds(bytes.subarray(0, at)));
    const own = {
      bytes: out.copied(),
      rows: this.total.rows,
      unparsable: lineAt(this.unparsableAt),
      ragged: lineAt(this.raggedAt),
    };
    return this.next === undefined ? own : { ...own, bytes: this.next.block(own.bytes, isFirst).bytes };
  }

  /** @param index position of the row among the rows that were looked up */
  private write(bytes: Uint8Array, row: Row, index: number): void {
    const { out } = this;
    const { width } = this.plan;
    if (!row.isReadable) {
      this.leave(bytes, row);
      return;
    }
    this.total.rows++;
    out.append(bytes, row.start, row.insert);
    if (row.isOpenQuoted) this.countQuote(row);
    if (width !== undefined && row.columns !== width) this.pad(row, width - row.columns);
    const before = out.length;
    if (this.hasIp) this.addIp(index);
    if (this.hasEmail) this.addEmail(bytes, row);
    if (row.isFirst && out.bytes[before] === COMMA && out.length > before) dropByte(out, before);
    out.append(bytes, row.insert, row.end);
  }

  /** Number of rows counted so far. */
  get counted(): Pick<Tally, "rows" | "broken"> {
    return this.total;
  }

  /** Returns all counts so far. */
  tally(): Tally {
    const { total } = this;
    total.next = this.next?.tally();
    const { geolocate, reputation, network, email } = this.answers.columns;
    if (!geolocate.isCounted) return total;
    total.countries = {};
    total.flags = {};
    total.kinds = {};
    total.email = { valid: 0, disposable: 0 };
    for (const { answer, count } of geolocate.counted()) {
      if (count > 0) bump(total.countries, JSON.parse(answer).country.iso_code ?? "", count);
    }
    for (const { answer, count } of reputation.counted()) {
      for (const [flag, isSet] of Object.entries(JSON.parse(answer)))
        if (isSet || !reputation.isUnknown(flag)) bump(total.flags, flag, isSet ? count : 0);
    }
    if (network.isCounted)
      for (const { answer, count } of network.counted())
        if (count > 0) bump(total.kinds, JSON.parse(answer).kind, count);
    for (const { answer, count } of email.counted()) {
      const { valid, disposable } = JSON.parse(answer);
      if (valid) total.email.valid += count;
      if (disposable) total.email.disposable += count;
    }
    return total;
  }

  /**
   * Pads a short row, so that added values align with their names.
   * @param fields number of missing fields; negative if the row has too many fields
   */
  private pad(row: Row, fields: number): void {
    this.total.ragged++;
    this.raggedAt ??= row.start;
    for (let i = 0; i < fields; i++) this.out.append(this.delimiter);
  }

  private countQuote(row: Row): void {
    this.total.openQuotes++;
    this.unparsableAt ??= row.start;
  }

  /** Copies the UTF-8 byte-order mark, and a line that only sets the delimiter. @returns where the first row begins */
  private mark(bytes: Uint8Array): number {
    let end = hasBom(bytes) ? BOM.length : 0;
    if (this.plan.hasHint) end = bytes.indexOf(LF, end) + 1 || bytes.length;
    this.out.append(bytes, 0, end);
    return end;
  }

  /** Copies a line that is not a row: blank or broken. */
  private leave(bytes: Uint8Array, row: Row): void {
    const { out } = this;
    if (!isBlank(bytes, row)) {
      this.total.broken++;
      this.unparsableAt ??= row.start;
    }
    out.append(bytes, row.start, row.end);
  }

  /** Copies the header and the blank lines before it. @returns where the next row begins */
  private header(bytes: Uint8Array, from: number): number {
    const { out } = this;
    const row = this.pending[0]!;
    let next = this.readRow(bytes, from, row);
    while (!row.isReadable && next < bytes.length) next = this.readRow(bytes, next, row);
    if (row.isOpenQuoted) this.countQuote(row);
    out.append(bytes, from, row.insert);
    out.append(appendedHeader(this.plan));
    out.append(bytes, row.insert, row.end);
    return next;
  }

  private addIp(index: number): void {
    const { answers, out } = this;
    const isKnown = answers.select(index);
    if (!isKnown) this.total.withoutIp++;
    const { geolocate, reputation, network } = answers.columns;
    if (geolocate.isWanted) geolocate.append(isKnown ? answers.geolocate() : -1, out);
    if (reputation.isWanted) reputation.append(isKnown ? answers.reputation() : -1, out);
    if (network.isWanted) network.append(isKnown ? answers.network() : -1, out);
  }

  private addEmail(bytes: Uint8Array, row: Row): void {
    const { answers } = this;
    const { start, end, text = start < 0 ? "" : textOf(bytes, start, end) } = row.email;
    const number = answers.email(emailIn(text));
    if (number < 0) this.total.withoutEmail++;
    answers.columns.email.append(number, this.out);
  }
}

/** Returns an enricher for a plan and for the plans after it. */
export function enricherFor(plan: Plan, answersFor: (plan: Plan) => Answers): Enricher {
  return new Enricher(plan, answersFor(plan), plan.next && enricherFor(plan.next, answersFor));
}

function isBlank(bytes: Uint8Array, { start, end }: Row): boolean {
  let at = start;
  while (at < end && bytes[at]! <= SPACE) at++;
  return at === end;
}

/** Removes one byte: the comma before the fields added to an empty object. */
function dropByte(out: ByteBuffer, at: number): void {
  out.bytes.copyWithin(at, at + 1, out.length);
  out.length--;
}
