// local.ts: the three lookups, and decisions about visitors, in this process.
//
// in   an address, an email address, or many of them
// out  the same answers as a server's of the same release: as objects, or as the bytes that it would send
// err  InklingError with the server's codes; TypeError for a value that is no string. A call reads one release
// note bytes are views of the release's data: never write to them. Without overrides, rates and MX checks: those are
//      the server's

import type {
  Answer,
  AssessmentInput,
  AssessmentResult,
  AssessOptions,
  BatchOptions,
  BatchResult,
  DataState,
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

/** What a server would send; undefined for a public address whose place is unknown. Never write to it. */
export type LookupBytes<L extends Lookup> = Uint8Array | (L extends "geolocate" ? undefined : never);

/** What an answer about an address may have beyond its own members. */
export type AddressExtras = Omit<Extras, "checks">;

/** One release, and what is prepared once for all its answers. */
interface Source {
  readonly answers: AnswerSource;
  readonly data: Readonly<Record<Lookup, DataState>>;
}

/** How long the ages of `data` are used: they count in hours. */
const AGES_MS = 3_600_000;

/** Values between two turns of the event loop. */
const BATCH_SIZE = 1_000;

const decoder = new TextDecoder();

/**
 * Opens a data folder, or follows a channel, and keeps up with its releases.
 * @throws InklingError DATA_NOT_LOADED when there is no sound release
 * @throws TypeError that names the option that is wrong
 */
export async function createLocal<P extends OnUnavailable = "throw">(
  options: LocalOptions<P>,
): Promise<LocalInkling<P>> {
  return LocalInkling.open(options);
}

/** Lookups in this process. One instance is enough; calls may overlap. */
export class LocalInkling<P extends OnUnavailable = "throw"> implements Lookups<P> {
  readonly #options: ReadLocalOptions<P>;
  readonly #answerer = new Answerer();
  readonly #block = new AddressBlock();
  readonly #decisions = new Decisions();
  #releases: Releases | undefined;
  #source: Source | undefined;
  #ages: ReturnType<typeof setInterval> | undefined;

  private constructor(options: ReadLocalOptions<P>) {
    this.#options = options;
  }

  /** @internal as {@link createLocal} */
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
      local.#source = local.#sourceOf(release!); // there is one from the start on
    }, AGES_MS);
    local.#ages.unref();
    return local;
  }

  get onUnavailable(): P {
    return this.#options.onUnavailable;
  }

  /** The name of the release that answers. */
  get release(): string {
    return this.#use().answers.release!.name; // there is one from the start on
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
   * Should this visitor be let in, and why? By the ruleset of the options or of the channel.
   * @param input an event, and an address, an email address or both
   */
  assess<const O extends AssessOptions>(
    input: AssessmentInput,
    options?: O,
  ): Promise<AssessmentResult<O> | IfUnavailable<P>> {
    const work = async () => {
      checkVisitor(input, options);
      options?.signal?.throwIfAborted();
      return (await this.#decisions.decide(input, options, this.#use().answers)) as AssessmentResult<O>;
    };
    return settle(this.#options.onUnavailable, "deny", work()); // nothing throttles in process
  }

  /** As {@link geolocate}, at once: the bytes that a server would send. */
  geolocateBytes(ip: string, options?: AddressExtras): LookupBytes<"geolocate"> {
    return this.#bytes("geolocate", ip, options);
  }

  /** As {@link reputation}, at once: the bytes that a server would send. */
  reputationBytes(ip: string, options?: AddressExtras): LookupBytes<"reputation"> {
    return this.#bytes("reputation", ip, options)!; // every public address has an answer
  }

  /** As {@link email}, at once: the bytes that a server would send. */
  emailBytes(address: string, options?: Pick<Extras, "evidence">): LookupBytes<"email"> {
    return this.#bytes("email", address, options)!; // every text has an answer
  }

  /**
   * Many values at once, all from one release.
   * @returns for each value the bytes that a server would send, or the error of that value alone
   */
  lookupMany<L extends Lookup>(lookup: L, values: readonly string[]): (LookupBytes<L> | InklingError)[] {
    const { answers } = this.#use();
    return this.#outcomes(lookup, values, answers, 0).map((outcome) => bytesOf(outcome) as LookupBytes<L>);
  }

  /**
   * Any number of values, in order. Each group of `size` values (1,000) comes from one release; other work of the
   * process continues between groups.
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

  /** Ends what follows releases; lookups throw InklingError CLOSED from then on. */
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
    return settle(this.#options.onUnavailable, "deny", work()); // nothing throttles in process;
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

  #use(): Source {
    if (this.#source === undefined)
      throw new InklingError("CLOSED", "This instance of @inkling/local is closed");
    return this.#source;
  }

  #sourceOf(release: LoadedRelease): Source {
    const { manifest } = release;
    const states = stateHeaders(manifest, manifest.feeds, Date.now());
    const data = LOOKUPS.map((lookup) => {
      const headers = new Headers({ "inkling-data-version": manifest.id });
      const { plain } = states[lookup];
      if (plain !== undefined) headers.set("inkling-data-state", plain);
      return [lookup, readDataState(headers)];
    });
    return {
      answers: { release, overrides: Overrides.NONE, now: 0, mode: this.#options.mode },
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

/** Its values until the signal is aborted, also where it waits for the next one. @throws the signal's reason */
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
    source.return(undefined).catch(() => {}); // not awaited: it waits for a value that may never come
  }
}

const objectOf = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : JSON.parse(decoder.decode(bytes));

/** @returns bits of INCLUDE @throws InklingError PARAMETER_INVALID for what there is not */
function readExtras(lookup: Lookup, extras: Extras | undefined): number {
  if (extras === undefined) return 0;
  checkExtras(extras);
  const { evidence = false, network = false, subject = false, checks = [] } = extras;
  if (checks.length > 0) {
    throw new InklingError("PARAMETER_INVALID", "There are no checks in process", {
      status: 400,
      hint: "MX checks are the server's: ask it with @inkling/client",
    });
  }
  if (lookup === "email" && (network || subject)) {
    throw new InklingError("PARAMETER_INVALID", "Network and subject are those of an address", {
      status: 400,
    });
  }
  return (
    (evidence ? INCLUDE.evidence : 0) | (network ? INCLUDE.network : 0) | (subject ? INCLUDE.subject : 0)
  );
}
