// sandbox.ts: builds the fixed answers for ink_test_ keys from the rows of the contract.
//
// The sandbox never reads the release. A client's tests therefore pass on an empty server and on a server with any
// data.

import type { MxOutcome } from "@inkling/contract";
import {
  LOCATION_EVIDENCE,
  networkEvidence,
  SANDBOX_ADDRESSES,
  SANDBOX_CHECKS,
  SANDBOX_DOMAINS,
  SANDBOX_PROBLEMS,
  SANDBOX_UNKNOWN,
  type SandboxAddress,
  type SandboxEvidence,
  type SandboxNetwork,
} from "@inkling/contract";
import {
  bitsOf,
  formatIp,
  formatPrefix,
  INCLUDE,
  type IpLookup,
  type Lookup,
  labelEntries,
  parseEmail,
  prefixContains,
  REPUTATION_ANSWERS,
  SPECIAL_USE,
  specialUse,
  type UnwrappedAddress,
} from "@inkling/engine";
import { type Problem, problem, scopeProblem } from "../http/problems.ts";
import { mailHostEntry } from "./mx.ts";

/** The Inkling-Data-Version of sandbox answers. */
export const SANDBOX_VERSION = "sandbox-1";
/** The time in `fetched_at` of the sandbox's evidence. */
const FETCHED_AT = "2026-01-01T00:00:00Z";

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const bytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** An answer without and with its evidence. */
interface SandboxAnswer {
  readonly plain: Uint8Array;
  readonly explained: Uint8Array;
}

function answer(body: object, evidence: readonly object[] = []): SandboxAnswer {
  return { plain: bytes(body), explained: bytes({ ...body, evidence }) };
}

const entry = (row: SandboxEvidence, subject: object): object => ({
  ...row,
  ...(row.feed !== "inkling" && { ...subject, fetched_at: FETCHED_AT }),
});

type Found = SandboxAnswer | Problem;

const NOT_FOUND = problem("IP_ADDRESS_NOT_FOUND");
const RESERVED = problem("IP_ADDRESS_RESERVED");
/**
 * The problem for real values. A fixed "no" would let every visitor in if a sandbox key were used in production by
 * mistake.
 */
const REAL = problem("SANDBOX_VALUE_REQUIRED");
const UNKNOWN: Readonly<Record<IpLookup, Found>> = { geolocate: NOT_FOUND, reputation: reputation() };

function reputation({ flags = [] }: Partial<SandboxAddress> = {}, evidence: readonly object[] = []) {
  const body = JSON.parse(decoder.decode(REPUTATION_ANSWERS[bitsOf(flags)]));
  return answer(body, evidence);
}

/**
 * @param host the network in entries that set flags
 * @param wide the network in all other entries
 */
function addressAnswers(row: SandboxAddress, host: string, wide: string): Record<IpLookup, Found> {
  const { geolocation, evidence = [] } = row;
  const claims = evidence.map((one) => entry(one, { network: one.effect === "sets" ? host : wide }));
  const sources = LOCATION_EVIDENCE.map((one) => entry(one, { network: wide }));
  return {
    geolocate: geolocation === undefined ? NOT_FOUND : answer(geolocation, sources),
    reputation: reputation(row, claims),
  };
}

const ADDRESSES = new Map<string, Readonly<Record<IpLookup, Found>>>();
const NETWORKS = new Map<string, SandboxNetwork>();
for (const row of SANDBOX_ADDRESSES) {
  ADDRESSES.set(row.v4, addressAnswers(row, `${row.v4}/32`, "192.0.2.0/24"));
  ADDRESSES.set(row.v6, addressAnswers(row, `${row.v6}/128`, "2001:db8::/32"));
  for (const text of [row.v4, row.v6]) NETWORKS.set(text, row.network);
}

interface MailVerdict {
  readonly valid: boolean;
  readonly providers: readonly string[];
}

function mailAnswer({ valid, providers }: MailVerdict, evidence: readonly object[], mx?: MxOutcome) {
  const plain = { valid, disposable: providers.length > 0, providers };
  return answer(mx === undefined ? plain : { ...plain, checks: { mx } }, evidence);
}

/** The answer or problem, which depends on whether the local part is well formed and whether `?checks=mx` was sent. */
type DomainAnswers = (isWellFormed: boolean, withMx: boolean) => Found;

