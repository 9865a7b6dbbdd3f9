// sandbox.ts: the fixed answers of ink_test_ keys: every verdict and every refusal, without data.
//
// in   a look-up, and its value: documentation addresses (RFC 5737, RFC 3849) and example domains (RFC 2606)
// out  the answer's bytes, or a problem; the same for ever
// src  docs/sandbox.md and docs/evidence.md show these tables; a test keeps both alike
// note the release is never asked: a client's tests pass on an empty server, and on a server with other data

import {
  formatIp,
  labelEntries,
  parseEmail,
  parseIp,
  prefixContains,
  SPECIAL_USE,
  specialUse,
  type UnwrappedAddress,
} from "@inkling/engine";
import { type Problem, type ProblemCode, problem, scopeProblem } from "../http/problems.ts";
import type { Scope } from "../keys/key.ts";
import type { MxOutcome } from "../mx/outcome.ts";
import { mailHostEntry } from "./mx.ts";

/** What `Inkling-Data-Version` says on sandbox answers. */
export const SANDBOX_VERSION = "sandbox-1";

const FULL_PLACE = {
  city: { name: "Exampleton" },
  continent: { code: "EU", name: "Europe" },
  country: { iso_code: "GB", name: "United Kingdom" },
  location: { accuracy_radius: 20, latitude: 51.75, longitude: -1.25, time_zone: "Europe/London" },
  postal: { code: "OX1" },
  registered_country: { iso_code: "GB", name: "United Kingdom" },
  subdivisions: [
    { iso_code: "ENG", name: "England" },
    { iso_code: "OXF", name: "Oxfordshire" },
  ],
};
const COUNTRY_ONLY = {
  city: {},
  continent: { code: "NA", name: "North America" },
  country: { iso_code: "US", name: "United States" },
  location: {},
  postal: {},
  registered_country: { iso_code: "CA", name: "Canada" },
  subdivisions: [],
};

type Flag = "is_abuser" | "is_proxy" | "is_tor_exit";

/** An entry of evidence; its network or domain, and its times, are added. */
interface SandboxEvidence {
  readonly feed: string;
  readonly label: string;
  readonly effect: "sets" | "removes" | "fills" | "label";
  readonly flags?: readonly (Flag | "disposable")[];
  readonly members?: readonly string[];
  readonly why?: string;
}

/** When every list of the sandbox was fetched. */
const FETCHED_AT = "2026-01-01T00:00:00Z";
const PLACE_EVIDENCE: SandboxEvidence = { feed: "sandbox-places", label: "location", effect: "sets" };
const DERIVED_EVIDENCE: SandboxEvidence = {
  feed: "inkling",
  label: "derived",
  effect: "fills",
  members: ["continent.name", "country.name"],
  why: "from the ISO 3166-1 code of the country",
};
const ATTACKER: SandboxEvidence = {
  feed: "sandbox-attackers",
  label: "attacker",
  effect: "sets",
  flags: ["is_abuser"],
};
const VPN: SandboxEvidence = { feed: "sandbox-vpn", label: "vpn", effect: "sets", flags: ["is_proxy"] };
const TOR_EXIT: SandboxEvidence = {
  feed: "sandbox-tor",
  label: "tor_exit",
  effect: "sets",
  flags: ["is_tor_exit"],
};
const HOSTING: SandboxEvidence = { feed: "sandbox-hosting", label: "hosting", effect: "label" };
const RELAY: SandboxEvidence = {
  feed: "sandbox-relay",
  label: "relay",
  effect: "removes",
  flags: ["is_abuser", "is_proxy"],
};
const DISPOSABLE: SandboxEvidence = {
  feed: "sandbox-disposable",
  label: "disposable",
  effect: "sets",
  flags: ["disposable"],
};
const MAIL_RELAY: SandboxEvidence = {
  feed: "sandbox-relay-mail",
  label: "relay",
  effect: "removes",
  flags: ["disposable"],
};

export interface SandboxAddress {
  readonly v4: string;
  readonly v6: string;
  readonly meaning: string;
  /** Absent: 404 IP_ADDRESS_NOT_FOUND. */
  readonly place?: typeof FULL_PLACE | typeof COUNTRY_ONLY;
  readonly flags?: readonly Flag[];
  /** Of its reputation. */
  readonly evidence?: readonly SandboxEvidence[];
}

