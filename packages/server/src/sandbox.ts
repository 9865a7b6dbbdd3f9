// sandbox.ts: the fixed answers of ink_test_ keys: every verdict and every refusal, without data.
//
// in   a look-up, and its value: documentation addresses (RFC 5737, RFC 3849) and example domains (RFC 2606)
// out  the answer's bytes, or a problem; the same for ever
// src  docs/sandbox.md shows these tables; a test keeps both alike
// note the release is never asked: a client's tests pass on an empty server, and on a server with other data

import {
  formatIp,
  type IpAddress,
  parseEmail,
  parseIp,
  prefixContains,
  SPECIAL_USE,
  specialUse,
} from "@inkling/engine";
import { type Problem, type ProblemCode, problem } from "./problems.ts";

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

export interface SandboxAddress {
  readonly v4: string;
  readonly v6: string;
  readonly meaning: string;
  /** Absent: 404 IP_ADDRESS_NOT_FOUND. */
  readonly place?: typeof FULL_PLACE | typeof COUNTRY_ONLY;
  readonly flags?: readonly Flag[];
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
  { v4: "192.0.2.4", v6: "2001:db8::4", meaning: "an abuser", place: FULL_PLACE, flags: ["is_abuser"] },
  { v4: "192.0.2.5", v6: "2001:db8::5", meaning: "a proxy or VPN", place: FULL_PLACE, flags: ["is_proxy"] },
  { v4: "192.0.2.6", v6: "2001:db8::6", meaning: "a Tor exit", place: FULL_PLACE, flags: ["is_tor_exit"] },
  {
    v4: "192.0.2.7",
    v6: "2001:db8::7",
    meaning: "all three",
    place: FULL_PLACE,
    flags: ["is_abuser", "is_proxy", "is_tor_exit"],
  },
];

export interface SandboxDomain {
  readonly domain: string;
  readonly meaning: string;
  readonly valid: boolean;
  readonly providers: readonly string[];
}

/** E-mail domains with a verdict; a well-formed address is expected before the "@". */
export const SANDBOX_DOMAINS: readonly SandboxDomain[] = [
  { domain: "example.com", meaning: "an ordinary address", valid: true, providers: [] },
  { domain: "example.net", meaning: "an ordinary address", valid: true, providers: [] },
  { domain: "example.org", meaning: "an ordinary address", valid: true, providers: [] },
  { domain: "relay.example", meaning: "a privacy relay: not disposable", valid: true, providers: [] },
  {
    domain: "disposable.example",
    meaning: "a disposable provider",
    valid: true,
    providers: ["disposable.example"],
  },
  {
    domain: "alias.example",
    meaning: "a disposable domain that another service runs",
    valid: true,
    providers: ["alias.example", "disposable.example"],
  },
  {
    domain: "invalid-disposable.example",
    meaning: "disposable, but not a valid address",
    valid: false,
    providers: ["invalid-disposable.example"],
  },
  { domain: "invalid.example", meaning: "not a valid address", valid: false, providers: [] },
];

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
  row("KEY_MISSING", 5),
  row("KEY_INVALID", 6),
  row("KEY_EXPIRED", 7),
  row("SCOPE_REQUIRED", 8),
  row("SOURCE_NOT_ALLOWED", 9),
  row("PATH_NOT_FOUND", 10),
  row("IP_ADDRESS_NOT_FOUND", 11),
  row("METHOD_NOT_ALLOWED", 12),
  row("CONTENT_TOO_LARGE", 13),
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

const encoder = new TextEncoder();
const bytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

function reputation(flags: readonly Flag[]): Uint8Array {
  const has = (flag: Flag) => flags.includes(flag);
  return bytes({
    is_abuser: has("is_abuser"),
    is_proxy: has("is_proxy"),
    is_tor_exit: has("is_tor_exit"),
  });
}

function emailAnswer(valid: boolean, providers: readonly string[]): Uint8Array {
  return bytes({ valid, disposable: providers.length > 0, providers });
}

interface AddressAnswer {
  readonly geolocate: Uint8Array | Problem;
  readonly reputation: Uint8Array | Problem;
}

const UNKNOWN: AddressAnswer = { geolocate: problem("IP_ADDRESS_NOT_FOUND"), reputation: reputation([]) };

const addresses = new Map<string, AddressAnswer>();
const domains = new Map<string, (valid: boolean) => Uint8Array | Problem>();

function addAddress(v4: string, v6: string, answer: AddressAnswer): void {
  for (const text of [v4, v6]) {
    const address = parseIp(text);
    if (address === undefined) throw new Error(`sandbox.ts: ${text} is no address`);
    addresses.set(formatIp(address), answer);
  }
}

for (const { v4, v6, place, flags } of SANDBOX_ADDRESSES) {
  const geolocate = place === undefined ? UNKNOWN.geolocate : bytes(place);
  addAddress(v4, v6, { geolocate, reputation: reputation(flags ?? []) });
}
for (const { domain, valid, providers } of SANDBOX_DOMAINS) {
  const good = emailAnswer(valid, providers);
  const bad = emailAnswer(false, providers);
  domains.set(domain, (wellFormed) => (wellFormed ? good : bad));
}
for (const { code, v4, v6, domain } of SANDBOX_PROBLEMS) {
  const refusal = problem(code);
  addAddress(v4, v6, { geolocate: refusal, reputation: refusal });
  domains.set(domain, () => refusal);
}

/** What `me` means with a sandbox key, wherever the caller is. */
export const SANDBOX_ME = SANDBOX_ADDRESSES[0]!.v4;

const DOCUMENTATION = SPECIAL_USE.filter(({ use }) => use === "documentation");

/**
 * The fixed answer for an address. Documentation addresses that are in no table, and all public addresses, are
 * unknown; other special-use addresses are refused as always.
 * @param address after `unwrapIpv4`
 */
export function sandboxAddress(lookup: "geolocate" | "reputation", address: IpAddress): Uint8Array | Problem {
  const listed = addresses.get(formatIp(address));
  if (listed !== undefined) return listed[lookup];
  const isDocumentation = DOCUMENTATION.some(({ prefix }) => prefixContains(prefix, address));
  if (!isDocumentation && specialUse(address) !== undefined) return problem("IP_ADDRESS_RESERVED");
  return UNKNOWN[lookup];
}

/** The fixed answer for an e-mail address; outside the tables `valid` is real and nothing is disposable. */
export function sandboxEmail(text: string): Uint8Array | Problem {
  const { valid, host } = parseEmail(text);
  const listed = host === undefined ? undefined : domains.get(host);
  // example domains are special-use and so never valid: the local part is judged at a domain that may be
  return listed?.(isWellFormed(text)) ?? emailAnswer(valid, []);
}

function isWellFormed(text: string): boolean {
  return parseEmail(`${text.slice(0, text.lastIndexOf("@"))}@inkling.dev`).valid;
}
