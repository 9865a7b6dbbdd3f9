// email-segment.ts: the segment of disposable domains, and the answer about one email address.
//
// in   the bytes of a segment, then one host or email address at a time
// out  the answer as JSON bytes
// err  open and verify: SegmentError; a lookup never throws and always ends, whatever the bytes
// src  docs/segment-format.md; the writer is packages/compiler/src/segments/email-table.ts
// cost a plain mailbox about 290 ns, others about 400 (bench/README.md); answers about plain mailboxes at
//      listed domains are cached, up to 8 MB: making one takes 85 ns

import { ascii, asciiText } from "../email/ascii.ts";
import { cutSuffix, toAsciiDomain } from "../email/domain.ts";
import type { DomainKeys } from "../email/domain-hash.ts";
import { parseEmailInFull } from "../email/email.ts";
import { PlainMailbox, readPlain } from "../email/plain-mailbox.ts";
import { Answers } from "./answers.ts";
import { DomainTable, VALUE_OF } from "./domain-table.ts";
import { EvidenceRecords } from "./evidence.ts";
import { openSegment, SegmentError, type SegmentFile, verifyChecksum } from "./segment.ts";

const CLEAN_VALID = ascii('{"valid":true,"disposable":false,"providers":[]}');
const CLEAN_INVALID = ascii('{"valid":false,"disposable":false,"providers":[]}');
const HEAD_VALID = ascii('{"valid":true,"disposable":true,"providers":');
const HEAD_INVALID = ascii('{"valid":false,"disposable":true,"providers":');
const CLOSING_BRACE = 0x7d;

/** Whole answers kept, at most, each in the one place that its record may have: about 130 bytes each. A power of two. */
const KEPT_ANSWERS = 65_536;

/** One for all, since lookups are synchronous: a new one for each costs 150 ns more, a lookup 110. */
const plain = new PlainMailbox();

export class EmailSegment {
  private readonly file: SegmentFile;
  private readonly answers: Answers;
  private readonly table: DomainTable;
  private readonly records: EvidenceRecords;
  private readonly kept: Uint8Array[];
  /** The record that each of `kept` is about. */
  private readonly keptValues: Uint32Array;

  private constructor(file: SegmentFile) {
    this.file = file;
    this.answers = new Answers(file);
    this.table = new DomainTable(file);
    this.records = new EvidenceRecords(file);
    let places = 1;
    while (places < this.answers.count && places < KEPT_ANSWERS) places *= 2;
    this.kept = new Array<Uint8Array>(places).fill(CLEAN_VALID);
    this.keptValues = new Uint32Array(places);
  }

  /**
   * Opens a segment without reading its contents.
   * @throws SegmentError when the bytes are no email segment
   */
  static open(bytes: Uint8Array): EmailSegment {
    return new EmailSegment(openSegment(bytes, "email"));
  }

  /**
   * The disposable providers that a host belongs to, as the bytes of a JSON array: the entry that matched, then
   * the service that runs it. The closest entry decides: the host itself, then each parent, never a public suffix.
   * @param host from `toAsciiDomain`
   * @returns `undefined` when it is not disposable; otherwise a view of the segment: never write to it
   */
  providers(host: string): Uint8Array | undefined {
    return this.providersFrom(host, cutSuffix(host).registrableStart);
  }

  /** As {@link providers}, for a caller that knows where the registrable domain begins (-1: nowhere). */
  providersFrom(host: string, registrableStart: number): Uint8Array | undefined {
    const value = this.table.closest(host, registrableStart, VALUE_OF.answer);
    return value === 0 ? undefined : this.answers.at(value);
  }

  /** Given to `readPlain`, they make {@link answerPlain} quicker. */
  get keys(): DomainKeys | undefined {
    return this.table.keys;
  }

