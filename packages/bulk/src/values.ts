// values.ts: recognizes IP addresses and email addresses, and finds them in any text.
//
// cost linear in the text, because the text is split into words before each word is searched

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
const SEPARATORS = /[\s<>()[\]{}"'`,;|=\\]+/;
/** Maximum length of an email address in a text, in characters. */
const MAX_EMAIL = 320;

/** Returns the public IP addresses and the email addresses in a text, in order, including duplicates. */
export function valuesIn(text: string): string[] {
  return text.split(SEPARATORS).flatMap((word) => {
    if (!word.includes("@")) return addressesIn(word);
    const email = word.replace(/^mailto:/i, "").replace(/[.:!?]{1,3}$/, "");
    return email.length <= MAX_EMAIL && parseEmail(email).host !== undefined ? [email] : addressesIn(word);
  });
}

function addressesIn(word: string): string[] {
  const found: string[] = [];
  for (const { 0: run, index } of word.matchAll(/[0-9a-fA-F.:]{2,}/g)) {
    // Texts such as Chrome/120.0.0.0 and v1.2.3.4 are versions.
    const isInWord = /(?:[\w-]|[A-Za-z]\/)$/.test(word.slice(Math.max(0, index - 2), index));
    if (isInWord || /^[\w-]/.test(word.slice(index + run.length))) continue;
    const text = run.replace(/^([\d.]+):\d{1,5}$/, "$1").replace(/[.:]$/, "");
    const address = [run, text].find((one) => one.length <= MAX_IP_TEXT && parseIp(one) !== undefined);
    if (address !== undefined && specialUse(parseIp(address)!) === undefined) found.push(address);
  }
  return found;
}
