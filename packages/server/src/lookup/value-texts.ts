// value-texts.ts: explains to operators, in a terminal and in the admin API, why a value has no answer. The public API
// has different texts, because its callers look up their visitors.

import { formatPrefix, type IpAddress, parseIp, specialUse, toAsciiDomain } from "@inkling/engine";
import { MAX_ASN } from "./subject.ts";

/**
 * @param text text that is not an address, network, AS number, domain or email address
 * @returns what is wrong with the text
 */
export function notAValue(text: string): string {
  const shown = JSON.stringify(text.slice(0, 60));
  const mistake = mistakeIn(text);
  if (mistake === undefined)
    return `${shown} is not an IP address, network, AS number, domain or email address`;
  return `${shown} cannot be looked up: ${mistake}`;
}

function mistakeIn(text: string): string | undefined {
  if (/^as\d+$/i.test(text)) return `the highest AS number is ${MAX_ASN}`;
  return surplusIn(text) ?? prefixMistake(text) ?? addressMistake(text);
}

/** Parts that may surround a value copied from a URL, a log or a configuration file, in the order of removal. */
const SURPLUS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["the scheme", /^[a-z][a-z\d+.-]*:\/\//i],
  ["the path", /[/?#](?!\d+$).*$/],
  ["the port", /(?<=^[^:]+|\]):\d{1,5}$/],
  ["the brackets", /^\[|\]$/g],
  ["the zone", /%.*$/],
];

/** Lists the parts to leave out; undefined if there are none, or if the rest cannot be looked up. */
function surplusIn(text: string): string | undefined {
  let rest = text;
  const surplus = SURPLUS.flatMap(([name, pattern]) => {
    const before = rest;
    rest = rest.replace(pattern, "");
    return rest === before ? [] : [name];
  });
  const canBeLookedUp = parseIp(rest) !== undefined || toAsciiDomain(rest) !== undefined;
  if (surplus.length === 0 || !canBeLookedUp) return undefined;
  return `leave out ${new Intl.ListFormat("en-GB").format(surplus)}`;
}

function prefixMistake(text: string): string | undefined {
  const [host = "", digits] = text.split("/");
  const address = digits === undefined ? undefined : parseIp(host);
  if (address === undefined) return undefined;
  return host.includes(":")
    ? "the prefix length of an IPv6 network is at most /128"
    : "the prefix length of an IPv4 network is at most /32";
}

function addressMistake(text: string): string | undefined {
  const [host = ""] = text.split("/");
  if (/^[\da-f.]*:[\da-f.]*:[\da-f:.]*$/i.test(host))
    return "an IPv6 address has eight groups of hexadecimal digits, and :: replaces a run of zero groups";
  if (!/^\d+\.[\d.]*$/.test(host)) return undefined;
  const numbers = host.split(".");
  if (numbers.length !== 4 || numbers.includes("")) return "an IPv4 address has four numbers";
  if (numbers.some((number) => Number(number) > 255)) return "each number of an IPv4 address is at most 255";
  return "the numbers of an IPv4 address have no leading zeros";
}

const REASONS: Readonly<Record<string, string>> = {
  private: "any organization may use the network internally",
  "carrier-grade NAT": "providers use the network between their customers and the internet",
  loopback: "the network always means the machine itself",
  "link-local": "the network exists only on one link",
  documentation: "the network is reserved for examples",
};

/**
 * Explains why a special-use address or network has no answer, and what to look up instead.
 * @param subject the value as the operator wrote it: "10.0.0.1", "10.1.0.0/16"
 * @param address the address, or the network's first address
 * @param use words that fit "… is a <use> address"
 */
export function reservedText(subject: string, address: IpAddress, use: string): [what: string, why: string] {
  const article = /^[aeiou]/i.test(use) ? "an" : "a";
  const what = subject.includes("/") ? "network" : "address";
  const network = formatPrefix(specialUse(address)!.prefix); // the caller has checked that the value has a special use
  const reason = REASONS[use] ?? "a standard reserves the network";
  return [
    `${subject} is ${article} ${use} ${what}`,
    `it belongs to ${network}: ${reason}, so no feed describes it; look up the visitor's public address`,
  ];
}
