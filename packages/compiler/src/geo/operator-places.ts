// operator-places.ts: overlays a geolocation database with the places that operators state for their own networks.
//
// Cost: one pass over the stated networks for each level of nesting, and one over the countries; places are created on
// first use.
//
// An operator's place applies if it states a city, if it contradicts the database's country or region, or if the
// database has no place. Otherwise, the database's place remains. An address of an anycast network is in many places at
// once, so only its registered country is known. A city, coordinates, a radius or a time zone would be invented. If the
// registered country is unknown, the network has no place, even if the database has one.

import {
  cover,
  type Networks,
  networkAround,
  overlay,
  type Prefix,
  prefixContains,
  type RangeColumns,
} from "@inkling/engine";
import type { StatedPlace, StatedPlaces } from "../parse/index.ts";
import { estimateRadius, knownIn, type Level, levelOf, radiusIn, rowKeys } from "../place/accuracy.ts";
import { completeSubdivisions } from "../place/complete-place.ts";
import { countryCodeOf, findCountry } from "../place/countries.ts";
import {
  type Coordinates,
  type Density,
  knownCoordinates,
  type Place,
  type Subdivision,
} from "../place/place.ts";
import { cleanName } from "../place/place-names.ts";
import { findSubdivisionCode, findSubdivisionName } from "../place/subdivisions.ts";
import { type CityName, Gazetteer, weigh } from "./gazetteer.ts";
import { isOfSmallSystem, KINDS, KINDS_BY_SIZE, layersOf, ROWS } from "./layers.ts";
import { networksIn, type PlaceSource } from "./place-source.ts";

/**
 * The networks of a feed, and what the feed states about them: "anycast" for all of them, or a place for each network.
 */
export interface OperatorFeed {
  readonly id: string;
  readonly networks: readonly Prefix[];
  readonly stated: StatedPlaces | "anycast";
  /**
   * The feed's publisher rents the servers, and may call a server by the country that it poses in. So its city only
   * counts if the database has the city, and has the address in the same country.
   */
  readonly isOfServers?: boolean;
}

interface OperatorPlace {
  /** The place as the operator states it. */
  readonly stated: Place;
  /** The same place, with the fields that the database fills in. */
  readonly place: Place;
  readonly feed: OperatorFeed;
  /** How much others confirm what a harvested feed's publisher states. */
  readonly trust?: string | undefined;
  /** The id of the database's place from which fields were filled in, if there was one. */
  readonly from: number | undefined;
}

/** The part of a database's place that is more often right than wrong. */
interface KnownPlace extends Pick<OperatorPlace, "stated" | "place"> {
  readonly isCityUnknown?: boolean;
  /** Identifies the area in whose middle the place is. Equal areas have equal places. */
  readonly area?: string;
}

interface KnownCity {
  readonly known: Level;
  readonly accuracyRadius: number | undefined;
}

/**
 * Maximum radius in kilometres for a city in a small system's network. Other radii grow with the number of addresses at
 * the same coordinates, which says little about small systems: in their geofeeds, 78% of networks are within 50 km.
 */
const MAX_OF_SMALL_KM = 50;

/**
 * Small systems of these kinds often have their owner's city. At places with at least a million addresses, GeoLite2 has
 * the same city for 76 to 79% of hosting and for 41 to 55% of unknown kinds (85% in geofeeds). For all other kinds, the
 * share is 27 to 53%.
 */
const OWNERS_CITY: ReadonlySet<string> = new Set(["hosting", "unknown"]);
const CROWDED: ReadonlySet<Density> = new Set<Density>(["1000000", "10000000"]);

interface Row extends StatedPlace {
  readonly feed: OperatorFeed;
}

const NOT_YET = 0xff;

export class OperatorPlaces {
  private readonly general: PlaceSource;
  private readonly feeds: readonly OperatorFeed[];
  /** Each distinct statement of the feeds, numbered from 1. */
  private readonly rows: Row[] = [];
  private readonly firstRow = new Map<OperatorFeed, number>();
  private readGazetteer: Gazetteer | undefined;
  private readonly made = new Map<string, OperatorPlace>();
  /** By class of place and kind of network. */
  private readonly knownCities = new Map<number, KnownCity>();
  /** For each class of place and kind of network, the first kind of network that leads to an equal answer. */
  private firstKinds: Uint8Array = new Uint8Array(0);

