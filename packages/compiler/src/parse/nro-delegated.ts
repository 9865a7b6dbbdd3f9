// nro-delegated.ts: reads the registries' statistics of address holders (RIR statistics exchange format).
//
// in   registry|cc|type|start|value|date|status[|opaque-id[|extensions…]]. The first line is
//      version|registry|serial|records|startdate|enddate|UTC-offset; summary lines follow
// out  one or more prefixes for each IPv4 or IPv6 delegation with a country
// err  FeedError if the version line is missing, or if the file was cut short and has fewer records than that line
//      states
// src  apnic.net/about-apnic/corporate-documents/documents/resource-guidelines/rir-statistics-exchange-format

import { IpAddress, type Prefix, parseIp, parsePrefix } from "@inkling/engine";
import { FeedError } from "../catalog/feed.ts";
import { networksBetween } from "./address-ranges.ts";
import { Tally } from "./tally.ts";
import { forEachLine, readText } from "./text.ts";

export interface Delegation {
  readonly prefix: Prefix;
  /** ISO 3166-1 alpha-2, as the registry states it. */
  readonly country: string;
}

const VERSION_LINE = /^2(?:\.[0-9]+)?\|[a-z]+\|[0-9]+\|([0-9]+)\|/;
const HELD = new Set(["allocated", "assigned"]);
/** Regions and placeholders that occur in the country column. */
const NO_COUNTRY = new Set(["", "*", "ZZ", "EU", "AP"]);

/** @throws FeedError if the file is invalid */
export function parseNroDelegated(body: Uint8Array): readonly Delegation[] {
  const tally = new Tally();
  const delegations: Delegation[] = [];
  let announced: number | undefined;
  let records = 0;
  forEachLine(readText(body), (line, number) => {
    if (line.startsWith("#")) return;
    if (announced === undefined) {
      const count = VERSION_LINE.exec(line)?.[1];
      if (count === undefined)
        throw new FeedError(`line ${number} is not the version line of registry statistics`);
      announced = Number(count);
      return;
    }
    const [, cc = "", type, start = "", value = "", , status = ""] = line.split("|", 7);
    if (line.endsWith("|summary")) return;
    records++;
    if (type === "asn" || !HELD.has(status)) {
      if (type !== "asn" && type !== "ipv4" && type !== "ipv6") tally.fail(number, "is not a delegation");
      return;
    }
    const country = cc.toUpperCase();
    const prefixes =
      type === "ipv4" ? splitIpv4(start, value) : type === "ipv6" ? ipv6(start, value) : undefined;
    if (prefixes === undefined || (!NO_COUNTRY.has(country) && !/^[A-Z]{2}$/.test(country))) {
      tally.fail(number, "is not a delegation");
      return;
    }
    tally.use();
    if (NO_COUNTRY.has(country)) return;
    for (const prefix of prefixes) delegations.push({ prefix, country });
  });
  if (announced === undefined) throw new FeedError("lacks the version line of registry statistics");
  if (records < announced) throw new FeedError(`is truncated: ${records} of ${announced} records`);
  tally.check();
  return delegations;
}

/** Returns the networks that make up `count` addresses, starting at `start`. The count need not be a power of two. */
function splitIpv4(start: string, count: string): Prefix[] | undefined {
  const address = parseIp(start);
  if (address?.family !== 4 || !/^[1-9][0-9]{0,9}$/.test(count)) return undefined;
  const last = address.words[0]! + Number(count) - 1;
  return last < 2 ** 32 ? networksBetween(address, new IpAddress(4, [last])) : undefined;
}

function ipv6(start: string, length: string): Prefix[] | undefined {
  const prefix = length === "" ? undefined : parsePrefix(`${start}/${length}`);
  return prefix?.address.family === 6 ? [prefix] : undefined;
}
