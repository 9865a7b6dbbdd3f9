// email.ts: text of one email address -> is it valid, and its host.
//
// in   "Jane.Doe+news@Example.co.uk", "\"jane doe\"@example.org", "用户@例子.广告"
// out  valid, and the host as lower-case A-labels wherever a domain can be read
// err  none thrown, whatever the text
// src  RFC 5321 4.1.2 (Mailbox) and 4.5.3.1 (lengths), RFC 6531 3.3 (Unicode)
// cost what plain-mailbox.ts reads about 230 ns, other ASCII about 300, of which the suffix list takes half; no network
//
// Decided here, if the standards leave room or callers could be surprised:
// - Split at the last "@": `"a@b"@example.org` has the quoted local part `"a@b"`.
// - Lengths are octets of UTF-8 as written: local part 64, whole 254. A domain of 255 cannot occur below that;
//   as A-labels it has at most 253.
// - A local part is a dot-atom or one quoted string. `""@…` is valid: RFC 5321 lets a quoted string be empty.
//   Comments, folding and words mixed with quoted strings are RFC 5322 for message headers: not valid.
// - Unicode in local parts: all that RFC 6531 allows, less what nobody can read or type: control characters (C1 too),
//   separators other than the ASCII space in quotes, invisible characters (default-ignorable ones: zero-width spaces
//   and joiners, soft hyphens, variation selectors, bidirectional controls), private use, noncharacters, lone surrogates,
//   U+FFFD, and a combining character with no letter before it. So emoji that are joined from several are not valid.
//   Unassigned characters pass, or a verdict would depend on the runtime's Unicode version.
// - The domain lies at least one label below a suffix of the ICANN section: "user@co.uk" is not valid. Suffixes that
//   are mail domains themselves are listed in domain.ts: "user@gov.in" is valid, and never disposable.
//   The private section does not matter here: "user@github.io" is valid, for github.io has an owner, who may
//   run mail. It is never disposable: a lookup does not go into a public suffix of either section.
// - Special-use domains and unknown top-level domains are not valid, but their host is read.
// - The host is read whatever the local part is. White space around the domain, one trailing dot, and invisible
//   characters in the domain make an address not valid, but the host is read without them: UTS #46 maps invisible
//   characters to nothing, and what was sent is not the address then. Joiners that a script needs (U+200C, U+200D) are
//   part of a name. Without "@" there is no domain.

import { cutSuffix, isSpecialUseDomain, toAsciiDomain } from "./domain.ts";
import { ATEXT, MAX_EMAIL_OCTETS, MAX_LOCAL_OCTETS, PlainMailbox, readPlain } from "./plain-mailbox.ts";

/** What the text of an email address determines. */
export interface EmailAddress {
  /** A mailbox of RFC 5321 or 6531 whose domain may exist in the public DNS. */
  readonly valid: boolean;
  /** Lower-case A-labels; absent when no domain can be read. */
  readonly host?: string;
  /** Index in `host` where its registrable domain begins; -1 for a public suffix and without a host. */
  readonly registrableStart: number;
}

/** One for all, since parsing is synchronous: a new one takes 150 ns, parsing 90. */
const plain = new PlainMailbox();

const UNREADABLE: EmailAddress = { valid: false, registrableStart: -1 };

/**
 * Reads one email address: a bare mailbox, without display name or angle brackets.
 * @param text anything
 */
export function parseEmail(text: string): EmailAddress {
  if (!readPlain(text, plain)) return parseEmailInFull(text);
  const host = text.slice(plain.hostStart).toLowerCase();
  const { registrableStart, known } = cutSuffix(host);
  return known && registrableStart >= 0 && !isSpecialUseDomain(host)
    ? { valid: true, host, registrableStart }
    : parseEmailInFull(text);
}

/** {@link parseEmail} without the fast path of {@link readPlain}, which must agree with it. */
export function parseEmailInFull(text: string): EmailAddress {
  const at = text.lastIndexOf("@");
  if (at < 0) return UNREADABLE;
  const domain = text.slice(at + 1);
  const exact = toAsciiDomain(domain);
  const host = exact ?? toAsciiDomain(withoutEdges(domain));
  if (host === undefined) return UNREADABLE;
  const { registrableStart, known } = cutSuffix(host);
  const valid =
    exact !== undefined &&
    !VANISHES.test(domain) &&
    known &&
    isLocalPart(text, at) &&
    fits(text) &&
    !isSpecialUseDomain(host);
  return { valid, host, registrableStart };
}

/** What UTS #46 maps to nothing: default-ignorable characters, except the joiners, which it keeps or refuses. */
const VANISHES = /(?![\u200c\u200d])\p{DI}/u;

/** White space at both ends and one trailing dot, in each form that UTS #46 takes for one. */
function withoutEdges(domain: string): string {
  const trimmed = domain.trim();
  return /[.\u3002\uff0e\uff61]$/.test(trimmed.slice(-1)) ? trimmed.slice(0, -1) : trimmed;
}

function fits(text: string): boolean {
  if (text.length * 3 <= MAX_EMAIL_OCTETS) return true; // a UTF-16 unit is at most three octets
  return text.length <= MAX_EMAIL_OCTETS && octets(text) <= MAX_EMAIL_OCTETS;
}

/** Length in UTF-8. */
function octets(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x80) continue;
    // Each half of a surrogate pair counts two, the pair four.
    count += c < 0x800 || (c >= 0xd800 && c <= 0xdfff) ? 1 : 2;
  }
  return count;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const DOT = 0x2e;

// \p{Cs} under the u flag is a surrogate without its other half.
const NO_MAILBOX_HAS =
  /[\p{Cc}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{DI}\p{Noncharacter_Code_Point}\ufffd]|(?! )\p{Zs}|(?:^"?|\.)\p{M}/u;

/** Is the text before `end` a local part? */
function isLocalPart(text: string, end: number): boolean {
  if (end > MAX_LOCAL_OCTETS) return false;
  return text.charCodeAt(0) === QUOTE ? isQuotedString(text, end) : isDotAtom(text, end);
}

function isDotAtom(text: string, end: number): boolean {
  let ascii = true;
  let previous = DOT; // so that a leading dot is a second one
  for (let i = 0; i < end; i++) {
    const c = text.charCodeAt(i);
    if (c > 0x7f) ascii = false;
    else if (c === DOT ? previous === DOT : ATEXT[c] === 0) return false;
    previous = c;
  }
  return previous !== DOT && (ascii || isUnicodeLocalPart(text.slice(0, end)));
}

function isQuotedString(text: string, end: number): boolean {
  const last = end - 1;
  if (last < 1 || text.charCodeAt(last) !== QUOTE) return false;
  let ascii = true;
  for (let i = 1; i < last; i++) {
    let c = text.charCodeAt(i);
    if (c === QUOTE) return false;
    if (c === BACKSLASH) {
      if (++i === last) return false; // the closing quote is escaped
      c = text.charCodeAt(i);
      if (c > 0x7e) return false; // RFC 6531 widens what is quoted, not what is escaped
    }
    if (c > 0x7f) ascii = false;
    else if (c < 0x20 || c === 0x7f) return false;
  }
  return ascii || isUnicodeLocalPart(text.slice(0, end));
}

function isUnicodeLocalPart(local: string): boolean {
  return octets(local) <= MAX_LOCAL_OCTETS && !NO_MAILBOX_HAS.test(local);
}
