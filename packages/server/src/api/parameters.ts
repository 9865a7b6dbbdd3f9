// parameters.ts: the query parameters of a route, and their strict reader.
//
// in   the query of a request, as sent, without its "?"
// out  bits of WANTS, or a problem that names what is allowed
// src  RFC 3986 3.4 (percent-encoding; "+" is a plus, not a space)

import { FLAG_ROWS, REPUTATION_FLAGS, type ReputationFlag } from "@inkling/contract";
import { bitsOf } from "@inkling/engine";
import { type Problem, problem } from "../http/problems.ts";
import { decodeSegment } from "../http/request-target.ts";
import { PLAIN, WANTS } from "../lookup/pipeline.ts";

/** One value of one parameter; values of one name may stand together, separated by commas. */
export interface Parameter {
  readonly name: string;
  readonly value: string;
  /** Bits of WANTS, or a flag's above them. */
  readonly wants: number;
}

const INCLUDE_EVIDENCE: Parameter = { name: "include", value: "evidence", wants: WANTS.evidence };
const INCLUDE_NETWORK: Parameter = { name: "include", value: "network", wants: WANTS.network };
const INCLUDE_SUBJECT: Parameter = { name: "include", value: "subject", wants: WANTS.subject };
const CHECKS_MX: Parameter = { name: "checks", value: "mx", wants: WANTS.mx };

/** Above the bits of WANTS. */
const DENY_SHIFT = 8;

/** The flags that `deny` names, as REPUTATION_ANSWERS counts them. */
export const deniedBits = (wants: number): number => wants >> DENY_SHIFT;

const deny = (flag: ReputationFlag): Parameter => ({
  name: "deny",
  value: FLAG_ROWS[flag].deny,
  wants: bitsOf([flag]) << DENY_SHIFT,
});

export class Parameters {
  readonly rows: readonly Parameter[];
  /** Made once: a flood of bad requests must not cost a text each. */
  private readonly refusal: Problem;

  constructor(rows: readonly Parameter[]) {
    this.rows = rows;
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
        if (row === undefined || (wants & row.wants) !== 0) return this.refusal;
        wants |= row.wants;
      }
    }
    return wants;
  }
}

export const NO_PARAMETERS = new Parameters([]);
export const ADDRESS_PARAMETERS = new Parameters([INCLUDE_EVIDENCE, INCLUDE_NETWORK, INCLUDE_SUBJECT]);
export const EMAIL_PARAMETERS = new Parameters([INCLUDE_EVIDENCE, CHECKS_MX]);
export const FORWARD_AUTH_PARAMETERS = new Parameters(REPUTATION_FLAGS.map(deny));
