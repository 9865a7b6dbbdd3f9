// mmdb-types.ts: the types of MaxMind DB that an export can be: which answers they hold, and the shape of their records.
//
// Many readers open only types that they know, by name, and read members of the types that MaxMind documents.
//
// src  https://dev.maxmind.com/geoip/docs/databases; "names" by language

import { FLAG_ROWS, REPUTATION_FLAGS } from "@inkling/contract";
import { geoip2City, geoip2Country } from "@inkling/engine";
import type { Answer, IpTable } from "../members.ts";
import { reduced } from "./format.ts";
import { type MmdbMap, type MmdbValue, Unsigned } from "./mmdb-data.ts";
import type { AnswerRanges, ExportSource } from "./source.ts";

interface DatabaseType {
  readonly lookup: IpTable;
  rangesOf(source: ExportSource): Generator<undefined, AnswerRanges>;
  /** A record. @param answer one of the texts of the ranges, parsed */
  toValue(answer: Answer): MmdbValue;
}

const city: DatabaseType = {
  lookup: "geolocate",
  rangesOf: (source) => source.ranges("geolocate"),
  toValue: cityRecord,
};

/** Without the members of a city: neighbours with the same country are one network. */
const country: DatabaseType = {
  lookup: "geolocate",
  *rangesOf(source) {
    return yield* reduced(yield* source.ranges("geolocate"), countryText);
  },
  toValue: (answer: Answer): MmdbValue => geoip2Country(answer),
};

const flags: DatabaseType = {
  lookup: "reputation",
  rangesOf: (source) => source.ranges("reputation"),
  toValue: (answer: Answer): MmdbValue => answer,
};

const anonymousIp: DatabaseType = {
  lookup: "reputation",
  rangesOf: (source) => source.ranges("reputation", anonymousText),
  toValue: (answer: Answer): MmdbValue => answer,
};

const network: DatabaseType = {
  lookup: "network",
  rangesOf: (source) => source.ranges("network"),
  toValue: ({ asn, ...rest }: Answer): MmdbValue => ({ asn: systemNumber(asn), ...rest }),
};

/** Neighbours of the same system are one network. */
const asn: DatabaseType = {
  lookup: "network",
  *rangesOf(source) {
    return yield* reduced(yield* source.ranges("network"), systemText);
  },
  toValue: ({ asn, organization }: Answer): MmdbValue => ({
    autonomous_system_number: systemNumber(asn),
    autonomous_system_organization: organization,
  }),
};

export const DATABASE_TYPES: Readonly<Record<string, DatabaseType>> = {
  "Inkling-City": city,
  "Inkling-Reputation": flags,
  "Inkling-Network": network,
  "GeoLite2-City": city,
  "GeoIP2-City": city,
  "GeoLite2-Country": country,
  "GeoIP2-Country": country,
  "GeoIP2-Anonymous-IP": anonymousIp,
  "GeoLite2-ASN": asn,
};

export const DEFAULT_TYPES: Readonly<Record<IpTable, string>> = {
  geolocate: "Inkling-City",
  reputation: "Inkling-Reputation",
  network: "Inkling-Network",
};

const systemNumber = (asn: number | undefined) => (asn === undefined ? undefined : new Unsigned(32, asn));

/** @returns "" if no system announces it */
function systemText(text: string): string {
  const { asn, organization } = JSON.parse(text);
  return asn === undefined ? "" : JSON.stringify({ asn, organization });
}

function cityRecord(answer: Answer): MmdbMap {
  const { location, ...rest } = geoip2City(answer);
  const radius = location?.accuracy_radius;
  const spot =
    typeof radius === "number" ? { ...location, accuracy_radius: new Unsigned(16, radius) } : location;
  return { ...rest, location: spot };
}

/** @returns "" if there is nothing to write */
function countryText(text: string): string {
  const { continent, country, registered_country } = JSON.parse(text);
  const kept = { continent, country, registered_country };
  return Object.values(kept).every((member) => Object.keys(member).length === 0) ? "" : JSON.stringify(kept);
}

/** Label of evidence -> member. No feed labels residential proxies: theirs is never set. */
const MEMBER_OF_LABEL: Readonly<Record<string, string>> = {
  vpn: "is_anonymous_vpn",
  public_proxy: "is_public_proxy",
  hosting: "is_hosting_provider",
};

/**
 * A record of GeoIP2 Anonymous IP, which has only members that are true. An override sets a flag without a label: the
 * address is anonymous then, and how is unknown.
 * @returns "" if there is nothing to write
 */
function anonymousText(answer: Answer): string {
  const { is_proxy, is_tor_exit, evidence } = answer;
  const record: Record<string, true> = {};
  if (REPUTATION_FLAGS.some((flag) => answer[flag] && FLAG_ROWS[flag].anonymous)) record.is_anonymous = true;
  if (is_tor_exit) record.is_tor_exit_node = true;
  for (const { label, effect } of evidence) {
    const member = MEMBER_OF_LABEL[label];
    if (member === undefined) continue;
    // Hosting is no verdict; a list below the quorum proves no VPN.
    if (label === "hosting" || (is_proxy && effect === "sets")) record[member] = true;
  }
  return Object.keys(record).length === 0 ? "" : JSON.stringify(record);
}
