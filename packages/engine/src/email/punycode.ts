// punycode.ts: one A-label -> its Unicode form, for the rules that are about that form.
//
// in   "xn--mnchen-3ya", lower case
// out  "münchen"
// err  none thrown: undefined means "does not decode"
// src  RFC 3492 6.2; constants and names as there
// note whether the label is the one that its Unicode form encodes to is for the runtime's `URL` to say

const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const SKEW = 38;
const DAMP = 700;
const INITIAL_BIAS = 72;
const INITIAL_N = 128;
const MAX_CODE_POINT = 0x10ffff;

/** The Unicode form of an A-label, or `undefined`. */
export function decodeALabel(label: string): string | undefined {
  const encoded = label.slice("xn--".length);
  const delimiter = encoded.lastIndexOf("-");
  const output = delimiter > 0 ? [...encoded.slice(0, delimiter)].map((c) => c.charCodeAt(0)) : [];
  let n = INITIAL_N;
  let i = 0;
  let bias = INITIAL_BIAS;
  for (let at = delimiter > 0 ? delimiter + 1 : 0; at < encoded.length; ) {
    const start = i;
    let weight = 1;
    for (let k = BASE; ; k += BASE) {
      const digit = digitOf(encoded.charCodeAt(at++)); // NaN past the end: no digit
      if (digit < 0) return undefined;
      i += digit * weight;
      const t = Math.min(Math.max(k - bias, T_MIN), T_MAX);
      if (digit < t) break;
      weight *= BASE - t;
    }
    const length = output.length + 1;
    bias = adapt(i - start, length, start === 0);
    n += Math.floor(i / length);
    i %= length;
    if (n > MAX_CODE_POINT) return undefined; // also where i has gone beyond whole numbers
    output.splice(i++, 0, n);
  }
  return String.fromCodePoint(...output);
}

function digitOf(c: number): number {
  if (c >= 0x61 && c <= 0x7a) return c - 0x61;
  return c >= 0x30 && c <= 0x39 ? c - 0x30 + 26 : -1;
}

function adapt(difference: number, length: number, first: boolean): number {
  let delta = first ? Math.floor(difference / DAMP) : difference >> 1;
  delta += Math.floor(delta / length);
  let k = 0;
  for (; delta > ((BASE - T_MIN) * T_MAX) >> 1; k += BASE) delta = Math.floor(delta / (BASE - T_MIN));
  return k + Math.floor(((BASE - T_MIN + 1) * delta) / (delta + SKEW));
}
