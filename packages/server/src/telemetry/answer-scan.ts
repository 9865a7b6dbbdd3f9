// answer-scan.ts: reads flags and the country from the bytes of an answer, without parsing its JSON.
//
// in   a plain answer (no evidence) that lies in `body` from `start` to `end`
// out  flags as bits, a country as an index
// note It relies on the order of members that the compiler writes; metrics and traffic tests hold it against JSON.

const NO_FLAGS_LENGTH = '{"is_abuser":false,"is_proxy":false,"is_tor_exit":false}'.length;
/** Bytes before the value of each reputation flag, counted from the end of the value before it. */
const FLAG_MEMBERS = ['{"is_abuser":', ',"is_proxy":', ',"is_tor_exit":'].map((text) => text.length);
const VALID_AT = '{"valid":'.length;
const DISPOSABLE_AT = '{"valid":true,"disposable":'.length;
const COUNTRY = new TextEncoder().encode(',"country":{"iso_code":"');
const LETTERS = 26;
const A = 0x41;

/** Countries have an index below this. */
export const COUNTRY_INDEXES = LETTERS * LETTERS;

const isTrue = (body: Uint8Array, at: number) => body[at] === 0x74; // "t"

/** Which of is_abuser, is_proxy and is_tor_exit a reputation answer sets: bits 0, 1 and 2. */
export function reputationFlags(body: Uint8Array, start: number, end: number): number {
  if (end - start === NO_FLAGS_LENGTH) return 0;
  let flags = 0;
  let at = start;
  for (const [bit, length] of FLAG_MEMBERS.entries()) {
    at += length;
    const isSet = isTrue(body, at);
    if (isSet) flags |= 1 << bit;
    at += isSet ? 4 : 5;
  }
  return flags;
}

/** Does an email answer say `"disposable":true`? */
export function isDisposable(body: Uint8Array, start: number): boolean {
  return isTrue(body, start + (isTrue(body, start + VALID_AT) ? DISPOSABLE_AT : DISPOSABLE_AT + 1));
}

/** The index of the country in a geolocation answer; -1 when it has none. */
export function countryIndex(body: Uint8Array, start: number, end: number): number {
  const { length } = COUNTRY;
  // City and continent precede it; no name contains the bytes that a member begins with.
  for (let at = start + 20; at < end - length - 2; at++) {
    if (body[at] !== COUNTRY[0] || body[at + 1] !== COUNTRY[1] || body[at + 2] !== COUNTRY[2]) continue;
    let i = 3;
    while (i < length && body[at + i] === COUNTRY[i]) i++;
    if (i === length) return (body[at + i]! - A) * LETTERS + body[at + i + 1]! - A; // `at` stops before end - length
  }
  return -1;
}

/** The ISO 3166-1 code of a country's index. */
export function countryCode(index: number): string {
  return String.fromCharCode(A + Math.floor(index / LETTERS), A + (index % LETTERS));
}
