// outcome.ts: what a check of a mail domain can find.

import type { MxOutcome } from "@inkling/contract";
import type { MxHost } from "./hosts.ts";

export { MX_OUTCOMES, type MxOutcome } from "@inkling/contract";

export interface MxFinding {
  readonly outcome: MxOutcome;
  /** Known hosts among the most preferred MX hosts; not the hosts themselves, of which a domain may have any number. */
  readonly known: readonly MxHost[];
}
