// domains-today.ts: looks up the domain of a past decision's email address again.
//
// The address itself is not stored, so an override for a whole email address does not apply. Cost: one lookup for each
// distinct domain; after MAX_KEPT domains, the cache is emptied.

import type { DegradedData, EmailVerdict } from "@inkling/contract";
import { type Answerer, type AnswerSource, bodyOf } from "../lookup/answerer.ts";
import type { FactValue } from "./facts.ts";
import type { PastDecision } from "./replay.ts";
import { DOMAIN_FACTS, domainFacts } from "./visitor.ts";

const MAX_KEPT = 100_000;

interface Today {
  readonly facts: Readonly<Record<string, FactValue>>;
  readonly lacks: readonly DegradedData[];
}

export class DomainsToday {
  private readonly look: (domain: string) => Today;
  private readonly kept = new Map<string, Today>();

  /** @param parse parses UTF-8 JSON */
  constructor(answerer: Answerer, source: AnswerSource, parse: (body: Uint8Array) => unknown) {
    const lacks: readonly DegradedData[] = source.release?.states.email.missing.includes("disposable")
      ? ["disposable"]
      : [];
    this.look = (domain) => {
      const outcome = answerer.answerEmail(`x@${domain}`, { ...source, allowMissing: true }, true);
      if ("reason" in outcome) return { facts: {}, lacks };
      const verdict = parse(bodyOf(outcome)) as EmailVerdict; // the segment's answers have this shape
      const labels = verdict.evidence?.map(({ label }) => label) ?? [];
      const facts = Object.entries(domainFacts(verdict, labels)).filter(
        ([name]) => lacks.length === 0 || !isOfData(name),
      );
      return { facts: Object.fromEntries(facts), lacks };
    };
  }

  /** @returns the decision with today's facts; the same object if the decision has no email domain */
  refresh(decision: PastDecision): PastDecision {
    const domain = decision.facts["email.domain"];
    if (typeof domain !== "string") return decision;
    const { facts, lacks } = this.today(domain);
    const stored = Object.entries(decision.facts).filter(([name]) => !isOfData(name));
    const degraded = [...decision.degraded.filter((data) => data !== "disposable"), ...lacks];
    return { ...decision, facts: { ...Object.fromEntries(stored), ...facts }, degraded };
  }

  private today(domain: string): Today {
    let found = this.kept.get(domain);
    if (found === undefined) {
      if (this.kept.size >= MAX_KEPT) this.kept.clear();
      found = this.look(domain);
      this.kept.set(domain, found);
    }
    return found;
  }
}

const isOfData = (name: string) => DOMAIN_FACTS.some((fact) => fact === name);
