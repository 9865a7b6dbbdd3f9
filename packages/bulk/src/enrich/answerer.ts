// answerer.ts: from an address or e-mail address to the number of its tail.
//
// Answers       what an enricher asks
// AddressText   reads the address that the questions are about
// Answerer      answers with the release in this process; remote.ts with a server's
//
// in   an open release, the overrides, the time
// out  tail numbers; -1 where the API would have no answer
// err  none thrown

import {
  type AnswerSource,
  Answerer as EngineAnswerer,
  type LoadedRelease,
  type Overrides,
  specialUse,
} from "@inkling/engine";
import type { Tails } from "./tails.ts";

const decoder = new TextDecoder();
const NO_FLAGS = new TextEncoder().encode('{"is_abuser":false,"is_proxy":false,"is_tor_exit":false}');

export interface Answers {
  readonly geolocate: Tails;
  readonly reputation: Tails;
  readonly email: Tails;
  /** Reads the address that the next questions are about. @returns false when there is no answer about it */
  readBytes(bytes: Uint8Array, start: number, end: number): boolean;
  readText(text: string): boolean;
  /** The tail for the place of the address that was read. */
  place(): number;
  /** The tail for its flags. */
  reputationOf(): number;
  /** The tail for an e-mail address. */
  emailOf(text: string): number;
}

export class AddressText {
  protected readonly engine = new EngineAnswerer();
  protected readonly address = this.engine.address;

  readBytes(bytes: Uint8Array, start: number, end: number): boolean {
    return this.engine.readAddressBytes(bytes, start, end) && this.isPublic();
  }

  readText(text: string): boolean {
    return this.engine.readAddress(text) === undefined && this.isPublic();
  }

  private isPublic(): boolean {
    return specialUse(this.address) === undefined;
  }
}

export class Answerer extends AddressText implements Answers {
  private readonly release: LoadedRelease;
  private readonly source: AnswerSource;
  readonly geolocate: Tails;
  readonly reputation: Tails;
  readonly email: Tails;
  private readonly places = new Map<number, number>();
  private readonly flags = new Map<number, number>();
  /** By text: overridden flags, and all answers about e-mail. */
  private readonly texts = new Map<string, number>();
  private readonly emails = new WeakMap<Uint8Array, number>();

  /** @param now epoch ms */
  constructor(
    release: LoadedRelease,
    overrides: Overrides,
    now: number,
    tails: { geolocate: Tails; reputation: Tails; email: Tails },
  ) {
    super();
    this.release = release;
    this.source = { release, overrides, now, mode: "up" };
    this.geolocate = tails.geolocate;
    this.reputation = tails.reputation;
    this.email = tails.email;
  }

  place(): number {
    const { geo } = this.release;
    if (geo === undefined) return -1;
    const record = geo.record(this.address);
    if (record === 0) return -1;
    let number = this.places.get(record);
    if (number === undefined) {
      const answer = geo.lookup(this.address);
      number = answer === undefined ? -1 : this.geolocate.make(decoder.decode(answer));
      this.places.set(record, number);
    }
    return number;
  }

  reputationOf(): number {
    const { reputation } = this.release;
    if (reputation === undefined) return -1;
    if (this.source.overrides.hasAddresses) {
      const body = this.engine.answerAddress("reputation", this.address, this.source);
      if (this.engine.overridden?.isChanged && body instanceof Uint8Array) {
        return this.byText(decoder.decode(body), this.reputation);
      }
    }
    const record = reputation.record(this.address);
    let number = this.flags.get(record);
    if (number === undefined) {
      number = this.byText(decoder.decode(reputation.lookup(this.address) ?? NO_FLAGS), this.reputation);
      this.flags.set(record, number);
    }
    return number;
  }

  emailOf(text: string): number {
    if (text === "") return -1;
    const body = this.engine.answerEmail(text, this.source);
    if (!(body instanceof Uint8Array)) return -1;
    let number = this.emails.get(body); // answers of most e-mail addresses are the same bytes
    if (number === undefined) {
      number = this.byText(decoder.decode(body), this.email);
      this.emails.set(body, number);
    }
    return number;
  }

  private byText(answer: string, tails: Tails): number {
    let number = this.texts.get(answer);
    if (number === undefined) {
      number = tails.make(answer);
      this.texts.set(answer, number);
    }
    return number;
  }
}
