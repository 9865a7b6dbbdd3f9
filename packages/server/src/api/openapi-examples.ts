// openapi-examples.ts: provides the sandbox's answers as examples for the public API's document.

import {
  type DecisionAnswer,
  OPERATIONS,
  type OperationId,
  SANDBOX_ADDRESSES,
  SANDBOX_CHECKS,
  SANDBOX_DOMAINS,
  SANDBOX_PROBLEMS,
  SANDBOX_VISITORS,
  type VisitorInput,
} from "@inkling/contract";
import { INCLUDE, LOOKUPS, type Lookup, Overrides, parseIp } from "@inkling/engine";
import { NO_RULESET } from "@inkling/store/rulesets/record";
import { Decider } from "../decisions/decider.ts";
import { type Problem, type ProblemCode, problem, problemBody } from "../http/problems.ts";
import { Pipeline, PLAIN, type Question } from "../lookup/pipeline.ts";
import { sandboxAddress, sandboxEmail } from "../lookup/sandbox.ts";
import type { Example } from "../openapi/document.ts";
import { Counts } from "../telemetry/counts.ts";

export type Examples = Readonly<Record<string, Example>>;
type Answer = Uint8Array | Problem;

const USER = "jane";
const decoder = new TextDecoder();

const documentOf = (answer: Answer): unknown =>
  JSON.parse(answer instanceof Uint8Array ? decoder.decode(answer) : problemBody(answer));

export const problemExample = (code: ProblemCode): unknown =>
  JSON.parse(problemBody(problem(code), "tnbctz7kxp"));

/** Example values of `{ip}`. */
const ADDRESS_VALUES = values([
  ...SANDBOX_ADDRESSES.map(({ v4, meaning }) => [v4, meaning] as const),
  ...SANDBOX_PROBLEMS.map(({ v4, code }) => [v4, code] as const),
]);

/** Example values of `{email_address}`. */
const EMAIL_VALUES = values([
  ...[...SANDBOX_DOMAINS, ...SANDBOX_CHECKS].map(
    ({ domain, meaning }) => [`${USER}@${domain}`, meaning] as const,
  ),
  ...SANDBOX_PROBLEMS.map(({ domain, code }) => [`${USER}@${domain}`, code] as const),
]);

function values(rows: readonly (readonly [value: string, meaning: string])[]): Examples {
  return Object.fromEntries(
    rows.map(([value, meaning]) => [value, { summary: `Sandbox: ${meaning}`, value }]),
  );
}

/** Creates examples of the sandbox's answers, without values that the sandbox refuses. */
function answersOf(rows: readonly (readonly [value: string, summary: string, answer: Answer])[]): Examples {
  return Object.fromEntries(
    rows
      .filter(([, , answer]) => answer instanceof Uint8Array)
      .map(([value, summary, answer]) => [value, { summary, value: documentOf(answer) }]),
  );
}

function addressExamples(lookup: "geolocate" | "reputation"): Examples {
  return answersOf(
    SANDBOX_ADDRESSES.flatMap(({ v4, meaning, evidence, flags }) => {
      const address = parseIp(v4)!; // the addresses in the table are valid
      const plain = [v4, meaning, sandboxAddress(lookup, address)] as const;
      const hasEvidence = lookup === "reputation" ? evidence !== undefined : flags === undefined;
      if (!hasEvidence) return [plain];
      const answer = sandboxAddress(lookup, address, INCLUDE.evidence);
      return [plain, [`${v4}?include=evidence`, `${meaning}, with evidence`, answer] as const];
    }),
  );
}

function emailExamples(): Examples {
  const domains = SANDBOX_DOMAINS.flatMap(({ domain, meaning, evidence }) => {
    const text = `${USER}@${domain}`;
    const plain = [text, meaning, sandboxEmail(text)] as const;
    if (evidence === undefined) return [plain];
    const answer = sandboxEmail(text, true);
    return [plain, [`${text}?include=evidence`, `${meaning}, with evidence`, answer] as const];
  });
  const checks = SANDBOX_CHECKS.map(({ domain, meaning }) => {
    const text = `${USER}@${domain}`;
    return [`${text}?checks=mx`, meaning, sandboxEmail(text, false, true)] as const;
  });
  return answersOf([...domains, ...checks]);
}

