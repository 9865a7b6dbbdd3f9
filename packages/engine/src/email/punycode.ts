// punycode.ts: one A-label -> its Unicode form, for the rules that are about that form.
//
// in   "xn--mnchen-3ya", lower case
// out  "münchen"
// err  none thrown: undefined means "does not decode"
// note Whether the Unicode form encodes to this label is checked by the runtime's `URL` (domain.ts).

// Not "punycode": in Node that is a deprecated module of its own.
import punycode from "punycode/punycode.js";

const PREFIX = "xn--";

export function decodeALabel(label: string): string | undefined {
  try {
    return punycode.decode(label.slice(PREFIX.length));
  } catch {
    return undefined;
  }
}