  /** The whole answer about a (valid) mailbox from `readPlain`: never write to it. */
  answerPlain(text: string, mailbox: PlainMailbox): Uint8Array {
    const value = this.table.closestAnswer(text, mailbox);
    if (value === 0) return CLEAN_VALID;
    const place = value & (this.kept.length - 1);
    return this.keptValues[place] === value ? this.kept[place]! : this.wholeAnswer(value, place);
  }

  private wholeAnswer(value: number, place: number): Uint8Array {
    const providers = this.answers.at(value);
    const answer = providers === undefined ? CLEAN_VALID : joined(HEAD_VALID, providers);
    this.kept[place] = answer;
    this.keptValues[place] = value;
    return answer;
  }

  /** Every listed name, with its providers as in {@link providers}. */
  *domains(): Generator<{ readonly name: string; readonly providers: Uint8Array }> {
    for (const { name, value } of this.table.answers()) {
      const providers = this.answers.at(value);
      if (providers !== undefined) yield { name, providers };
    }
  }

  /** The feeds that evidence names, by number. */
  get evidenceFeeds(): readonly string[] {
    return this.records.feeds;
  }

  /** The evidence for a host: a record whose spans are labels; a view: never write to it. */
  evidenceFrom(host: string, registrableStart: number): Uint8Array | undefined {
    const value = this.table.closest(host, registrableStart, VALUE_OF.evidence);
    return value === 0 ? undefined : this.records.at(value);
  }

  /**
   * Reads everything: checksum, every name, every slot, every pointer, and whether each name is found.
   * @param isIntact a stronger hash of the file was checked already
   * @throws SegmentError naming the first place at fault
   */
  verify(isIntact = false): void {
    if (!isIntact) verifyChecksum(this.file);
    this.table.verify({
      answer: {
        isRecord: this.answers.verify(),
        check: (value, place) => {
          if (!isProviderList(this.answers.at(value)))
            throw new SegmentError(place, "its answer is no list of providers");
        },
      },
      evidence: {
        isRecord: this.records.verify(),
        check: (value, place) => {
          if (this.records.at(value) === undefined) throw new SegmentError(place, "its evidence is empty");
        },
      },
    });
  }
}

/** A JSON array of at least one domain name, none twice, without white space: no name needs an escape. */
function isProviderList(bytes: Uint8Array | undefined): boolean {
  if (bytes === undefined) return false;
  const text = asciiText(bytes);
  if (!text.startsWith('["') || !text.endsWith('"]')) return false;
  const list = text.slice(2, -2).split('","');
  return list.every((entry) => toAsciiDomain(entry) === entry) && new Set(list).size === list.length;
}

/**
 * The whole answer about one email address, as JSON bytes; without a readable domain neither valid nor disposable.
 * @param text anything
 * @returns bytes that may be shared with other answers: never write to them
 */
export function answerEmail(text: string, segment: EmailSegment): Uint8Array {
  if (readPlain(text, plain, segment.keys)) return segment.answerPlain(text, plain);
  const { valid, host, registrableStart } = parseEmailInFull(text);
  const providers = host === undefined ? undefined : segment.providersFrom(host, registrableStart);
  if (providers === undefined) return cleanAnswer(valid);
  return joined(valid ? HEAD_VALID : HEAD_INVALID, providers);
}

/** The answer about a mailbox that is not disposable. Every such answer is one of these two. */
export const cleanAnswer = (valid: boolean): Uint8Array => (valid ? CLEAN_VALID : CLEAN_INVALID);

/** @param answer from {@link answerEmail}, or one that overrides changed */
export const isDisposableAnswer = (answer: Uint8Array): boolean =>
  answer !== CLEAN_VALID && answer !== CLEAN_INVALID;

function joined(head: Uint8Array, providers: Uint8Array): Uint8Array {
  const answer = new Uint8Array(head.length + providers.length + 1);
  answer.set(head);
  for (let i = 0; i < providers.length; i++) answer[head.length + i] = providers[i]!; // quicker than set for so few
  answer[answer.length - 1] = CLOSING_BRACE;
  return answer;
}
