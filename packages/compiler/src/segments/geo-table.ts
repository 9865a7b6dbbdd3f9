// geo-table.ts: builds the sections of the geo segment from the sources of geolocation.
//
// Cost: one pass over the networks of each family; an answer is created once, however many networks share it.

import { cover, KEPT_RECORDS, overlay, type RangeColumns } from "@inkling/engine";
import { countryIn, groundOf, kindIn, rowIn } from "../geo/layers.ts";
import { type OperatorFeed, OperatorPlaces } from "../geo/operator-places.ts";
import {
  type NetworkWalk,
  networksIn,
  numbered,
  type PlaceSource,
  type RegisteredCountries,
} from "../geo/place-source.ts";
import { type AnswerSteps, GeoAnswers } from "./geo-answers.ts";
import { rangeSections } from "./range-table.ts";
import type { SectionData } from "./segment-writer.ts";

interface GeoTable {
  readonly sections: readonly SectionData[];
  /** Number of ranges that have an answer, by family. */
  readonly ranges: { readonly v4: number; readonly v6: number };
  /** Number of distinct answers. */
  readonly answers: number;
}

interface GeoSteps extends AnswerSteps {
  readonly progress: (done: number, total: number) => void;
}

/**
 * @param registered absent if no registry feed is loaded
 * @param stated places that operators state, the preferred feed first
 * @param kinds networks, each with its kind as an index into KINDS_BY_SIZE; the kind affects the accuracy radius
 */
export function geoTable(
  source: PlaceSource,
  registered: RegisteredCountries | undefined,
  steps: GeoSteps,
  stated: readonly OperatorFeed[] = [],
  kinds: NetworkWalk = NO_NETWORKS,
): GeoTable {
  const { v4, v6, records, templates, evidence } = answerRanges(source, registered, steps, stated, kinds);
  steps.collectGarbage(); // memory use peaks from here on, so drop what only answerRanges needs
  const whole = Math.ceil(records.size * WHOLE_SHARE);
  const first = mostAsked(v4, v6, records.size, Math.max(whole, KEPT_RECORDS));
  const numbers = records.putFirst(first, whole, (record) => templates.join(record));
  for (const { values, length } of [v4, v6]) {
    for (let i = 0; i < length; i++) values[i] = numbers[values[i]!]!;
  }
  const ranges = { v4: countAnswered(v4), v6: countAnswered(v6) };
  const sections = [
    ...rangeSections(v4),
    ...rangeSections(v6),
    ...records.sections(),
    templates.section(whole),
    records.noteSection(),
    ...evidence.sections(),
  ];
  steps.progress(2, 2);
  return { sections, ranges, answers: records.size - 1 };
}

/** Returns the ranges of each family, and the answers that the ranges' values refer to. */
function answerRanges(
  source: PlaceSource,
  registered: RegisteredCountries | undefined,
  steps: GeoSteps,
  stated: readonly OperatorFeed[],
  kinds: NetworkWalk,
) {
  const operators = new OperatorPlaces(source, stated);
  const answers = new GeoAnswers(source, operators, registered?.countries ?? [], steps);
  const { records, templates, evidence } = answers;
  /** @param above the value that overlays the database: see OperatorPlaces.layOver */
  const valueFor = (place: number, above: number): number => {
    const row = rowIn(above);
    const chosen = row === 0 ? place : operators.choose(row, place);
    return answers.valueFor(chosen, countryIn(above), kindIn(above));
  };
  const family = (which: 4 | 6) => {
    const ofCountries = registered?.networks?.[which];
    const countries = cover(which, numbered(registered ?? NO_NETWORKS, which), ofCountries);
    const ofKinds = kinds.networks?.[which];
    const grounds = overlay(countries, numbered(kinds, which), groundOf, ofKinds);
    const above = operators.layOver(which, grounds);
    const places = source.cover?.(which);
    if (which === 4) operators.prepare(places);
    steps.collectGarbage();
    return places === undefined
      ? overlay(above, numbered(source, which), valueFor, source.networks?.[which])
      : overlay(places, networksIn(above), (over, place) => valueFor(place, over), above.length);
  };
  const v4 = family(4);
  steps.progress(1, 2);
  steps.collectGarbage();
  return { v4, v6: family(6), records, templates, evidence };
}

/**
 * Number of IPv4 addresses that one IPv6 range counts as. With this number, both families have about the same weight.
 */
const ADDRESSES_OF_A_V6_RANGE = 1024;

/** Share of the answers that are stored undivided. 95% of addresses have one of these answers. */
const WHOLE_SHARE = 1 / 6;

/**
 * Returns record 0, followed by the records with the most addresses. Lookups are faster if these records are next to
 * each other.
 */
function mostAsked(v4: RangeColumns, v6: RangeColumns, count: number, wanted: number): Uint32Array {
  const weights = new Float64Array(count);
  for (let i = 0; i < v4.length; i++) {
    const end = i + 1 < v4.length ? v4.starts[i + 1]! : 2 ** 32;
    weights[v4.values[i]!]! += end - v4.starts[i]!;
  }
  for (let i = 0; i < v6.length; i++) weights[v6.values[i]!]! += ADDRESSES_OF_A_V6_RANGE;
  weights[0] = Number.POSITIVE_INFINITY;
  const least = weights.slice().sort().at(-wanted) ?? 0;
  const most: number[] = [];
  weights.forEach((weight, record) => {
    if (weight >= least) most.push(record);
  });
  most.sort((a, b) => weights[b]! - weights[a]! || a - b);
  return Uint32Array.from(most.slice(0, wanted));
}

const NO_NETWORKS: NetworkWalk = { walk: () => {} };

function countAnswered({ values, length }: RangeColumns): number {
  let count = 0;
  for (let i = 0; i < length; i++) if (values[i] !== 0) count++;
  return count;
}
