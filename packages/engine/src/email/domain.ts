// domain.ts: converts the text of a domain name to lower-case A-labels, and finds its registrable domain.
//
// in   "Mail.Example.co.uk", "münchen.de", "日本語。ＪＰ", "xn--mnchen-3ya.de"
// out  a host: lower-case A-labels, at least two of them, without a trailing dot; and the parts of a host; undefined if
//      the text is not a domain name
// src  RFC 1035 2.3.1 and RFC 1123 2.1 (letters, digits, hyphens), RFC 3696 2 (top-level domains), UTS #46
//      through the WHATWG `URL` of the runtime, the Public Suffix List through tldts
// cost converting plain ASCII takes one pass, about 30 ns, and converting other names takes about 1 µs in `URL`.
//      Finding a suffix takes about 100 ns in tldts
// note `URL` converts only names that are not plain ASCII, and never gets a character that has a meaning in URLs. ASCII
//      other than letters, digits, hyphens and dots is refused first. The result of `URL` is checked by the same rules,
//      so no IPv4 number, port or path becomes a name. Emoji are accepted (UTS #46). Underscores are refused (RFC
//      1123). Runtimes differ in one known case. Node 20 accepts some right-to-left labels that break RFC 5893's rule:
//      they begin with a digit, or a neighbouring label has the other direction. Bun refuses them, as UTS #46 requires.

// The import is not "punycode", because in Node that name loads a deprecated built-in module.
import punycode from "punycode/punycode.js";
import { getPublicSuffix, parse } from "tldts";
import { append } from "../text/lists.ts";
import { LOWER_CASE } from "./domain-hash.ts";

// The engine has no DOM types, and this is the only one that it needs.
declare const URL: { new (text: string): { readonly hostname: string } };

/** Maximum length of a domain name. RFC 1035: 255 octets on the wire are 253 characters of text. */
const MAX_DOMAIN_TEXT = 253;
export const MAX_LABEL_TEXT = 63;

const DOT = 0x2e;
const HYPHEN = 0x2d;

/** Bits that record what a single pass over a name has found. */
const PLAIN = 0;
const HAS_UPPER = 1;
const HAS_ACE = 2;
const NOT_ASCII = 4;
const REFUSED = 8;

/**
 * Parses one domain name, strictly. These are refused: a single label, a trailing dot, empty labels, a last label that
 * begins with a digit (and so every IPv4 address), anything but letters, digits and hyphens after mapping, and "xn--"
 * labels that do not survive decoding and encoding.
 * @param text at most 253 characters
 * @returns lower-case A-labels of 1 to 63 characters, at most 253 in all; `undefined` if the text is refused
 */
export function toAsciiDomain(text: string): string | undefined {
  const found = inspect(text);
  if (found === PLAIN) return text;
  if (found & REFUSED) return undefined;
  if (found & NOT_ASCII) return fromUnicode(text);
  const lower = text.toLowerCase();
  if ((found & HAS_ACE) === 0) return lower;
  return hostnameOf(lower) === lower && decodesWell(lower) ? lower : undefined;
}

function inspect(text: string): number {
  const length = text.length;
  if (length > MAX_DOMAIN_TEXT) return REFUSED;
  let found = PLAIN;
  let label = 0; // where the current label begins
  for (let i = 0; i < length; i++) {
    const c = text.charCodeAt(i);
    if ((c >= 0x61 && c <= 0x7a) || (c >= 0x30 && c <= 0x39)) continue;
    if (c === DOT) {
      if (!isLabel(text, label, i)) return REFUSED;
      label = i + 1;
    } else if (c === HYPHEN) {
      if (i === label + 3 && isAcePrefix(text, label)) found |= HAS_ACE;
    } else if (c >= 0x41 && c <= 0x5a) found |= HAS_UPPER;
    else return c > 0x7f ? NOT_ASCII : REFUSED;
  }
  if (label === 0 || !isLabel(text, label, length)) return REFUSED;
  return isDigit(text.charCodeAt(label)) ? REFUSED : found;
}

function isLabel(text: string, start: number, end: number): boolean {
  const length = end - start;
  if (length < 1 || length > MAX_LABEL_TEXT) return false;
  return text.charCodeAt(start) !== HYPHEN && text.charCodeAt(end - 1) !== HYPHEN;
}

