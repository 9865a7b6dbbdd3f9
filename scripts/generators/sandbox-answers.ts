// sandbox-answers.ts: generates the tables of the SDKs' fakes from the server's sandbox. These are
// packages/client/src/testing/sandbox-answers.ts, and the decisions in packages/python/inkling/_sandbox.py.
//
// in   packages/server/src/lookup: the tables, and the functions that answer from them
// out  each row's answer with its evidence, or its code; the problem documents; special-use networks

import {
  DEFAULT_THRESHOLDS,
  PROBLEM_CODES,
  REASON_CODES,
  REASON_ROWS,
  SANDBOX_ADDRESSES,
  SANDBOX_CHECKS,
  SANDBOX_DOMAINS,
  SANDBOX_ME,
  SANDBOX_PROBLEMS,
} from "@inkling/contract";
import { formatIp, INCLUDE, LOOKUPS, type Prefix, parseIp, SPECIAL_USE } from "@inkling/engine";
import {
  type Problem,
  type ProblemCode,
  problem,
  problemBody,
} from "../../packages/server/src/http/problems.ts";
import { WANTS } from "../../packages/server/src/lookup/pipeline.ts";
import { SANDBOX_VERSION, sandboxAddress, sandboxEmail } from "../../packages/server/src/lookup/sandbox.ts";
import { assessInSandbox } from "../../packages/server/src/openapi/examples.ts";
import type { GeneratedFile } from "./generated.ts";

/** All opt-ins of an address lookup. */
const ALL = INCLUDE.evidence | INCLUDE.network | INCLUDE.subject;

function addressOf(text: string) {
  const address = parseIp(text);
  if (address === undefined) throw new Error(`${text} is no address`);
  return address;
}

/** Returns the JSON of an answer, or the code of a problem. */
const found = (outcome: Uint8Array | Problem): unknown =>
  outcome instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(outcome)) : outcome.code;

const addresses = [...SANDBOX_ADDRESSES, ...SANDBOX_PROBLEMS].flatMap(({ v4, v6 }) => [v4, v6]);
const domains = [...SANDBOX_DOMAINS, ...SANDBOX_CHECKS, ...SANDBOX_PROBLEMS].map(({ domain }) => domain);

/** Returns what the address or the email address contributes to a decision by itself, or a problem's code. */
function share(visitor: { readonly ip: string } | { readonly email: string }) {
  const decided = assessInSandbox(visitor, WANTS.facts);
  if ("code" in decided) return decided.code as string;
  const { event: _, ...facts } = decided.answer.facts as Readonly<Record<string, unknown>>;
  return { reasons: decided.answer.reasons.map(({ code }) => code), facts };
}

const WEIGHTS = Object.fromEntries(
  REASON_CODES.filter((code) => REASON_ROWS[code].weight > 0).map((code) => [code, REASON_ROWS[code].weight]),
);

/** Returns the text of the Python module, which has the reasons for addresses and domains, without facts. */
function pythonText(): string {
  const rows = [
    ...addresses.map((text) => [text, share({ ip: text })] as const),
    ...domains.map((domain) => [domain, share({ email: `jane@${domain}` })] as const),
  ].map(([value, found]) => {
    const reasons = typeof found === "string" ? JSON.stringify(found) : pythonTuple(found.reasons);
    return `    ${JSON.stringify(value)}: ${reasons},`;
  });
  const problems = PROBLEM_CODES.map((code) => {
    const { status, title, detail } = problemRow(SANDBOX_PROBLEMS.find((row) => row.code === code)!);
    return `    ${JSON.stringify(code)}: (${status}, ${JSON.stringify(title)}, ${JSON.stringify(detail.replace(LOOKUP, "assess"))}),`;
  });
  return `# Written by \`npm run generate\` from the server's sandbox. Do not edit.
from __future__ import annotations

from typing import Dict, Tuple, Union

VERSION = ${JSON.stringify(SANDBOX_VERSION)}
# What an address or a domain contributes to a decision: reasons, or a code.
ASSESSED: Dict[str, Union[Tuple[str, ...], str]] = {
${rows.join("\n")}
}
# In the order in which answers have them.
WEIGHTS: Dict[str, float] = ${JSON.stringify(WEIGHTS).replaceAll(":", ": ").replaceAll(",", ", ")}
THRESHOLDS: Tuple[Tuple[str, float], ...] = (${ACTIONS_BY_STRICTNESS.map((action) => `("${action}", ${DEFAULT_THRESHOLDS[action]})`).join(", ")})
# Status, title and detail of each code.
PROBLEMS: Dict[str, Tuple[int, str, str]] = {
${problems.join("\n")}
}
`;
}

