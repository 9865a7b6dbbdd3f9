// values.ts: recognizes IP addresses and email addresses, and finds them in any text.
//
// Cost: linear in the text: each word, and each run of hexadecimal digits, dots and colons, is read once.

import { MAX_IP_TEXT, parseEmail, parseIp, specialUse } from "@inkling/engine";

type ValueKind = "ip" | "email";

/**
 * Returns the kind of a value, or undefined if the value is of neither kind. As in the API, only the lookup of an email
 * address decides whether it is valid.
 */
export function kindOf(value: string): ValueKind | undefined {
  if (value.length <= MAX_IP_TEXT && parseIp(value) !== undefined) return "ip";
  return value.includes("@") ? "email" : undefined;
}

const isAsciiSpace = (c: number) => c === 0x20 || (c >= 0x09 && c <= 0x0d);

/** Removes ASCII white space at both ends. Other white space and invisible characters are part of a value. */
export function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isAsciiSpace(text.charCodeAt(start))) start++;
  while (end > start && isAsciiSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Characters that separate words in a text. They do not occur in addresses or in usual email addresses. */
const SEPARATORS = /[\s<>()[\]{}"'`,;|=&?\\]+/;
/** Maximum length of an email address in a text, in characters. */
const MAX_EMAIL = 320;

/** Returns the public IP addresses and the email addresses in a text, in order, including duplicates. */
export function valuesIn(text: string): string[] {
  return text.split(SEPARATORS).flatMap((word) => {
    const email = word.includes("@") ? emailIn(word) : undefined;
    return email === undefined ? [...addressesIn(word)] : [email];
  });
}

/** Finds an email address in a word, without a label before it (`mailto:`) and punctuation after it. */
function emailIn(word: string): string | undefined {
  const label = word.lastIndexOf(":", word.lastIndexOf("@"));
  const email = word.slice(label + 1).replace(/[.:!]{1,3}$/, "");
  return email.length <= MAX_EMAIL && parseEmail(email).host !== undefined ? email : undefined;
}

/** Returns the first public IP address in a text. */
export function firstAddressIn(text: string): string | undefined {
  for (const address of addressesIn(text)) return address;
  return undefined;
}

/** Characters of addresses and ports. */
const RUN = /[0-9a-fA-F.:]{2,}/g;
/** Longer runs contain no address, even with a label and a port around it. */
const MAX_RUN = MAX_IP_TEXT + 20;
/** Texts such as Chrome/120.0.0.0 and v1.2.3.4 are versions. */
const IS_VERSION = /[A-Za-z]\/$/;

/** Yields the public IP addresses in a text. */
export function* addressesIn(text: string): Generator<string> {
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const end = index + run.length;
    if (run.length > MAX_RUN || /[\w@-]/.test(text.charAt(end))) continue;
    if (IS_VERSION.test(text.slice(Math.max(0, index - 2), index))) continue;
    const address = addressInRun(run, text.charAt(index - 1));
    if (address !== undefined) yield address;
  }
}

/** @param before the character before the run */
function addressInRun(run: string, before: string): string | undefined {
  // In `ip:192.0.2.1` and `IPv6:2001:db8::1`, a part of the label may belong to the run.
  const whole = /[\w-]/.test(before) ? undefined : publicAddress(run);
  if (whole !== undefined) return whole;
  const isLabelled = /^[A-Fa-f]*:/.test(run) || (run.includes(":") && /[A-Za-z]/.test(before));
  return isLabelled ? publicAddress(run.slice(run.indexOf(":") + 1)) : undefined;
}

/** Returns the public address in a text that may end with a port, or with a dot or colon. */
function publicAddress(text: string): string | undefined {
  const bare = text.replace(/[.:]$/, "");
  for (const address of [text, bare, bare.replace(/:\d{1,5}$/, "")]) {
    const parsed = address.length <= MAX_IP_TEXT ? parseIp(address) : undefined;
    if (parsed !== undefined) return specialUse(parsed) === undefined ? address : undefined;
  }
  return undefined;
}
