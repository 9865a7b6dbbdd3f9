// local.ts: provides the three lookups, and decisions about visitors, in this process.
//
// Bytes are views of the release's data, and callers must not write to them. There are no overrides, rate limits or MX
// checks, which only a server has.

import type {
  Answer,
  AssessOptions,
  BatchOptions,
  BatchResult,
  DataState,
  DecisionInput,
  DecisionResult,
  EmailOptions,
  Extras,
  IfUnavailable,
  Lookup,
  LookupOptions,
  LookupResult,
  Lookups,
  OnUnavailable,
} from "@inkling/client";
import { InklingError } from "@inkling/client";
import {
  checkExtras,
  checkVisitor,
  DATA_OF,
  inGroups,
  readDataState,
  readNumber,
  readRequire,
  requireData,
  requireText,
  settle,
  withData,
} from "@inkling/client/support";
import {
  AddressBlock,
  Answerer,
  type AnswerSource,
  bodyOf,
  ComposedAnswer,
  INCLUDE,
  LOOKUPS,
  type LoadedRelease,
  type Outcome,
  Overrides,
  stateHeaders,
} from "@inkling/engine";
import { Decisions } from "./decisions.ts";
import { errorOf } from "./failures.ts";
import type { LocalOptions } from "./options.ts";
import { type ReadLocalOptions, readOptions } from "./read-options.ts";
import { Releases } from "./releases.ts";

/**
 * The bytes that a server would send, which callers must not write to; undefined for a public address whose location is
 * unknown.
 */
export type LookupBytes<L extends Lookup> = Uint8Array | (L extends "geolocate" ? undefined : never);

/** Optional fields of an answer about an address. */
export type AddressExtras = Omit<Extras, "checks">;

/** One release, with data that is prepared once for all answers from it. */
interface Prepared {
  readonly answers: AnswerSource;
  readonly data: Readonly<Record<Lookup, DataState>>;
}

/** Milliseconds after which the ages in `data` are recomputed. Ages are in hours, so this need not be often. */
const AGES_MS = 3_600_000;

/** Number of values that a batch looks up before it yields to the event loop. */
const BATCH_SIZE = 1_000;

const decoder = new TextDecoder();

/**
 * Opens a data folder or a channel, and follows its releases.
 * @throws InklingError DATA_NOT_LOADED if there is no sound release
 * @throws TypeError that states which option is invalid
 */
export async function createLocal<P extends OnUnavailable = "throw">(
  options: LocalOptions<P>,
): Promise<LocalInkling<P>> {
  return LocalInkling.open(options);
}

/** Lookups in this process. An application needs only one instance, and calls may overlap. */
export class LocalInkling<P extends OnUnavailable = "throw"> implements Lookups<P> {
  readonly #options: ReadLocalOptions<P>;
  readonly #answerer = new Answerer();
  readonly #block = new AddressBlock();
  readonly #decisions = new Decisions();
  #releases: Releases | undefined;
  #source: Prepared | undefined;
  #ages: ReturnType<typeof setInterval> | undefined;

  private constructor(options: ReadLocalOptions<P>) {
    this.#options = options;
  }

