// fake-server.ts: simulates a server in this process, which returns the answers that a test sets.

import type { Answer, Lookup } from "../answers.ts";
import type { DecisionResult } from "../assess.ts";
import type { DataName } from "../data-state.ts";
import { SERVER_ERRORS } from "../error-codes.ts";
import { type ClientCode, InklingError, type ServerCode } from "../errors.ts";
import { type Action, type Answers, DATA_OF, type DecisionInput, NO_FLAGS } from "../generated.ts";
import { formatIp, parseIp } from "../ip.ts";

/** What a test can set an answer for. */
type Asked = Lookup | "assess";

/** The fields of an answer that matter to a test, including evidence and checks. */
export type OwnAnswer<L extends Asked> = Partial<
  L extends Lookup
    ? Answer<
        L,
        L extends "email"
          ? { evidence: true; checks: ["mx"] }
          : { evidence: true; network: true; subject: true }
      >
    : DecisionResult<{ evidence: true; facts: true }>
>;

/** A request that the client sent. */
export interface FakeRequest {
  /** With its query, from the server's root: "/v1/assess". */
  readonly path: string;
  /** Parsed JSON, or the text of a batch; undefined without a body. */
  readonly body?: unknown;
}

/** An answer, or an error code. */
type Row = Readonly<Record<string, unknown>> | ServerCode;

const PATH = /^\/v1\/(?:ip|user)-intel\/(geolocate|reputation|email)(?:\/(.*))?$/;
const ASSESS_PATH = "/v1/assess";
const OUTCOME_PATH = /^\/v1\/assess\/([^/]+)\/outcome$/;
const VERSION = "fake";
const STRICTNESS: Readonly<Record<Action, number>> = { allow: 0, challenge: 1, deny: 2 };

/** The answers about an ordinary visitor, for the fields that a test does not set. */
const PLAIN: Answers = {
  geolocate: {
    city: {},
    continent: {},
    country: {},
    location: {},
    postal: {},
    registered_country: {},
    subdivisions: [],
  },
  reputation: NO_FLAGS,
  email: { valid: true, disposable: false, providers: [] },
};
const PLAIN_DECISION = {
  id: `asm_${"0".repeat(16)}`,
  action: "allow",
  review: false,
  score: 0,
  reasons: [],
  rule: null,
  shadow: [],
  degraded: [],
  ruleset: 0,
  data_version: VERSION,
};

export class FakeServer {
  /** Every attempt of the client to send a request, oldest first, including those that `fail()` made fail. */
  readonly requests: FakeRequest[] = [];
  private readonly own = new Map<string, Row>();
  private failure: ServerCode | ClientCode | undefined;
  private missing: readonly DataName[] = [];