const ACTIONS_BY_STRICTNESS = ["deny", "challenge"] as const;
const pythonTuple = (texts: readonly string[]) =>
  texts.length === 0 ? "()" : `(${texts.map((text) => `${JSON.stringify(text)},`).join(" ")})`;

/** Placeholder for the lookup's name in a problem's detail. */
const LOOKUP = "{lookup}";

function problemRow({ code, v4, domain }: (typeof SANDBOX_PROBLEMS)[number]) {
  const outcomes = LOOKUPS.map((lookup) =>
    lookup === "email" ? sandboxEmail(`jane@${domain}`) : sandboxAddress(lookup, addressOf(v4)),
  );
  const rows = outcomes.map((outcome, i) => {
    if (outcome instanceof Uint8Array) throw new Error(`${code} is no problem`);
    const named = outcome.detail.replace(`"${LOOKUPS[i]}"`, `"${LOOKUP}"`);
    return JSON.parse(problemBody({ ...outcome, detail: named }));
  });
  if (rows.some((row) => row.detail !== rows[0].detail)) throw new Error(`${code} differs between lookups`);
  return rows[0];
}

const retryAfter = (code: ProblemCode) => problem(code).headers["Retry-After"];

const networks = (isDocumentation: boolean) =>
  SPECIAL_USE.filter(({ use }) => (use === "documentation") === isDocumentation).map(({ prefix }) =>
    networkText(prefix),
  );
const networkText = ({ address, bits }: Prefix) => `${formatIp(address)}/${bits}`;

export const sandboxAnswers = (): GeneratedFile[] => [
  { path: "packages/client/src/testing/sandbox-answers.ts", content: fileText() },
  { path: "packages/python/inkling/_sandbox.py", content: pythonText() },
];

function answers(): object {
  const byAddress = (lookup: "geolocate" | "reputation") =>
    Object.fromEntries(addresses.map((text) => [text, found(sandboxAddress(lookup, addressOf(text), ALL))]));
  return {
    version: SANDBOX_VERSION,
    me: SANDBOX_ME,
    geolocate: byAddress("geolocate"),
    reputation: byAddress("reputation"),
    email: Object.fromEntries(domains.map((domain) => [domain, found(sandboxEmail(`jane@${domain}`, true))])),
    checkedEmail: Object.fromEntries(
      SANDBOX_CHECKS.map(({ domain }) => [domain, found(sandboxEmail(`jane@${domain}`, true, true))]),
    ),
    assessedAddresses: Object.fromEntries(addresses.map((text) => [text, share({ ip: text })])),
    assessedDomains: Object.fromEntries(
      domains.map((domain) => [domain, share({ email: `jane@${domain}` })]),
    ),
    weights: WEIGHTS,
    thresholds: DEFAULT_THRESHOLDS,
    problems: Object.fromEntries(
      PROBLEM_CODES.map((code) => [code, problemRow(SANDBOX_PROBLEMS.find((row) => row.code === code)!)]),
    ),
    retryAfter: Object.fromEntries(
      PROBLEM_CODES.map((code) => [code, retryAfter(code)]).filter(([, seconds]) => seconds !== undefined),
    ),
    documentation: networks(true),
    reserved: networks(false),
  };
}

/** Returns the text of the TypeScript module, with one row per line. */
function fileText(): string {
  const members = Object.entries(answers()).map(([name, value]) => {
    if (typeof value === "string" || Array.isArray(value)) return `  ${name}: ${JSON.stringify(value)},`;
    const rows = Object.entries(value).map(
      ([key, row]) => `    ${JSON.stringify(key)}: ${JSON.stringify(row)},`,
    );
    return `  ${name}: {\n${rows.join("\n")}\n  },`;
  });
  return `// sandbox-answers.ts: the server's sandbox, row by row. Written by \`npm run generate\`; do not edit.

// biome-ignore-all format: one row a line

import type { SandboxAnswers } from "./sandbox-table.ts";

export const SANDBOX: SandboxAnswers = {
${members.join("\n")}
};
`;
}
