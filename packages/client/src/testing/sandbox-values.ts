// sandbox-values.ts: finds the sandbox's row for an address or an email address, or an error code.
//
// src  sandbox-answers.ts, generated from the server's own tables
// note Email syntax is checked only roughly. A top-level domain that does not exist counts as real
//      (SANDBOX_VALUE_REQUIRED instead of `valid: false`), and the evidence lacks labels that follow from the text.

import type { Lookup } from "../answers.ts";
import { type Answers, type FactValues, NO_FLAGS, type ReasonCode } from "../generated.ts";
import { formatIp, type Ip, isIn, parseIp, parseNetwork } from "../ip.ts";
import { SANDBOX } from "./sandbox-answers.ts";
import type { Row, Share } from "./sandbox-table.ts";

/** Default members of an answer, for members that a test does not set. */
export const PLAIN: Answers = {
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

const NOT_VALID = { valid: false, disposable: false, providers: [], evidence: [], checks: { mx: "skipped" } };
/** The contributions of a domain without any flag, and of an address about which there is no data. */
const ORDINARY = SANDBOX.assessedDomains["example.com"] as Share;
const UNKNOWN = SANDBOX.assessedAddresses["192.0.2.3"] as Share;

const LOCAL =
  /^(?:[\w!#$%&'*+/=?^`{|}~\u00a1-\u{10ffff}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u00a1-\u{10ffff}-]+)*|"(?:[^"\\\p{Cc}]|\\[ -~])*")$/u;
/** At least two labels. The last one has a letter and is not reserved by RFC 2606 or RFC 6761. */
const MAIL_DOMAIN =
  /^(?:[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?\.)+(?!\d+$|(?:example|test|localhost|invalid|local|onion|alt)$)[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?$/u;

const byAddress = <T>(rows: Readonly<Record<string, T>>) =>
  new Map(Object.entries(rows).map(([text, row]) => [normal(text), row]));
const EMAIL = new Map(Object.entries(SANDBOX.email));
const CHECKED_EMAIL = new Map(Object.entries(SANDBOX.checkedEmail));
const ADDRESSES = { geolocate: byAddress(SANDBOX.geolocate), reputation: byAddress(SANDBOX.reputation) };
const ASSESSED = byAddress(SANDBOX.assessedAddresses);
const ASSESSED_DOMAINS = new Map(Object.entries(SANDBOX.assessedDomains));

const isInOneOf = (networks: readonly string[], ip: Ip) =>
  networks.some((text) => isIn(parseNetwork(text)!, ip));

/** Returns the normal form of a value: an address in eight groups, an email address in lower case. */
export function normal(value: string): string {
  const ip = parseIp(value);
  return ip === undefined ? value.toLowerCase() : formatIp(ip);
}

/**
 * Returns the row of a lookup.
 * @param mx whether the domain is checked in DNS
 */
export function sandboxRow(lookup: Lookup, value: string, mx: boolean): Row {
  if (lookup === "email") return emailRow(value, mx);
  return ofAddress(
    value,
    ADDRESSES[lookup],
    lookup === "geolocate" ? "IP_ADDRESS_NOT_FOUND" : { ...PLAIN.reputation },
  );
}

/** Returns what an address contributes to a decision. An address that is in no table has no `ip.network`. */
export function addressShare(value: string): Share | string {
  const { "ip.network": _, ...facts } = UNKNOWN.facts;
  return ofAddress(value, ASSESSED, { reasons: [], facts });
}

function ofAddress<T>(value: string, rows: ReadonlyMap<string, T>, unlisted: T): T | string {
  const ip = parseIp(value === "me" ? SANDBOX.me : value);
  if (ip === undefined) return "IP_ADDRESS_INVALID";
  const row = rows.get(formatIp(ip));
  if (row !== undefined) return row;
  if (isInOneOf(SANDBOX.documentation, ip)) return unlisted;
  return isInOneOf(SANDBOX.reserved, ip) ? "IP_ADDRESS_RESERVED" : "SANDBOX_VALUE_REQUIRED";
}

function emailRow(value: string, mx: boolean): Row {
  const domain = domainOf(value);
  const row = (mx ? CHECKED_EMAIL.get(domain) : undefined) ?? EMAIL.get(domain);
  if (row === undefined) return MAIL_DOMAIN.test(domain) ? "SANDBOX_VALUE_REQUIRED" : NOT_VALID;
  if (typeof row === "string") return row;
  const valid = row.valid === true && hasLocal(value);
  return { checks: { mx: row.valid === true ? "found" : "skipped" }, ...row, valid };
}

/** Returns what an email address contributes to a decision. */
export function emailShare(value: string): Share | string {
  const domain = domainOf(value);
  const row = ASSESSED_DOMAINS.get(domain);
  if (typeof row === "string") return row;
  if (row === undefined) {
    if (MAIL_DOMAIN.test(domain)) return "SANDBOX_VALUE_REQUIRED";
    return invalid([], { ...ORDINARY.facts, "email.domain": domain });
  }
  const isJudged = row.facts["email.valid"] === true;
  return isJudged && !hasLocal(value) ? invalid(row.reasons, row.facts) : row;
}

const invalid = (reasons: readonly ReasonCode[], facts: FactValues): Share => ({
  reasons: [...reasons, "invalid_email"],
  facts: { ...facts, "email.valid": false },
});

function hasLocal(email: string): boolean {
  const local = email.slice(0, email.lastIndexOf("@"));
  return LOCAL.test(local) && local.length <= 64;
}

export function domainOf(email: string): string {
  const at = email.lastIndexOf("@");
  return at < 0
    ? ""
    : email
        .slice(at + 1)
        .toLowerCase()
        .replace(/\.$/, "");
}

/**
 * Returns the subject of an address whose row has no subject: the address itself and the documentation network around
 * it.
 */
export function subjectOf(value: string): { readonly ip: string; readonly prefix: string } {
  const text = value === "me" ? SANDBOX.me : value;
  const ip = parseIp(text);
  if (ip === undefined) return { ip: text, prefix: text };
  const around = SANDBOX.documentation.find((network) => isIn(parseNetwork(network)!, ip));
  return { ip: text, prefix: around ?? `${text}/${ip.bits}` };
}
