// email-segment.ts: reads the segment of disposable domains, and builds the answer about one email address.
//
// in   the bytes of a segment, then one host or email address at a time
// out  the answer as JSON bytes
// err  open and verify: SegmentError; a lookup never throws and always ends, even in a damaged segment
// src  packages/engine/segment-format.md; the writer is packages/compiler/src/segments/email-table.ts
// cost see bench/README.md; answers about plain mailboxes at listed domains are cached, up to 8 MB, because building
//      one takes 85 ns
//
// A plain mailbox is looked up in the table before the Public Suffix List, because checking the list takes as long as
// everything else together. A name in the table may be a public suffix, or become one in a newer list, and a public
// suffix has no answer. So a name is trusted only after the list has been checked for a host at or below it. A host
// that is not in the table only has to be below a known suffix.

import { ascii, asciiText } from "../email/ascii.ts";
import { cutSuffix, isMailDomain, isSpecialUseDomain, toAsciiDomain } from "../email/domain.ts";
import type { DomainKeys } from "../email/domain-hash.ts";
import { parseEmailInFull } from "../email/email.ts";
import { PlainMailbox, readPlain } from "../email/plain-mailbox.ts";
import { Answers } from "./answers.ts";
import { DOMAIN_TABLES, DomainTable } from "./domain-table.ts";
import { EvidenceRecords } from "./evidence.ts";
import { openSegment, SegmentError, type SegmentFile, verifyChecksum } from "./segment.ts";

const CLEAN_VALID = ascii('{"valid":true,"disposable":false,"providers":[]}');
const CLEAN_INVALID = ascii('{"valid":false,"disposable":false,"providers":[]}');
const HEAD_VALID = ascii('{"valid":true,"disposable":true,"providers":');
const HEAD_INVALID = ascii('{"valid":false,"disposable":true,"providers":');
const CLOSING_BRACE = 0x7d;

/**
 * Maximum number of cached answers, about 130 bytes each. Each record has exactly one possible place in the cache. Must
 * be a power of two.
 */
const KEPT_ANSWERS = 65_536;

/**
 * Shared by all lookups, because they are synchronous. Creating a new object takes 150 ns, while a lookup takes only
 * 110 ns.
 */
const plain = new PlainMailbox();

export class EmailSegment {
  private readonly file: SegmentFile;
  private readonly answers: Answers;
  /** The names that have an answer. */
  private readonly table: DomainTable;
  /**
   * The names that only have evidence, which are five of six names. A plain lookup does not read this table, so `table`
   * remains in the caches.
   */
  private readonly evidenceOnly: DomainTable;
  private readonly records: EvidenceRecords;
  private readonly kept: Uint8Array[];
  /** The pointer of the trusted name that each answer in `kept` is about. */
  private readonly keptNames: Uint32Array;
  /**
   * One bit for each name, which is set if the name is known to be a mail domain and not a public suffix. The index is
   * half the pointer, which is unique because names are at least three words apart.
   */
  private readonly trusted: Uint8Array;

  private constructor(file: SegmentFile) {
    this.file = file;
    this.answers = new Answers(file);
    this.table = new DomainTable(file, DOMAIN_TABLES.answered);
    this.evidenceOnly = new DomainTable(file, DOMAIN_TABLES.evidenceOnly);
    this.records = new EvidenceRecords(file);
    let places = 1;
    while (places < this.answers.count && places < KEPT_ANSWERS) places *= 2;
    this.kept = new Array<Uint8Array>(places).fill(CLEAN_VALID);
    this.keptNames = new Uint32Array(places);
    this.trusted = new Uint8Array(Math.ceil(this.table.pointers / 16));
  }

  /**
   * Opens a segment without reading its contents.
   * @throws SegmentError if the bytes are not an email segment
   */
  static open(bytes: Uint8Array): EmailSegment {
    return new EmailSegment(openSegment(bytes, "email"));
  }

  /**
   * Returns the disposable providers that a host belongs to, as the bytes of a JSON array: the entry that matched, then
   * the service that runs it. The closest entry decides: the host itself, then each parent, never a public suffix.
   * @param host a result of `toAsciiDomain`
   * @returns a view of the segment, which callers must not write to; `undefined` if the host is not disposable
   */
  providers(host: string): Uint8Array | undefined {
    return this.providersFrom(host, cutSuffix(host).registrableStart);
  }

  /**
   * Like {@link providers}, for a caller that already has the index of the registrable domain (-1 if there is none).
   */
  providersFrom(host: string, registrableStart: number): Uint8Array | undefined {
    const found = this.table.closest(host, registrableStart, "answer");
    return found && this.answers.at(found.value);
  }