  /** @param feeds the preferred feed first */
  constructor(general: PlaceSource, feeds: readonly OperatorFeed[]) {
    this.general = general;
    this.feeds = feeds;
    for (const feed of feeds) {
      this.firstRow.set(feed, this.rows.length + 1);
      const places = feed.stated === "anycast" ? [{}] : feed.stated.places;
      for (const place of places) this.rows.push({ ...checked(place), feed });
    }
    if (this.rows.length >= ROWS) throw new RangeError(`${this.rows.length} stated places`);
  }

  /** Number of places in the database and from operators. */
  get length(): number {
    return this.general.places.length + this.rows.length;
  }

  /**
   * @param grounds a covering with a ground for each range
   * @returns a covering with layers (see layers.ts)
   */
  layOver(family: 4 | 6, grounds: RangeColumns): RangeColumns {
    let rows = cover(family, () => {});
    for (const feed of this.feeds.toReversed())
      for (const networks of this.byDepth(feed, family))
        rows = overlay(rows, networks, (over, under) => over || under);
    return overlay(grounds, networksIn(rows), layersOf, rows.length);
  }

  /**
   * Returns the feed's networks by depth of nesting: first the outermost networks, then those directly inside them, and
   * so on. The networks in each list do not overlap.
   */
  private byDepth(feed: OperatorFeed, family: 4 | 6): Networks[] {
    const first = this.firstRow.get(feed)!;
    const depths: number[][] = [];
    const open: Prefix[] = [];
    feed.networks.forEach((network, i) => {
      if (network.address.family !== family) return;
      while (open.length > 0 && !prefixContains(open.at(-1)!, network.address)) open.pop();
      depths[open.length] ??= [];
      depths[open.length]!.push(i);
      open.push(network);
    });
    return depths.map(
      (indices): Networks =>
        (add) => {
          for (const i of indices) {
            const { address, bits } = feed.networks[i]!;
            const [w0, w1, w2, w3] = address.words as unknown as readonly [number, number, number, number];
            const row = first + (feed.stated === "anycast" ? 0 : feed.stated.placeOf[i]!);
            if (family === 4) add(w0, 0, 0, 0, bits, row);
            else add(w0, w1, w2, w3, bits, row);
          }
        },
    );
  }

  /** Reads the database. @param cover the IPv4 covering, if the database combines several sources */
  prepare(cover: RangeColumns | undefined): void {
    const names = this.rows.filter((row): row is Row & CityName => row.city !== undefined);
    const weights = weigh(this.general, cover);
    this.readGazetteer = new Gazetteer(this.general.places, weights, names);
    this.firstKinds = new Uint8Array(this.gazetteer.classes * KINDS).fill(NOT_YET);
  }

  /**
   * Returns the place number of a network. Numbers count from 1; 0 means none.
   * @param row the row of the network
   * @param place the number of the database's place
   */
  choose(row: number, place: number): number {
    const { feed, country: stated, region, city } = this.rows[row - 1]!;
    const ofOperator = this.general.places.length + row;
    if (feed.stated === "anycast") return ofOperator;
    if (stated === undefined) return place;
    if (feed.isOfServers) {
      const isKnown = place !== 0 && this.gazetteer.countryOf(place - 1) === stated;
      return isKnown && this.describe(ofOperator, undefined).from !== undefined ? ofOperator : place;
    }
    if (city !== undefined || place === 0) return ofOperator;
    const { gazetteer } = this;
    if (gazetteer.countryOf(place - 1) !== stated) return ofOperator;
    return region === undefined || gazetteer.isWithin(place - 1, stated, region) ? place : ofOperator;
  }

  /**
   * Returns a place from the database, with the fields on which its radius estimate depends.
   * @param kind kind of network, or 0 for none
   */
  placeAt(id: number, kind = 0): Place {
    const density = this.gazetteer.densityOf(id);
    return { ...this.general.places.at(id)!, density, networkKind: KINDS_BY_SIZE[kind - 1] };
  }

