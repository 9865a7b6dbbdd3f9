// sandbox-server.ts: a server in this process. It answers the client's requests as the sandbox does
// (docs/sandbox.md of the server), with answers that a test sets, or not at all.
//
// in   the arguments that the client passes to `fetch`
// out  a Response like the server's, or a connection failure
// src  sandbox-answers.ts, generated from the server's own tables

import type { Answer, Lookup } from "../answers.ts";
import type { AssessmentResult } from "../assess.ts";
import type { DataName } from "../data-state.ts";
import { type ClientCode, InklingError, type ServerCode } from "../errors.ts";
import { type AssessmentInput, DATA_OF } from "../generated.ts";
import { SANDBOX } from "./sandbox-answers.ts";
import { PLAIN_DECISION, sandboxDecision } from "./sandbox-decision.ts";
import type { Row } from "./sandbox-table.ts";
import { domainOf, normal, PLAIN, sandboxRow, subjectOf } from "./sandbox-values.ts";

/** The members of an answer that matter to a test, including evidence and checks. */
export type OwnAnswer<L extends Asked> = Partial<
  L extends Lookup
    ? Answer<
        L,
        L extends "email"
          ? { evidence: true; checks: ["mx"] }
          : { evidence: true; network: true; subject: true }
      >
    : AssessmentResult<{ evidence: true; facts: true }>
>;

type Entry = { readonly members?: readonly string[] };
/** Is the entry about the answer itself, rather than about the network that may be included? */
const isOfAnswer = ({ members }: Entry) => !members?.some((name) => name.startsWith("network."));

const PATH = /^\/v1\/(?:ip|user)-intel\/(geolocate|reputation|email)(?:\/(.*))?$/;
const ASSESS_PATH = "/v1/assess";
const OUTCOME_PATH = /^\/v1\/assess\/([^/]+)\/outcome$/;
const PROBLEMS = new Map(Object.entries(SANDBOX.problems));

/** What a test can set an answer for. */
type Asked = Lookup | "assess";

/** What a request asks to include. */
interface Wants {
  readonly evidence: boolean;
  readonly network: boolean;
  readonly subject: boolean;
  readonly mx: boolean;
}

export class SandboxServer {
  private readonly own = new Map<string, Row>();
  private failure: ServerCode | ClientCode | undefined;
  private missing: readonly DataName[] = [];

  /**
   * Sets the answer for a value, which may be a real one. A test sets the members that matter. All others have the
   * values of an ordinary visitor. A code stands for that error: "IP_ADDRESS_NOT_FOUND" for an unknown location,
   * "RATE_LIMITED".
   * @param lookup "assess" for decisions about visitors with that address or email address
   */
  answer<L extends Asked>(lookup: L, value: string, answer: OwnAnswer<L> | ServerCode): void {
    if (typeof answer === "string") documentOf(lookup, answer); // throws for an unknown code
    this.own.set(
      `${lookup} ${normal(value)}`,
      typeof answer === "string" ? answer : completed(lookup, value, answer),
    );
  }

  /** Makes every lookup fail from now on, as if the service were unavailable. */
  fail(code: ServerCode | ClientCode = "CONNECTION_FAILED"): void {
    this.failure = code;
  }

  /** Makes lookups succeed again. */
  recover(): void {
    this.failure = undefined;
  }

  /** Makes this data missing from now on, as `data.missing` in answers shows. For tests of `require`. */
  lack(...missing: readonly DataName[]): void {
    this.missing = missing;
  }

  /** Answers a request of the client, which uses this as its `fetch`. */
  async fetch(url: string, { body, headers, signal }: RequestInit): Promise<Response> {
    signal?.throwIfAborted();
    const { pathname, searchParams } = new URL(url);
    const [, name, value] = PATH.exec(pathname) ?? [];
    const lookup = (name ?? "reputation") as Lookup;
    const [, outcomeOf] = OUTCOME_PATH.exec(pathname) ?? [];
    const asked = pathname === ASSESS_PATH || outcomeOf !== undefined ? "assess" : lookup;
    if (this.failure !== undefined) return this.failed(asked, this.failure);
    if (outcomeOf !== undefined) return this.labelled(outcomeOf, String(body));
    if (asked === "assess") return this.assessed(JSON.parse(String(body)), searchParams.get("include") ?? "");
    if (name === undefined) return this.refused(lookup, "PATH_NOT_FOUND");
    const included = (searchParams.get("include") ?? "").split(",");
    const wants = {
      evidence: included.includes("evidence"),
      network: included.includes("network"),
      subject: included.includes("subject"),
      mx: searchParams.get("checks") === "mx",
    };
    if (value !== undefined) {
      const row = this.find(lookup, decodeURIComponent(value), wants);
      return typeof row === "string" ? this.refused(lookup, row) : this.sent(lookup, JSON.stringify(row));
    }
    const type = new Headers(headers).get("content-type") ?? "";
    const bodyOf = (text: string) => {
      const row = this.find(lookup, text, wants);
      return JSON.stringify(typeof row === "string" ? documentOf(lookup, row) : row);
    };
    if (type === "application/json") {
      const { values } = JSON.parse(String(body)) as { readonly values: readonly string[] };
      return this.sent(lookup, `{"answers":[${values.map(bodyOf).join(",")}]}`);
    }
    if (wants.mx) return this.refused(lookup, "PARAMETER_INVALID");
    const lines = String(body)
      .split("\n")
      .filter((line) => line !== "");
    return this.sent(lookup, lines.map((line) => `${bodyOf(JSON.parse(line))}\n`).join(""), type);
  }

