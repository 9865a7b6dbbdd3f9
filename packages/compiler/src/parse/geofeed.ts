// geofeed.ts: reads the networks of a geofeed, and the place that the geofeed states for each network.
//
// in   prefix,country,region,city,postal per line; "#" comments, CRLF, quotes; any field but the first may be empty.
//      The first row may name the columns, and a prefix may be a range such as 192.0.2.0-192.0.2.9. A harvested file
//      also has the columns url and flags: who stated the line, and what the harvester found wrong with it
// out  sorted networks, each with the index of its place; if lines repeat a network, the first line counts
// err  FeedError like every line parser; a line that cannot be read is skipped and counted
// src  RFC 8805. An empty country asks that the network not be located, so the place has no fields. The RFC deprecates
//      the postal code, but many operators state one

import type { Prefix } from "@inkling/engine";
import { FeedError } from "../catalog/feed.ts";
import { addRange } from "./address-ranges.ts";
import { splitRow } from "./csv.ts";
import { NetworkList } from "./network-list.ts";
import { lineParser } from "./parser.ts";
import { findStatedDate, isoCountry } from "./text.ts";

/** What an operator states about a network. Empty if the operator asks not to be located. */
export interface StatedPlace {
  /** Two upper-case letters. They are not checked against the standard. */
  readonly country?: string;
  /** The part of the country's ISO 3166-2 code after the hyphen. It is not checked against the standard. */
  readonly region?: string;
  /** The code of a region that belongs to another country than `country`, such as DE-BY. */
  readonly foreignRegion?: string;
  readonly city?: string;
  readonly postal?: string;
  /** Where a harvester found the line, without the scheme. */
  readonly publisher?: string;
  /** For a harvested line: how much others confirm what its publisher states. */
  readonly trust?: string;
}

/**
 * Networks in address order; of networks with the same start, the widest comes first. Networks may contain each other,
 * and the narrowest one applies.
 */
export interface StatedPlaces {
  readonly networks: readonly Prefix[];
  /** For each network, the index of its place. */
  readonly placeOf: Uint32Array;
  readonly places: readonly StatedPlace[];
}

/**
 * Fields after the network may be empty, but the commas are required. A line without them was cut short, or has a
 * different format.
 */
const MIN_FIELDS = 4;
/**
 * Maximum length of a city name. The longest name in the feeds of August 2026 has 25 characters, so longer text is a
 * sign of damage.
 */
const MAX_CITY = 200;
/**
 * Maximum number of places in a geofeed. A segment has room for 262,143 (geo/layers.ts). The built-in feeds of single
 * operators state 5,000 together, and the harvested one states those of 3,600 publishers.
 */
const MAX_PLACES = 200_000;

/** A list of networks, each with the place that the feed states for it. */
export class PlacedList extends NetworkList {
  private readonly places: StatedPlace[] = [];
  private readonly ids = new Map<string, number>();
  private readonly idOf = new Map<Prefix, number>();
  private readonly lineOf = new Map<Prefix, number>();

  /** @param network undefined if the line has no network */
  locate(line: number, network: Prefix | undefined, place: StatedPlace): Prefix | undefined {
    if (network !== undefined) {
      this.idOf.set(network, this.idFor(place));
      this.lineOf.set(network, line);
    }
    return network;
  }

  private idFor(place: StatedPlace): number {
    const { country, region, foreignRegion, city, postal, publisher } = place;
    const key = [country, region, foreignRegion, city, postal, publisher].join("\t");
    let id = this.ids.get(key);
    if (id === undefined) {
      if (this.places.length === MAX_PLACES)
        throw new FeedError(`states more than ${MAX_PLACES} different places`);
      id = this.places.push(place) - 1;
      this.ids.set(key, id);
    }
    return id;
  }

  override result() {
    const { networks, special } = super.result();
    const placeOf = Uint32Array.from(networks, (network) => this.idOf.get(network)!);
    const stated: StatedPlaces = { networks, placeOf, places: this.places };
    const lineOf = (network: Prefix) => this.lineOf.get(network)!;
    return { networks, stated, lineOf, ...(special && { special }) };
  }
}

class GeofeedList extends PlacedList {
  private isFirst = true;
  /** Indices of the columns that only a harvested file has, or -1. */
  private url = -1;
  private flags = -1;

  override add(line: number, text: string): Prefix | undefined {
    const fields = splitRow(text);
    const isHeader = this.isFirst && HEADER.test(text);
    this.isFirst = false;
    if (isHeader) {
      const names = fields?.map((name) => name.toLowerCase()) ?? [];
      this.url = names.indexOf("url");
      this.flags = names.indexOf("flags");
      return undefined;
    }
    if (fields === undefined || fields.length < MIN_FIELDS) {
      this.tally.fail(line, "is not a geofeed line, which has the format network,country,region,city,");
      return undefined;
    }
    if (fields[this.flags]) return undefined; // the harvester already doubts it
    const place = readPlace(fields, fields[this.url]);
    if (place === undefined) {
      this.tally.fail(line, "has a country that is not a two-letter ISO 3166-1 code");
      return undefined;
    }
    const [prefix = ""] = fields;
    if (!prefix.includes("-")) return this.locate(line, super.add(line, prefix), place);
    addRange(
      { tally: this.tally, add: (_, text) => this.locate(line, super.add(line, text), place) },
      line,
      prefix,
    );
    return undefined;
  }
}

/** Matches an ISO 3166-2 code. */
const REGION = /^([A-Z]{2})-([A-Z0-9]{1,3})(?:-|$)/;

/** Every country's postal codes contain a digit. The longest have 10 characters, such as 45402-1234. */
const POSTAL = /^(?=.*[0-9])[A-Z0-9][A-Z0-9 -]{1,9}$/;

/** Returns undefined if the country is neither empty nor two letters. */
function readPlace(
  [, code = "", region = "", city = "", postal = ""]: readonly string[],
  url: string | undefined,
): StatedPlace | undefined {
  const country = isoCountry(code.toUpperCase());
  if (country === "") return {};
  if (!/^[A-Z]{2}$/.test(country)) return undefined;
  const [, ofCountry = "", division] = REGION.exec(region.toUpperCase()) ?? [];
  const isForeign = isoCountry(ofCountry) !== country;
  const named = isForeign ? { foreignRegion: `${ofCountry}-${division}` } : { region: division! };
  return {
    country,
    ...(division !== undefined && named),
    ...(city !== "" && city.length <= MAX_CITY && { city }),
    ...(POSTAL.test(postal.toUpperCase()) && { postal: postal.toUpperCase() }),
    ...(url && { publisher: publisherOf(url) }),
  };
}

/** Returns the address without scheme or query, in printable ASCII, as the evidence shows it. */
const publisherOf = (url: string): string =>
  url
    .replace(/^[a-z]+:\/\//i, "")
    .replace(/[?#].*$/, "")
    .replace(/[^!-~]/g, "")
    .slice(0, MAX_PUBLISHER);
const MAX_PUBLISHER = 120;

/** Matches a header row: no address, and more than a country code. */
const HEADER = /^"?[a-z][a-z_ -]*"?\s*,\s*"?[a-z][a-z_ -]{2}/i;

export const parseGeofeed = lineParser(GeofeedList, () => (line, number, list) => {
  if (line.startsWith("#")) return findStatedDate(line);
  list.add(number, line);
  return undefined;
});
