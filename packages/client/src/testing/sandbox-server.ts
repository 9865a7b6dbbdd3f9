// sandbox-server.ts: a server in this process that answers the client's requests as the sandbox does (docs/sandbox.md of
// the server), with answers of a test's own, or not at all.
//
// in   what the client gives to `fetch`
// out  a Response as the server's, or a failure of the connection
// src  sandbox-answers.ts, made from the server's own tables
// note Syntax of email addresses is read roughly: a top-level domain that does not exist counts as real
//      (SANDBOX_VALUE_REQUIRED instead of not valid), and labels that follow from the text are not in the evidence

import type { Answer, Lookup } from "../answers.ts";
import type { DataName } from "../data-state.ts";
import { type ClientCode, InklingError, type ServerCode } from "../errors.ts";
import { type Answers, DATA_OF, NO_FLAGS } from "../generated.ts";
import { formatIp, type Ip, isIn, parseIp, parseNetwork } from "../ip.ts";
import { SANDBOX } from "./sandbox-answers.ts";
import type { Row } from "./sandbox-table.ts";

/** The members of an answer that matter to a test, evidence and checks included. */
export type OwnAnswer<L extends Lookup> = Partial<
  Answer<
    L,
    L extends "email" ? { evidence: true; checks: ["mx"] } : { evidence: true; network: true; subject: true }
  >
>;

/** What an answer has where a test gives nothing. */
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
type Entry = { readonly members?: readonly string[] };
/** Does the entry say something of the answer itself, and not of the network that may be included? */
const isOfAnswer = ({ members }: Entry) => !members?.some((name) => name.startsWith("network."));

const NOT_VALID = { valid: false, disposable: false, providers: [], evidence: [], checks: { mx: "skipped" } };

