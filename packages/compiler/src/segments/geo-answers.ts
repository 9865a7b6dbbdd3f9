// geo-answers.ts: maps a place, a country and a kind of network to the number of an answer record. It creates the
// record on first use.

import { filledMask, type GeoFeeds, geoEntries, type PlaceOrigin } from "../geo/evidence.ts";
import { COUNTRIES, GROUNDS, groundOf } from "../geo/layers.ts";
import type { OperatorPlaces } from "../geo/operator-places.ts";
import type { PlaceSource } from "../geo/place-source.ts";
import { MEASURED_DATABASE } from "../place/accuracy.ts";
import { completePlace } from "../place/complete-place.ts";
import { encodePlace } from "../place/encode-place.ts";
import type { Place } from "../place/place.ts";
import { AnswerRecords } from "./answer-records.ts";
import { AnswerTemplates } from "./answer-templates.ts";
import { EvidenceWriter } from "./evidence-records.ts";

export interface AnswerSteps {
  /** Ids of the source feeds, for the evidence. */
  readonly feeds: GeoFeeds;
  /** Called after a large amount of memory has become garbage. */
  readonly collectGarbage: () => void;
}

interface Described extends PlaceOrigin {
  readonly stated: Place;
  /** Only if the database, or the middle of an area, fills in fields. */
  readonly place?: Place;
}

/** Number of answers created between two garbage collections. Each answer leaves about 3 KB of garbage. */
const COLLECT_EVERY = 100_000;

export class GeoAnswers {
  readonly records = new AnswerRecords("");
  readonly templates = new AnswerTemplates();
  readonly evidence = new EvidenceWriter();
  private readonly source: Pick<PlaceSource, "places" | "feedOf">;
  private readonly operators: OperatorPlaces;
  private readonly countries: readonly string[];
  private readonly steps: AnswerSteps;
  // Most places occur with only one country and radius. The first combination of each place is stored in columns,
  // because a Map of all places would take 80 MB. A Map holds the other combinations.
  private readonly firstGround: Uint16Array;
  private readonly firstValue: Uint32Array;
  private readonly others = new Map<number, number>();
  /** By area and country: a third of places share the answer of their region or country. */
  private readonly ofAreas = new Map<string, number>();
  private readonly notes = new Map<string, number>();
  private made = 0;

  /** @param operators the operators' places, numbered after the places of the source */
  constructor(
    source: Pick<PlaceSource, "places" | "feedOf">,
    operators: OperatorPlaces,
    countries: readonly string[],
    steps: AnswerSteps,
  ) {
    if (countries.length >= COUNTRIES) throw new RangeError(`${countries.length} registered countries`);
    this.source = source;
    this.operators = operators;
    this.countries = countries;
    this.steps = steps;
    this.firstGround = new Uint16Array(operators.length + 1).fill(GROUNDS);
    this.firstValue = new Uint32Array(operators.length + 1);
  }

  /** Returns the record number of an answer. The arguments are numbers that count from 1; 0 means none. */
  valueFor(place: number, country: number, networkKind: number): number {
    const kind = this.operators.firstKindAlike(place, networkKind);
    const ground = groundOf(kind, country);
    const first = this.firstGround[place];
    if (first === ground) return this.firstValue[place]!;
    if (first === GROUNDS) {
      this.firstGround[place] = ground;
      const value = this.make(place, country, kind);
      this.firstValue[place] = value;
      return value;
    }
    const number = place * GROUNDS + ground;
    let value = this.others.get(number);
    if (value === undefined) {
      value = this.make(place, country, kind);
      this.others.set(number, value);
    }
    return value;
  }

  private make(placeNumber: number, countryNumber: number, kind: number): number {
    const code = countryNumber > 0 ? this.countries[countryNumber - 1]! : undefined;
    const { area, ...described } = this.describe(placeNumber, code, kind);
    if (area === undefined) return this.add(described, code);
    const key = `${area} ${code}`;
    const value = this.ofAreas.get(key) ?? this.add(described, code);
    this.ofAreas.set(key, value);
    return value;
  }

  private add({ stated, place = stated, ...origin }: Described, code: string | undefined): number {
    if (++this.made % COLLECT_EVERY === 0) this.steps.collectGarbage();
    const isSilent = code !== undefined && place.registeredCountryCode === undefined;
    const whole = completePlace(isSilent ? { ...place, registeredCountryCode: code } : place);
    const answer = encodePlace(whole);
    if (answer === "") return 0;
    return this.records.add(this.templates.divide(answer), this.noteFor(filledMask(stated, whole), origin));
  }

  private describe(
    number: number,
    registered: string | undefined,
    kind: number,
  ): Described & { readonly area?: string } {
    const { places } = this.source;
    if (number === 0) return { stated: { subdivisions: [] } };
    if (number <= places.length) {
      const feed = this.databaseOf(number - 1);
      if (feed !== MEASURED_DATABASE) return { stated: this.operators.placeAt(number - 1, kind), feed };
      return { ...this.operators.knownPlaceAt(number - 1, kind), feed, database: feed };
    }
    const { stated, place, feed, from, trust } = this.operators.describe(number, registered);
    return {
      stated,
      place,
      feed: feed.id,
      trust,
      isAnycast: feed.stated === "anycast",
      database: this.databaseOf(from ?? 0),
    };
  }

  private databaseOf(id: number): string | undefined {
    return this.steps.feeds.places[this.source.feedOf?.(id) ?? 0];
  }

  private noteFor(mask: number, origin: PlaceOrigin): number {
    const key = `${mask} ${origin.feed} ${origin.database} ${origin.isCityUnknown} ${origin.trust}`;
    let note = this.notes.get(key);
    if (note === undefined) {
      note = this.evidence.add(geoEntries(mask, origin, this.steps.feeds.registered));
      this.notes.set(key, note);
    }
    return note;
  }
}
