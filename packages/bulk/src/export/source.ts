// source.ts: reads a release as tables for other programs: networks or domains, with their answers.
//
// Networks without an answer (special-use) are left out, and so are IPv6 networks that get the answer of the IPv4
// address inside (mapped, 6to4, Teredo, NAT64). Geolocation costs 8 bytes per range for
// IPv4, 20 for IPv6, and the text of each distinct answer.

import {
  Answerer,
  type AnswerSource,
  addSize,
  alignedBits,
  type CompiledOverrides,
  ComposedAnswer,
  INCLUDE,
  IpAddress,
  type IpSegment,
  type LoadedRelease,
  type Overrides,
  RangeColumns,
  REPUTATION_ANSWERS,
  type UnwrappedAddress,
  unansweredNetworks,
} from "@inkling/engine";
import { BulkError } from "../errors.ts";
import type { Answer, IpTable } from "../fields.ts";

/** The ranges of both families. The value 0 means no answer; other values are indices into `answers`. */
export interface AnswerRanges {
  readonly v4: RangeColumns;
  readonly v6: RangeColumns;
  /** The distinct answers as JSON text. The first is empty and means no answer. */
  readonly answers: readonly string[];
}

/** A disposable domain. Every name below it is also disposable, unless it is listed itself. */
interface ListedDomain {
  readonly domain: string;
  readonly providers: readonly string[];
}

const decoder = new TextDecoder();
const NO_FLAGS = decoder.decode(REPUTATION_ANSWERS[0]);
export class ExportSource {
  readonly release: LoadedRelease;
  private readonly overrides: CompiledOverrides;
  private readonly source: AnswerSource;
  private readonly answerer = new Answerer();

  /** @param now milliseconds since 1970; decides which overrides have expired */
  constructor(release: LoadedRelease, overrides: Overrides, now: number) {
    this.release = release;
    this.overrides = overrides.compiled;
    this.source = { release, overrides, now, allowMissing: true };
  }

  /**
   * Computes the ranges. This takes seconds, so it pauses often, for progress and signals.
   * @param explained returns the text to keep for a reputation with its evidence, or "" for none. By default, the
   * answer itself is kept
   * @throws BulkError
   */
  *ranges(table: IpTable, explained?: (answer: Answer) => string): Generator<undefined, AnswerRanges> {
    const segment = this.release[table === "geolocate" ? "geo" : table];
    if (segment === undefined) throw noData(table);
    const isReputation = table === "reputation";
    const missing = table === "network" ? [] : this.release.states[table].missing;
    const answers = new DistinctAnswers(segment, missing);
    const plainValue = (address: UnwrappedAddress) =>
      (isReputation ? this.overridden(address, answers) : undefined) ?? answers.valueAt(address);
    const explainedValue = (address: UnwrappedAddress) => answers.valueOf(explained!(this.explain(address)));
    const knownValue = explained === undefined ? plainValue : explainedValue;
    const unanswered = unansweredNetworks();
    const valueAt = (address: UnwrappedAddress) =>
      unanswered.find(address) !== undefined ? 0 : knownValue(address);
    const bitsAt = (address: UnwrappedAddress) =>
      Math.max(
        segment.reasonBits(address),
        unanswered.networkBits(address),
        isReputation ? this.overrides.networkBits(address) : 0,
      );
    return {
      v4: yield* familyRanges(4, bitsAt, valueAt),
      v6: yield* familyRanges(6, bitsAt, valueAt),
      answers: answers.texts,
    };
  }

  /** Returns the listed domains, sorted by name. @throws BulkError */
  domains(): ListedDomain[] {
    const { email } = this.release;
    if (email === undefined) throw noData("email");
    const listed = new Map<string, readonly string[]>();
    for (const { name, providers } of email.domains()) {
      listed.set(name, JSON.parse(decoder.decode(providers)) as string[]);
    }
    for (const domain of this.overrides.domains) if (!listed.has(domain)) listed.set(domain, []);
    return Array.from(listed, ([domain, providers]) => ({
      domain,
      providers: this.overriddenProviders(domain) ?? providers,
    }))
      .filter(({ providers }) => providers.length > 0)
      .sort((a, b) => (a.domain < b.domain ? -1 : 1));
  }

