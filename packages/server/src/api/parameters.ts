// parameters.ts: the strict reader of an operation's query parameters.
//
// in   the query of a request, as sent, without its "?"
// out  bits of WANTS, or a problem that names the parameter at fault, and what is allowed
// src  RFC 3986 3.4 (percent-encoding; "+" is a plus, not a space)

import { isReputationFlag, type ParameterRow } from "@inkling/contract";
import { bitsOf } from "@inkling/engine";
import { type Problem, problem } from "../http/problems.ts";
import { decodeSegment } from "../http/request-target.ts";
import { PLAIN, WANTS } from "../lookup/pipeline.ts";

/** Above the bits of WANTS. */
const DENY_SHIFT = 8;

/** The flags that `deny` names, as REPUTATION_ANSWERS counts them. */
export const deniedBits = (wants: number): number => wants >> DENY_SHIFT;

const bitOf = (wants: ParameterRow["wants"]): number =>
  isReputationFlag(wants) ? bitsOf([wants]) << DENY_SHIFT : WANTS[wants];

export class Parameters {
  private readonly rows: readonly { readonly name: string; readonly value: string; readonly bit: number }[];
  /** What is allowed, as the end of a detail. */
  private readonly allowed: string;

  /** @param rows values of one name may stand together in a query, separated by commas */
  constructor(rows: readonly ParameterRow[]) {
    this.rows = rows.map(({ name, value, wants }) => ({ name, value, bit: bitOf(wants) }));
    const names = [...new Set(rows.map(({ name }) => name))];
    const allowed = names
      .map((name) => rows.flatMap((row) => (row.name === name ? row.value : [])).join(","))
      .map((values, i) => `\`${names[i]}=${values}\`${values.includes(",") ? " or some of these" : ""}`)
      .join(", ");
    this.allowed =
      rows.length === 0
        ? "This request takes no query parameters."
        : `Allowed, each parameter at most once: ${allowed}.`;
  }

  private refuse(what: string): Problem {
    return problem("PARAMETER_INVALID", `${what} ${this.allowed}`);
  }

  /** Names and values are case-sensitive; each occurs at most once; "a=b&&" is "a=b". */
  read(query: string): number | Problem {
    let wants = PLAIN;
    const seen: string[] = [];
    for (const piece of query.split("&")) {
      if (piece === "") continue;
      const equals = piece.indexOf("=");
      const name = equals < 0 ? undefined : decodeSegment(piece.slice(0, equals));
      const values = decodeSegment(piece.slice(equals + 1));
      if (name === undefined || values === undefined)
        return this.refuse("A query parameter has no value, or is not UTF-8 in percent-encoding.");
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

/** A name that is a word. Anything else may be a key, an address or an email address that was put in the wrong place. */
const shownName = (name: string) => (/^[a-z_-]{1,24}$/i.test(name) ? ` \`${name}\`` : "");
