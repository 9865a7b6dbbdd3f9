// answer-scan.ts: reads `disposable` and the country from the bytes of an answer, without parsing its JSON.
//
// in   a plain answer (no evidence) that lies in `body` from `start` to `end`
// note It relies on the order of members that the compiler writes; tests of traffic compare it with JSON.

const VALID_AT = '{"valid":'.length;
const DISPOSABLE_AT = '{"valid":true,"disposable":'.length;
const COUNTRY = new TextEncoder().encode(',"country":{"iso_code":"');
const LETTERS = 26;
const A = 0x41;

/** Countries have an index below this. */
export const COUNTRY_INDEXES = LETTERS * LETTERS;

const isTrue = (body: Uint8Array, at: number) => body[at] === 0x74; // "t"

/** Does an email answer contain `"disposable":true`? */
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