  /** @internal Use {@link createLocal}. */
  static async open<P extends OnUnavailable>(options: LocalOptions<P>): Promise<LocalInkling<P>> {
    const local = new LocalInkling(readOptions(options));
    if (options.ruleset !== undefined) await local.#decisions.use(options.ruleset, 1);
    local.#releases = await Releases.open(local.#options.source, {
      onRelease: (release) => {
        local.#source = local.#sourceOf(release);
        options.onRelease?.(release.name);
      },
      onRuleset: ({ text, number }) => local.#decisions.follow(text, number),
      onError: (error) => options.onError?.(error),
    });
    local.#ages = setInterval(() => {
      const { release } = local.#use().answers;
      local.#source = local.#sourceOf(release!); // an open instance always has a release
    }, AGES_MS);
    local.#ages.unref();
    return local;
  }

  get onUnavailable(): P {
    return this.#options.onUnavailable;
  }

  /** The name of the release in use. */
  get release(): string {
    return this.#use().answers.release!.name; // an open instance always has a release
  }

  geolocate<const O extends LookupOptions>(
    ip: string,
    options?: O,
  ): Promise<LookupResult<"geolocate", O> | undefined | IfUnavailable<P>> {
    return this.#answer("geolocate", ip, options);
  }

  reputation<const O extends LookupOptions>(
    ip: string,
    options?: O,
  ): Promise<LookupResult<"reputation", O> | IfUnavailable<P>> {
    return this.#answer("reputation", ip, options);
  }

  email<const O extends EmailOptions>(
    address: string,
    options?: O,
  ): Promise<LookupResult<"email", O> | IfUnavailable<P>> {
    return this.#answer("email", address, options);
  }

  /**
   * Decides what to do with a visitor, and returns the reasons. The ruleset comes from the options or from the
   * channel. Without either, the default reasons and weights decide.
   * @param input an event with an address, an email address or both
   */
  assess<const O extends AssessOptions>(
    input: DecisionInput,
    options?: O,
  ): Promise<DecisionResult<O> | IfUnavailable<P>> {
    const work = async () => {
      checkVisitor(input, options);
      options?.signal?.throwIfAborted();
      return (await this.#decisions.decide(input, options, this.#use().answers)) as DecisionResult<O>;
    };
    return settle(this.#options.onUnavailable, "deny", work()); // there is no rate limit in process
  }

  /** Like {@link geolocate}, but synchronous. Returns the bytes that a server would send. */
  geolocateBytes(ip: string, options?: AddressExtras): LookupBytes<"geolocate"> {
    return this.#bytes("geolocate", ip, options);
  }

  /** Like {@link reputation}, but synchronous. Returns the bytes that a server would send. */
  reputationBytes(ip: string, options?: AddressExtras): LookupBytes<"reputation"> {
    return this.#bytes("reputation", ip, options)!; // every public address has an answer
  }

  /** Like {@link email}, but synchronous. Returns the bytes that a server would send. */
  emailBytes(address: string, options?: Pick<Extras, "evidence">): LookupBytes<"email"> {
    return this.#bytes("email", address, options)!; // every text has an answer
  }

  /**
   * Looks up many values synchronously, all in one release.
   * @returns for each value, the bytes that a server would send, or the error for that value
   */
  lookupMany<L extends Lookup>(lookup: L, values: readonly string[]): (LookupBytes<L> | InklingError)[] {
    const { answers } = this.#use();
    return this.#outcomes(lookup, values, answers, 0).map((outcome) => bytesOf(outcome) as LookupBytes<L>);
  }

  /**
   * Looks up any number of values, in order. Each group of `size` values (default 1,000) uses one release. Between
   * groups, the process can do other work.
   */
  async *batch<L extends Lookup, const O extends BatchOptions>(
    lookup: L,
    values: Iterable<string> | AsyncIterable<string>,
    options?: O,
  ): AsyncGenerator<
    BatchResult<Answer<L, O> | (L extends "geolocate" ? undefined : never)>,
    void,
    undefined
  > {
    const { signal, size = BATCH_SIZE, lingerMs = 20 } = options ?? ({} as BatchOptions);
    const required = this.#required(lookup, options);
    const include = readExtras(lookup, options);
    const limits = [readNumber("size", size, 1, 1_000), readNumber("lingerMs", lingerMs, 0, 60_000)] as const;
    for await (const group of unlessAborted(inGroups(values, ...limits), signal)) {
      const { answers, data } = this.#use();
      requireData(required, data[lookup], {});
      const outcomes = this.#outcomes(lookup, group, answers, include);
      for (const [i, value] of group.entries()) {
        const bytes = bytesOf(outcomes[i]!);
        yield (
          bytes instanceof InklingError
            ? { value, ok: false, error: bytes, data: data[lookup] }
            : { value, ok: true, answer: objectOf(bytes), data: data[lookup] }
        ) as BatchResult<never>;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Stops following releases. All later lookups throw InklingError CLOSED. */
  async close(): Promise<void> {
    clearInterval(this.#ages);
    this.#source = undefined;
    const releases = this.#releases;
    this.#releases = undefined;
    await releases?.close();
  }

  #answer<T>(
    lookup: Lookup,
    value: string,
    options: (LookupOptions & Extras) | undefined,
  ): Promise<T | IfUnavailable<P>> {
    const work = async () => {
      requireText(value);
      options?.signal?.throwIfAborted();
      const include = readExtras(lookup, options);
      const { answers, data } = this.#use();
      const bytes = bytesOf(this.#outcome(lookup, value, answers, include));
      if (bytes instanceof InklingError) throw bytes;
      requireData(this.#required(lookup, options), data[lookup], {});
      return (bytes === undefined ? undefined : withData(objectOf(bytes), data[lookup])) as T;
    };
    return settle(this.#options.onUnavailable, "deny", work()); // there is no rate limit in process
  }

  #bytes(lookup: Lookup, value: string, options: Extras | undefined): Uint8Array | undefined {
    const { answers } = this.#use();
    const outcome = this.#outcome(lookup, value, answers, readExtras(lookup, options));
    if (outcome instanceof Uint8Array) return outcome;
    const bytes = bytesOf(outcome);
    if (bytes instanceof InklingError) throw bytes;
    return bytes;
  }

  #outcomes(lookup: Lookup, values: readonly string[], answers: AnswerSource, include: number): Outcome[] {
    if (lookup === "email" || include !== 0)
      return values.map((value) => this.#outcome(lookup, value, answers, include));
    for (const value of values) if (typeof value !== "string") requireText(value);
    return this.#block.answerAll(this.#answerer, lookup, values, answers);
  }

  #outcome(lookup: Lookup, value: string, answers: AnswerSource, include: number): Outcome {
    if (typeof value !== "string") requireText(value);
    return this.#answerer.answer(lookup, value, answers, include);
  }

  #use(): Prepared {
    if (this.#source === undefined)
      throw new InklingError("CLOSED", "This instance of @inkling/local is closed");
    return this.#source;
  }

  #sourceOf(release: LoadedRelease): Prepared {
    const { manifest } = release;
    const states = stateHeaders(manifest, manifest.feeds, Date.now());
    const data = LOOKUPS.map((lookup) => {
      const headers = new Headers({ "inkling-data-version": manifest.id });
      const { plain } = states[lookup];
      if (plain !== undefined) headers.set("inkling-data-state", plain);
      return [lookup, readDataState(headers)];
    });
    return {
      answers: { release, overrides: Overrides.NONE, now: 0, allowMissing: this.#options.allowMissing },
      data: Object.fromEntries(data),
    };
  }

  #required(lookup: Lookup, options: Pick<LookupOptions, "require"> | undefined) {
    const ofLookup: LocalOptions["require"] = DATA_OF[lookup];
    return options?.require === undefined
      ? this.#options.require.filter((name) => ofLookup!.includes(name))
      : readRequire(options.require, ofLookup!);
  }
}

const isFailure = (outcome: Outcome): outcome is Exclude<Outcome, Uint8Array | ComposedAnswer> =>
  !(outcome instanceof Uint8Array) && !(outcome instanceof ComposedAnswer);

function bytesOf(outcome: Outcome): Uint8Array | InklingError | undefined {
  return isFailure(outcome) ? unlessPlaceless(outcome) : bodyOf(outcome);
}

function unlessPlaceless(failure: Parameters<typeof errorOf>[0]): InklingError | undefined {
  return failure.reason === "not_found" ? undefined : errorOf(failure);
}

/**
 * Yields the values of `source` until the signal is aborted, even while it waits for the next value.
 * @throws the signal's reason
 */
async function* unlessAborted<T>(source: AsyncGenerator<T>, signal: AbortSignal | undefined) {
  if (signal === undefined) return yield* source;
  try {
    for (;;) {
      signal.throwIfAborted();
      let abort = () => {};
      const aborted = new Promise<never>((_, reject) => {
        abort = () => reject(signal.reason);
      });
      signal.addEventListener("abort", abort, { once: true });
      const { done, value } = await Promise.race([source.next(), aborted]).finally(() =>
        signal.removeEventListener("abort", abort),
      );
      if (done) return;
      yield value;
    }
  } finally {
    source.return(undefined).catch(() => {}); // not awaited, because it waits for a value that may never come
  }
}

const objectOf = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : JSON.parse(decoder.decode(bytes));

/** @returns bits of INCLUDE @throws InklingError PARAMETER_INVALID for extras that the lookup does not have */
function readExtras(lookup: Lookup, extras: Extras | undefined): number {
  if (extras === undefined) return 0;
  checkExtras(extras);
  const { evidence = false, network = false, subject = false, checks = [] } = extras;
  if (checks.length > 0) {
    throw new InklingError("PARAMETER_INVALID", "Checks are not available in process", {
      status: 400,
      hint: "only a server runs MX checks: use @inkling/client",
    });
  }
  if (lookup === "email" && (network || subject)) {
    throw new InklingError("PARAMETER_INVALID", "Network and subject are only available for IP addresses", {
      status: 400,
    });
  }
  return (
    (evidence ? INCLUDE.evidence : 0) | (network ? INCLUDE.network : 0) | (subject ? INCLUDE.subject : 0)
  );
}
