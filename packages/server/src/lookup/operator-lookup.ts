// operator-lookup.ts: looks up addresses, networks, AS numbers, domains and email addresses for the operator, with
// evidence, and assesses one visitor. Nothing is limited, counted or stored.
//
// Cost: in small steps, a large network takes up to three seconds, and an AS up to one second. At most one such request
// per token runs at a time, and at most two in all.

import { MAX_NETWORKS } from "@inkling/contract";
import { messageOf, openRelease, ReleaseError } from "@inkling/data";
import {
  Answerer,
  type AnswerSource,
  bodyOf,
  formatIp,
  formatPrefix,
  INCLUDE,
  type IpAddress,
  isInForce,
  type LoadedRelease,
  type LookupFailure,
  type Outcome,
  Overrides,
  type Prefix,
  parseEmail,
  RESERVED,
} from "@inkling/engine";
import {
  actionOfRule,
  alternatives,
  decideVisitor,
  factsRead,
  parseRuleset,
  UNSTORED_ID,
} from "@inkling/engine/assess";
import type { Steps } from "@inkling/operations";
import { overrideJson } from "@inkling/store/overrides/record";
import type { PublishedRuleset } from "@inkling/store/rulesets/record";
import { type Problem, problem, problemBody } from "../http/problems.ts";
import { finishInSteps, Turns } from "../sharing/turns.ts";
import { problemOf } from "./failures.ts";
import { MAX_EXPLAINED, type NetworksReport, reportOfNetworks, reportOfSystem } from "./network-sources.ts";
import { networkUse, summarizeNetworks } from "./network-summary.ts";
import { readAsn, readNetwork, subjectOf } from "./subject.ts";
import { notAValue, reservedText } from "./value-texts.ts";

/** A release that is in use, with the current overrides. */
interface OperatorSource extends Omit<AnswerSource, "allowMissing"> {
  readonly release: LoadedRelease;
}

/** The public API's message suggests `me`, which is not available in the admin API. */
const NO_ADDRESS =
  "ip: is not an IP address: send one, without port, prefix, zone, brackets or leading zeros.";

/** Maximum number of prefixes to examine for all networks of a request. Examining them takes about three seconds. */
const MAX_PREFIXES = 1 << 22;
/** Maximum number of overrides to list for a network. */
const MAX_OVERRIDES = 100;

const decoder = new TextDecoder();
const parse = (body: Uint8Array) => JSON.parse(decoder.decode(body));

/** The console shows all data that exists, and lists the missing data. */
const withAllData = (source: OperatorSource): AnswerSource => ({ ...source, allowMissing: true });

/** Networks and autonomous systems take seconds. Two tokens may look them up at the same time. */
const turns = new Turns({ running: 2, waitingPerOwner: 4 });

/** Runs a computation in steps, in the caller's turn if it takes long. */
function run<T>(values: readonly string[], steps: Steps<T>, { owner, signal }: Caller): Promise<T> {
  const work = () => finishInSteps(steps, signal);
  return values.some(isLong) ? turns.take(owner, signal, work) : work();
}

const isLong = (value: string) => value.includes("/") || readAsn(value.trim()) !== undefined;

/** Who asks: the name of a token, and a signal that ends the work when the client has left. */
export interface Caller {
  readonly owner: string;
  readonly signal: AbortSignal;
}

/**
 * Looks values up.
 * @param parts the maximum number of parts to list for a network
 * @throws TooManyWaiting if the caller has too many long lookups waiting
 */
export function lookUpValues(
  source: OperatorSource,
  values: readonly string[],
  parts: number,
  caller: Caller,
): Promise<readonly object[]> {
  return run(values, answersOf(values, withAllData(source), parts), caller);
}

/** One release's answer for the history of a value, or the reason why the release cannot be read. */
type HistoryAnswer = { readonly answer: object | null; readonly problem: string | null };

/**
 * Looks a value up in several releases, without overrides.
 * @param names the releases, newest first
 * @throws TooManyWaiting
 */
export function lookUpInReleases(
  dataDir: string,
  names: readonly string[],
  value: string,
  now: number,
  caller: Caller,
): Promise<readonly HistoryAnswer[]> {
  return run([value], historyOf(dataDir, names, value, now), caller);
}

function* historyOf(
  dataDir: string,
  names: readonly string[],
  value: string,
  now: number,
): Steps<readonly HistoryAnswer[]> {
  const history: HistoryAnswer[] = [];
  for (const name of names) {
    yield;
    try {
      const source = { release: openRelease(dataDir, name), overrides: Overrides.NONE, now };
      const limits = { prefixes: MAX_PREFIXES, parts: 1, isExplained: false };
      const answer = yield* answerOf(value.trim(), new Answerer(), withAllData(source), limits);
      history.push({ answer, problem: null });
    } catch (error) {
      if (!(error instanceof ReleaseError)) throw error;
      history.push({ answer: null, problem: messageOf(error) });
    }
  }
  return history;
}

