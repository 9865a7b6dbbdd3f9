// decided.ts: defines what one decision read and decided, and the part of it that is stored.

import type { DecisionAnswer } from "@inkling/contract";
import {
  type DecisionInput,
  FACT_INDEX,
  type Facts,
  namedFacts,
  type Rule,
  type Ruleset,
} from "@inkling/engine/assess";
import type { VisitorTraces } from "@inkling/store/decisions/memory";
import type { DecisionRow, RequestName } from "@inkling/store/decisions/record";
import type { Question } from "../lookup/pipeline.ts";
import { traceColumns } from "./memory.ts";

/** Maximum length of a decision's stored facts. Inkling's own facts take about 800 characters. */
const MAX_FACTS_LENGTH = 8_192;
const OWN = "facts.";

export interface Decided {
  readonly input: DecisionInput;
  readonly facts: Facts;
  readonly ruleset: Ruleset;
  readonly answer: DecisionAnswer;
  /** What later decisions recognize the visitor by. */
  readonly traces: VisitorTraces;
}

/**
 * Creates the row in which a decision is stored.
 * @param name hashes that identify a request with an `Idempotency-Key`
 */
export function decisionRow(
  { input, facts, ruleset, answer, traces }: Decided,
  { now, key, ids }: Pick<Question, "now" | "key" | "ids">,
  name?: RequestName,
): DecisionRow {
  const domain = facts[FACT_INDEX["email.domain"]];
  return {
    id: answer.id,
    created_at: now,
    event: input.event,
    ref: input.ref ?? null,
    ruleset: answer.ruleset,
    data_version: answer.data_version,
    action: answer.action,
    review: answer.review ? 1 : 0,
    score: answer.score,
    rule: answer.rule,
    reasons: JSON.stringify(answer.reasons),
    shadow: JSON.stringify(answer.shadow),
    degraded: JSON.stringify(answer.degraded),
    facts: factsText(namedFacts(storedFacts(facts, ruleset), ruleset)),
    email_domain: typeof domain === "string" ? domain : null,
    key_id: key?.id ?? null,
    request_id: ids?.request_id ?? null,
    trace_id: ids?.trace_id ?? null,
    ...traceColumns(traces, input.event),
    idempotency: name?.idempotency ?? null,
    body_hash: name?.body_hash ?? null,
    unweighted: unweightedOf(facts, ruleset),
  };
}

/** Returns the codes of the reasons with weight 0 that apply, so that outcomes can show what weight they deserve. */
function unweightedOf(facts: Facts, { unweighted }: Ruleset): string | null {
  const codes = unweighted.filter(({ condition }) => condition.matches(facts)).map(({ code }) => code);
  return codes.join(" ") || null;
}

/** Drops the user agent unless a rule reads it, because it can identify people. Replays need it only for such rules. */
function storedFacts(facts: Facts, { live, shadow }: Ruleset): Facts {
  const index = FACT_INDEX.user_agent;
  const reads = ({ condition }: Rule) => condition.reads.has(index);
  if (facts[index] === undefined || live.some(reads) || shadow.some(reads)) return facts;
  return facts.with(index, undefined);
}

/**
 * Converts facts to JSON of at most {@link MAX_FACTS_LENGTH} characters. It leaves out the caller's own facts that are
 * too large, longest first, because a body of 64 KiB would be stored for each request.
 */
function factsText(facts: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(facts);
  if (text.length <= MAX_FACTS_LENGTH) return text;
  const length = ([name, value]: [string, unknown]) => name.length + JSON.stringify(value).length;
  const own = Object.entries(facts).filter(([name]) => name.startsWith(OWN));
  own.sort((a, b) => length(b) - length(a));
  let excess = text.length - MAX_FACTS_LENGTH;
  const left: Record<string, unknown> = { ...facts };
  for (const one of own) {
    if (excess <= 0) break;
    delete left[one[0]];
    excess -= length(one);
  }
  return JSON.stringify(left);
}
