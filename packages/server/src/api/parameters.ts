// parameters.ts: reads an operation's query parameters strictly.
//
// Source: RFC 3986 3.4 (percent-encoding; "+" is a plus sign, not a space).

import { isReputationFlag, type ParameterRow } from "@inkling/contract";
import { bitsOf } from "@inkling/engine";
import { type Problem, problem } from "../http/problems.ts";
import { decodeSegment } from "../http/router.ts";
import { PLAIN, WANTS } from "../lookup/pipeline.ts";

/** The bits of `deny` start above the bits of WANTS. */
const DENY_SHIFT = 8;

/** Returns the flags in `deny`, as bits (see `bitsOf`). */
export const deniedBits = (wants: number): number => wants >> DENY_SHIFT;

const bitOf = (wants: ParameterRow["wants"]): number =>
  isReputationFlag(wants) ? bitsOf([wants]) << DENY_SHIFT : WANTS[wants];

export class Parameters {
  private readonly rows: readonly { readonly name: string; readonly value: string; readonly bit: number }[];
  /** The last sentence of a problem's detail, which lists the allowed parameters. */
  private readonly allowed: string;

  /** @param rows one row per value; a query may combine several values of one name with commas */
  constructor(rows: readonly ParameterRow[]) {
    this.rows = rows.map(({ name, value, wants }) => ({ name, value, bit: bitOf(wants) }));
    const names = [...new Set(rows.map(({ name }) => name))];
    const allowed = names
      .map((name) => {
        const values = rows.flatMap((row) => (row.name === name ? [row.value] : []));
        return values.length === 1
          ? `\`${name}=${values[0]}\``
          : `\`${name}\` with one or more of ${values.map((value) => `\`${value}\``).join(", ")}, separated by commas`;
      })
      .join("; ");
    this.allowed =
      rows.length === 0
        ? "This request takes no query parameters."
        : `Allowed, each parameter at most once: ${allowed}.`;
  }

  private refuse(what: string): Problem {
    return problem("PARAMETER_INVALID", `${what} ${this.allowed}`);
  }

  /**
   * Parses a query. Names and values are case-sensitive, and each may occur once. Empty pieces are ignored: "a=b&&" is
   * the same as "a=b".
   */
  read(query: string): number | Problem {
    let wants = PLAIN;
    const seen: string[] = [];
    for (const piece of query.split("&")) {
      if (piece === "") continue;
      const equals = piece.indexOf("=");
      const name = equals < 0 ? undefined : decodeSegment(piece.slice(0, equals));
      const values = decodeSegment(piece.slice(equals + 1));
      if (name === undefined || values === undefined)
        return this.refuse("A query parameter has no value, or is not valid percent-encoded UTF-8.");
      const shown = shownName(name);
      if (this.rows.every((row) => row.name !== name)) return this.refuse(`Unknown query parameter${shown}.`);
      if (seen.includes(name)) return this.refuse(`Query parameter${shown} is given twice.`);
      seen.push(name);
      for (const value of values.split(",")) {
        const row = this.rows.find((row) => row.name === name && row.value === value);
        if (row === undefined) return this.refuse(`Query parameter${shown} has an unknown value.`);
        if ((wants & row.bit) !== 0) return this.refuse(`Query parameter${shown} has a value twice.`);
        wants |= row.bit;
      }
    }
    return wants;
  }
}

/** Quotes a name only if it is a plain word. Any other text may be a misplaced key, IP address or email address. */
const shownName = (name: string) => (/^[a-z_-]{1,24}$/i.test(name) ? ` \`${name}\`` : "");