  /** Returns the value for an address that an override changes. */
  private overridden(address: UnwrappedAddress, answers: DistinctAnswers): number | undefined {
    if (!this.overrides.covers(address)) return undefined;
    const answer = this.answerer.answerAddress("reputation", address, this.source);
    const isChanged = answer instanceof ComposedAnswer && answer.overridden?.isChanged;
    return isChanged ? answers.valueOf(decoder.decode(answer.body)) : undefined;
  }

  /**
   * Returns the reputation of an address with its evidence. There is always an answer, because `ranges` has checked the
   * segment.
   */
  private explain(address: UnwrappedAddress): Answer {
    const answer = this.answerer.answerAddress(
      "reputation",
      address,
      this.source,
      INCLUDE.evidence,
    ) as ComposedAnswer;
    return JSON.parse(decoder.decode(answer.body));
  }

  private overriddenProviders(domain: string): readonly string[] | undefined {
    if (!this.overrides.hasEmail) return undefined;
    const answer = this.answerer.answerEmail(`a@${domain}`, this.source);
    if (!(answer instanceof ComposedAnswer)) return undefined; // no override applies
    return (JSON.parse(decoder.decode(answer.body)) as { providers: string[] }).providers;
  }
}

/** Numbers the distinct answers of a segment. A flag without data is included only if it is set. */
class DistinctAnswers {
  readonly texts: string[] = [""];
  private readonly segment: IpSegment;
  private readonly missing: readonly string[];
  private readonly byRecord = new Map<number, number>([[0, 0]]);
  private readonly byText = new Map<string, number>([
    ["", 0],
    [NO_FLAGS, 0],
  ]);

  constructor(segment: IpSegment, missing: readonly string[]) {
    this.segment = segment;
    this.missing = missing;
  }

  valueAt(address: UnwrappedAddress): number {
    const record = this.segment.record(address);
    let value = this.byRecord.get(record);
    if (value === undefined) {
      const bytes = this.segment.lookup(address);
      value = bytes === undefined ? 0 : this.valueOf(decoder.decode(bytes));
      this.byRecord.set(record, value);
    }
    return value;
  }

  valueOf(text: string): number {
    let value = this.byText.get(text);
    if (value === undefined) {
      value = this.texts.length;
      this.texts.push(this.known(text));
      this.byText.set(text, value);
    }
    return value;
  }

  /** Returns the answer without the "false" of flags that have no data. */
  private known(text: string): string {
    if (this.missing.length === 0) return text;
    const isKnown = (name: string, value: unknown) => value !== false || !this.missing.includes(name);
    return JSON.stringify(
      Object.fromEntries(Object.entries(JSON.parse(text)).filter(([name, value]) => isKnown(name, value))),
    );
  }
}

/** Number of networks between two pauses. Visiting them takes about 30 ms. */
const WALK = 1 << 16;

/** Visits one family network by network. Each network is small enough to have a single answer. */
function* familyRanges(
  family: 4 | 6,
  bitsAt: (address: UnwrappedAddress) => number,
  valueAt: (address: UnwrappedAddress) => number,
): Generator<undefined, RangeColumns> {
  const ranges = new RangeColumns(family, 1 << 16);
  // Embedded IPv4 networks are left out, so every address counts as unwrapped.
  const address = new IpAddress() as UnwrappedAddress;
  address.family = family;
  const { words } = address;
  for (let isOpen = true, walked = 1; isOpen; walked++) {
    if (walked % WALK === 0) yield;
    const bits = Math.max(alignedBits(address), bitsAt(address));
    ranges.append(words[0]!, words[1]!, words[2]!, words[3]!, valueAt(address));
    isOpen = addSize(words, bits);
  }
  return ranges;
}

function noData(lookup: string): BulkError {
  return new BulkError(`the release in use has no data for ${lookup}`, "run `inkling doctor` to see why");
}
