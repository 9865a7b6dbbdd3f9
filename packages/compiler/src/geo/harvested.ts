// harvested.ts: gates for geofeeds that a third party has collected. A publisher's statements count only if they are
// plausible, and the evidence states how many of them others confirm.
//
// Anybody can state anything about a network, and a harvester passes it on. The limits leave room for the honest. Of 42
// geofeeds read in November 2026, Starlink's states 203 countries, Microsoft's 51, Amazon's 41, and all others at most
// 32. Starlink's is a separate feed, without these gates. The least confirmed geofeed has 66%.

import type { Prefix } from "@inkling/engine";
import type { AsnNetworks } from "../parse/asn.ts";
import type { StatedPlace, StatedPlaces } from "../parse/index.ts";
import type { NetworkWalk, PlaceSource, RegisteredCountries } from "./place-source.ts";

/** What is known of networks without the geofeeds. */
export interface Grounds {
  readonly registered?: RegisteredCountries | undefined;
  readonly places?: PlaceSource | undefined;
  readonly asns?: AsnNetworks | undefined;
}

interface Refused {
  readonly publisher: string;
  readonly why: string;
}

const MAX_COUNTRIES = 60;
const MIN_ANNOUNCED = 0.5;
/** Minimum share of the address space whose country the registry or the database has, too. */
const MIN_CONFIRMED = 0.5;

/** Sizes of address space, by {@link sizeOf}. A few wide lies must not hide among many small networks. */
interface Publisher {
  all: number;
  announced: number;
  confirmed: number;
  readonly countries: Set<string>;
}

/** Returns the plausible statements, each with the trust in its publisher, and the publishers that were refused. */
export function plausible(
  stated: StatedPlaces,
  { registered, places, asns }: Grounds,
): { stated: StatedPlaces; publishers: number; refused: readonly Refused[] } {
  const { networks, placeOf } = stated;
  const [ofRegistry, ofDatabase, systems] = [registered, places, asns].map(
    (source) => source && idsAt(source, networks),
  );
  const publishers = new Map<string, Publisher>();
  for (let i = 0; i < networks.length; i++) {
    const { publisher = "", country } = stated.places[placeOf[i]!]!;
    if (country === undefined) continue;
    const of = publishers.get(publisher) ?? {
      ...{ all: 0, announced: 0, confirmed: 0 },
      countries: new Set<string>(),
    };
    publishers.set(publisher, of);
    const size = sizeOf(networks[i]!);
    of.all += size;
    of.countries.add(country);
    if ((systems?.[i] ?? -1) >= 0) of.announced += size;
    const others = [
      registered?.countries[ofRegistry?.[i] ?? -1],
      places?.places.at(ofDatabase?.[i] ?? -1)?.countryCode,
    ];
    if (others.includes(country)) of.confirmed += size;
  }
  const refused = [...publishers].flatMap(([publisher, of]): Refused | [] => {
    const why = faultOf(of, asns !== undefined);
    return why === undefined ? [] : { publisher, why };
  });
  const isRefused = new Set(refused.map(({ publisher }) => publisher));
  const keeps = networks.map((_, i) => {
    const { publisher = "", country } = stated.places[placeOf[i]!]!;
    return country === undefined || !isRefused.has(publisher);
  });
  return {
    stated: {
      networks: networks.filter((_, i) => keeps[i]),
      placeOf: placeOf.filter((_, i) => keeps[i]),
      places: stated.places.map((place) => trusted(place, publishers.get(place.publisher ?? ""))),
    },
    publishers: publishers.size,
    refused,
  };
}

function faultOf(of: Publisher, hasSystems: boolean): string | undefined {
  if (of.countries.size > MAX_COUNTRIES) return `states ${of.countries.size} countries`;
  if (hasSystems && of.announced < MIN_ANNOUNCED * of.all)
    return `only ${percent(of.announced, of.all)} of its addresses are announced`;
  if (of.confirmed < MIN_CONFIRMED * of.all)
    return `the country of only ${percent(of.confirmed, of.all)} of its addresses is confirmed`;
  return undefined;
}

/** Returns the number of IPv4 addresses, or of IPv6 /48s. */
const sizeOf = ({ address: { family }, bits }: Prefix): number =>
  2 ** Math.max(0, (family === 4 ? 32 : 48) - bits);

const percent = (some: number, all: number) => `${Math.floor((100 * some) / all)}%`;

function trusted(place: StatedPlace, of: Publisher | undefined): StatedPlace {
  if (of === undefined) return place;
  const trust = `${place.publisher}: registry or database confirm the country of ${percent(of.confirmed, of.all)} of its addresses`;
  return { ...place, trust };
}

/** Returns the id that a source has for the first address of each network, or -1. @param networks in address order */
function idsAt(source: NetworkWalk, networks: readonly Prefix[]): Int32Array {
  const ids = new Int32Array(networks.length).fill(-1);
  for (const family of [4, 6] as const) {
    const indices = networks.flatMap(({ address }, i) => (address.family === family ? i : []));
    let next = 0;
    const compare = (w0: number, w1: number, w2: number, w3: number): number => {
      const { words } = networks[indices[next]!]!.address;
      if (family === 4) return words[0]! - w0;
      return words[0]! - w0 || words[1]! - w1 || words[2]! - w2 || words[3]! - w3;
    };
    source.walk(family, (w0, w1, w2, w3, bits, id) => {
      while (next < indices.length && compare(w0, w1, w2, w3) < 0) next++;
      const [l0, l1] = [(w0 | hostMask(bits)) >>> 0, (w1 | hostMask(bits - 32)) >>> 0];
      const [l2, l3] = [(w2 | hostMask(bits - 64)) >>> 0, (w3 | hostMask(bits - 96)) >>> 0];
      while (next < indices.length && compare(l0, l1, l2, l3) <= 0) ids[indices[next++]!] = id;
    });
  }
  return ids;
}

/** Returns the host bits that a network with this prefix length leaves in a word. */
function hostMask(bits: number): number {
  if (bits <= 0) return 0xffffffff;
  return bits >= 32 ? 0 : 0xffffffff >>> bits;
}