/** Addresses with a verdict. */
export const SANDBOX_ADDRESSES: readonly SandboxAddress[] = [
  {
    v4: "192.0.2.1",
    v6: "2001:db8::1",
    meaning: "an ordinary visitor, everything known; also `me`",
    place: FULL_PLACE,
  },
  { v4: "192.0.2.2", v6: "2001:db8::2", meaning: "only countries known", place: COUNTRY_ONLY },
  { v4: "192.0.2.3", v6: "2001:db8::3", meaning: "a public address that no data knows" },
  {
    v4: "192.0.2.4",
    v6: "2001:db8::4",
    meaning: "an abuser",
    place: FULL_PLACE,
    flags: ["is_abuser"],
    evidence: [ATTACKER],
  },
  {
    v4: "192.0.2.5",
    v6: "2001:db8::5",
    meaning: "a proxy or VPN",
    place: FULL_PLACE,
    flags: ["is_proxy"],
    evidence: [VPN, HOSTING],
  },
  {
    v4: "192.0.2.6",
    v6: "2001:db8::6",
    meaning: "a Tor exit",
    place: FULL_PLACE,
    flags: ["is_tor_exit"],
    evidence: [TOR_EXIT],
  },
  {
    v4: "192.0.2.7",
    v6: "2001:db8::7",
    meaning: "all three",
    place: FULL_PLACE,
    flags: ["is_abuser", "is_proxy", "is_tor_exit"],
    evidence: [ATTACKER, VPN, TOR_EXIT],
  },
  {
    v4: "192.0.2.8",
    v6: "2001:db8::8",
    meaning: "a privacy relay that a VPN list names: not flagged",
    place: FULL_PLACE,
    evidence: [VPN, RELAY],
  },
];

export interface SandboxDomain {
  readonly domain: string;
  readonly meaning: string;
  readonly valid: boolean;
  readonly providers: readonly string[];
  readonly evidence?: readonly SandboxEvidence[];
}

/** E-mail domains with a verdict; a well-formed address is expected before the "@". */
export const SANDBOX_DOMAINS: readonly SandboxDomain[] = [
  { domain: "example.com", meaning: "an ordinary address", valid: true, providers: [] },
  { domain: "example.net", meaning: "an ordinary address", valid: true, providers: [] },
  { domain: "example.org", meaning: "an ordinary address", valid: true, providers: [] },
  {
    domain: "relay.example",
    meaning: "a privacy relay: not disposable",
    valid: true,
    providers: [],
    evidence: [DISPOSABLE, MAIL_RELAY],
  },
  {
    domain: "disposable.example",
    meaning: "a disposable provider",
    valid: true,
    providers: ["disposable.example"],
    evidence: [DISPOSABLE],
  },
  {
    domain: "alias.example",
    meaning: "a disposable domain that another service runs",
    valid: true,
    providers: ["alias.example", "disposable.example"],
    evidence: [DISPOSABLE],
  },
  {
    domain: "invalid-disposable.example",
    meaning: "disposable, but not a valid address",
    valid: false,
    providers: ["invalid-disposable.example"],
    evidence: [DISPOSABLE],
  },
  { domain: "invalid.example", meaning: "not a valid address", valid: false, providers: [] },
];

/** E-mail domains for `?checks=mx`; without it each is an ordinary address. */
export const SANDBOX_CHECKS: readonly {
  readonly domain: string;
  readonly meaning: string;
  readonly mx: MxOutcome;
  readonly valid: boolean;
  readonly providers: readonly string[];
}[] = [
  check("implicit-mx", "no MX record, but an address: mail goes there", "implicit"),
  check("no-mx", "neither an MX record nor an address", "none"),
  check("null-mx", "the domain takes no mail (RFC 7505)", "null", false),
  check("no-domain", "there is no such domain", "nxdomain", false),
  check("mx-timeout", "DNS did not answer in time", "timeout"),
  check("mx-failed", "DNS refused, or answered nonsense", "failed"),
  check("mx-disposable", "its mail goes to a throw-away service", "found", true, ["disposable.example"]),
];

