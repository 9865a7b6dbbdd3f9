// sandbox.ts: defines the answers for ink_test_ keys: every verdict, and every problem that a client may meet.
//
// The server's sandbox, the examples of the OpenAPI document, the fake client of @inkling/client/testing and the tables
// of docs/sandbox.md derive from these rows. Each flag's sandbox address is in the flag's row.
//
// src  documentation addresses (RFC 5737, RFC 3849) and example domains (RFC 2606)

import type { VisitorInput } from "./assess.ts";
import type { MxOutcome } from "./fields.ts";
import { FLAG_ROWS, REPUTATION_FLAGS, type ReputationFlag } from "./flags.ts";
import type { ProblemCode } from "./problems.ts";

type AnswerFlag = ReputationFlag | "disposable";

const FULL = {
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
const COUNTRIES = {
  city: {},
  continent: { code: "NA", name: "North America" },
  country: { iso_code: "US", name: "United States" },
  location: {},
  postal: {},
  registered_country: { iso_code: "CA", name: "Canada" },
  subdivisions: [],
};

/** The network of an address, without the prefix, which is added later. */
export interface SandboxNetwork {
  readonly asn?: number;
  readonly organization?: string;
  readonly kind: string;
  readonly shared: boolean;
  readonly services: readonly string[];
}

const UNKNOWN_NETWORK: SandboxNetwork = { kind: "unknown", shared: false, services: [] };
// RFC 5398: AS numbers for documentation.
const ACCESS = { ...UNKNOWN_NETWORK, asn: 64496, organization: "Example Broadband", kind: "isp" };
const DATA_CENTRE = { ...UNKNOWN_NETWORK, asn: 64497, organization: "Example Hosting", kind: "hosting" };
const RELAYS = { ...DATA_CENTRE, shared: true, services: ["relay"] };

/** An evidence entry without its network or domain and its times, which are added later. */
export interface SandboxEvidence {
  readonly feed: string;
  readonly label: string;
  readonly effect: "sets" | "removes" | "fills" | "label";
  readonly flags?: readonly AnswerFlag[];
  readonly fields?: readonly string[];
  readonly why?: string;
  readonly did_you_mean?: string;
}

function entry(
  feed: string,
  label: string,
  effect: SandboxEvidence["effect"],
  ...flags: AnswerFlag[]
): SandboxEvidence {
  return { feed: `sandbox-${feed}`, label, effect, ...(flags.length > 0 && { flags }) };
}

/** The evidence for every location. */
export const LOCATION_EVIDENCE: readonly SandboxEvidence[] = [
  entry("places", "location", "sets"),
  {
    feed: "inkling",
    label: "derived",
    effect: "fills",
    fields: ["continent.name", "country.name"],
    why: "from the ISO 3166-1 code of the country",
  },
];
const setting = (flag: ReputationFlag) => {
  const { feed, label } = FLAG_ROWS[flag].sandbox;
  return entry(feed, label, "sets", flag);
};
const HOSTING = entry("hosting", "hosting", "label");
const RELAY = entry("relay", "relay", "removes", "is_abuser", "is_proxy");
const DISPOSABLE = entry("disposable", "disposable", "sets", "disposable");
const MAIL_RELAY = entry("relay-mail", "relay", "removes", "disposable");

function filled(feed: string, label: string, ...fields: string[]): SandboxEvidence {
  return { feed, label, effect: "fills", fields: fields.map((name) => `network.${name}`) };
}

/** Returns the evidence for a network. */
export function networkEvidence({ asn, kind, shared }: SandboxNetwork): readonly SandboxEvidence[] {
  return [
    ...(asn === undefined ? [] : [filled("sandbox-asn", "autonomous_system", "asn", "organization")]),
    ...(shared ? [filled("sandbox-relay", "relay", "shared", "services")] : []),
    ...(kind === "hosting" ? [filled("sandbox-hosting", "hosting", "kind")] : []),
    ...(kind === "isp"
      ? [{ ...filled("inkling", "isp", "kind"), why: 'the rule for names with "broadband"' }]
      : []),
  ];
}

export interface SandboxAddress {
  readonly v4: string;
  readonly v6: string;
  readonly meaning: string;
  /** If absent, the lookup returns 404 IP_ADDRESS_NOT_FOUND. */
  readonly geolocation?: typeof FULL | typeof COUNTRIES;
  readonly flags?: readonly ReputationFlag[];
  /** The evidence for the address's reputation. */
  readonly evidence?: readonly SandboxEvidence[];
  readonly network: SandboxNetwork;
}

function address(
  number: number,
  meaning: string,
  more: Pick<SandboxAddress, "geolocation" | "flags" | "evidence"> = { geolocation: FULL },
  network: SandboxNetwork = ACCESS,
): SandboxAddress {
  return { v4: `192.0.2.${number}`, v6: `2001:db8::${number}`, meaning, ...more, network };
}

function flagged(
  number: number,
  meaning: string,
  flags: readonly ReputationFlag[],
  more: readonly SandboxEvidence[] = [],
) {
  const network = flags.some((flag) => FLAG_ROWS[flag].sandbox.hosting) ? DATA_CENTRE : ACCESS;
  const evidence = [...flags.map(setting), ...more];
  return address(number, meaning, { geolocation: FULL, flags, evidence }, network);
}

const COUNTS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight"];

/** Addresses with a verdict. */
export const SANDBOX_ADDRESSES: readonly SandboxAddress[] = [
  address(1, "an ordinary visitor with all data; also `me`"),
  address(2, "an address for which only the countries are known", { geolocation: COUNTRIES }),
  address(3, "a public address without data", {}, UNKNOWN_NETWORK),
  ...REPUTATION_FLAGS.map((flag) => {
    const { noun, sandbox } = FLAG_ROWS[flag];
    return flagged(sandbox.number, noun, [flag], sandbox.hosting === "listed" ? [HOSTING] : []);
  }),
  flagged(7, `all ${COUNTS[REPUTATION_FLAGS.length]}`, REPUTATION_FLAGS),
  address(
    8,
    "a privacy relay that is on a VPN list: not flagged",
    { geolocation: FULL, evidence: [setting("is_proxy"), RELAY] },
    RELAYS,
  ),
];

/** The answer for documentation addresses that have no row. */
export const SANDBOX_UNKNOWN: Pick<SandboxAddress, "network"> = { network: UNKNOWN_NETWORK };

/** The address that `me` refers to with a sandbox key, regardless of the caller's address. */
export const SANDBOX_ME = "192.0.2.1";

interface SandboxDomain {
  readonly domain: string;
  readonly meaning: string;
  readonly valid: boolean;
  readonly providers: readonly string[];
  readonly evidence?: readonly SandboxEvidence[];
}

function ordinary(domain: string, meaning = "an ordinary address", valid = true): SandboxDomain {
  return { domain, meaning, valid, providers: [] };
}

function disposable(name: string, meaning: string, valid = true, ...service: string[]): SandboxDomain {
  const domain = `${name}.example`;
  return { domain, meaning, valid, providers: [domain, ...service], evidence: [DISPOSABLE] };
}

/** Email domains with a verdict, for a well-formed local part. */
export const SANDBOX_DOMAINS: readonly SandboxDomain[] = [
  ordinary("example.com"),
  ordinary("example.net"),
  ordinary("example.org"),
  { ...ordinary("relay.example", "a privacy relay: not disposable"), evidence: [DISPOSABLE, MAIL_RELAY] },
  disposable("disposable", "a disposable provider"),
  disposable("alias", "a disposable domain that another service runs", true, "disposable.example"),
  disposable("invalid-disposable", "disposable, but not a valid address", false),
  ordinary("invalid.example", "not a valid address", false),
  {
    ...ordinary("listed.example", "on one list, not confirmed by any other: the `listed` label, no verdict"),
    evidence: [entry("disposable", "listed", "label")],
  },
  {
    ...ordinary("mistyped.example", "a mistyped domain, with the `mistyped` label"),
    evidence: [{ feed: "inkling", label: "mistyped", effect: "label", did_you_mean: "example.com" }],
  },
];

/** Visitors for `POST /v1/assess`. They cause every action and reason that sandbox addresses and domains can cause. */
export const SANDBOX_VISITORS = [
  { ip: "192.0.2.1", email: "jane@example.com" },
  ...REPUTATION_FLAGS.map((flag) => ({ ip: `192.0.2.${FLAG_ROWS[flag].sandbox.number}` })),
  { ip: "192.0.2.8" },
  { ip: "192.0.2.1", user_agent: "Googlebot/2.1" },
  { ip: "192.0.2.1", expected_country: "FR" },
  {
    ip: "192.0.2.1",
    // A time in the future counts as a minute ago.
    previous: { latitude: 35.7, longitude: 139.7, at: "2100-01-01T00:00:00Z" },
  },
  { email: "jane@disposable.example" },
  { email: "jane@invalid.example" },
  { email: "jane@listed.example" },
  { email: "jane@mistyped.example" },
  { email: "info@example.com" },
] as const satisfies readonly Omit<VisitorInput, "event">[];

interface SandboxCheck extends Omit<SandboxDomain, "evidence"> {
  readonly mx: MxOutcome;
}

function check(
  name: string,
  meaning: string,
  mx: MxOutcome,
  valid = true,
  providers: readonly string[] = [],
): SandboxCheck {
  return { domain: `${name}.example`, meaning, mx, valid, providers };
}

/** Email domains for `?checks=mx`. Without that parameter, they are ordinary domains. */
export const SANDBOX_CHECKS: readonly SandboxCheck[] = [
  check("implicit-mx", "no MX record, but an address: mail goes there", "implicit"),
  check("no-mx", "neither an MX record nor an address", "none"),
  check("null-mx", "the domain accepts no mail (RFC 7505)", "null", false),
  check("no-domain", "the domain does not exist", "nxdomain", false),
  check("mx-timeout", "DNS did not answer in time", "timeout"),
  check("mx-failed", "DNS refused, or sent an invalid reply", "failed"),
  check("mx-busy", "not checked, because too many DNS lookups are in progress", "busy"),
  check("mx-disposable", "its mail goes to a disposable-email service", "found", true, [
    "disposable.example",
  ]),
];

/**
 * The N in the sandbox addresses of each problem: 203.0.113.N and 2001:db8:bad::N. It is explicit, so that a new code
 * does not change the other addresses.
 */
const NUMBERS = {
  PATH_INVALID: 1,
  PARAMETER_INVALID: 2,
  IP_ADDRESS_INVALID: 3,
  IP_ADDRESS_RESERVED: 4,
  HOST_INVALID: 22,
  BODY_INVALID: 27,
  IDEMPOTENCY_KEY_INVALID: 28,
  BATCH_INVALID: 19,
  VALUE_INVALID: 20,
  KEY_MISSING: 5,
  KEY_INVALID: 6,
  KEY_EXPIRED: 7,
  SCOPE_REQUIRED: 8,
  SOURCE_NOT_ALLOWED: 9,
  CALLER_UNKNOWN: 26,
  SIGNATURE_INVALID: 31,
  VISITOR_DENIED: 25,
  PATH_NOT_FOUND: 10,
  DECISION_NOT_FOUND: 29,
  IP_ADDRESS_NOT_FOUND: 11,
  METHOD_NOT_ALLOWED: 12,
  CONTENT_TOO_LARGE: 13,
  CONTENT_TYPE_INVALID: 21,
  SANDBOX_VALUE_REQUIRED: 24,
  RATE_LIMITED: 14,
  TOO_MANY_STREAMS: 23,
  QUOTA_EXCEEDED: 15,
  INTERNAL: 16,
  DATA_NOT_LOADED: 17,
  DECISIONS_UNREACHABLE: 30,
  KEYS_NOT_LOADED: 18,
} satisfies Record<ProblemCode, number>;

/** Every problem, including those that depend on the key, the server or the time instead of the request. */
export const SANDBOX_PROBLEMS = Object.entries(NUMBERS).map(([code, number]) => ({
  code: code as ProblemCode,
  v4: `203.0.113.${number}`,
  v6: `2001:db8:bad::${number}`,
  domain: `${code.toLowerCase().replaceAll("_", "-")}.example`,
}));