function isDigit(c: number): boolean {
  return c >= 0x30 && c <= 0x39;
}

function isAcePrefix(text: string, at: number): boolean {
  return (
    (text.charCodeAt(at) | 0x20) === 0x78 &&
    (text.charCodeAt(at + 1) | 0x20) === 0x6e &&
    text.charCodeAt(at + 2) === HYPHEN
  );
}

function fromUnicode(text: string): string | undefined {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const lower = c | 0x20;
    if (c > 0x7f || (lower >= 0x61 && lower <= 0x7a) || isDigit(c) || c === HYPHEN || c === DOT) continue;
    return undefined;
  }
  // Up to Unicode 15.0, capital sharp s maps to "ss", and since 15.1 to "ß". With this replacement, all runtimes agree.
  const host = hostnameOf(text.replaceAll("\u1e9e", "ß"));
  if (host === undefined) return undefined;
  const found = inspect(host);
  if (found === PLAIN) return host;
  return found === HAS_ACE && decodesWell(host) ? host : undefined;
}

/** Checks the hyphen rule for the Unicode form of A-labels (RFC 5891 4.2.3.1), which `URL` does not check. */
function decodesWell(host: string): boolean {
  return host.split(".").every((label) => {
    if (!label.startsWith("xn--")) return true;
    const unicode = decodeALabel(label);
    return unicode !== undefined && !unicode.startsWith("-") && !unicode.endsWith("-");
  });
}

function hostnameOf(text: string): string | undefined {
  try {
    return new URL(`http://${text}/`).hostname;
  } catch {
    return undefined; // UTS #46 does not allow this name
  }
}

const WITH_PRIVATE = {
  allowPrivateDomains: true,
  extractHostname: false,
  validateHostname: false,
  detectIp: false,
};
const ICANN_ONLY = { ...WITH_PRIVATE, allowPrivateDomains: false };

/**
 * Returns the public suffix of a host, such as "co.uk" or "github.io". This includes suffixes in the list's private
 * section. The result is the whole host if the host is a suffix, and the host's last label if no rule matches (the
 * list's default rule "*").
 * @param host a result of {@link toAsciiDomain}
 */
export function publicSuffix(host: string): string {
  return parse(host, WITH_PRIVATE).publicSuffix ?? host;
}

/** Where a host's registrable domain begins, and whether its suffix is known. */
export interface SuffixCut {
  /** Index in the host where its registrable domain begins; -1 if the host is itself a public suffix. */
  readonly registrableStart: number;
  /** The result of {@link isUnderKnownSuffix}. */
  readonly known: boolean;
}

/** Finds both facts that a lookup needs, usually with a single call to tldts. */
export function cutSuffix(host: string): SuffixCut {
  const found = parse(host, WITH_PRIVATE);
  if (found.domain === null) return { registrableStart: -1, known: isUnderKnownSuffix(host) };
  return {
    registrableStart: host.length - found.domain.length,
    known: found.isIcann === true || found.isPrivate === true,
  };
}

/**
 * Public suffixes at which their operators have mailboxes. They are in the ICANN section, or match a wildcard rule
 * there. Source: email addresses in the operators' public documents.
 */
const MAIL_SUFFIXES: ReadonlySet<string> = new Set([
  "glow.sch.uk", // Scotland's schools
  "gouv.fr",
  "gov.in",
  "gov.uk",
  "mil.lv",
  "mil.no",
  "nic.in", // India's National Informatics Centre
  "qld.gov.au",
  "sa.gov.au",
  "sp.gov.br",
]);

/**
 * Returns whether this name can be a mail domain. A mail domain is at least one label longer than a suffix in the
 * list's ICANN section, or is a suffix that has mailboxes itself. The result is true for "github.io" (a name in .io
 * whose owner lets others register below it) and for "gov.in". It is false for "co.uk" and "a.b.nosuchtld".
 * @param host a result of {@link toAsciiDomain}
 */
