// plain-mailbox.ts: parses common addresses in one pass: "jane.doe+news@mail.example.co.uk".
//
// in   text
// out  true: a mailbox that is valid if its host is a mail domain, and where its parts begin; false: email.ts decides
// cost about 50 ns; no string is made
// note Plain means: ASCII, at most 254; a dot-atom; a host of letters, digits and hyphens, without A-labels. A test
//      compares it with email.ts. The host may have capitals: its hashes are of lower case.

import { MAX_LABEL_TEXT } from "./domain.ts";
import { type DomainKeys, domainKeys, finish, LOWER_CASE } from "./domain-hash.ts";

export const MAX_LOCAL_OCTETS = 64;
export const MAX_EMAIL_OCTETS = 254;

const AT = 0x40;
const DOT = 0x2e;
const HYPHEN = 0x2d;
const X = 0x78;
const N = 0x6e;

/** RFC 5322 3.2.3: what a dot-atom may hold, the dot apart. */
export const ATEXT = new Uint8Array(128);
for (const c of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-/=?^_`{|}~") {
  ATEXT[c.charCodeAt(0)] = 1;
}

const NO_KEYS = domainKeys(0, 0);

/** What {@link readPlain} found; the next call overwrites it. */
export class PlainMailbox {
  /** Where the host begins, right after the "@". */
  hostStart = 0;
  /** Labels of the host, the last one being number 0. */
  labels = 0;
  /** Where each label begins. */
  readonly starts = new Int32Array(MAX_EMAIL_OCTETS / 2);
  /** The keyed hash of the name in lower case that begins there, with these keys. */
  readonly keyedHashes = new Int32Array(MAX_EMAIL_OCTETS / 2);
}

/**
 * @param keys of the table that the host is looked up in, if any
 * @returns false when it is not plain
 */
export function readPlain(text: string, into: PlainMailbox, keys: DomainKeys = NO_KEYS): boolean {
  if (text.length > MAX_EMAIL_OCTETS) return false;
  const at = readHost(text, into, keys);
  if (at < 0 || !isPlainLocalPart(text, at)) return false;
  into.hostStart = at + 1;
  return true;
}

/**
 * Reads from the end to the "@". A mail domain then has two labels, the last beginning with a letter.
 * @returns its index; -1 when the host is not plain
 */
function readHost(text: string, into: PlainMailbox, keys: DomainKeys): number {
  const { starts, keyedHashes } = into;
  let sum = 0;
  let labels = 0;
  const last = text.length - 1;
  let end = text.length; // of the label that is being read
  let after = HYPHEN; // the character after this one
  for (let i = end - 1; i >= 0; i--) {
    let c = text.charCodeAt(i);
    if ((c < 0x61 || c > 0x7a) && (c < 0x30 || c > 0x39)) {
      if (c === HYPHEN) {
        if (i === end - 1) return -1;
      } else if (c >= 0x41 && c <= 0x5a) {
        c |= LOWER_CASE;
      } else if (c === DOT || c === AT) {
        // A label without characters has a dot, or the end, after it.
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
  let before = DOT; // so that a leading dot is a second one
  for (let i = 0; i < end; i++) {
    const c = text.charCodeAt(i);
    if (ATEXT[c] !== 1 && (c !== DOT || before === DOT)) return false;
    before = c;
  }
  return before !== DOT;
}