  private assessed(visitor: AssessmentInput, include: string): Response {
    const { ip, email } = visitor;
    const own = [ip, email].map((value) => value && this.own.get(`assess ${normal(value)}`)).find(Boolean);
    const decided: Row = own || sandboxDecision(visitor);
    if (typeof decided === "string") return this.refused("assess", decided);
    const { facts, ...plain } = decided;
    const wants = { evidence: true, network: false, subject: false, mx: false };
    const found = (lookup: Lookup, value: string, more: Partial<Wants> = {}) => {
      const row = this.find(lookup, value, { ...wants, ...more });
      return typeof row === "string" ? undefined : row;
    };
    const evidence = {
      ...(ip !== undefined && {
        ip: { geolocate: found("geolocate", ip), reputation: found("reputation", ip, { network: true }) },
      }),
      ...(email !== undefined && { email: found("email", email) }),
    };
    const included = include.split(",");
    const answer = {
      ...(included.includes("evidence") && evidence),
      ...plain,
      ...(included.includes("facts") && { facts: facts ?? {} }),
    };
    return new Response(JSON.stringify(answer), { headers: headersOf("application/json") });
  }

  /** Returns the response to an outcome. All decisions have the sandbox's id, unless a test has set a different id. */
  private labelled(id: string, body: string): Response {
    const isKnown =
      id === PLAIN_DECISION.id ||
      [...this.own.values()].some((row) => typeof row !== "string" && row.id === id);
    if (!isKnown) return this.refused("assess", "DECISION_NOT_FOUND");
    const { outcome } = JSON.parse(body) as { readonly outcome: string };
    return new Response(JSON.stringify({ id, outcome }), { headers: headersOf("application/json") });
  }

  private find(lookup: Lookup, value: string, wants: Wants): Row {
    const row = this.own.get(`${lookup} ${normal(value)}`) ?? sandboxRow(lookup, value, wants.mx);
    if (typeof row === "string") return row;
    const { evidence = [], checks = { mx: "found" }, ip, prefix, network, ...plain } = row;
    const subject = subjectOf(value);
    return {
      ...plain,
      ...(wants.mx && { checks }),
      ...(wants.subject && { ip: ip ?? subject.ip, prefix: prefix ?? subject.prefix }),
      ...(wants.network && { network: network ?? { prefix: subject.prefix, ...UNKNOWN_NETWORK } }),
      ...(wants.evidence && {
        evidence: wants.network ? evidence : (evidence as Entry[]).filter(isOfAnswer),
      }),
    };
  }

  private sent(lookup: Lookup, text: string, type = "application/json"): Response {
    const ofLookup: readonly DataName[] = DATA_OF[lookup];
    const missing = this.missing.filter((name) => ofLookup.includes(name));
    const state = missing.length > 0 && { "Inkling-Data-State": `partial; missing="${missing.join(" ")}"` };
    return new Response(text, { headers: { ...headersOf(type), ...state } });
  }

  private refused(lookup: Asked, code: string): Response {
    const document = documentOf(lookup, code);
    const retryAfter = SANDBOX.retryAfter[code];
    return new Response(JSON.stringify({ ...document, request_id: "fake" }), {
      status: document.status,
      headers: {
        ...headersOf("application/problem+json"),
        ...(retryAfter !== undefined && { "Retry-After": retryAfter }),
      },
    });
  }

  private failed(lookup: Asked, code: ServerCode | ClientCode): Response {
    if (PROBLEMS.has(code)) return this.refused(lookup, code);
    throw new InklingError(code, "The fake server is configured to fail");
  }
}

const headersOf = (type: string) => ({
  "Content-Type": type,
  "Inkling-Data-Version": SANDBOX.version,
  "X-Request-Id": "fake",
});

/** @throws TypeError for a code that no server returns */
function documentOf(lookup: Asked, code: string) {
  const row = PROBLEMS.get(code);
  if (row === undefined)
    throw new TypeError(`@inkling/client/testing: ${code} is not a code that a server returns`);
  return { ...row, detail: row.detail.replace("{lookup}", lookup) };
}

const UNKNOWN_NETWORK = { kind: "unknown", shared: false, services: [] };

function completed(lookup: Asked, value: string, answer: Readonly<Record<string, unknown>>): Row {
  if (lookup === "assess") return { ...PLAIN_DECISION, ...answer };
  const isDisposable = lookup === "email" && answer.disposable === true;
  const providers = isDisposable && { providers: [domainOf(value)] };
  return { ...PLAIN[lookup], ...providers, ...answer };
}
