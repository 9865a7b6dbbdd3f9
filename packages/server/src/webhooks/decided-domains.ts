// decided-domains.ts: reads the parts of stored decisions that alerts about domains need.

import type { FactName } from "@inkling/contract";
import type { DecisionStore } from "@inkling/store/decisions";
import type { StoredRow } from "@inkling/store/decisions/record";
import type { DecidedDomains } from "./events.ts";

const VERDICT: FactName = "email.disposable";

/** Returns the domain verdict that a decision used; undefined if there was no data. */
function verdictOf({ facts }: StoredRow): boolean | undefined {
  const value: unknown = JSON.parse(facts)[VERDICT];
  return typeof value === "boolean" ? value : undefined;
}

export const decidedDomains = (decisions: Pick<DecisionStore, "domainsSince" | "list">): DecidedDomains => ({
  async *decidedDomains(since) {
    for await (const page of decisions.domainsSince(since)) {
      for (const { domain, newest } of page) yield { domain, disposable: verdictOf(newest) };
    }
  },
  decisionsOn: async (domain, since, limit) => {
    const { items } = await decisions.list({ limit }, { domain, since });
    return items.map((row) => ({ id: row.id, ref: row.ref, disposable: verdictOf(row) }));
  },
});
