// answers.ts: from an address or email address to the number of its tail; -1 where the API has no answer.
//
// Answers       reads the address that the lookups are for
// LocalAnswers  answers from the release in this process; remote.ts from a server
//
// in   an open release, the overrides, the time

import {
  Answerer,
  type AnswerSource,
  bodyOf,
  ComposedAnswer,
  type LoadedRelease,
  networkText,
  type Overrides,
  REPUTATION_ANSWERS,
  specialUse,
} from "@inkling/engine";
import type { Table } from "../members.ts";
import { addressIn } from "./cells.ts";
import { textOf } from "./row.ts";
import type { Tails } from "./tails.ts";

const decoder = new TextDecoder();
const NO_FLAGS = REPUTATION_ANSWERS[0]!;

export abstract class Answers {
  readonly tails: Readonly<Record<Table, Tails>>;
  protected readonly engine = new Answerer();
  protected readonly address = this.engine.address;

  constructor(tails: Readonly<Record<Table, Tails>>) {
    this.tails = tails;
  }

  /** Reads the address of the next lookups from a cell. @returns whether it is a public one */
  readBytes(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.engine.readAddressBytes(bytes, start, end)) return specialUse(this.address) === undefined;
    return end > start && this.readText(textOf(bytes, start, end));
  }

  readText(text: string): boolean {
    const isAddress = this.engine.readAddress(text) === undefined;
    const found = isAddress ? text : addressIn(text);
    if (found === undefined || (!isAddress && this.engine.readAddress(found) !== undefined)) return false;
    return specialUse(this.address) === undefined;
  }

  abstract geolocate(): number;
  abstract reputation(): number;
  abstract network(): number;
  abstract email(text: string): number;
}

export class LocalAnswers extends Answers {
  private readonly release: LoadedRelease;
  private readonly source: AnswerSource;
  private readonly addsPrefix: boolean;
  /** Tails by record of their segment, and by the engine's body: most email addresses have the same one. */
  private readonly locations = new Map<number, number>();
  private readonly flags = new Map<number, number>();
  /** By network where its text is added, otherwise by record. */
  private readonly networks = new Map<number | string, number>();
  private readonly emails = new WeakMap<Uint8Array, number>();

  /** @param now epoch ms */
  constructor(
    release: LoadedRelease,
    overrides: Overrides,
    now: number,
    tails: Readonly<Record<Table, Tails>>,
  ) {
    super(tails);
    this.release = release;
    this.source = { release, overrides, now, mode: "up" };
    this.addsPrefix = tails.network.adds("network_prefix");
  }

  geolocate(): number {
    const { geo } = this.release;
    if (geo === undefined) return -1;
    const record = geo.record(this.address);
    if (record === 0) return -1;
    let number = this.locations.get(record);
    if (number === undefined) {
      const answer = geo.lookup(this.address);
      number = answer === undefined ? -1 : this.tails.geolocate.make(decoder.decode(answer));
      this.locations.set(record, number);
    }
    return number;
  }

  reputation(): number {
    const { reputation } = this.release;
    if (reputation === undefined) return -1;
    const { tails, source } = this;
    if (source.overrides.hasAddresses) {
      const answer = this.engine.answerAddress("reputation", this.address, source);
      if (answer instanceof ComposedAnswer && answer.overridden?.isChanged) {
        return tails.reputation.numberOf(decoder.decode(answer.body));
      }
    }
    const record = reputation.record(this.address);
    let number = this.flags.get(record);
    if (number === undefined) {
      number = tails.reputation.numberOf(decoder.decode(reputation.lookup(this.address) ?? NO_FLAGS));
      this.flags.set(record, number);
    }
    return number;
  }

  network(): number {
    const { network } = this.release;
    if (network === undefined) return -1;
    const { address, tails } = this;
    const record = network.record(address);
    const prefix = this.addsPrefix ? networkText(address, network.networkBits(address)) : undefined;
    let number = this.networks.get(prefix ?? record);
    if (number === undefined) {
      const facts = network.answer(record);
      const text = facts && decoder.decode(facts);
      if (text === undefined) number = -1;
      else
        number = tails.network.make(prefix === undefined ? text : `{"prefix":"${prefix}",${text.slice(1)}`);
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
      number = this.tails.email.numberOf(decoder.decode(body));
      this.emails.set(body, number);
    }
    return number;
  }
}
