// lookup-process.ts: answers for the operator, about values or about a visitor, in a process of its own, which maps the
// release.
//
// in   one message: the release with the stamps of its verified files, overrides, and values or a visitor
// out  one message: the answers, or why the release cannot be opened

import type { AssessmentAnswer } from "@inkling/contract";
import {
  Answerer,
  type AnswerSource,
  bodyOf,
  formatIp,
  formatPrefix,
  INCLUDE,
  isInForce,
  type LookupFailure,
  type Outcome,
  type Override,
  type Prefix,
  parseEmail,
  RESERVED,
  toAsciiDomain,
} from "@inkling/engine";
import {
  type Alternative,
  alternatives,
  assess,
  assessmentAnswer,
  lookUpVisitor,
  parseRuleset,
  type Ruleset,
  readAssessmentInput,
  visitorFacts,
} from "@inkling/engine/assess";
import { messageOf, openRelease, ReleaseError, type Stamps } from "@inkling/release-store";
import { problemBody } from "../http/problems.ts";
import { problemOf } from "../lookup/failures.ts";
import { networkUse, readNetwork, summarizeNetworks } from "../lookup/network-summary.ts";
import { overrideJson, overridesOf } from "../overrides/record.ts";
import { answerOnce } from "../releases/process.ts";
import type { PublishedRuleset } from "../rulesets/record.ts";

export interface LookUpQuestion extends DataQuestion {
  readonly type: "look up";
  readonly values: readonly string[];
}
export type LookUpAnswer = { readonly answers: readonly object[] } | NoRelease;

/** The API's own text offers `me`, which the admin API does not have. */
const NO_ADDRESS =
  "ip: is not an IP address: send one, without port, prefix, zone, brackets or leading zeros.";

/** A visitor to be assessed. */
export interface AssessQuestion extends DataQuestion {
  readonly type: "assess";
  /** As a caller would send it, parsed from JSON. */
  readonly visitor: unknown;
  readonly ruleset: Pick<PublishedRuleset, "number" | "text">;
}
export type AssessAnswer =
  | {
      readonly assessment: AssessmentAnswer;
      readonly alternatives: readonly Alternative[];
      readonly thresholds: Ruleset["thresholds"];
    }
  /** What is wrong with the visitor, a line each. */
  | { readonly refused: readonly string[] }
  | NoRelease;

interface NoRelease {
  readonly problem: string;
}

interface DataQuestion {
  readonly dataDir: string;
  readonly name: string;
  readonly stamps: Stamps;
  readonly overrides: readonly Override[];
  /** Epoch ms. */
  readonly now: number;
}

/** Examined for all networks of a request together: about three seconds. */
const MAX_PREFIXES = 1 << 22;
/** Overrides of parts of a network. */
const MAX_OVERRIDES = 100;
/** A mailbox that no override is about, for what is known of its domain. */
const ANY_MAILBOX = "any-mailbox-of-this-domain";

const decoder = new TextDecoder();

