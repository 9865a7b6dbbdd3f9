// decider.ts: decides about a visitor that a caller describes.
//
// Cost: a decision costs three lookups, parsing their answers, and evaluating the ruleset (bench/README.md,
// "Decisions").

import {
  type CountSubject,
  countFact,
  type EmailVerdict,
  type Geolocation,
  REPUTATION_FLAGS,
  type Reputation,
} from "@inkling/contract";
import {
  Answerer,
  bitsOf,
  canonicalMailbox,
  INCLUDE,
  parseEmail,
  randomBase62,
  toBase62,
  visitorNetwork,
} from "@inkling/engine";
import {
  assess,
  DEFAULT_RULESET,
  type DecisionInput,
  decisionAnswer,
  type ExplainedAnswers,
  explainVisitor,
  knowableHistory,
  lookUpVisitor,
  type Memories,
  parseRuleset,
  type Ruleset,
  readDecisionInput,
  type VisitorAnswers,
  type VisitorSubject,
  visitorFacts,
  withHistory,
  withPrecisions,
} from "@inkling/engine/assess";
import type { VisitorTraces } from "@inkling/store/decisions/memory";
import type { Decisions } from "@inkling/store/decisions/record";
import type { PublishedRuleset } from "@inkling/store/rulesets/record";
import { type Problem, problem, scopeProblem } from "../http/problems.ts";
import { problemOf } from "../lookup/failures.ts";
import { type Question, WANTS } from "../lookup/pipeline.ts";
import { SANDBOX_VERSION, sandboxAddress, sandboxEmail } from "../lookup/sandbox.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import type { Decided } from "./decided.ts";
import { tracesOf } from "./memory.ts";

type DeciderServices = Pick<
  ThreadServices,
  "pipeline" | "rulesets" | "precisions" | "visits" | "memoryKeys" | "randomBytes"
> & { readonly decisions: Pick<Decisions, "recall"> };

const ID_LENGTH = 16;
const TIME_LENGTH = 7;
/** Maximum number of mistakes that a problem's detail lists. */
const MAX_LINES = 5;
/** The id of every sandbox answer. It is constant so that a client's tests can compare whole answers. */
export const SANDBOX_ID = `asm_${"0".repeat(ID_LENGTH)}`;

const NO_TRACES: VisitorTraces = {};
const NO_MEMORIES: Memories = {};

const NOT_JSON = problem(
  "BODY_INVALID",
  "This is not JSON. Send a JSON object with `event`, and with `ip`, `email` or both.",
);

const decoder = new TextDecoder();
const parse = (bytes: Uint8Array): unknown => JSON.parse(decoder.decode(bytes));

export class Decider {
  private readonly services: DeciderServices;
  private readonly answerer = new Answerer();
  private published: PublishedRuleset | undefined;
  private parsed: Ruleset = DEFAULT_RULESET;

  constructor(services: DeciderServices) {
    this.services = services;
  }

  /** The active ruleset. The primary has already parsed its text successfully. */
  get ruleset(): Ruleset {
    const { current } = this.services.rulesets;
    if (current !== this.published) {
      this.parsed = current.number === 0 ? DEFAULT_RULESET : parseRuleset(current.text, current.number);
      this.published = current;
    }
    return this.parsed;
  }

  /**
   * Assesses a visitor. Returns a promise only if the ruleset reads what earlier decisions say about this visitor.
   * @param value what a caller sent, parsed from JSON; undefined if it was not JSON
   */
  assess(value: unknown, question: Question): Decided | Problem | Promise<Decided> {
    const end = question.span?.startDecision();
    const decided = this.decide(value, question);
    if (end === undefined) return decided;
    return decided instanceof Promise ? decided.then(end) : end(decided);
  }

  private decide(value: unknown, question: Question): Decided | Problem | Promise<Decided> {
    if (value === undefined) return NOT_JSON;
    const { ruleset } = this;
    const input = readDecisionInput(value, ruleset.schema);
    if (!("event" in input)) return problem("BODY_INVALID", sentence(input));
    const subject = this.subjectOf(input, question);
    if ("code" in subject) return subject;
    const sandbox = question.isSandbox ? sandboxVisitor(subject) : undefined;
    if (sandbox !== undefined && "code" in sandbox) return sandbox;
    const answers = sandbox?.answers ?? lookUpVisitor(this.answerer, subject, question, parse);
    if ("reason" in answers) return problemOf(answers);
    if (!question.isSandbox) this.count(answers, question);
    const counts = question.isSandbox ? {} : this.countVisit(ruleset, answers, input, question.now);
    const facts = visitorFacts(input, { ...answers, counts }, ruleset.schema, question.now);
    // The sandbox's answers are fixed. They do not depend on the rulesets that the operator publishes.
    const decidedBy = question.isSandbox ? DEFAULT_RULESET : ruleset;
    const id = question.isSandbox ? SANDBOX_ID : newId(question.now, this.services.randomBytes);
    // not undefined, because the lookup above has used this release
    const version = question.isSandbox ? SANDBOX_VERSION : question.release!.manifest.id;
    const { wants } = question;
    const explain = () => sandbox?.explained ?? explainVisitor(this.answerer, subject, question, parse);
    // Everything that reads the answerer comes before the wait, because the next request overwrites it.
    const evidence = (wants & WANTS.evidence) === 0 ? undefined : explain();
    const { history } = decidedBy;
    const { memoryKeys } = this.services;
    const hasTraces = !question.isSandbox && (memoryKeys.length > 0 || history.facts.length > 0);
    const traces = hasTraces ? tracesOf(history, input, answers, memoryKeys) : NO_TRACES;
    const decide = (memories: Memories | undefined): Decided => {
      const known = memories === undefined ? facts : withHistory(facts, memories);
      const degraded = memories === undefined ? [...answers.degraded, "history" as const] : answers.degraded;
      const assessed = assess(known, decidedBy, degraded);
      const { current } = this.services.precisions;
      const decision = question.isSandbox ? assessed : withPrecisions(assessed, current);
      const answer = decisionAnswer(id, decision, version, answers.didYouMean, {
        facts: (wants & WANTS.facts) === 0 ? undefined : { values: known, ruleset },
        evidence,
        memories,
      });
      return { input, facts: known, ruleset: decidedBy, answer, traces };
    };
    const wanted = knowableHistory(history, (trace) => traces[trace] !== undefined);
    if (wanted.length === 0) return decide(NO_MEMORIES);
    if (memoryKeys.length === 0) return decide(history.decides ? undefined : NO_MEMORIES);
    return this.services.decisions.recall({ facts: wanted, traces, now: question.now }).then(decide);
  }

