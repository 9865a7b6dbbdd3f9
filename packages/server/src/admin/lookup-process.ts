// lookup-process.ts: looks up values or assesses a visitor for the operator, in a child process that maps the release.
//
// in   one message: LookUpQuestion or AssessQuestion, with a verified release, the overrides, and values or a visitor;
//      or HistoryQuestion, with several releases and one value
// out  one message: the answers, or the reason why a release cannot be opened
// err  an unexpected error ends the process, and the parent's call then fails (releases/process.ts)

import type { AssessmentAnswer } from "@inkling/contract";
import {
  Answerer,
  type AnswerSource,
  bodyOf,
  formatIp,
  formatPrefix,
  INCLUDE,
  type IpAddress,
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
  explainVisitor,
  lookUpVisitor,
  parseRuleset,
  type Ruleset,
  readAssessmentInput,
  visitorFacts,
} from "@inkling/engine/assess";
import { messageOf, openRelease, openVerified, ReleaseError, type Stamps } from "@inkling/release-store";
import { type Problem, problem, problemBody } from "../http/problems.ts";
import { problemOf } from "../lookup/failures.ts";
import { type NetworksReport, reportOfNetworks, reportOfSystem } from "../lookup/network-sources.ts";
import {
  MAX_NETWORKS,
  networkUse,
  readAsn,
  readNetwork,
  summarizeNetworks,
} from "../lookup/network-summary.ts";
import { notAValue, reservedText } from "../lookup/value-texts.ts";
import { overrideJson, overridesOf } from "../overrides/record.ts";
import { answerOnce } from "../releases/process.ts";
import type { PublishedRuleset } from "../rulesets/record.ts";

export interface LookUpQuestion extends DataQuestion {
  readonly type: "look up";
  readonly values: readonly string[];
  /** Maximum number of parts to list for a network. */
  readonly parts: number;
}
export type LookUpAnswer = { readonly answers: readonly object[] } | NoRelease;

/** Looks up one value in several releases, newest first. */
export interface HistoryQuestion {
  readonly type: "history";
  readonly dataDir: string;
  readonly names: readonly string[];
  /** Epoch ms. */
  readonly now: number;
  readonly value: string;
}
/** One entry per release: the answer, or the reason why the release cannot be read. */
export type HistoryAnswer = readonly { readonly answer: object | null; readonly problem: string | null }[];

/** The public API's message suggests `me`, which is not available in the admin API. */
const NO_ADDRESS =
  "ip: is not an IP address: send one, without port, prefix, zone, brackets or leading zeros.";

/** Asks for the assessment of one visitor. */
export interface AssessQuestion extends DataQuestion {
  readonly type: "assess";
  /** The visitor as a caller would send it, parsed from JSON. */
  readonly visitor: unknown;
  readonly ruleset: Pick<PublishedRuleset, "number" | "text">;
}
export type AssessAnswer =
  | {
      readonly assessment: AssessmentAnswer;
      readonly alternatives: readonly Alternative[];
      readonly thresholds: Ruleset["thresholds"];
    }
  /** What is wrong with the visitor, one line per mistake. */
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

/** Maximum number of prefixes to examine for all networks of a request. Examining them takes about three seconds. */
const MAX_PREFIXES = 1 << 22;
/**
 * Maximum number of prefixes to examine for one network or AS, if feeds and owners are reported. Examining them takes
 * about one second.
 */
const MAX_EXPLAINED = 1 << 18;
/** Maximum number of overrides to list for a network. */
const MAX_OVERRIDES = 100;
/** The mailbox to look up for a domain. It stands for any mailbox, and no override names it. */
const ANY_MAILBOX = "any-mailbox-of-this-domain";

const decoder = new TextDecoder();
const parse = (body: Uint8Array) => JSON.parse(decoder.decode(body));

type Question = LookUpQuestion | HistoryQuestion | AssessQuestion;

answerOnce((question: Question): LookUpAnswer | HistoryAnswer | AssessAnswer => {
  if (question.type === "history") return historyOf(question);
  const { dataDir, name, stamps, overrides, now } = question;
  try {
    const release = openRelease(dataDir, name, stamps);
    // In mode "up", the console shows all data that exists, and lists the missing data.
    const source: AnswerSource = { release, overrides: overridesOf(overrides), now, mode: "up" };
    const answerer = new Answerer();
    if (question.type === "assess") return assessed(question, answerer, source);
    const { values, parts } = question;
    const limits = { prefixes: MAX_PREFIXES, parts, isExplained: values.length === 1 };
    return { answers: values.map((text) => answersOf(text.trim(), answerer, source, limits)) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return { problem: messageOf(error) };
  }
});

/** Placeholder id: these assessments are not stored. */
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
  const answers = lookUpVisitor(answerer, subject, source, parse);
  if ("reason" in answers) return { refused: [problemAbout(answers, input.ip, answerer.address).detail] };
  const facts = visitorFacts(input, answers, ruleset.schema, source.now);
  const decision = assess(facts, ruleset, answers.degraded);
  const shown = {
    facts: { values: facts, ruleset },
    evidence: explainVisitor(answerer, subject, source, parse),
  };
  return {
    // not undefined, because the lookup above has used this release
    assessment: assessmentAnswer(NO_ID, decision, source.release!.manifest.id, answers.didYouMean, shown),
    alternatives: alternatives(facts, ruleset, answers.degraded),
    thresholds: ruleset.thresholds,
  };
}