  /**
   * Returns a place from the measured database. If its city is more often wrong than right, only its region or country
   * remains. The coordinates are then in the middle of that area, or the database's if these are closer to the truth.
   * If the database states a radius, the place is not judged.
   * @param kind kind of network, or 0 for none
   */
  knownPlaceAt(id: number, kind: number): KnownPlace {
    const whole = this.placeAt(id, kind);
    const country = this.gazetteer.countryOf(id);
    const isJudged = levelOf(whole) === "city" && knownCoordinates(whole) && !whole.accuracyRadius;
    if (country === undefined || !isJudged) return { stated: whole, place: whole };
    const { accuracyRadius, known } = this.knownOf(id, kind);
    if (known === "city") return { stated: whole, place: { ...whole, accuracyRadius } };
    const region = completeSubdivisions(whole, country)[0];
    const isRegion = known === "region" && region?.isoCode !== undefined;
    const { networkKind, latitude, longitude } = whole;
    const stated = { countryCode: country, networkKind, subdivisions: isRegion ? [region] : [] };
    const at = { ...stated, latitude, longitude };
    const isCityUnknown = true;
    if ((accuracyRadius ?? Number.POSITIVE_INFINITY) < (estimateRadius(at) ?? Number.POSITIVE_INFINITY))
      return { stated: at, place: { ...at, accuracyRadius }, isCityUnknown };
    const middle = this.gazetteer.middleOf(country, isRegion ? region.isoCode : undefined);
    const place = { ...stated, latitude: middle?.latitude, longitude: middle?.longitude };
    const area = [
      country,
      ...stated.subdivisions.flatMap(({ isoCode, name }) => [isoCode, name]),
      networkKind,
    ];
    return { stated, place, isCityUnknown, area: area.join() };
  }

  /** Returns the middle of all addresses in a country, or in one of its regions. */
  middleOf(country: string, region: string | undefined): Coordinates | undefined {
    return this.gazetteer.middleOf(country, region);
  }

  /**
   * Returns how much is known of a place with a city, and the radius of this city. Both depend only on the class and
   * the kind. Looking them up for each answer would take 0.8 s.
   */
  private knownOf(id: number, kind: number): KnownCity {
    const key = this.gazetteer.classOf(id)! * KINDS + kind;
    const known = this.knownCities.get(key) ?? this.findKnown(id, kind);
    this.knownCities.set(key, known);
    return known;
  }

  private findKnown(id: number, kind: number): KnownCity {
    const density = this.gazetteer.densityOf(id);
    const kindName = KINDS_BY_SIZE[kind - 1];
    const keys = rowKeys(this.gazetteer.countryOf(id), undefined, "city", density, kindName);
    const radius = radiusIn(keys);
    const isCrowded = CROWDED.has(density) && !OWNERS_CITY.has(kindName!);
    if (!isOfSmallSystem(kind) || isCrowded) return { known: knownIn(keys), accuracyRadius: radius };
    return { known: "city", accuracyRadius: Math.min(radius ?? MAX_OF_SMALL_KM, MAX_OF_SMALL_KM) };
  }

  /**
   * Returns the first kind of network for which as much is known of the place as for `kind`, with the same radius.
   * Returns 0 for a place that is not in the database.
   */
  firstKindAlike(place: number, kind: number): number {
    if (kind === 0 || place === 0 || place > this.general.places.length) return 0;
    const placeClass = this.gazetteer.classOf(place - 1);
    if (placeClass === undefined) return kind;
    let first = this.firstKinds[placeClass * KINDS + kind]!;
    if (first === NOT_YET) {
      const country = this.gazetteer.countryOf(place - 1);
      const shown = (one: number) => {
        const { known, accuracyRadius } = this.knownOf(place - 1, one);
        const kindName = KINDS_BY_SIZE[one - 1];
        const level =
          known === "city" ? undefined : radiusIn(rowKeys(country, undefined, known, undefined, kindName));
        return `${known} ${accuracyRadius} ${level}`;
      };
      first = 0;
      while (shown(first) !== shown(kind)) first++;
      this.firstKinds[placeClass * KINDS + kind] = first;
    }
    return first;
  }

  /** @param registered the country in which the network is registered */
  describe(number: number, registered: string | undefined): OperatorPlace {
    const row = number - this.general.places.length;
    const { feed, trust, ...stated } = this.rows[row - 1]!;
    const key = feed.stated === "anycast" ? `${row} ${registered}` : `${row}`;
    let made = this.made.get(key);
    if (made === undefined) {
      made =
        feed.stated === "anycast" ? makeAnycast(feed, registered) : { ...this.make(feed, stated), trust };
      this.made.set(key, made);
    }
    return made;
  }