  private subjectOf({ ip, email }: DecisionInput, question: Question): VisitorSubject | Problem {
    if (ip === undefined) return { address: undefined, email };
    const subject = this.services.pipeline.readSubject(ip, question);
    return "code" in subject ? subject : { address: subject.address, email };
  }

  /** Counts the visit for the subjects that the ruleset uses; others cost nothing. @returns the counts as facts */
  private countVisit(
    { counts }: Ruleset,
    { address, host }: VisitorAnswers,
    { email }: DecisionInput,
    now: number,
  ): VisitorAnswers["counts"] {
    const values: Readonly<Record<CountSubject, string | undefined>> = {
      network: address && visitorNetwork(address),
      mailbox: email === undefined || host === undefined ? undefined : canonicalMailbox(email, host),
      domain: host,
    };
    return Object.fromEntries(
      counts.flatMap((subject) => {
        const value = values[subject];
        if (value === undefined) return [];
        const { hour, day } = this.services.visits.add(subject, value, now);
        return [
          [countFact(subject, "1h"), hour],
          [countFact(subject, "24h"), day],
        ];
      }),
    );
  }

  private count({ place, reputation, email }: VisitorAnswers, question: Question): void {
    const { pipeline } = this.services;
    if (reputation !== undefined)
      pipeline.countFlags(bitsOf(REPUTATION_FLAGS.filter((flag) => reputation[flag])), question);
    if (email?.disposable) pipeline.countDisposable(question);
    if (place !== undefined) pipeline.countCountry(() => place.country.iso_code, question);
  }
}

/**
 * Creates a 16-character id: 7 encode the time, and 9 hold 53 random bits. With purely random ids, each decision
 * touched a different page of the database's index, and storing a decision took
 * 20 µs instead of 10 µs.
 */
const newId = (now: number, randomBytes: (n: number) => Uint8Array) =>
  `asm_${toBase62(now, TIME_LENGTH)}${randomBase62(ID_LENGTH - TIME_LENGTH, randomBytes)}`;

/** Joins the problems of a body into one sentence. */
function sentence(lines: readonly string[]): string {
  const shown = lines.slice(0, MAX_LINES).join("; ");
  const text = lines.length > MAX_LINES ? `${shown}; and ${lines.length - MAX_LINES} more` : shown;
  return /[.?]$/.test(text) ? text : `${text}.`;
}

interface SandboxVisitor {
  readonly answers: VisitorAnswers;
  readonly explained: ExplainedAnswers;
}

/** Returns the sandbox's fixed answers about a visitor. */
function sandboxVisitor({ address, email }: VisitorSubject): SandboxVisitor | Problem {
  const place = address && sandboxAddress("geolocate", address, INCLUDE.evidence);
  const reputation = address && sandboxAddress("reputation", address, INCLUDE.evidence | INCLUDE.network);
  const verdict = email === undefined ? undefined : sandboxEmail(email, true);
  for (const found of [place, reputation, verdict]) {
    if (found === undefined || !("code" in found) || found.code === "IP_ADDRESS_NOT_FOUND") continue;
    return found.code === "SCOPE_REQUIRED" ? scopeProblem("assess") : found;
  }
  const read = <T>(found: Uint8Array | Problem | undefined) =>
    found instanceof Uint8Array ? (parse(found) as T) : undefined;
  const explained = {
    ip: { geolocate: read<Geolocation>(place), reputation: read<Reputation>(reputation) },
    email: read<EmailVerdict>(verdict),
  };
  const mistyped = explained.email?.evidence?.find(({ label }) => label === "mistyped");
  const answers = {
    address,
    place: explained.ip.geolocate,
    reputation: explained.ip.reputation,
    network: explained.ip.reputation?.network ?? undefined,
    host: email === undefined ? undefined : parseEmail(email).host,
    email: explained.email,
    labels: explained.email?.evidence?.map(({ label }) => label),
    didYouMean: mistyped && `${email!.slice(0, email!.lastIndexOf("@"))}@${mistyped.did_you_mean}`,
    degraded: [],
    hasFeed: () => true,
  };
  return { answers, explained: address === undefined ? { email: explained.email } : explained };
}
