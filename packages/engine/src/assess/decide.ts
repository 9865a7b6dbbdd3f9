// decide.ts: all steps of a decision about one visitor, from what the caller sent to the answer. Operations, the
// command line and `@inkling/local` share them. The public API has the same steps, with sandbox answers and counts in between.

import type { DecisionAnswer, DegradedData } from "@inkling/contract";
import type { Answerer, AnswerSource } from "../lookup/answerer.ts";
import type { LookupFailure } from "../lookup/failure.ts";
import { decisionAnswer } from "./answer.ts";
import { assess } from "./assess.ts";
import type { Facts } from "./facts.ts";
import { lacksHistory, type Trace } from "./history.ts";
import type { Ruleset } from "./ruleset.ts";
import { explainVisitor, lookUpVisitor, type Parse, readDecisionInput, visitorFacts } from "./visitor.ts";

/** Placeholder id of a decision that is not stored. */
export const UNSTORED_ID = `asm_${"0".repeat(16)}`;

interface VisitorQuestion {
  readonly answerer: Answerer;
  readonly source: AnswerSource;
  /** Epoch ms. */
  readonly now: number;
  readonly parse: Parse;
  readonly id: string;
  /** Optional parts of the answer. */
  readonly include: { readonly facts: boolean; readonly evidence: boolean };
}

type DecidedVisitor =
  | {
      readonly answer: DecisionAnswer;
      readonly facts: Facts;
      readonly degraded: readonly DegradedData[];
      readonly ip: string | undefined;
      readonly email: string | undefined;
    }
  /** What is wrong with the visitor, one line for each mistake. */
  | { readonly mistakes: readonly string[] }
  /** Why there is no answer. The answerer has the address, unless it is invalid. */
  | { readonly failure: LookupFailure; readonly ip: string | undefined };

/** @param visitor what the caller sent, parsed from JSON */
export function decideVisitor(visitor: unknown, ruleset: Ruleset, question: VisitorQuestion): DecidedVisitor {
  const { answerer, source, now, parse, id, include } = question;
  const input = readDecisionInput(visitor, ruleset.schema);
  if (!("event" in input)) return { mistakes: input };
  const { ip, email } = input;
  const invalid = ip === undefined ? undefined : answerer.readAddress(ip);
  if (invalid !== undefined) return { failure: invalid, ip };
  const subject = { address: ip === undefined ? undefined : answerer.address, email };
  const answers = lookUpVisitor(answerer, subject, source, parse);
  if ("reason" in answers) return { failure: answers, ip };
  const facts = visitorFacts(input, answers, ruleset.schema, now);
  const isSent: Readonly<Record<Trace, boolean>> = {
    mailbox: answers.host !== undefined,
    domain: answers.host !== undefined,
    network: ip !== undefined,
    address: ip !== undefined,
    account: input.account !== undefined,
  };
  // Only a server that stores decisions remembers anything.
  const degraded = lacksHistory(ruleset.history, (trace) => isSent[trace])
    ? [...answers.degraded, "history" as const]
    : answers.degraded;
  const decision = assess(facts, ruleset, degraded);
  const answer = decisionAnswer(id, decision, source.release!.manifest.id, answers.didYouMean, {
    facts: include.facts ? { values: facts, ruleset } : undefined,
    evidence: include.evidence ? explainVisitor(answerer, subject, source, parse) : undefined,
  });
  return { answer, facts, degraded, ip, email };
}
