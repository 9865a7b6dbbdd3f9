// confusable.ts: the ASCII domain that a domain in other letters looks like.
//
// in   a host as A-labels: xn--gmal-n9d.com, which people see as gmaіl.com with a Cyrillic letter
// out  "gmail.com", or undefined
// src  Unicode TS 39: whole skeletons (4), mixed scripts (5.1); the letters are confusable-letters.ts
// cost a search for "xn--" in a host of ASCII letters, about 20 ns; others about 2 µs
//
// All letters have to look like ASCII, and one of two things be wrong: a label mixes Latin letters with another script's,
// which no registry of one language allows, or the name is a popular provider's. So "сосна.com" (Cyrillic only) and
// "kıyı.com" (Turkish) look like nothing that anybody meant.

import { LOOK_ALIKES } from "./confusable-letters.ts";
import { decodeALabel } from "./domain.ts";
import { isPopularDomain } from "./email-labels.ts";

const A_LABEL = "xn--";
const LATIN = /\p{Script=Latin}/u;
const OTHER_SCRIPT = /(?!\p{Script=Latin}|\p{Script=Common}|\p{Script=Inherited})\p{L}/u;

const asciiOf = new Map<string, string>();
for (const [ascii, characters] of Object.entries(LOOK_ALIKES))
  for (const character of characters) asciiOf.set(character, ascii);

/** @param host from `toAsciiDomain` */
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