function historyOf({ dataDir, names, now, value }: HistoryQuestion): HistoryAnswer {
  return names.map((name) => {
    try {
      const source: AnswerSource = {
        release: openVerified(dataDir, name),
        overrides: overridesOf([]),
        now,
        mode: "up",
      };
      const limits = { prefixes: MAX_PREFIXES, parts: 1, isExplained: false };
      return { answer: answersOf(value.trim(), new Answerer(), source, limits), problem: null };
    } catch (error) {
      if (!(error instanceof ReleaseError)) throw error;
      return { answer: null, problem: messageOf(error) };
    }
  });
}

interface Limits {
  /** Number of prefixes that may still be examined for the remaining networks of the request. */
  prefixes: number;
  readonly parts: number;
  /** Whether to report feeds and owners. */
  readonly isExplained: boolean;
}

function answersOf(value: string, answerer: Answerer, source: AnswerSource, limits: Limits) {
  if (value.includes("@")) return ofMailbox(value, value, "email", answerer, source);
  if (answerer.readAddress(value) === undefined) return ofAddress(value, answerer, source);
  const network = readNetwork(value);
  if (network !== undefined) return ofNetwork(value, network, source, limits);
  const asn = readAsn(value);
  if (asn !== undefined) return ofSystem(value, asn, source, limits);
  const domain = toAsciiDomain(value);
  if (domain !== undefined) return ofMailbox(value, `${ANY_MAILBOX}@${domain}`, "domain", answerer, source);
  const refusal = JSON.parse(problemBody(problem("VALUE_INVALID", `${notAValue(value)}.`)));
  return { value, kind: "unknown", geolocation: refusal, reputation: refusal, overrides: [] };
}

/** Returns the answer for an email address or a domain. @param mailbox the email address to look up */
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
  const answer = (lookup: "geolocate" | "reputation", include: number) =>
    documentOf(answerer.answerAddress(lookup, address, source, include), value, address);
  return {
    value,
    kind: "address",
    address: formatIp(address),
    geolocation: answer("geolocate", INCLUDE.evidence | INCLUDE.network),
    reputation: answer("reputation", INCLUDE.evidence),
    overrides: (
      source.overrides.compiledWith(source.release).matchAddress(address, source.now)?.applied ?? []
    ).map(overrideJson),
  };
}

function ofNetwork(value: string, network: Prefix, source: AnswerSource, limits: Limits) {
  const use = networkUse(network);
  const overrides = overridesWithin([network], source);
  const answer = { value, kind: "network", network: formatPrefix(network), overrides };
  if (use !== undefined)
    return { ...answer, summary: documentOf(RESERVED.get(use)!, value, network.address) }; // RESERVED covers every use
  if (limits.isExplained) {
    const { networks: _, ...summary } = reportOfNetworks([network], source, MAX_EXPLAINED, limits.parts);
    return { ...answer, summary };
  }
  const summary = summarizeNetworks([network], source, limits.prefixes, limits.parts);
  limits.prefixes -= summary.prefix_count;
  return { ...answer, summary };
}

function ofSystem(value: string, asn: number, source: AnswerSource, { parts, isExplained }: Limits) {
  const found = reportOfSystem(asn, source, MAX_EXPLAINED, parts);
  const networks = [found?.ipv4, found?.ipv6].flatMap((family) => family?.networks ?? []);
  const prefixes = networks.flatMap((network) => readNetwork(network) ?? []);
  const overrides = overridesWithin(prefixes, source);
  const familyOf = (report: NetworksReport | undefined) => {
    if (report === undefined) return undefined;
    const { networks, sources, owners, ...summary } = report;
    const shown = { networks: networks.slice(0, MAX_NETWORKS), network_count: networks.length };
    return { ...summary, ...shown, ...(isExplained && { sources, owners }) };
  };
  const system = found && {
    organization: found.organization,
    ipv4: familyOf(found.ipv4),
    ipv6: familyOf(found.ipv6),
  };
  return { value, kind: "as", asn, system: system ?? null, overrides };
}

/** Finds the active overrides of these networks, of their parts, and of the networks that contain them. */
function overridesWithin(networks: readonly Prefix[], { release, overrides, now }: AnswerSource) {
  if (overrides.all.length === 0) return [];
  const compiled = overrides.compiledWith(release);
  const around = new Set(networks.flatMap((network) => [...compiled.around(network)]));
  const found = overrides.all.filter((one) => around.has(one) && isInForce(one, now));
  return found.slice(0, MAX_OVERRIDES).map(overrideJson);
}

function documentOf(outcome: Outcome | LookupFailure, value?: string, address?: IpAddress): object {
  if (!("reason" in outcome)) return parse(bodyOf(outcome));
  return JSON.parse(problemBody(problemAbout(outcome, value, address)));
}

/**
 * Returns the problem for a failed lookup.
 * @param value an address or a network, if the lookup is about either
 * @param address the address, or the first address of the network
 */
function problemAbout(failure: LookupFailure, value?: string, address?: IpAddress): Problem {
  if (failure.reason !== "reserved" || value === undefined || address === undefined)
    return problemOf(failure);
  const [what, why] = reservedText(value, address, failure.use);
  return problem("IP_ADDRESS_RESERVED", `${what}. ${why[0]!.toUpperCase()}${why.slice(1)}.`);
}