const INVALID = "not an address";
const BATCHES: Readonly<Record<Lookup, readonly string[]>> = {
  geolocate: ["192.0.2.2", INVALID],
  reputation: ["192.0.2.7", "2001:db8::6", INVALID],
  email: ["jane@example.com", "jane@disposable.example"],
};

/** Creates a batch of a few values, and its answers. */
function batchExample(scope: Lookup): {
  readonly values: readonly string[];
  readonly answers: readonly unknown[];
} {
  const answer = (text: string): Answer => {
    if (scope === "email") return sandboxEmail(text);
    const address = parseIp(text);
    return address === undefined ? problem("IP_ADDRESS_INVALID") : sandboxAddress(scope, address);
  };
  return { values: BATCHES[scope], answers: BATCHES[scope].map((text) => documentOf(answer(text))) };
}

/** Returns example values for the path parameter with this name. */
export function valueExamples(name: string): Examples | undefined {
  if (name === "ip") return ADDRESS_VALUES;
  return name === "email_address" ? EMAIL_VALUES : undefined;
}

/** Returns examples of an answer. @param type the media type */
export function answerExamples(id: OperationId, type: string): Examples | undefined {
  switch (id) {
    case "assess":
      return decisionExamples(type, "answer");
    case "geolocate":
    case "reputation":
      return addressExamples(id);
    case "email":
      return emailExamples();
    default:
      return batchExamples(id, type, "answers");
  }
}

export const bodyExamples = (id: OperationId, type: string) =>
  id === "assess" ? decisionExamples(type, "visitor") : batchExamples(id, type, "values");

const EVENT = "sign_up";
const SANDBOX: Question = {
  isSandbox: true,
  wants: PLAIN,
  release: undefined,
  overrides: Overrides.NONE,
  now: 0,
  allowMissing: false,
  findCaller: () => undefined,
};
const noChecks = { checkMx: () => ({ outcome: "skipped" as const, known: [] }) };
const decider = new Decider({
  pipeline: new Pipeline(noChecks, new Counts(), { record() {} }),
  rulesets: { current: NO_RULESET },
  precisions: { current: {} },
  visits: { add: () => ({ hour: 0, day: 0 }) },
  decisions: { recall: async () => undefined },
  memoryKeys: [],
  randomBytes: (n) => new Uint8Array(n),
});

/** Assesses a visitor in the sandbox. @param wants bits of WANTS */
function assessInSandbox(visitor: Omit<VisitorInput, "event">, wants: number = PLAIN) {
  const decided = decider.assess({ event: EVENT, ...visitor }, { ...SANDBOX, wants });
  if (decided instanceof Promise) throw new Error("the sandbox has no memory to wait for");
  return decided;
}

/** Returns the sandbox visitors, and the sandbox's decision about each. */
export function sandboxDecisions(): readonly {
  readonly visitor: VisitorInput;
  readonly answer: DecisionAnswer;
}[] {
  return SANDBOX_VISITORS.map((visitor) => {
    const decided = assessInSandbox(visitor);
    if ("code" in decided) throw new Error(`${JSON.stringify(visitor)}: ${decided.detail}`);
    return { visitor: { event: EVENT, ...visitor }, answer: decided.answer };
  });
}

function decisionExamples(type: string, part: "visitor" | "answer"): Examples {
  const rows = sandboxDecisions();
  if (type !== "application/json") {
    const lines = rows.slice(0, 2).map((row) => `${JSON.stringify(row[part])}\n`);
    return { sandbox: { summary: "With a sandbox key", value: lines.join("") } };
  }
  return Object.fromEntries(
    rows.map((row) => {
      const reasons = row.answer.reasons.map(({ code }) => code).join(", ") || "no reason";
      return [reasons, { summary: `Sandbox: ${row.answer.action}, ${reasons}`, value: row[part] }];
    }),
  );
}

const isLookup = (access: string): access is Lookup => LOOKUPS.some((lookup) => lookup === access);

function batchExamples(id: OperationId, type: string, part: "values" | "answers"): Examples | undefined {
  const { looksUp, access } = OPERATIONS[id];
  if (looksUp !== "batch" || !isLookup(access)) return undefined;
  const rows = batchExample(access)[part];
  const isJson = type === "application/json";
  const value = isJson ? { [part]: rows } : rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  return { sandbox: { summary: "With a sandbox key", value } };
}