  private make(feed: OperatorFeed, { country, region, city, postal }: StatedPlace): OperatorPlace {
    const { gazetteer } = this;
    const inRegion = (isoCode: string | undefined): Subdivision[] =>
      isoCode === undefined ? [] : [{ isoCode }];
    const stated = {
      countryCode: country,
      cityName: city,
      postalCode: city && postal,
      subdivisions: inRegion(region),
    };
    if (country === undefined) return { stated, place: stated, feed, from: undefined };
    const id = city === undefined ? undefined : gazetteer.findCity({ country, city }, region);
    if (id === undefined) {
      // Some operators state a region or the country in the city column.
      const meant = region ?? (city && findSubdivisionCode(country, city));
      const isCity = city !== undefined && meant === region && city !== findCountry(country)?.name;
      const cityName = isCity ? city : undefined;
      const middle = gazetteer.middleOf(country, meant) ?? gazetteer.middleOf(country);
      const place = { ...stated, cityName, subdivisions: inRegion(meant), ...middle };
      return { stated: { ...stated, cityName }, place, feed, from: undefined };
    }
    const found = this.general.places.at(id)!;
    const { cityName, latitude, longitude, timeZone } = found;
    const subdivisions = found.subdivisions.length === 0 ? stated.subdivisions : found.subdivisions;
    const density = "operator" as const;
    const place = { ...stated, cityName, latitude, longitude, timeZone, subdivisions, density };
    return { stated: { ...stated, cityName }, place, feed, from: id };
  }

  private get gazetteer(): Gazetteer {
    if (this.readGazetteer === undefined) throw new Error("the database has not been read");
    return this.readGazetteer;
  }
}

function makeAnycast(feed: OperatorFeed, registered: string | undefined): OperatorPlace {
  const place: Place = { countryCode: registered, isAnycast: true, subdivisions: [] };
  return { stated: { subdivisions: [] }, place, feed, from: undefined };
}

/** Removes a region that is not in ISO 3166-2, and an unprintable name. If the country is invalid, nothing remains. */
function checked({ country: code, region, city: name, postal, trust }: StatedPlace): StatedPlace {
  const country = countryCodeOf(code);
  if (country === undefined) return {};
  const isRegion = region !== undefined && findSubdivisionName(country, region) !== undefined;
  const city = cleanName(name);
  return {
    country,
    ...(isRegion && { region }),
    ...(city !== undefined && { city }),
    ...(postal !== undefined && { postal }),
    ...(trust !== undefined && { trust }),
  };
}

const WIDENED = 24;

/**
 * Returns the /24s in which a VPN states one place for all its servers, and the servers elsewhere and of IPv6.
 *
 * Servers move inside their networks, and a network of a data centre is in one city. This was tested with gluetun's
 * lists of May 2026, leaving out a tenth of a list at a time. 11,199 of the servers left out have another server of the
 * same VPN in their /24, and DB-IP has both servers in one country. Of these, 99.8% are within 50 km of the other
 * server's city. DB-IP's city is right for 92% of them, and GeoLite2's for 91%.
 */
export function placesOfServers({ networks, placeOf, places }: StatedPlaces): StatedPlaces {
  const made: Prefix[] = [];
  const ids: number[] = [];
  const add = (network: Prefix, i: number) => {
    made.push(network);
    ids.push(placeOf[i]!);
  };
  for (let first = 0; first < networks.length; ) {
    const around = blockOf(networks[first]!);
    let next = first + 1;
    while (next < networks.length && around !== undefined && blockOf(networks[next]!) === around) next++;
    const isOnePlace = placeOf.subarray(first, next).every((id) => id === placeOf[first]);
    if (around !== undefined && isOnePlace) add(networkAround(networks[first]!.address, WIDENED), first);
    else for (let i = first; i < next; i++) add(networks[i]!, i);
    first = next;
  }
  return { networks: made, placeOf: Uint32Array.from(ids), places };
}

/** Returns the number of an address's /24, or undefined for IPv6 and for networks that are at least as wide. */
const blockOf = ({ address, bits }: Prefix): number | undefined =>
  address.family === 4 && bits > WIDENED ? address.words[0]! >>> (32 - WIDENED) : undefined;
