// parameters.ts: the query parameters of every route: one table, and its strict reader.
//
// in   the query of a request, as sent, without its "?"
// out  a set of WANTS as bits, or a problem that names what is allowed
// err  none thrown
// src  RFC 3986 3.4 (percent-encoding; "+" is a plus, not a space)
// cost asked only when there is a query: a request without one pays a comparison of two numbers

import { type Problem, problem } from "../http/problems.ts";
import { decodeSegment } from "../http/request-target.ts";
import type { Route } from "./routes.ts";

/** What a caller may ask for beyond the plain answer; bits of a set. */
export const WANTS = { evidence: 1, mx: 2 } as const;
/** The plain answer. */
export const PLAIN = 0;

export interface Parameter {
  readonly name: string;
  readonly value: string;
  readonly wants: number;
  readonly routes: readonly Route["handler"][];
}

/** Each value of each parameter, and where it may be asked. */
export const PARAMETERS: readonly Parameter[] = [
  {
    name: "include",
    value: "evidence",
    wants: WANTS.evidence,
    routes: ["geolocate", "reputation", "email"],
  },
  { name: "checks", value: "mx", wants: WANTS.mx, routes: ["email"] },
];

const REFUSALS = new Map<Route["handler"], Problem>();

/**
 * What a query asks for. Names and values are case-sensitive; a parameter stands at most once; "a=b&&" is "a=b".
 * @param table for tests
 */
export function readParameters(
  query: string,
  route: Route["handler"],
  table: readonly Parameter[] = PARAMETERS,
): number | Problem {
  let wants = PLAIN;
  const seen: string[] = [];
  for (const piece of query.split("&")) {
    if (piece === "") continue;
    const equals = piece.indexOf("=");
    const name = equals < 0 ? undefined : decodeSegment(piece.slice(0, equals));
    const value = decodeSegment(piece.slice(equals + 1));
    const row = table.find((row) => row.name === name && row.value === value && row.routes.includes(route));
    if (row === undefined || seen.includes(row.name)) return refusal(route, table);
    seen.push(row.name);
    wants |= row.wants;
  }
  return wants;
}

/** Made once for each route: a flood of bad requests must not cost a text each. */
function refusal(route: Route["handler"], table: readonly Parameter[]): Problem {
  const known = table === PARAMETERS ? REFUSALS.get(route) : undefined;
  if (known !== undefined) return known;
  const rows = table.filter((row) => row.routes.includes(route));
  const detail =
    rows.length === 0
      ? undefined // the table of problems says that there are none
      : `Allowed here, each parameter at most once: ${rows.map(({ name, value }) => `\`${name}=${value}\``).join(", ")}.`;
  const made = problem("PARAMETER_INVALID", detail);
  if (table === PARAMETERS) REFUSALS.set(route, made);
  return made;
}
