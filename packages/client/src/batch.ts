// batch.ts: looks up any number of values through requests of bounded size, with answers in order.
//
// Results that arrived earlier are returned first, except after an abort.
//
// Requests are NDJSON with a body of known length, and answers are read as they arrive. One endless request
// would need full-duplex streams: browsers give no response before the request has ended, and proxies buffer
// bodies. After a broken connection, everything would have to be sent again. Here, only the values without an
// answer are sent again.

import { isAnswer, type Lookup } from "./answers.ts";
import { type DataName, type DataState, readDataState, requireData } from "./data-state.ts";
import { InklingError, isProblem, problemError } from "./errors.ts";
import { wrong } from "./options.ts";
import { pauseMs } from "./retry.ts";
import { type Alive, type ApiRequest, parseJson, type Transport, withTimeLimit } from "./transport.ts";

interface OfValue {
  readonly value: string;
  /** How complete the data behind this request's answers is. */
  readonly data: DataState;
}

/** The answer to one value, or its error. */
export type BatchResult<T> = OfValue &
  ({ readonly ok: true; readonly answer: T } | { readonly ok: false; readonly error: InklingError });

export interface BatchLimits {
  readonly signal: AbortSignal | undefined;
  readonly required: readonly DataName[];
  readonly retries: number;
  /** Maximum milliseconds between two lines of the answer. */
  readonly timeoutMs: number;
  readonly size: number;
  readonly concurrency: number;
  readonly lingerMs: number;
}

const NDJSON = "application/x-ndjson";

