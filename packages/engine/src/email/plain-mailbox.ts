// plain-mailbox.ts: parses common addresses in one pass: "jane.doe+news@mail.example.co.uk".
//
// in   any text
// out  true for a plain address, with the positions of its parts; the address is valid if its host is a mail domain.
//      false if email.ts has to decide
// cost about 50 ns; creates no string
// note A plain address has at most 254 ASCII characters, a dot-atom as its local part, and a host of letters, digits
//      and hyphens without A-labels. A test compares the results with email.ts. The host may have capitals, but its
//      hashes are those of the lower-case name.

import { MAX_LABEL_TEXT } from "./domain.ts";
import { type DomainKeys, domainKeys, finish, LOWER_CASE } from "./domain-hash.ts";

export const MAX_LOCAL_OCTETS = 64;
export const MAX_EMAIL_OCTETS = 254;

const AT = 0x40;
const DOT = 0x2e;
const HYPHEN = 0x2d;
const X = 0x78;
const N = 0x6e;

/** The characters that a dot-atom may have in addition to the dot, by character code (RFC 5322 3.2.3); 1 if allowed. */
export const ATEXT = new Uint8Array(128);
for (const c of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-/=?^_`{|}~") {
  ATEXT[c.charCodeAt(0)] = 1;
}

const NO_KEYS = domainKeys(0, 0);

/** The result of {@link readPlain}, which the next call overwrites. */
export class PlainMailbox {
  /** Index of the host's first character, right after the "@". */
  hostStart = 0;
  /** Number of labels in the host. */
  labels = 0;
  /** Index where each label begins, from the last label to the first. */
  readonly starts = new Int32Array(MAX_EMAIL_OCTETS / 2);
  /** For each label, the keyed hash of the lower-case name from this label to the end. */
  readonly keyedHashes = new Int32Array(MAX_EMAIL_OCTETS / 2);
}

/**
 * Parses a plain address into `into`.
 * @param keys hash keys of the table in which the host will be looked up, if there is such a table
 * @returns false if the address is not plain
 */
export function readPlain(text: string, into: PlainMailbox, keys: DomainKeys = NO_KEYS): boolean {
  if (text.length > MAX_EMAIL_OCTETS) return false;
  const at = readHost(text, into, keys);
  if (at < 0 || !isPlainLocalPart(text, at)) return false;
  into.hostStart = at + 1;
  return true;
}

/**
 * Reads the host from the end of the text to the "@". It does not check that the host has two labels, or that the last
 * label begins with a letter, because the mail-domain check ensures both.
 * @returns the index of the "@"; -1 if the host is not plain
 */
function readHost(text: string, into: PlainMailbox, keys: DomainKeys): number {
  const { starts, keyedHashes } = into;
  let sum = 0;
  let labels = 0;
  const last = text.length - 1;
  let end = text.length; // end of the current label
  let after = HYPHEN; // the character after this one
  for (let i = end - 1; i >= 0; i--) {
    let c = text.charCodeAt(i);
    if ((c < 0x61 || c > 0x7a) && (c < 0x30 || c > 0x39)) {
      if (c === HYPHEN) {
        if (i === end - 1) return -1;
      } else if (c >= 0x41 && c <= 0x5a) {
        c |= LOWER_CASE;
      } else if (c === DOT || c === AT) {
        // If a label is empty, the next character is a dot, or the text ends here.
        if (after === HYPHEN || after === DOT || end - i > MAX_LABEL_TEXT + 1) return -1;
        if (after === X && isAcePrefix(text, i + 1)) return -1;
        starts[labels] = i + 1;
        keyedHashes[labels++] = finish(sum);
        if (c === AT) {
          into.labels = labels;
          return i;
        }
        end = i;
      } else return -1;
    }
    sum = (sum + Math.imul(keys[last - i]!, c)) | 0;
    after = c;
  }
  return -1;
}

function isAcePrefix(text: string, at: number): boolean {
  return (
    (text.charCodeAt(at + 1) | LOWER_CASE) === N &&
    text.charCodeAt(at + 2) === HYPHEN &&
    text.charCodeAt(at + 3) === HYPHEN
  );
}

function isPlainLocalPart(text: string, end: number): boolean {
  if (end > MAX_LOCAL_OCTETS) return false;
  let before = DOT; // makes a leading dot count as a second one
  for (let i = 0; i < end; i++) {
    const c = text.charCodeAt(i);
    if (ATEXT[c] !== 1 && (c !== DOT || before === DOT)) return false;
    before = c;
  }
  return before !== DOT;
}