function check(
  name: string,
  meaning: string,
  mx: MxOutcome,
  valid = true,
  providers: readonly string[] = [],
) {
  return { domain: `${name}.example`, meaning, mx, valid, providers };
}

/** Refusals that depend on the key, the server or the moment, and so cannot be had by sending the wrong thing. */
export const SANDBOX_PROBLEMS: readonly {
  readonly code: ProblemCode;
  readonly v4: string;
  readonly v6: string;
  readonly domain: string;
}[] = [
  row("PATH_INVALID", 1),
  row("PARAMETER_INVALID", 2),
  row("IP_ADDRESS_INVALID", 3),
  row("IP_ADDRESS_RESERVED", 4),
  row("BATCH_INVALID", 19),
  row("VALUE_INVALID", 20),
  row("KEY_MISSING", 5),
  row("KEY_INVALID", 6),
  row("KEY_EXPIRED", 7),
  row("SCOPE_REQUIRED", 8),
  row("SOURCE_NOT_ALLOWED", 9),
  row("PATH_NOT_FOUND", 10),
  row("IP_ADDRESS_NOT_FOUND", 11),
  row("METHOD_NOT_ALLOWED", 12),
  row("CONTENT_TOO_LARGE", 13),
  row("CONTENT_TYPE_INVALID", 21),
  row("RATE_LIMITED", 14),
  row("QUOTA_EXCEEDED", 15),
  row("INTERNAL", 16),
  row("DATA_NOT_LOADED", 17),
  row("KEYS_NOT_LOADED", 18),
];

