// values.ts: which text is an IP address or an email address, and those in any text.
//
// cost linear in the text: it is cut at what separates words before anything is searched in it

import { MAX_IP_TEXT, parseEmail, parseIp, specialUse } from "@inkling/engine";

type ValueKind = "ip" | "email";

/** What a value is; undefined: neither. Whether an email address is valid is for its lookup to say, as it is for the API. */
export function kindOf(value: string): ValueKind | undefined {
  if (value.length <= MAX_IP_TEXT && parseIp(value) !== undefined) return "ip";
  return value.includes("@") ? "email" : undefined;
}

const isAsciiSpace = (c: number) => c === 0x20 || (c >= 0x09 && c <= 0x0d);

/** Without the white space of ASCII around it. Other white space, and what is invisible, is part of a value. */
export function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isAsciiSpace(text.charCodeAt(start))) start++;
  while (end > start && isAsciiSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Characters that separate the words of a text: no address, and no usual email address, has one. */
const SEPARATORS = /[\s<>()[\]{}"'`,;|=\\]+/;
/** What may stand around an email address in a text. */
const MAX_EMAIL = 320;

/** The public IP addresses and the email addresses in a text, in their order, repeated ones included. */
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
    // Chrome/120.0.0.0 and v1.2.3.4 are versions.
    const isInWord = /(?:[\w-]|[A-Za-z]\/)$/.test(word.slice(Math.max(0, index - 2), index));
    if (isInWord || /^[\w-]/.test(word.slice(index + run.length))) continue;
    const text = run.replace(/^([\d.]+):\d{1,5}$/, "$1").replace(/[.:]$/, "");
    const address = [run, text].find((one) => one.length <= MAX_IP_TEXT && parseIp(one) !== undefined);
    if (address !== undefined && specialUse(parseIp(address)!) === undefined) found.push(address);
  }
  return found;
}
