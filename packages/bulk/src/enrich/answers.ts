// answers.ts: maps an address or email address to the index of the bytes that are appended for it
// (appended-columns.ts), or to -1 if the API has no answer.
//
// The caller adds the addresses of up to 64 rows. They are then looked up together, so that memory reads overlap. After
// that, each row gets its columns in turn.

import {
  Answerer,
  type AnswerSource,
  BLOCK_ADDRESSES,
  bodyOf,
  ComposedAnswer,
  type LoadedRelease,
  type Overrides,
  PackedAddresses,
  REPUTATION_ANSWERS,
  specialUse,
} from "@inkling/engine";
import { perTable, type Table } from "../fields.ts";
import type { AppendedColumns } from "./appended-columns.ts";
import { addressIn } from "./cells.ts";
import { textOf } from "./rows.ts";

const decoder = new TextDecoder();
const NO_FLAGS = REPUTATION_ANSWERS[0]!;

export class Answers {
  readonly columns: Readonly<Record<Table, AppendedColumns>>;
  private readonly engine = new Answerer();
  private readonly address = this.engine.address;
  /**
   * Public addresses of the added rows, and the index in `block` for each row; -1 for a row without a public address.
   */
  private readonly block = new PackedAddresses();
  private readonly indexes = new Int8Array(BLOCK_ADDRESSES);
  private rows = 0;
  /** Index in `block` of the selected row. */
  private index = 0;

  private readonly release: LoadedRelease;
  private readonly source: AnswerSource;
  private readonly addsPrefix: boolean;
  /** Record numbers of the addresses in `block`. */
  private readonly records = perTable(() => new Uint32Array(BLOCK_ADDRESSES));
  /**
   * For each record of the geo segment: its index in the appended columns plus 2, or 0 if it has no index yet. With a
   * Map, processing a row takes 1.2 to 1.4 times as long.
   */
  private readonly locations: Int32Array;
  /** By record. */
  private readonly flags = new Map<number, number>();
  /** By network if the network's text is added, otherwise by record. */
  private readonly networks = new Map<number | string, number>();
  /** By the engine's response body, because most email addresses share one body. */
  private readonly emails = new WeakMap<Uint8Array, number>();

  /** @param now milliseconds since 1970 */
  constructor(
    release: LoadedRelease,
    overrides: Overrides,
    now: number,
    columns: Readonly<Record<Table, AppendedColumns>>,
  ) {
    this.columns = columns;
    this.release = release;
    this.source = { release, overrides, now, allowMissing: true };
    this.locations = new Int32Array(release.geo?.answers.count ?? 0);
    this.addsPrefix = columns.network.adds("network_prefix");
  }

  /** Adds the address in a cell as the address of the next row. At most BLOCK_ADDRESSES rows fit. */
  addBytes(bytes: Uint8Array, start: number, end: number): void {
    if (this.engine.readAddressBytes(bytes, start, end)) this.add(true);
    else this.addText(end > start ? textOf(bytes, start, end) : "");
  }

  addText(text: string): void {
    const isAddress = this.engine.readAddress(text) === undefined;
    const found = isAddress ? text : addressIn(text);
    this.add(isAddress || (found !== undefined && this.engine.readAddress(found) === undefined));
  }

  private add(isAddress: boolean): void {
    const isPublic = isAddress && specialUse(this.address) === undefined;
    this.indexes[this.rows++] = isPublic ? this.block.length : -1;
    if (isPublic) this.block.add(this.address);
  }

  /** Looks up all rows of a block. Call this after the last row has been added. */
  findAll(): void {
    this.rows = 0;
    this.find();
    this.block.length = 0;
  }

  /** Selects the row of the block for the next lookups. @returns whether the row has a public address */
  select(row: number): boolean {
    this.index = this.indexes[row]!;
    if (this.index >= 0) this.block.read(this.index, this.address);
    return this.index >= 0;
  }

  private find(): void {
    const { block, records, columns } = this;
    const { geo, reputation, network } = this.release;
    if (columns.geolocate.isWanted) geo?.recordBlock(block, records.geolocate);
    if (columns.reputation.isWanted) reputation?.recordBlock(block, records.reputation);
    if (columns.network.isWanted) network?.recordBlock(block, records.network);
  }

  geolocate(): number {
    const { geo } = this.release;
    if (geo === undefined) return -1;
    const record = this.records.geolocate[this.index]!;
    if (record === 0) return -1;
    if (this.locations[record] === 0) {
      const answer = geo.answer(record);
      this.locations[record] =
        2 + (answer === undefined ? -1 : this.columns.geolocate.make(decoder.decode(answer)));
    }
    return this.locations[record]! - 2;
  }

  reputation(): number {
    const { reputation } = this.release;
    if (reputation === undefined) return -1;
    const { columns, source } = this;
    if (source.overrides.compiled.covers(this.address)) {
      const answer = this.engine.answerAddress("reputation", this.address, source);
      if (answer instanceof ComposedAnswer && answer.overridden?.isChanged) {
        return columns.reputation.numberOf(decoder.decode(answer.body));
      }
    }
    const record = this.records.reputation[this.index]!;
    let number = this.flags.get(record);
    if (number === undefined) {
      number = columns.reputation.numberOf(decoder.decode(reputation.answer(record) ?? NO_FLAGS));
      this.flags.set(record, number);
    }
    return number;
  }

  network(): number {
    const { network } = this.release;
    if (network === undefined) return -1;
    const { address, columns } = this;
    const record = this.records.network[this.index]!;
    const prefix = this.addsPrefix ? network.networkText(address) : undefined;
    let number = this.networks.get(prefix ?? record);
    if (number === undefined) {
      const facts = network.answer(record);
      const text = facts && decoder.decode(facts);
      if (text === undefined) number = -1;
      else
        number = columns.network.make(prefix === undefined ? text : `{"prefix":"${prefix}",${text.slice(1)}`);
      this.networks.set(prefix ?? record, number);
    }
    return number;
  }

  email(text: string): number {
    if (text === "") return -1;
    const answer = this.engine.answerEmail(text, this.source);
    if ("reason" in answer) return -1;
    const body = bodyOf(answer);
    let number = this.emails.get(body);
    if (number === undefined) {
      number = this.columns.email.numberOf(decoder.decode(body));
      this.emails.set(body, number);
    }
    return number;
  }
}