const PATH = /^\/v1\/(?:ip|user)-intel\/(geolocate|reputation|email)(?:\/(.*))?$/;
const LOCAL =
  /^(?:[\w!#$%&'*+/=?^`{|}~\u00a1-\u{10ffff}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u00a1-\u{10ffff}-]+)*|"(?:[^"\\\p{Cc}]|\\[ -~])*")$/u;
/** Two labels or more; the last has a letter, and is not one of RFC 2606 and RFC 6761. */
const MAIL_DOMAIN =
  /^(?:[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?\.)+(?!\d+$|(?:example|test|localhost|invalid|local|onion|alt)$)[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?$/u;

const byAddress = (rows: Readonly<Record<string, Row>>) =>
  new Map(Object.entries(rows).map(([text, row]) => [normal(text), row]));
const EMAIL = new Map(Object.entries(SANDBOX.email));
const CHECKED_EMAIL = new Map(Object.entries(SANDBOX.checkedEmail));
const PROBLEMS = new Map(Object.entries(SANDBOX.problems));
const ADDRESSES = { geolocate: byAddress(SANDBOX.geolocate), reputation: byAddress(SANDBOX.reputation) };
const isInOneOf = (networks: readonly string[], ip: Ip) =>
  networks.some((text) => isIn(parseNetwork(text)!, ip));

/** One form of each value: an address in eight groups, an email address in lower case. */
function normal(value: string): string {
  const ip = parseIp(value);
  return ip === undefined ? value.toLowerCase() : formatIp(ip);
}

/** Of a request. */
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
   * Sets the answer for a value, also for a real one: the members that matter, the others are those of an ordinary
   * visitor. A code stands for that error: "IP_ADDRESS_NOT_FOUND" for an unknown place, "RATE_LIMITED".
   */
  answer<L extends Lookup>(lookup: L, value: string, answer: OwnAnswer<L> | ServerCode): void {
    if (typeof answer === "string") documentOf(lookup, answer); // refuses what is no code
    this.own.set(
      `${lookup} ${normal(value)}`,
      typeof answer === "string" ? answer : completed(lookup, value, answer),
    );
  }

  /** Every lookup fails from now on: the service is unavailable. */
  fail(code: ServerCode | ClientCode = "CONNECTION_FAILED"): void {
    this.failure = code;
  }

  /** Lookups succeed again. */
  recover(): void {
    this.failure = undefined;
  }

  /** The data lacks these from now on, as `data.missing` of answers has it: for tests of `require`. */
  lack(...missing: readonly DataName[]): void {
    this.missing = missing;
  }

  /** For the client. */
  async fetch(url: string, { body, headers, signal }: RequestInit): Promise<Response> {
    signal?.throwIfAborted();
    const { pathname, searchParams } = new URL(url);
    const [, name, value] = PATH.exec(pathname) ?? [];
    const lookup = (name ?? "reputation") as Lookup;
    if (this.failure !== undefined) return this.failed(lookup, this.failure);
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

  private find(lookup: Lookup, value: string, wants: Wants): Row {
    const row = this.own.get(`${lookup} ${normal(value)}`) ?? sandboxRow(lookup, value, wants);
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

  private refused(lookup: Lookup, code: string): Response {
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

  private failed(lookup: Lookup, code: ServerCode | ClientCode): Response {
    if (PROBLEMS.has(code)) return this.refused(lookup, code);
    throw new InklingError(code, "The fake server is set to fail");
  }
}

const headersOf = (type: string) => ({
  "Content-Type": type,
  "Inkling-Data-Version": SANDBOX.version,
  "X-Request-Id": "fake",
});

/** @throws TypeError for a code that no server sends */
function documentOf(lookup: Lookup, code: string) {
  const row = PROBLEMS.get(code);
  if (row === undefined) throw new TypeError(`@inkling/client/testing: ${code} is no code of a server`);
  return { ...row, detail: row.detail.replace("{lookup}", lookup) };
}

const UNKNOWN_NETWORK = { kind: "unknown", shared: false, services: [] };

/** Of an address that has none of its own: itself, and the network of documentation around it. */
function subjectOf(value: string): { readonly ip: string; readonly prefix: string } {
  const text = value === "me" ? SANDBOX.me : value;
  const ip = parseIp(text);
  if (ip === undefined) return { ip: text, prefix: text };
  const around = SANDBOX.documentation.find((network) => isIn(parseNetwork(network)!, ip));
  return { ip: text, prefix: around ?? `${text}/${ip.bits}` };
}

function completed(lookup: Lookup, value: string, answer: Readonly<Record<string, unknown>>): Row {
  const isDisposable = lookup === "email" && answer.disposable === true;
  const providers = isDisposable && { providers: [domainOf(value)] };
  return { ...PLAIN[lookup], ...providers, ...answer };
}

function sandboxRow(lookup: Lookup, value: string, wants: Wants): Row {
  if (lookup === "email") return emailRow(value, wants);
  const ip = parseIp(value === "me" ? SANDBOX.me : value);
  if (ip === undefined) return "IP_ADDRESS_INVALID";
  const row = ADDRESSES[lookup].get(formatIp(ip));
  if (row !== undefined) return row;
  if (isInOneOf(SANDBOX.documentation, ip))
    return lookup === "geolocate" ? "IP_ADDRESS_NOT_FOUND" : { ...PLAIN.reputation };
  return isInOneOf(SANDBOX.reserved, ip) ? "IP_ADDRESS_RESERVED" : "SANDBOX_VALUE_REQUIRED";
}

function emailRow(value: string, { mx }: Wants): Row {
  const domain = domainOf(value);
  const row = (mx ? CHECKED_EMAIL.get(domain) : undefined) ?? EMAIL.get(domain);
  if (row === undefined) return MAIL_DOMAIN.test(domain) ? "SANDBOX_VALUE_REQUIRED" : NOT_VALID;
  if (typeof row === "string") return row;
  const local = value.slice(0, value.lastIndexOf("@"));
  const valid = row.valid === true && LOCAL.test(local) && local.length <= 64;
  return { checks: { mx: row.valid === true ? "found" : "skipped" }, ...row, valid };
}

function domainOf(email: string): string {
  const at = email.lastIndexOf("@");
  return at < 0
    ? ""
    : email
        .slice(at + 1)
        .toLowerCase()
        .replace(/\.$/, "");
}
