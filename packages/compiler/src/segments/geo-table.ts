// geo-table.ts: sources of geolocation -> the sections of the geo segment.
//
// in   networks with a place each, and networks with the country each is registered in
// out  sections: one answer per distinct (place, registered country), with a note that names the evidence for it,
//      and the ranges that point at them
// cost one pass over the networks of each family; an answer is made once, however many networks share it

import { cover, KEPT_RECORDS, type Networks, overlay, type RangeColumns } from "@inkling/engine";
import { filledMask, type GeoFeeds, geoEntries } from "../geo/evidence.ts";
import type { Place } from "../geo/place.ts";
import type { NetworkWalk, PlaceSource, RegisteredCountries } from "../geo/place-list.ts";
import { AnswerRecords } from "./answer-records.ts";
import { EvidenceWriter } from "./evidence-records.ts";
import { rangeSections } from "./range-table.ts";
import type { SectionData } from "./segment-writer.ts";

export interface GeoTable {
  readonly sections: readonly SectionData[];
  /** Ranges that have an answer, by family, and distinct answers. */
  readonly ranges: { readonly v4: number; readonly v6: number };
  readonly answers: number;
}

export interface GeoSteps {
  /** Ids of the sources, for evidence. */
  readonly feeds: GeoFeeds;
  /** Fills in missing members. */
  readonly complete: (place: Place) => Place;
  /** The answer's JSON; "" when nothing is known. */
  readonly encode: (place: Place) => string;
  readonly progress: (done: number, total: number) => void;
  /** Called where much garbage has just become collectable. */
  readonly collectGarbage: () => void;
}

/** More countries than ISO 3166-1 will ever have: part of a place-and-country number. */
const COUNTRY_ROOM = 1024;

/** @param registered absent when no registry feed is loaded */
export function geoTable(
  source: PlaceSource,
  registered: RegisteredCountries | undefined,
  steps: GeoSteps,
): GeoTable {
  const records = new AnswerRecords("");
  const evidence = new EvidenceWriter();
  const valueFor = answerValues(source, registered?.countries ?? [], records, evidence, steps);
  const family = (which: 4 | 6) => {
    const countries = numbered(registered ?? NO_NETWORKS, which);
    const ofCountries = registered?.networks?.[which];
    const under = source.cover?.(which) ?? cover(which, countries, ofCountries);
    steps.collectGarbage();
    const ranges =
      source.cover === undefined
        ? overlay(under, numbered(source, which), valueFor, source.networks?.[which])
        : overlay(under, countries, (country, place) => valueFor(place, country), ofCountries);
    steps.collectGarbage();
    return ranges;
  };
  const v4 = family(4);
  steps.progress(1, 2);
  const v6 = family(6);
  const numbers = records.putFirst(mostAsked(v4, v6, records.size));
  for (const { values, length } of [v4, v6]) {
    for (let i = 0; i < length; i++) values[i] = numbers[values[i]!]!;
  }
  const ranges = { v4: countAnswered(v4), v6: countAnswered(v6) };
  const sections = [
    ...rangeSections(v4),
    ...rangeSections(v6),
    ...records.sections(),
    records.noteSection(),
    ...evidence.sections(),
  ];
  steps.progress(2, 2);
  return { sections, ranges, answers: records.size - 1 };
}

/** Of IPv6 a range counts as much as this many addresses of IPv4: both families count about the same then. */
const ADDRESSES_OF_A_V6_RANGE = 1024;

/** The records that most addresses have, in order, after record 0: a lookup is quicker where they lie together. */
function mostAsked(v4: RangeColumns, v6: RangeColumns, count: number): Uint32Array {
  const weights = new Float64Array(count);
  for (let i = 0; i < v4.length; i++) {
    const end = i + 1 < v4.length ? v4.starts[i + 1]! : 2 ** 32;
    weights[v4.values[i]!]! += end - v4.starts[i]!;
  }
  for (let i = 0; i < v6.length; i++) weights[v6.values[i]!]! += ADDRESSES_OF_A_V6_RANGE;
  weights[0] = Number.POSITIVE_INFINITY;
  const least = weights.slice().sort().at(-KEPT_RECORDS) ?? 0;
  const most: number[] = [];
  weights.forEach((weight, record) => {
    if (weight >= least) most.push(record);
  });
  most.sort((a, b) => weights[b]! - weights[a]! || a - b);
  return Uint32Array.from(most.slice(0, KEPT_RECORDS));
}

const NO_NETWORKS: NetworkWalk = { walk: () => {} };

/** Numbers from 1: 0 means that nothing is known. */
function numbered(source: NetworkWalk, family: 4 | 6): Networks {
  return (add) => source.walk(family, (w0, w1, w2, w3, bits, id) => add(w0, w1, w2, w3, bits, id + 1));
}

/** Answers made between two collections: each leaves about 3 KB of garbage. */
const COLLECT_EVERY = 50_000;

/** (place number, country number) -> record, made on first use. */
function answerValues(
  { places, feedOf }: PlaceSource,
  countries: readonly string[],
  records: AnswerRecords,
  evidence: EvidenceWriter,
  { feeds, complete, encode, collectGarbage }: GeoSteps,
): (place: number, country: number) => number {
  if (countries.length >= COUNTRY_ROOM) throw new RangeError(`${countries.length} registered countries`);
  // Most places occur with one country only: that one is in columns (a Map of all takes 80 MB), the rest in a Map.
  const firstCountry = new Uint16Array(places.length + 1).fill(COUNTRY_ROOM);
  const firstValue = new Uint32Array(places.length + 1);
  const others = new Map<number, number>();
  let made = 0;
  const make = (placeNumber: number, countryNumber: number) => {
    if (++made % COLLECT_EVERY === 0) collectGarbage();
    const place: Place = placeNumber > 0 ? places.at(placeNumber - 1)! : { subdivisions: [] };
    const code = countryNumber > 0 ? countries[countryNumber - 1]! : undefined;
    const isSilent = code !== undefined && place.registeredCountryCode === undefined;
    const whole = complete(isSilent ? { ...place, registeredCountryCode: code } : place);
    const answer = encode(whole);
    if (answer === "") return 0;
    return records.add(
      answer,
      noteFor(filledMask(place, whole), placeNumber > 0 ? (feedOf?.(placeNumber - 1) ?? 0) : undefined),
    );
  };
  const notes = new Map<string, number>();
  const noteFor = (mask: number, feed: number | undefined) => {
    const key = `${mask} ${feed}`;
    let note = notes.get(key);
    if (note === undefined) {
      note = evidence.add(geoEntries(mask, feed, feeds));
      notes.set(key, note);
    }
    return note;
  };
  return (placeNumber, countryNumber) => {
    if (firstCountry[placeNumber] === countryNumber) return firstValue[placeNumber]!;
    if (firstCountry[placeNumber] === COUNTRY_ROOM) {
      firstCountry[placeNumber] = countryNumber;
      firstValue[placeNumber] = make(placeNumber, countryNumber);
      return firstValue[placeNumber]!;
    }
    const number = placeNumber * COUNTRY_ROOM + countryNumber;
    let value = others.get(number);
    if (value === undefined) {
      value = make(placeNumber, countryNumber);
      others.set(number, value);
    }
    return value;
  };
}

function countAnswered({ values, length }: RangeColumns): number {
  let count = 0;
  for (let i = 0; i < length; i++) if (values[i] !== 0) count++;
  return count;
}