/** The number is written out in each row, so that a new code leaves the others where they are. */
function row(code: ProblemCode, number: number) {
  return {
    code,
    v4: `203.0.113.${number}`,
    v6: `2001:db8:bad::${number}`,
    domain: `${code.toLowerCase().replaceAll("_", "-")}.example`,
  };
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const bytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** An answer, without and with its evidence. */
interface Answer {
  readonly plain: Uint8Array;
  readonly reasoned: Uint8Array;
}

function answer(body: object, evidence: readonly object[]): Answer {
  return { plain: bytes(body), reasoned: bytes({ ...body, evidence }) };
}

function entry(row: SandboxEvidence, subject: object): object {
  return { ...row, ...(row.members === undefined && { ...subject, fetched_at: FETCHED_AT }) };
}

function reputation(flags: readonly Flag[], evidence: readonly object[]): Answer {
  const has = (flag: Flag) => flags.includes(flag);
  return answer(
    { is_abuser: has("is_abuser"), is_proxy: has("is_proxy"), is_tor_exit: has("is_tor_exit") },
    evidence,
  );
}

function emailAnswer(verdict: MailVerdict, mx: MxOutcome): EmailAnswer {
  return { unchecked: mailAnswer(verdict), checked: mailAnswer(verdict, mx) };
}

function mailAnswer({ valid, providers, evidence }: MailVerdict, mx?: MxOutcome): Answer {
  const plain = { valid, disposable: providers.length > 0, providers };
  return answer(mx === undefined ? plain : { ...plain, checks: { mx } }, evidence);
}

interface MailVerdict {
  readonly valid: boolean;
  readonly providers: readonly string[];
  readonly evidence: readonly object[];
}

/** Without and with `?checks=mx`. */
interface EmailAnswer {
  readonly unchecked: Answer;
  readonly checked: Answer;
}

interface AddressAnswer {
  readonly geolocate: Answer | Problem;
  readonly reputation: Answer | Problem;
}

const UNKNOWN: AddressAnswer = {
  geolocate: problem("IP_ADDRESS_NOT_FOUND"),
  reputation: reputation([], []),
};

const addresses = new Map<string, AddressAnswer>();
const domains = new Map<string, (valid: boolean) => EmailAnswer | Problem>();

function addAddress(text: string, answer: AddressAnswer): void {
  const address = parseIp(text);
  if (address === undefined) throw new Error(`sandbox.ts: ${text} is no address`);
  addresses.set(formatIp(address), answer);
}

for (const { v4, v6, place, flags = [], evidence = [] } of SANDBOX_ADDRESSES) {
  for (const [text, host, wide] of [
    [v4, `${v4}/32`, "192.0.2.0/24"],
    [v6, `${v6}/128`, "2001:db8::/32"],
  ] as const) {
    const from = [PLACE_EVIDENCE, DERIVED_EVIDENCE].map((row) => entry(row, { network: wide }));
    addAddress(text, {
      geolocate: place === undefined ? UNKNOWN.geolocate : answer(place, from),
      reputation: reputation(
        flags,
        evidence.map((row) => entry(row, { network: row.effect === "sets" ? host : wide })),
      ),
    });
  }
}
for (const { domain, valid, providers, evidence = [] } of SANDBOX_DOMAINS) {
  const reasons = evidence.map((row) => entry(row, { domain }));
  const mx = valid ? "found" : "skipped";
  const good = emailAnswer({ valid, providers, evidence: reasons }, mx);
  const bad = emailAnswer({ valid: false, providers, evidence: reasons }, mx);
  domains.set(domain, (wellFormed) => (wellFormed ? good : bad));
}
for (const { domain, mx, valid, providers } of SANDBOX_CHECKS) {
  const evidence = providers.length > 0 ? [mailHostEntry(`mx.${providers[0]}`)] : [];
  domains.set(domain, (wellFormed) => ({
    unchecked: mailAnswer({ valid: wellFormed, providers: [], evidence: [] }),
    checked: mailAnswer({ valid: wellFormed && valid, providers, evidence }, mx),
  }));
}
for (const { code, v4, v6, domain } of SANDBOX_PROBLEMS) {
  const refusal = (lookup: Scope) => (code === "SCOPE_REQUIRED" ? scopeProblem(lookup) : problem(code));
  const [geolocate, reputation, email] = [refusal("geolocate"), refusal("reputation"), refusal("email")];
  for (const text of [v4, v6]) addAddress(text, { geolocate, reputation });
  domains.set(domain, () => email);
}

function told(found: Answer | Problem, withEvidence: boolean): Uint8Array | Problem {
  if ("code" in found) return found;
  return withEvidence ? found.reasoned : found.plain;
}

/** What `me` means with a sandbox key, wherever the caller is. */
export const SANDBOX_ME = SANDBOX_ADDRESSES[0]!.v4;

const DOCUMENTATION = SPECIAL_USE.filter(({ use }) => use === "documentation");

/**
 * The fixed answer for an address. Documentation addresses that are in no table, and all public addresses, are
 * unknown; other special-use addresses are refused as always.
 */
export function sandboxAddress(
  lookup: "geolocate" | "reputation",
  address: UnwrappedAddress,
  withEvidence = false,
): Uint8Array | Problem {
  const listed = addresses.get(formatIp(address));
  if (listed !== undefined) return told(listed[lookup], withEvidence);
  const isDocumentation = DOCUMENTATION.some(({ prefix }) => prefixContains(prefix, address));
  if (!isDocumentation && specialUse(address) !== undefined) return problem("IP_ADDRESS_RESERVED");
  return told(UNKNOWN[lookup], withEvidence);
}

/** The fixed answer for an e-mail address; outside the tables `valid` is real and nothing is disposable. */
export function sandboxEmail(text: string, withEvidence = false, withMx = false): Uint8Array | Problem {
  const { valid, host } = parseEmail(text);
  const listed = host === undefined ? undefined : domains.get(host);
  // example domains are special-use and so never valid: the local part is judged at a domain that may be
  const found =
    listed?.(isWellFormed(text)) ??
    emailAnswer({ valid, providers: [], evidence: [] }, valid ? "found" : "skipped");
  if ("code" in found) return found;
  const { plain, reasoned } = withMx ? found.checked : found.unchecked;
  if (!withEvidence) return plain;
  return host === undefined ? reasoned : withLabels(reasoned, labelEntries(text, host));
}

/** Labels follow from the text alone, so they are the same for ever, too. */
function withLabels(reasoned: Uint8Array, labels: readonly Uint8Array[]): Uint8Array {
  if (labels.length === 0) return reasoned;
  const { evidence, ...body } = JSON.parse(decoder.decode(reasoned)) as { evidence: object[] };
  return bytes({
    ...body,
    evidence: [...evidence, ...labels.map((label) => JSON.parse(decoder.decode(label)))],
  });
}

function isWellFormed(text: string): boolean {
  return parseEmail(`${text.slice(0, text.lastIndexOf("@"))}@inkling.dev`).valid;
}