function* answersOf(
  values: readonly string[],
  source: AnswerSource,
  parts: number,
): Steps<readonly object[]> {
  const answerer = new Answerer();
  const limits = { prefixes: MAX_PREFIXES, parts, isExplained: values.length === 1 };
  const answers: object[] = [];
  for (const value of values) answers.push(yield* answerOf(value.trim(), answerer, source, limits));
  return answers;
}

/**
 * Assesses a visitor as a caller would send it, parsed from JSON.
 * @returns the answer, or what is wrong with the visitor, one line per mistake
 * @throws RulesetError
 */
export function assessVisitor(
  source: OperatorSource,
  visitor: unknown,
  { number, text }: Pick<PublishedRuleset, "number" | "text">,
) {
  const answerer = new Answerer();
  const ruleset = parseRuleset(text, number);
  const found = decideVisitor(visitor, ruleset, {
    answerer,
    source: withAllData(source),
    now: source.now,
    parse,
    id: UNSTORED_ID,
    include: { facts: true, evidence: true },
  });
  if ("mistakes" in found) return { refused: found.mistakes };
  if ("failure" in found) {
    const { failure, ip } = found;
    const isInvalid = failure.reason === "address_invalid";
    return { refused: [isInvalid ? NO_ADDRESS : problemAbout(failure, ip, answerer.address).detail] };
  }
  return {
    decision: found.answer,
    alternatives: alternatives(found.facts, ruleset, found.degraded),
    thresholds: ruleset.thresholds,
    facts_read: factsRead(found.answer, ruleset),
    rule_action: actionOfRule(found.answer, ruleset),
  };
}

interface Limits {
  /** Number of prefixes that may still be examined for the remaining networks of the request. */
  prefixes: number;
  readonly parts: number;
  /** Whether to report feeds and owners. */
  readonly isExplained: boolean;
}

function* answerOf(value: string, answerer: Answerer, source: AnswerSource, limits: Limits): Steps<object> {
  const subject = subjectOf(value);
  switch (subject?.kind) {
    case "address":
      return ofAddress(value, answerer, source);
    case "email":
      return ofMailbox(value, value, "email", answerer, source);
    case "domain":
      return ofMailbox(value, subject.mailbox, "domain", answerer, source);
    case "network":
      return yield* ofNetwork(value, subject.network, source, limits);
    case "as":
      return yield* ofSystem(value, subject.asn, source, limits);
  }
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
    host === undefined ? undefined : source.overrides.compiled.matchEmail(mailbox, host, source.now);
  const email = documentOf(answerer.answerEmail(mailbox, source, true));
  return {
    value,
    kind,
    email,
    overrides: (verdict?.applied ?? []).map(({ override }) => overrideJson(override)),
  };
}

function ofAddress(value: string, answerer: Answerer, source: AnswerSource) {
  answerer.readAddress(value);
  const { address } = answerer;
  const answer = (lookup: "geolocate" | "reputation", include: number) =>
    documentOf(answerer.answerAddress(lookup, address, source, include), value, address);
  return {
    value,
    kind: "address",
    address: formatIp(address),
    geolocation: answer("geolocate", INCLUDE.evidence | INCLUDE.network),
    reputation: answer("reputation", INCLUDE.evidence),
    overrides: (source.overrides.compiled.matchAddress(address, source.now)?.applied ?? []).map(
      ({ override }) => overrideJson(override),
    ),
  };
}

function* ofNetwork(value: string, network: Prefix, source: AnswerSource, limits: Limits): Steps<object> {
  const use = networkUse(network);
  const overrides = overridesWithin([network], source);
  const answer = { value, kind: "network", network: formatPrefix(network), overrides };
  if (use !== undefined)
    return { ...answer, summary: documentOf(RESERVED.get(use)!, value, network.address) }; // RESERVED covers every use
  if (limits.isExplained) {
    const { networks: _, ...summary } = yield* reportOfNetworks(
      [network],
      source,
      MAX_EXPLAINED,
      limits.parts,
    );
    return { ...answer, summary };
  }
  const summary = yield* summarizeNetworks([network], source, limits.prefixes, limits.parts);
  limits.prefixes -= summary.prefix_count;
  return { ...answer, summary };
}

function* ofSystem(value: string, asn: number, source: AnswerSource, limits: Limits): Steps<object> {
  const { parts, isExplained } = limits;
  const found = yield* reportOfSystem(asn, source, Math.min(MAX_EXPLAINED, limits.prefixes), parts);
  const examined = (found?.ipv4?.prefix_count ?? 0) + (found?.ipv6?.prefix_count ?? 0);
  limits.prefixes = Math.max(0, limits.prefixes - examined); // both families may use the whole rest
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
function overridesWithin(networks: readonly Prefix[], { overrides, now }: AnswerSource) {
  if (overrides.all.length === 0) return [];
  const { compiled } = overrides;
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
