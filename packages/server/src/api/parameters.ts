// parameters.ts: the strict reader of an operation's query parameters.
//
// in   the query of a request, as sent, without its "?"
// out  bits of WANTS, or a problem that names what is allowed
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
  /** Made once: a flood of bad requests must not cost a text each. */
  private readonly refusal: Problem;

  /** @param rows values of one name may stand together in a query, separated by commas */
  constructor(rows: readonly ParameterRow[]) {
    this.rows = rows.map(({ name, value, wants }) => ({ name, value, bit: bitOf(wants) }));
    const names = [...new Set(rows.map(({ name }) => name))];
    const allowed = names
      .map((name) => rows.flatMap((row) => (row.name === name ? row.value : [])).join(","))
      .map((values, i) => `\`${names[i]}=${values}\`${values.includes(",") ? " or some of these" : ""}`)
      .join(", ");
    this.refusal =
      rows.length === 0
        ? problem("PARAMETER_INVALID")
        : problem("PARAMETER_INVALID", `Allowed here, each parameter at most once: ${allowed}.`);
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
      if (name === undefined || values === undefined || seen.includes(name)) return this.refusal;
      seen.push(name);
      for (const value of values.split(",")) {
        const row = this.rows.find((row) => row.name === name && row.value === value);
        if (row === undefined || (wants & row.bit) !== 0) return this.refusal;
        wants |= row.bit;
      }
    }
    return wants;
  }
}