const DOMAINS = new Map<string, DomainAnswers>();
for (const { domain, valid, providers, evidence = [] } of SANDBOX_DOMAINS) {
  const entries = evidence.map((row) => entry(row, { domain }));
  const outcome = valid ? "found" : "skipped";
  DOMAINS.set(domain, (isWellFormed, withMx) =>
    mailAnswer({ valid: valid && isWellFormed, providers }, entries, withMx ? outcome : undefined),
  );
}
for (const { domain, mx, valid, providers } of SANDBOX_CHECKS) {
  const evidence = providers.map((service) => mailHostEntry(`mx.${service}`));
  DOMAINS.set(domain, (isWellFormed, withMx) =>
    withMx
      ? mailAnswer({ valid: valid && isWellFormed, providers }, evidence, mx)
      : mailAnswer({ valid: isWellFormed, providers: [] }, []),
  );
}
for (const { code, v4, v6, domain } of SANDBOX_PROBLEMS) {
  const of = (lookup: Lookup) => (code === "SCOPE_REQUIRED" ? scopeProblem(lookup) : problem(code));
  const [geolocate, reputation, email] = [of("geolocate"), of("reputation"), of("email")];
  for (const text of [v4, v6]) ADDRESSES.set(text, { geolocate, reputation });
  DOMAINS.set(domain, () => email);
}

const DOCUMENTATION = SPECIAL_USE.filter(({ use }) => use === "documentation");

/**
 * Returns the fixed answer about an address. Documentation addresses outside the tables are unknown. The sandbox
 * refuses other special-use addresses as usual, and public addresses because they are real.
 */
export function sandboxAddress(
  lookup: IpLookup,
  address: UnwrappedAddress,
  include = 0,
): Uint8Array | Problem {
  const text = formatIp(address);
  const documentation = DOCUMENTATION.find(({ prefix }) => prefixContains(prefix, address));
  const found = ADDRESSES.get(text)?.[lookup] ?? (documentation && UNKNOWN[lookup]);
  if (found === undefined) return specialUse(address) === undefined ? REAL : RESERVED;
  const body = bodyOf(found, (include & INCLUDE.evidence) !== 0);
  if ("code" in body || documentation === undefined || (include & ~INCLUDE.evidence) === 0) return body;
  const prefix = formatPrefix(documentation.prefix);
  const { evidence, ...plain } = JSON.parse(decoder.decode(body)) as { evidence?: object[] };
  const network =
    (include & INCLUDE.network) === 0 ? undefined : (NETWORKS.get(text) ?? SANDBOX_UNKNOWN.network);
  const reasons =
    network === undefined ? [] : networkEvidence(network).map((one) => entry(one, { network: prefix }));
  return bytes({
    ...plain,
    ...((include & INCLUDE.subject) !== 0 && { ip: text, prefix }),
    ...(network !== undefined && { network: { prefix, ...network } }),
    evidence: evidence && [...evidence, ...reasons],
  });
}

function bodyOf(found: Found, withEvidence: boolean): Uint8Array | Problem {
  if ("code" in found) return found;
  return withEvidence ? found.explained : found.plain;
}

/**
 * Returns the fixed answer about an email address. A domain outside the tables is invalid if it cannot be a mail
 * domain. Otherwise, the sandbox refuses it because it is real.
 */
export function sandboxEmail(text: string, withEvidence = false, withMx = false): Uint8Array | Problem {
  const { host = "" } = parseEmail(text);
  const listed = DOMAINS.get(host);
  if (listed === undefined && host !== "" && parseEmail(`postmaster@${host}`).valid) return REAL;
  const found =
    listed?.(isWellFormed(text), withMx) ??
    mailAnswer({ valid: false, providers: [] }, [], withMx ? "skipped" : undefined);
  const body = bodyOf(found, withEvidence);
  return withEvidence && host !== "" && body instanceof Uint8Array ? withLabels(body, text, host) : body;
}

/** Adds the labels of an email address to its evidence. The labels depend only on the text. */
function withLabels(explained: Uint8Array, text: string, host: string): Uint8Array {
  const labels = labelEntries(text, host).map((label) => JSON.parse(decoder.decode(label)));
  const { evidence, ...body } = JSON.parse(decoder.decode(explained)) as { evidence: object[] };
  return bytes({ ...body, evidence: [...evidence, ...labels] });
}

/**
 * Returns whether the local part is well formed. Example domains are special-use and never valid, so this function
 * checks the local part with a domain that can be valid.
 */
function isWellFormed(text: string): boolean {
  return parseEmail(`${text.slice(0, text.lastIndexOf("@"))}@inkling.dev`).valid;
}