  /**
   * Sets the answer for a value. A test sets the fields that matter. All others have the values of an ordinary
   * visitor. A code stands for that error: "IP_ADDRESS_NOT_FOUND" for an unknown location, "RATE_LIMITED".
   * @param lookup "assess" for decisions about visitors with that address or email address
   */
  answer<L extends Asked>(lookup: L, value: string, answer: OwnAnswer<L> | ServerCode): void {
    if (typeof answer === "string") problemOf(answer); // throws for an unknown code
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

  /** Forgets every answer and request, and undoes `fail()` and `lack()`. For a client that tests share. */
  reset(): void {
    this.requests.length = 0;
    this.own.clear();
    this.recover();
    this.lack();
  }

  /** Answers a request of the client, which uses this as its `fetch`. */
  async fetch(url: string, { body, headers, signal }: RequestInit): Promise<Response> {
    signal?.throwIfAborted();
    const { pathname, search, searchParams } = new URL(url);
    const type = new Headers(headers).get("content-type") ?? "";
    const isJson = type === "application/json";
    const sent = { body: isJson ? JSON.parse(String(body)) : body };
    this.requests.push({ path: pathname + search, ...(typeof body === "string" && sent) });
    if (this.failure !== undefined) return failed(this.failure);
    const [, outcomeOf] = OUTCOME_PATH.exec(pathname) ?? [];
    if (outcomeOf !== undefined) return this.labelled(outcomeOf, sent.body);
    const included = (searchParams.get("include") ?? "").split(",");
    if (pathname === ASSESS_PATH) return this.assessed(sent.body, included);
    const [, name, value] = PATH.exec(pathname) ?? [];
    const lookup = name as Lookup;
    const wanted = [...included, ...(searchParams.get("checks") === "mx" ? ["checks"] : [])];
    const find = (text: string) => this.find(lookup, text, wanted);
    if (value !== undefined) {
      const row = find(decodeURIComponent(value));
      return typeof row === "string" ? refused(row) : this.sent(lookup, JSON.stringify(row));
    }
    const answerTo = (text: string) => {
      const row = find(text);
      return JSON.stringify(typeof row === "string" ? problemOf(row) : row);
    };
    if (isJson) {
      const { values } = sent.body as { readonly values: readonly string[] };
      return this.sent(lookup, `{"answers":[${values.map(answerTo).join(",")}]}`);
    }
    const lines = String(body)
      .split("\n")
      .filter((line) => line !== "");
    return this.sent(lookup, lines.map((line) => `${answerTo(JSON.parse(line))}\n`).join(""), type);
  }

  /** An error comes first, then the stricter decision. If both are equal, the one about the email address counts. */
  private assessed({ ip, email }: DecisionInput, included: readonly string[]): Response {
    const own = [email, ip].flatMap((value) => {
      const row = value === undefined ? undefined : this.own.get(`assess ${normal(value)}`);
      return row === undefined ? [] : [row];
    });
    const code = own.find((row) => typeof row === "string");
    if (code !== undefined) return refused(code);
    const strictness = (row: Row) => STRICTNESS[(row as { readonly action: Action }).action];
    const [decided] = own.sort((a, b) => strictness(b) - strictness(a));
    if (decided === undefined) throw notSet("assess");
    const { facts = {}, ip: ofIp, email: ofEmail, ...plain } = decided as Exclude<Row, string>;
    const answer = {
      ...plain,
      ...(included.includes("facts") && { facts }),
      ...(included.includes("evidence") && { ip: ofIp, email: ofEmail }),
    };
    return new Response(JSON.stringify(answer), { headers: headersOf("application/json") });
  }

  /** Returns the response to an outcome. All decisions have the same id, unless a test has set a different id. */
  private labelled(id: string, { outcome }: { readonly outcome: string }): Response {
    const isKnown =
      id === PLAIN_DECISION.id ||
      [...this.own.values()].some((row) => typeof row !== "string" && row.id === id);
    if (!isKnown) return refused("DECISION_NOT_FOUND");
    return new Response(JSON.stringify({ id, outcome }), { headers: headersOf("application/json") });
  }

  /** @param wanted fields that the request asks for in addition */
  private find(lookup: Lookup, value: string, wanted: readonly string[]): Row {
    const row = this.own.get(`${lookup} ${normal(value)}`);
    if (row === undefined) throw notSet(lookup);
    if (typeof row === "string") return row;
    const ip = parseIp(value);
    const prefix = ip === undefined ? value : `${value}/${ip.bits}`;
    const more: Readonly<Record<string, object>> = {
      checks: { checks: { mx: "found" } },
      subject: { ip: value, prefix },
      network: { network: { prefix, kind: "unknown", shared: false, services: [] } },
      evidence: { evidence: [] },
    };
    const all: Record<string, unknown> = { ...row };
    for (const [name, fields] of Object.entries(more))
      for (const [field, standard] of Object.entries(fields))
        if (!wanted.includes(name)) delete all[field];
        else all[field] ??= standard;
    return all;
  }

  private sent(lookup: Lookup, text: string, type = "application/json"): Response {
    const ofLookup: readonly DataName[] = DATA_OF[lookup];
    const missing = this.missing.filter((name) => ofLookup.includes(name));
    const state = missing.length > 0 && { "Inkling-Data-State": `partial; missing="${missing.join(" ")}"` };
    return new Response(text, { headers: { ...headersOf(type), ...state } });
  }
}

const notSet = (lookup: Asked) =>
  new InklingError("ANSWER_NOT_SET", "The fake has no answer for this value", {
    hint: `set one with server.answer("${lookup}", …)`,
  });

const headersOf = (type: string) => ({
  "Content-Type": type,
  "Inkling-Data-Version": VERSION,
  "X-Request-Id": "fake",
});

/** @throws TypeError for a code that no server returns */
function problemOf(code: ServerCode) {
  if (!Object.hasOwn(SERVER_ERRORS, code))
    throw new TypeError(`@inkling/client/testing: ${code} is not a code that a server returns`);
  return {
    code,
    status: SERVER_ERRORS[code].status,
    title: "The test has set this error",
    request_id: "fake",
  };
}

function refused(code: ServerCode): Response {
  const problem = problemOf(code);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: headersOf("application/problem+json"),
  });
}

function failed(code: ServerCode | ClientCode): Response {
  if (Object.hasOwn(SERVER_ERRORS, code)) return refused(code as ServerCode);
  throw new InklingError(code, "The fake server is configured to fail");
}

/** Returns the normal form of a value: an address in eight groups, an email address in lower case. */
function normal(value: string): string {
  const ip = parseIp(value);
  return ip === undefined ? value.toLowerCase() : formatIp(ip);
}

function completed(lookup: Asked, value: string, answer: Readonly<Record<string, unknown>>): Row {
  if (lookup === "assess") return { ...PLAIN_DECISION, ...answer };
  const isDisposable = lookup === "email" && answer.disposable === true;
  const domain = value.slice(value.lastIndexOf("@") + 1).toLowerCase();
  return { ...PLAIN[lookup], ...(isDisposable && { providers: [domain] }), ...answer };
}
