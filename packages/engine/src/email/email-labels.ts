// email-labels.ts: derives labels from the text of an email address: role account, tag, mistyped domain.
//
// in   the local part and the host of an address
// out  labels, for information only: they never change a verdict
// src  RFC 2142 (role accounts), RFC 5233 (sub-addresses)
// cost a check for a mistyped domain takes 0.1 to 1 µs if the domain looks right, and 8 µs if it looks mistyped
//
// A wrong suggestion would call a customer's own domain a typo. These rules prevent it:
// - Only names in GUESSED are corrected, because they mean nothing but the provider. Any other name, such as "mail" or
//   "gmx", must be right. Only its ending is corrected, if that ending does not exist: "mail.con" but not "mail.co".
// - The first letter must be right, or the first two swapped, because "cloud.com", "qmail.com" and "email.com" are real
//   domains.
// - Only names of eight or more letters may have two typos.
// - A domain that is equally near to two popular domains gets no suggestion.
// - No domain on a free-mail list is corrected, except the domains in NEVER_MEANT. A test tries every domain of one
//   list.

import { append } from "../text/lists.ts";
import { isUnderKnownSuffix } from "./domain.ts";
import { type EmailAddress, parseEmail } from "./email.ts";

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** The names in RFC 2142, then other common ones, in lower case and without hyphens, dots or underscores. */
const ROLES: ReadonlySet<string> = new Set(
  words(`
  info marketing sales support abuse noc security postmaster hostmaster usenet news webmaster www uucp ftp
  admin administrator root sysadmin mailerdaemon noreply donotreply nobody bounce bounces daemon dmarc
  spam mail dns ssladmin ssladministrator sslwebmaster accounting accounts billing invoice invoices
  payments payroll orders shop careers jobs hr recruiting recruitment office reception team staff everyone
  contact enquiries enquiry inquiries inquiry feedback help helpdesk hello service services
  customerservice customercare compliance dpo gdpr legal privacy press media pr partners newsletter
  newsletters notification notifications alerts subscribe unsubscribe devnull it itsupport tech
  techsupport devops ops test kontakt buchhaltung rechnung rechnungen bewerbung vertrieb verkauf
  bestellung contacto ventas facturacion administracion comptabilite facturation commande contato vendas
  financeiro contatti vendite amministrazione biuro sekretariat
`),
);

/** RFC 2142 6: the suffix for administrators of a mailing list. */
const LIST_REQUEST = "-request";
const SEPARATOR = /[._-]/;
const SEPARATORS = /[._-]/g;

/** Returns the local part without surrounding quotes. */
function bare(local: string): string {
  return local.length > 2 && local.startsWith('"') && local.endsWith('"') ? local.slice(1, -1) : local;
}

/**
 * Returns whether this address belongs to a role rather than a person. Examples: "postmaster", "No-Reply", "sales+eu",
 * "list-request".
 * @param local the text before the last "@"
 */
export function isRoleAccount(local: string): boolean {
  const whole = bare(local).toLowerCase();
  const plus = whole.indexOf("+");
  const name = plus < 0 ? whole : whole.slice(0, plus);
  if (ROLES.has(name)) return true;
  if (plus < 0 && name.endsWith(LIST_REQUEST) && name.length > LIST_REQUEST.length) return true;
  return SEPARATOR.test(name) && ROLES.has(name.replaceAll(SEPARATORS, ""));
}

/**
 * Returns whether the local part has a tag, as in "jane+shop". A mailbox can have many addresses that differ only in
 * their tag.
 * @param local the text before the last "@"
 */
export function hasTag(local: string): boolean {
  const name = bare(local);
  const plus = name.indexOf("+");
  return plus > 0 && plus < name.length - 1;
}

/** The most widely used domains, which are the only suggestions. */
const POPULAR: readonly string[] = words(`
  gmail.com googlemail.com yahoo.com hotmail.com outlook.com icloud.com live.com msn.com aol.com
  protonmail.com rocketmail.com ymail.com mail.com gmx.com zoho.com yahoo.co.uk hotmail.co.uk
  btinternet.com virginmedia.com talktalk.net ntlworld.com comcast.net verizon.net sbcglobal.net
  bellsouth.net earthlink.net optonline.net gmx.de gmx.net web.de t-online.de freenet.de outlook.de
  hotmail.de yahoo.de yahoo.fr hotmail.fr outlook.fr wanadoo.fr laposte.net orange.fr free.fr yahoo.it
  hotmail.it libero.it virgilio.it yahoo.es hotmail.es outlook.es yahoo.com.br hotmail.com.br uol.com.br
  yahoo.co.jp yahoo.co.in rediffmail.com mail.ru yandex.ru yandex.com rambler.ru seznam.cz bigpond.com
  optusnet.com.au
`);

/** Names that mean nothing but the provider. */
const GUESSED: ReadonlySet<string> = new Set(
  words(`
  gmail googlemail yahoo hotmail outlook icloud protonmail rocketmail btinternet virginmedia talktalk
  ntlworld comcast sbcglobal bellsouth optonline t-online wanadoo laposte virgilio rediffmail yandex
  rambler bigpond optusnet
`),
);

/** Domains that look like a typo of a popular domain, but are on free-mail lists. */
const REAL: ReadonlySet<string> = new Set(
  words(`
  hitmail.com prontomail.com sbcglbal.net
`),
);

