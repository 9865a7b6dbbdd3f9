// mmdb-types.ts: defines the MaxMind DB types that an export can have, with their answers and the shape of their
// records.
//
// Many readers open only types whose names they recognize, and read the fields that MaxMind documents for these types.
//
// src  https://dev.maxmind.com/geoip/docs/databases; "names" by language

import { FLAG_ROWS, REPUTATION_FLAGS } from "@inkling/contract";
import { geoip2City, geoip2Country } from "@inkling/engine";
import type { Answer, IpTable } from "../fields.ts";
import { reduced } from "./format.ts";
import { type MmdbMap, type MmdbValue, Unsigned } from "./mmdb-data.ts";
import type { AnswerRanges, ExportSource } from "./source.ts";

interface DatabaseType {
  readonly lookup: IpTable;
  rangesOf(source: ExportSource): Generator<undefined, AnswerRanges>;
  /** Creates a record. @param answer one of the texts of the ranges, parsed */
  toValue(answer: Answer): MmdbValue;
}

const city: DatabaseType = {
  lookup: "geolocate",
  rangesOf: (source) => source.ranges("geolocate"),
  toValue: cityRecord,
};

/** Records without the fields of a city. Neighbours with the same country become one network. */
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

/** Neighbours with the same system become one network. */
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

/** @returns "" if no system announces the network */
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
  return Object.values(kept).every((field) => Object.keys(field).length === 0) ? "" : JSON.stringify(kept);
}

/** Maps labels of evidence to fields. No feed labels residential proxies, so their field is never set. */
const FIELD_OF_LABEL: Readonly<Record<string, string>> = {
  vpn: "is_anonymous_vpn",
  public_proxy: "is_public_proxy",
  hosting: "is_hosting_provider",
};

/**
 * Returns a record of GeoIP2 Anonymous IP, which has only fields that are true. An override sets a flag without a
 * label, so the address is anonymous, but the kind of proxy is unknown.
 * @returns "" if there is nothing to write
 */
function anonymousText(answer: Answer): string {
  const { is_proxy, is_tor_exit, evidence } = answer;
  const record: Record<string, true> = {};
  if (REPUTATION_FLAGS.some((flag) => answer[flag] && FLAG_ROWS[flag].anonymous)) record.is_anonymous = true;
  if (is_tor_exit) record.is_tor_exit_node = true;
  for (const { label, effect } of evidence) {
    const field = FIELD_OF_LABEL[label];
    if (field === undefined) continue;
    // "Hosting" is not a verdict. A list below the quorum does not prove a VPN.
    if (label === "hosting" || (is_proxy && effect === "sets")) record[field] = true;
  }
  return Object.keys(record).length === 0 ? "" : JSON.stringify(record);
}
