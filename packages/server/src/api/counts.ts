// counts.ts: the layout of the counts of this API.

import { PROBLEM_CODES, type ProblemCode } from "../http/problems.ts";
import { Counts, type CountsLayout } from "../telemetry/counts.ts";
import { NO_ROUTE, ROUTES } from "./routes.ts";

export type ApiCounts = Counts<ProblemCode>;

export const API_COUNTS: CountsLayout<ProblemCode> = {
  routes: [...ROUTES, NO_ROUTE].map(({ template }) => template),
  problems: PROBLEM_CODES,
};

export function makeCounts(memory?: Uint8Array): ApiCounts {
  return new Counts(API_COUNTS, memory);
}