/** Typos that are on free-mail lists by mistake: nobody offers mailboxes there. */
const NEVER_MEANT: Readonly<Record<string, string>> = {
  "yaho.com": "yahoo.com",
  "hotmail.co": "hotmail.com",
  "yahoo.co": "yahoo.com",
};

/** Returns the popular domain that people mean, if `host` is a misspelling that free-mail lists contain by mistake. */
export const meantInstead = (host: string): string | undefined =>
  Object.hasOwn(NEVER_MEANT, host) ? NEVER_MEANT[host] : undefined;

/** Country-code endings that count as typos after a name in GUESSED. */
const TYPOS: Readonly<Record<string, readonly string[]>> = { com: ["co", "cm", "om"], net: ["ne"] };

const LONG_NAME = 8;
const SHORT_ENDING = 2;
const MAX_ERRORS = 2;

interface Popular {
  readonly domain: string;
  readonly name: string;
  readonly ending: string;
}

const popularDomains: ReadonlySet<string> = new Set(POPULAR);

export const isPopularDomain = (host: string): boolean => popularDomains.has(host);

/** Popular domains, by the letters that a mistyped name may begin with. Most names have one or two candidates. */
const byLetter = new Map<string, Popular[]>();
for (const domain of POPULAR) {
  const candidate = { domain, ...split(domain) };
  for (const letter of new Set([domain[0]!, domain[1]!])) append(byLetter, letter, candidate);
}

function split(host: string) {
  const dot = host.indexOf(".");
  return { name: host.slice(0, dot), ending: host.slice(dot + 1) };
}

/**
 * Suggests the popular domain that the writer probably meant.
 * @param host a result of `toAsciiDomain`
 * @returns undefined if the domain is popular or otherwise real, if no popular domain is near, or if several are
 *   equally near
 */
export function suggestDomain(host: string): string | undefined {
  if (popularDomains.has(host) || REAL.has(host)) return undefined;
  const meant = meantInstead(host);
  if (meant !== undefined) return meant;
  const { name, ending } = split(host);
  const near = byLetter
    .get(name[0]!)
    ?.filter((candidate) => errorsOfName(name, candidate.name) <= MAX_ERRORS);
  if (near === undefined || near.length === 0) return undefined;
  const known = isUnderKnownSuffix(host);
  let best: string | undefined;
  let least = MAX_ERRORS + 1;
  for (const candidate of near) {
    const errors = errorsOfName(name, candidate.name) + errorsOfEnding(ending, candidate, known, name);
    if (errors > least) continue;
    best = errors < least ? candidate.domain : undefined;
    least = errors;
  }
  return best;
}

/**
 * Suggests the address that the writer probably meant: with another domain, or without white space, a dot or invisible
 * characters around its own.
 * @param address what `parseEmail` reads from `text`
 * @param meant the domain that the writer probably meant, if the address has the label `mistyped`
 * @returns undefined if there is nothing to correct, or if the result would not be valid
 */
export function suggestAddress(
  text: string,
  { valid, host }: EmailAddress,
  meant: string | undefined,
): string | undefined {
  if (host === undefined || (valid && meant === undefined)) return undefined;
  const address = `${text.slice(0, text.lastIndexOf("@")).trim()}@${meant ?? host}`;
  return address !== text && parseEmail(address).valid ? address : undefined;
}

/** Returns the number of typos between two names; Infinity if there are too many. */
function errorsOfName(name: string, meant: string): number {
  if (name === meant) return 0;
  if (!GUESSED.has(meant) || !beginsAlike(name, meant)) return Infinity;
  const errors = distance(name, meant);
  return errors <= (meant.length >= LONG_NAME ? 2 : 1) ? errors : Infinity;
}

function beginsAlike(a: string, b: string): boolean {
  return a[0] === b[0] || (a[0] === b[1] && a[1] === b[0]);
}

function errorsOfEnding(
  ending: string,
  { name: meant, ending: right }: Popular,
  known: boolean,
  name: string,
): number {
  if (ending === right) return 0;
  if (known) return name === meant && GUESSED.has(meant) && TYPOS[right]?.includes(ending) ? 1 : Infinity;
  const errors = distance(ending, right);
  if (errors <= (right.length <= SHORT_ENDING ? 1 : 2)) return errors;
  // The ending does not exist, so the exact name decides: "comcast.con" can only mean "comcast.net".
  return name === meant && GUESSED.has(meant) ? MAX_ERRORS : Infinity;
}

/**
 * Returns the number of edits from one name to the other; Infinity, without counting, if the lengths differ too much.
 */
function distance(a: string, b: string): number {
  return Math.abs(a.length - b.length) > MAX_ERRORS ? Infinity : editDistance(a, b);
}

/** Returns the maximum number of edits that still count as typos. It depends on the length of the word. */
const allowedEdits = (word: string) => (word.length < 5 ? 1 : word.length < 10 ? 2 : 3);

/** Returns the candidate closest to `word`, or undefined if none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestEdits = allowedEdits(word) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestEdits) continue; // the lengths differ by too many edits
    const edits = editDistance(word, candidate);
    if (edits < bestEdits) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best;
}

/**
 * Returns the minimum number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
 */
export function editDistance(a: string, b: string): number {
  let older: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        edits = Math.min(edits, older[j - 2]! + 1);
      }
      row.push(edits);
    }
    older = previous;
    previous = row;
  }
  return previous[b.length]!;
}