/** @param path the path with its query */
export async function* batchResults<T>(
  transport: Transport,
  lookup: Lookup,
  path: string,
  values: Iterable<string> | AsyncIterable<string>,
  limits: BatchLimits,
): AsyncGenerator<BatchResult<T>, void, undefined> {
  limits.signal?.throwIfAborted();
  const batch = { transport, lookup, path, limits };
  const source = inGroups(values, limits.size, limits.lingerMs);
  const requests: GroupRequest<T>[] = [];
  let isPulling = false;
  let isStopped = false;
  let end: { readonly error?: unknown } | undefined; // error or end of the source
  // This does not use Promise.race: if a promise outlives the batch's requests, each race would keep some bytes until
  // that promise settles.
  let wake = () => {};

  const startPull = async () => {
    isPulling = true;
    try {
      const next = await source.next();
      if (next.done) end = {};
      else if (!isStopped) requests.push(new GroupRequest(batch, next.value, () => wake()));
    } catch (error) {
      end = { error };
    }
    isPulling = false;
    wake();
  };
  const stop = () => {
    isStopped = true;
    for (const request of requests) request.stop();
    wake();
  };

  limits.signal?.addEventListener("abort", stop);
  try {
    for (;;) {
      limits.signal?.throwIfAborted();
      const first = requests[0];
      const result = first?.take();
      if (result !== undefined) {
        yield result;
        continue;
      }
      if (first?.isDone) {
        if (first.failure !== undefined) throw first.failure.error;
        requests.shift();
        continue;
      }
      if (!isPulling && end === undefined && requests.length < limits.concurrency) void startPull();
      if (first === undefined && !isPulling) {
        if (end !== undefined && "error" in end) throw end.error;
        return;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    limits.signal?.removeEventListener("abort", stop);
    stop();
    // If the source waits for its next value, it can end only when that value arrives. This code does not wait for
    // that.
    void source.return(undefined).catch(() => {});
  }
}

interface Batch {
  readonly transport: Transport;
  readonly lookup: Lookup;
  readonly path: string;
  readonly limits: BatchLimits;
}

/** A group of values, sent until each value has a result. */
class GroupRequest<T> {
  isDone = false;
  failure: { readonly error: unknown } | undefined;
  private readonly results: BatchResult<T>[] = [];
  private taken = 0;
  /** A separate controller is used, because runtimes warn about a signal with more than ten listeners. */
  private readonly stopped = new AbortController();

  /** @param onChange called when there are more results to take, and when the group is done */
  constructor(batch: Batch, values: readonly string[], onChange: () => void) {
    this.run(batch, values, onChange)
      .catch((error) => {
        this.failure = { error };
      })
      .finally(() => {
        this.isDone = true;
        onChange();
      });
  }

  take(): BatchResult<T> | undefined {
    return this.results[this.taken] === undefined ? undefined : this.results[this.taken++];
  }

  stop(): void {
    this.stopped.abort();
  }

  private async run(
    { transport, lookup, path, limits }: Batch,
    values: readonly string[],
    onChange: () => void,
  ): Promise<void> {
    const { results } = this;
    const { signal } = this.stopped;
    for (let failures = 0; results.length < values.length; ) {
      const before = results.length;
      try {
        await withTimeLimit(limits.timeoutMs, signal, async (ours, alive) => {
          const response = await transport.once(requestFor(path, values.slice(results.length)), ours);
          const details = transport.details(response);
          const data = readDataState(response.headers);
          requireData(limits.required, data, details);
          for await (const lines of linesOf(response, transport, alive)) {
            for (const line of lines) {
              const value = values[results.length];
              if (value === undefined)
                throw unreadable("The server returned more answers than there were values");
              results.push(resultOf(lookup, value, line, details.requestId, data));
            }
            onChange();
          }
          if (results.length < values.length)
            throw new InklingError("CONNECTION_FAILED", "The answer was cut short");
        });
      } catch (error) {
        if (results.length > before) failures = 0;
        if (!(error instanceof InklingError) || !error.isRetryable || ++failures > limits.retries)
          throw error;
        const pause = pauseMs(failures, error.retryAfterSeconds, transport.effects.random());
        if (pause > limits.timeoutMs) throw error; // for example, the quota is used up until midnight
        await transport.effects.sleep(pause, signal);
      }
    }
  }
}

function requestFor(path: string, values: readonly string[]): ApiRequest {
  const body = values.map((value) => `${JSON.stringify(value)}\n`).join("");
  return { path, body, contentType: NDJSON, accept: NDJSON };
}

const unreadable = (message: string) => new InklingError("ANSWER_UNREADABLE", message);

function resultOf<T>(
  lookup: Lookup,
  value: string,
  line: string,
  requestId: string | undefined,
  data: DataState,
): BatchResult<T> {
  const parsed = parseJson(line);
  if (isProblem(parsed)) {
    if (parsed.code === "IP_ADDRESS_NOT_FOUND") return { value, ok: true, answer: undefined as T, data };
    return { value, ok: false, error: problemError(parsed, { requestId }), data };
  }
  if (!isAnswer(lookup, parsed)) throw unreadable("A line of the answer is neither an answer nor a problem");
  return { value, ok: true, answer: parsed as T, data };
}

/**
 * Returns the lines of a body in the groups in which they arrive. An iterator step for each line would halve the speed.
 * A last line without a newline counts only if it is complete JSON.
 */
async function* linesOf(
  response: Response,
  transport: Transport,
  alive: Alive,
): AsyncGenerator<string[], void, undefined> {
  const type = response.headers.get("content-type") ?? "";
  if (response.body === null || !type.startsWith(NDJSON)) throw unreadable("The answer is not NDJSON");
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await transport.unlessBroken(() => reader.read());
    alive();
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() as string;
    if (done && parseJson(rest) !== undefined) lines.push(rest);
    yield lines.filter((line) => line.trim() !== "");
    if (done) return;
  }
}

/**
 * Splits values into groups of at most `size` values. A group with at least one value waits at most
 * `lingerMs` for more.
 */
export async function* inGroups(
  values: Iterable<string> | AsyncIterable<string>,
  size: number,
  lingerMs: number,
): AsyncGenerator<string[], void, undefined> {
  const iterator = iteratorOf(values);
  let ended = false;
  let pending: PromiseLike<IteratorResult<string>> | undefined;
  try {
    while (!ended) {
      const group: string[] = [];
      let timer: ReturnType<typeof setTimeout> | undefined;
      let late: Promise<undefined> | undefined;
      while (group.length < size) {
        const next = pending ?? iterator.next();
        let step: IteratorResult<string> | undefined;
        if ("then" in next) {
          pending = next;
          if (group.length > 0) {
            late ??= new Promise((resolve) => {
              timer = setTimeout(resolve, lingerMs, undefined);
            });
            step = await Promise.race([next, late]);
            if (step === undefined) break;
          } else step = await next;
          pending = undefined;
        } else step = next;
        if (step.done) {
          ended = true;
          break;
        }
        if (typeof step.value !== "string")
          throw wrong(
            "values",
            `to look up must be strings, but one is ${step.value === null ? "null" : typeof step.value}`,
          );
        group.push(step.value);
      }
      clearTimeout(timer);
      if (group.length > 0) yield group;
    }
  } finally {
    if (!ended) await iterator.return?.();
  }
}

type EitherIterator = {
  next(): IteratorResult<string> | PromiseLike<IteratorResult<string>>;
  return?(): unknown;
};

function iteratorOf(values: Iterable<string> | AsyncIterable<string>): EitherIterator {
  if (typeof values !== "string" && values !== null && typeof values === "object") {
    if (Symbol.asyncIterator in values) return values[Symbol.asyncIterator]();
    if (Symbol.iterator in values) return values[Symbol.iterator]();
  }
  throw wrong("values", "must be an iterable of strings, such as an array");
}