answerOnce((question: LookUpQuestion | AssessQuestion): LookUpAnswer | AssessAnswer => {
  const { dataDir, name, stamps, overrides, now } = question;
  try {
    const release = openRelease(dataDir, name, stamps);
    // "up": the console shows what there is, and what is missing.
    const source: AnswerSource = { release, overrides: overridesOf(overrides), now, mode: "up" };
    const answerer = new Answerer();
    if (question.type === "assess") return assessed(question, answerer, source);
    const left = { prefixes: MAX_PREFIXES };
    return { answers: question.values.map((text) => answersOf(text.trim(), answerer, source, left)) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return { problem: messageOf(error) };
  }
});

/** The id of an assessment that nobody stores. */
const NO_ID = `asm_${"0".repeat(16)}`;

function assessed(
  { visitor, ruleset: { number, text } }: AssessQuestion,
  answerer: Answerer,
  source: AnswerSource,
): AssessAnswer {
  const ruleset = parseRuleset(text, number);
  const input = readAssessmentInput(visitor, ruleset.schema);
  if (!("event" in input)) return { refused: input };
  const failure = input.ip === undefined ? undefined : answerer.readAddress(input.ip);
  if (failure !== undefined) return { refused: [NO_ADDRESS] };
  const subject = { address: input.ip === undefined ? undefined : answerer.address, email: input.email };
  const answers = lookUpVisitor(answerer, subject, source, true, (body) => JSON.parse(decoder.decode(body)));
  if ("reason" in answers) return { refused: [problemOf(answers).detail] };
  const facts = visitorFacts(input, answers, ruleset.schema, source.now);
  const decision = assess(facts, ruleset, answers.degraded);
  const shown = { facts: { values: facts, ruleset }, evidence: answers };
  return {
    assessment: assessmentAnswer(NO_ID, decision, source.release!.manifest.id, shown), // it was looked up in
    alternatives: alternatives(facts, ruleset, answers.degraded),
    thresholds: ruleset.thresholds,
  };
}

interface Left {
  prefixes: number;
}

function answersOf(value: string, answerer: Answerer, source: AnswerSource, left: Left) {
  if (value.includes("@")) return ofMailbox(value, value, "email", answerer, source);
  const failure = answerer.readAddress(value);
  if (failure === undefined) return ofAddress(value, answerer, source);
  const network = readNetwork(value);
  if (network !== undefined) return ofNetwork(value, network, source, left);
  const domain = toAsciiDomain(value);
  if (domain !== undefined) return ofMailbox(value, `${ANY_MAILBOX}@${domain}`, "domain", answerer, source);
  const refusal = documentOf(failure);
  return { value, kind: "unknown", geolocation: refusal, reputation: refusal, overrides: [] };
}

/** @param mailbox looked up; of a domain, any */
function ofMailbox(
  value: string,
  mailbox: string,
  kind: "email" | "domain",
  answerer: Answerer,
  source: AnswerSource,
) {
  const { host } = parseEmail(mailbox);
  const verdict =
    host === undefined
      ? undefined
      : source.overrides.compiledWith(source.release).matchEmail(mailbox, host, source.now);
  const email = documentOf(answerer.answerEmail(mailbox, source, true));
  return { value, kind, email, overrides: (verdict?.applied ?? []).map(overrideJson) };
}

function ofAddress(value: string, answerer: Answerer, source: AnswerSource) {
  const { address } = answerer;
  return {
    value,
    kind: "address",
    address: formatIp(address),
    geolocation: documentOf(
      answerer.answerAddress("geolocate", address, source, INCLUDE.evidence | INCLUDE.network),
    ),
    reputation: documentOf(answerer.answerAddress("reputation", address, source, INCLUDE.evidence)),
    overrides: (
      source.overrides.compiledWith(source.release).matchAddress(address, source.now)?.applied ?? []
    ).map(overrideJson),
  };
}

function ofNetwork(value: string, network: Prefix, source: AnswerSource, left: Left) {
  const use = networkUse(network);
  const overrides = overridesWithin(network, source);
  const answer = { value, kind: "network", network: formatPrefix(network), overrides };
  if (use !== undefined) return { ...answer, summary: documentOf(RESERVED.get(use)!) }; // has every use
  const summary = summarizeNetworks([network], source, left.prefixes);
  left.prefixes -= summary.prefix_count;
  return { ...answer, summary };
}

/** Those in force about a network, a part of it, or one around it. */
function overridesWithin(network: Prefix, { release, overrides, now }: AnswerSource) {
  const around = overrides.compiledWith(release).around(network);
  const found = overrides.all.filter((one) => around.has(one) && isInForce(one, now));
  return found.slice(0, MAX_OVERRIDES).map(overrideJson);
}

function documentOf(outcome: Outcome | LookupFailure): object {
  return JSON.parse("reason" in outcome ? problemBody(problemOf(outcome)) : decoder.decode(bodyOf(outcome)));
}
