// parse/index.ts: the parser of each format. Parsers take bytes and throw FeedError; nothing else is theirs.

import { FeedError, type Format, type ParsedDomains, type ParsedNetworks } from "../catalog/feed.ts";
import { parseAbuseipdb } from "./abuseipdb.ts";
import { parseDshieldBlock, parseIpRangeCsv } from "./address-ranges.ts";
import { parseDomainJson } from "./domain-json.ts";
import { parseDomainLines } from "./domain-lines.ts";
import { parseFakefilterJson, parseFakefilterText } from "./fakefilter.ts";
import { parseGeofeed } from "./geofeed.ts";
import { parseIpLines } from "./ip-lines.ts";
import { parseMonosans } from "./monosans.ts";
import { parseOnionoo } from "./onionoo.ts";
import { parseExitNetworks, parseRelayDomains } from "./own-lists.ts";
import { parseProxyLines } from "./proxy-lines.ts";
import { parseFastlyJson, parseMispJson, parsePrefixJson } from "./published-networks.ts";
import { parseSpamhaus } from "./spamhaus.ts";

export { type Delegation, parseNroDelegated } from "./nro-delegated.ts";

const NETWORK_PARSERS: { readonly [F in Format]?: (body: Uint8Array) => ParsedNetworks } = {
  "ip-lines": parseIpLines,
  "geofeed-csv": parseGeofeed,
  "spamhaus-json-lines": parseSpamhaus,
  "onionoo-json": parseOnionoo,
  "monosans-json": parseMonosans,
  "abuseipdb-json": parseAbuseipdb,
  "ip-range-csv": parseIpRangeCsv,
  "dshield-block": parseDshieldBlock,
  "proxy-lines": parseProxyLines,
  "prefix-json": parsePrefixJson,
  "fastly-json": parseFastlyJson,
  "misp-json": parseMispJson,
  "exit-networks": parseExitNetworks,
};

const DOMAIN_PARSERS: { readonly [F in Format]?: (body: Uint8Array) => ParsedDomains } = {
  "domain-lines": parseDomainLines,
  "domain-json": parseDomainJson,
  "fakefilter-text": parseFakefilterText,
  "fakefilter-json": parseFakefilterJson,
  "relay-domains": parseRelayDomains,
};

/** Does the format hold networks, so that {@link parseNetworks} reads it? */
export const isNetworkFormat = (format: Format): boolean => NETWORK_PARSERS[format] !== undefined;
/** Does the format hold domains, so that {@link parseDomains} reads it? */
export const isDomainFormat = (format: Format): boolean => DOMAIN_PARSERS[format] !== undefined;

/** @throws FeedError when the body cannot be believed, or the format holds no networks */
export function parseNetworks(format: Format, body: Uint8Array): ParsedNetworks {
  const parse = NETWORK_PARSERS[format];
  if (parse === undefined) throw new FeedError(`${format} is no format of networks`);
  return parse(body);
}

/** @throws FeedError when the body cannot be believed, or the format holds no domains */
export function parseDomains(format: Format, body: Uint8Array): ParsedDomains {
  const parse = DOMAIN_PARSERS[format];
  if (parse === undefined) throw new FeedError(`${format} is no format of domains`);
  return parse(body);
}