export function isUnderKnownSuffix(host: string): boolean {
  const suffix = getPublicSuffix(host, ICANN_ONLY);
  if (suffix === null) return false;
  if (suffix.length === host.length) return MAIL_SUFFIXES.has(host);
  // The list's default rule "*" makes only single labels suffixes.
  return suffix.includes(".") || isKnownEnding(suffix, host);
}

/**
 * A cache of the single labels that are on the list. Without the cache, each check needs a full parse of a host in
 * tldts.
 */
const knownEndings = new Set<string>();

function isKnownEnding(ending: string, host: string): boolean {
  if (knownEndings.has(ending)) return true;
  if (parse(host, ICANN_ONLY).isIcann !== true) return false;
  knownEndings.add(ending);
  return true;
}

/** Packs the last four characters of an ASCII text into one number. */
function endOf(text: string): number {
  const at = text.length - 4;
  const [a, b] = [text.charCodeAt(at), text.charCodeAt(at + 1)];
  return (a << 21) | (b << 14) | (text.charCodeAt(at + 2) << 7) | text.charCodeAt(at + 3);
}

/** The ICANN section has no suffix below these endings, so the ending decides. tldts has the same fast path. */
const COM = endOf(".com");
const NET = endOf(".net");
const ORG = endOf(".org");
/**
 * The letter "e". The only special-use names below these endings are "example.com", "example.net" and "example.org".
 */
const LAST_OF_EXAMPLE = 0x65;

/**
 * Returns whether mail can reach this host. It can if {@link isUnderKnownSuffix} accepts the host and the host is not a
 * special-use domain.
 * @param text ends with a host of at least two labels of letters, digits and hyphens, which may have capitals
 * @param hostStart index in `text` where the host begins
 */
export function isMailDomain(text: string, hostStart: number): boolean {
  const end = endOf(text);
  const isFlat = end === COM || end === NET || end === ORG;
  if (isFlat && (text.charCodeAt(text.length - 5) | LOWER_CASE) !== LAST_OF_EXAMPLE) return true;
  const host = text.slice(hostStart).toLowerCase();
  return isUnderKnownSuffix(host) && !isSpecialUseDomain(host);
}

/**
 * Returns the names under which a host may be listed: the host itself, then each parent up to the registrable domain,
 * but never the public suffix. Empty for a public suffix.
 * @param host a result of {@link toAsciiDomain}
 * @param cut the host's cut, if the caller has it already
 */
export function walkUp(host: string, cut = cutSuffix(host)): string[] {
  const names: string[] = [];
  for (let at = 0; at <= cut.registrableStart; at = host.indexOf(".", at) + 1) names.push(host.slice(at));
  return names;
}

/** Domains that cannot have a mailbox on the public internet. The same is true of all domains below them. */
export const SPECIAL_USE_DOMAINS: readonly (readonly [name: string, source: string])[] = [
  ["test", "RFC 6761 6.2"],
  ["localhost", "RFC 6761 6.3"],
  ["invalid", "RFC 6761 6.4"],
  ["example", "RFC 6761 6.5"],
  ["example.com", "RFC 6761 6.5"],
  ["example.net", "RFC 6761 6.5"],
  ["example.org", "RFC 6761 6.5"],
  ["local", "RFC 6762"],
  ["onion", "RFC 7686"],
  ["alt", "RFC 9476"],
  ["arpa", "RFC 3172 (infrastructure); home.arpa: RFC 8375"],
  ["internal", "ICANN Board resolution 2024.07.29.06"],
];

// Keyed by last label, so that a single access is enough for nearly every host.
const specialByLastLabel = new Map<string, string[]>();
for (const [name] of SPECIAL_USE_DOMAINS) append(specialByLastLabel, lastLabel(name), name);

function lastLabel(host: string): string {
  return host.slice(host.lastIndexOf(".") + 1);
}

/**
 * Returns whether a standard reserves this host, so that no mail can reach it.
 * @param host a result of {@link toAsciiDomain}
 */
export function isSpecialUseDomain(host: string): boolean {
  const names = specialByLastLabel.get(lastLabel(host));
  return names?.some((name) => host === name || host.endsWith(`.${name}`)) === true;
}

const PREFIX = "xn--";

export function decodeALabel(label: string): string | undefined {
  try {
    return punycode.decode(label.slice(PREFIX.length));
  } catch {
    return undefined;
  }
}
