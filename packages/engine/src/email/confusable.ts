// confusable.ts: finds the ASCII domain that a non-ASCII domain looks like.
//
// in   a host as A-labels, such as xn--gmal-n9d.com, which is displayed as gmaіl.com with a Cyrillic letter
// out  the ASCII domain, such as "gmail.com"; undefined if the host does not look like one
// src  Unicode TS 39: whole skeletons (section 4), mixed scripts (5.1); confusable-letters.ts contains the letters
// cost an ASCII host: a search for "xn--", about 20 ns; other hosts: about 2 µs
//
// Every letter must look like ASCII, and one of two things must be true. Either a label mixes Latin letters with
// letters of another script, which no single-language registry allows, or the name looks like a popular provider's
// domain. So "сосна.com" (only Cyrillic) and "kıyı.com" (Turkish) resemble no other name.

import { LOOK_ALIKES } from "./confusable-letters.ts";
import { decodeALabel } from "./domain.ts";
import { isPopularDomain } from "./email-labels.ts";

const A_LABEL = "xn--";
const LATIN = /\p{Script=Latin}/u;
const OTHER_SCRIPT = /(?!\p{Script=Latin}|\p{Script=Common}|\p{Script=Inherited})\p{L}/u;

const asciiOf = new Map<string, string>();
for (const [ascii, characters] of Object.entries(LOOK_ALIKES))
  for (const character of characters) asciiOf.set(character, ascii);

/** @param host a result of `toAsciiDomain` */
export function resembledDomain(host: string): string | undefined {
  if (!host.includes(A_LABEL)) return undefined;
  let mixes = false;
  const labels: string[] = [];
  for (const label of host.split(".")) {
    const text = label.startsWith(A_LABEL) ? (decodeALabel(label) ?? label) : label;
    mixes ||= LATIN.test(text) && OTHER_SCRIPT.test(text);
    const looks = Array.from(text, (character) => asciiOf.get(character) ?? character).join("");
    if (!/^[a-z0-9-]+$/.test(looks)) return undefined;
    labels.push(looks);
  }
  const looks = labels.join(".");
  return mixes || isPopularDomain(looks) ? looks : undefined;
}