  /** The keys for `readPlain`. */
  get keys(): DomainKeys {
    return this.table.keys;
  }

  /**
   * Returns the whole answer about a mailbox that `readPlain` read with {@link keys}. Callers must not write to it.
   * @returns undefined if the mailbox is not valid, or if its host is a public suffix; parseEmailInFull then decides
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
      if (host.length - length > registrableStart) return CLEAN_VALID; // the listed name is part of the public suffix
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

  /** Yields every listed name with its providers, in the form of {@link providers}. */
  *domains(): Generator<{ readonly name: string; readonly providers: Uint8Array }> {
    for (const { name, value } of this.table.answers()) {
      const providers = this.answers.at(value);
      if (providers !== undefined) yield { name, providers };
    }
  }

  /** Ids of the feeds in the evidence, indexed by feed number. */
  get evidenceFeeds(): readonly string[] {
    return this.records.feeds;
  }

  /**
   * Returns the evidence for a host, as a record whose spans count labels. It is a view that callers must not write to.
   */
  evidenceFrom(host: string, registrableStart: number): Uint8Array | undefined {
    const found = this.table.closest(host, registrableStart, "evidence");
    const other = this.evidenceOnly.closest(host, registrableStart, "evidence");
    const closest = (other?.length ?? 0) > (found?.length ?? 0) ? other : found;
    return closest && this.records.at(closest.value);
  }

  /**
   * Checks the checksum, every name, slot and pointer, and that a lookup finds each name.
   * @param isIntact true if a stronger hash of the file has already been checked; the checksum is then skipped
   * @throws SegmentError, which shows the first error in the segment
   */
  verify(isIntact = false): void {
    if (!isIntact) verifyChecksum(this.file);
    const { table, evidenceOnly } = this;
    const checks = {
      answer: {
        isRecord: this.answers.verify(),
        check: (value: number, place: string) => {
          if (!isProviderList(this.answers.at(value)))
            throw new SegmentError(place, "its answer is not a list of providers");
        },
      },
      evidence: {
        isRecord: this.records.verify(),
        check: (value: number, place: string) => {
          if (this.records.at(value) === undefined) throw new SegmentError(place, "its evidence is empty");
        },
      },
    };
    table.verify(checks, (_, answer) => (answer === 0 ? "has no answer" : undefined));
    evidenceOnly.verify(checks, (name) => (table.has(name) ? "is in both tables" : undefined));
  }
}

/**
 * Returns whether these bytes are a JSON array of at least one domain name, without duplicates or white space. Domain
 * names never need escapes.
 */
function isProviderList(bytes: Uint8Array | undefined): boolean {
  if (bytes === undefined) return false;
  const text = asciiText(bytes);
  if (!text.startsWith('["') || !text.endsWith('"]')) return false;
  const list = text.slice(2, -2).split('","');
  return list.every((entry) => toAsciiDomain(entry) === entry) && new Set(list).size === list.length;
}

/**
 * Returns the answer for one email address. An address without a readable domain is neither valid nor disposable.
 * @param text any text
 * @returns the whole answer as JSON bytes, which other answers may share: callers must not write to them
 */
export function answerEmail(text: string, segment: EmailSegment): Uint8Array {
  const answer = readPlain(text, plain, segment.keys) ? segment.answerPlain(text, plain) : undefined;
  if (answer !== undefined) return answer;
  const { valid, host, registrableStart } = parseEmailInFull(text);
  const providers = host === undefined ? undefined : segment.providersFrom(host, registrableStart);
  if (providers === undefined) return cleanAnswer(valid);
  return joined(valid ? HEAD_VALID : HEAD_INVALID, providers);
}

/** Returns the answer for a mailbox that is not disposable. Every such answer is one of two byte arrays. */
export const cleanAnswer = (valid: boolean): Uint8Array => (valid ? CLEAN_VALID : CLEAN_INVALID);

/** @param answer a result of {@link answerEmail}, possibly changed by overrides */
export const isDisposableAnswer = (answer: Uint8Array): boolean =>
  answer !== CLEAN_VALID && answer !== CLEAN_INVALID;

function joined(head: Uint8Array, providers: Uint8Array): Uint8Array {
  const answer = new Uint8Array(head.length + providers.length + 1);
  answer.set(head);
  for (let i = 0; i < providers.length; i++) answer[head.length + i] = providers[i]!; // faster than `set` for so few bytes
  answer[answer.length - 1] = CLOSING_BRACE;
  return answer;
}
