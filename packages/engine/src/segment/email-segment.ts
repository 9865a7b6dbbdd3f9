// email-segment.ts: the segment of disposable domains, and the answer about one email address.
//
// in   the bytes of a segment, then one host or email address at a time
// out  the answer as JSON bytes
// err  open and verify: SegmentError; a lookup never throws and always ends, whatever the bytes
// src  packages/engine/segment-format.md; the writer is packages/compiler/src/segments/email-table.ts
// cost bench/README.md; answers about plain mailboxes at listed domains are cached, up to 8 MB: making one takes 85 ns
//
// A plain mailbox is looked up before the Public Suffix List is asked, which takes as long as all the rest. A name in the
// table may be, or become with a newer list, a public suffix, which has no answer. So a name is trusted after the list
// was asked about one host at or below it; and a host that the table lacks only has to be below a known suffix.

import { ascii, asciiText } from "../email/ascii.ts";
import { cutSuffix, isMailDomain, isSpecialUseDomain, toAsciiDomain } from "../email/domain.ts";
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
  /** The trusted name that each of `kept` is about. */
  private readonly keptNames: Uint32Array;
  /** A bit for each name, by half its pointer, since names lie three words apart: it is a mail domain, and no public suffix. */
  private readonly trusted: Uint8Array;

  private constructor(file: SegmentFile) {
    this.file = file;
    this.answers = new Answers(file);
    this.table = new DomainTable(file);
    this.records = new EvidenceRecords(file);
    let places = 1;
    while (places < this.answers.count && places < KEPT_ANSWERS) places *= 2;
    this.kept = new Array<Uint8Array>(places).fill(CLEAN_VALID);
    this.keptNames = new Uint32Array(places);
    this.trusted = new Uint8Array(Math.ceil(this.table.pointers / 16));
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

  /** For `readPlain`. Undefined in a segment of before: {@link answerPlain} cannot answer from it. */
  get keys(): DomainKeys | undefined {
    return this.table.keys;
  }

  /**
   * The whole answer about a mailbox that `readPlain` read with {@link keys}: never write to it.
   * @returns undefined if the mailbox is not valid, or if its host is a public suffix: parseEmailInFull decides
   */
  answerPlain(text: string, mailbox: PlainMailbox): Uint8Array | undefined {
    const { hostStart } = mailbox;
    const name = this.table.closestName(text, mailbox);
    if (name === 0) return isMailDomain(text, hostStart) ? CLEAN_VALID : undefined;
    const length = this.table.lengthOf(name);
    const isHost = length === text.length - hostStart;
    const place = this.table.answerOf(name) & (this.kept.length - 1);
    if (isHost && this.keptNames[place] === name) return this.kept[place]!;
    const byte = name >> 4;
    const bit = 1 << ((name >> 1) & 7);
    if (!isHost || (this.trusted[byte]! & bit) === 0) {
      const host = text.slice(hostStart).toLowerCase();
      const { registrableStart, known } = cutSuffix(host);
      if (!known || registrableStart < 0 || isSpecialUseDomain(host)) return undefined;
      if (host.length - length > registrableStart) return CLEAN_VALID; // the name lies in a public suffix
      this.trusted[byte]! |= bit;
    }
    return this.keptNames[place] === name ? this.kept[place]! : this.wholeAnswer(name, place);
  }

  private wholeAnswer(name: number, place: number): Uint8Array {
    const providers = this.answers.at(this.table.answerOf(name));
    const answer = providers === undefined ? CLEAN_VALID : joined(HEAD_VALID, providers);
    this.kept[place] = answer;
    this.keptNames[place] = name;
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
  const { keys } = segment;
  const answer =
    keys !== undefined && readPlain(text, plain, keys) ? segment.answerPlain(text, plain) : undefined;
  if (answer !== undefined) return answer;
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
