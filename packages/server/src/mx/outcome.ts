// outcome.ts: what a check of a mail domain can find.

import type { MxHost } from "./hosts.ts";

/** Values of `checks.mx`; docs/email.md explains each. */
export const MX_OUTCOMES = [
  "found",
  "implicit",
  "none",
  "null",
  "nxdomain",
  "timeout",
  "failed",
  "busy",
  "skipped",
] as const;
export type MxOutcome = (typeof MX_OUTCOMES)[number];

export interface MxFinding {
  readonly outcome: MxOutcome;
  /** Known hosts among the most preferred MX hosts; not the hosts themselves, of which a domain may have any number. */
  readonly known: readonly MxHost[];
}
