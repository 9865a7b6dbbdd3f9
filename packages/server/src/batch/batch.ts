// batch.ts: looks up many values in one request: up to 1,000 as JSON, and any number as NDJSON.
//
// Source: docs/batches.md.
//
// Each value counts as one lookup against rate and quota, and in usage. A JSON batch looks up as many values as the
// bucket has tokens for, and refuses the rest with RATE_LIMITED. A stream waits for the bucket instead.
//
// A JSON batch uses one release throughout. A stream keeps its release for HOLD_MS, the time for which an answer may be
// cached (`max-age=300`). Then it changes to the current release between two lines, so that a stream that runs for
// hours does not keep an old release's files open.

import { BLOCK_ADDRESSES, type LoadedRelease, type Lookup, type Overrides } from "@inkling/engine";
import type { Key, Scope } from "@inkling/store/keys/key";
import { type Problem, problem } from "../http/problems.ts";
import { type BatchMemory, GZIP_WEIGHT } from "../limits/memory.ts";
import type { Decision } from "../limits/token-bucket.ts";
import { type Pipeline, type Question, refusalOf, WANTS } from "../lookup/pipeline.ts";
import type { Counts } from "../telemetry/counts.ts";
import { BatchAnswers, type LineAnswers, QUOTA_EXCEEDED } from "./answers.ts";
import { acceptsGzip, decoded, formatOf, isGzipped, readValues } from "./body.ts";
import type { ByteStream } from "./gzip.ts";
import { GzipPieces, gzipped } from "./gzip.ts";
import { KeyMeter, type MeterOptions } from "./key-meter.ts";
import { Lines } from "./lines.ts";
import { Output } from "./output.ts";
import { BatchStream } from "./stream.ts";

/** Milliseconds for which a stream keeps its release before it changes to the current release. */
export const HOLD_MS = 300_000;
/** Milliseconds between two checks that a stream's key is still valid. */
const KEY_MS = 1_000;
/** Seconds after which an idle stream is closed. */
const STREAM_IDLE_SECONDS = 60;
const PIECE_BYTES = 64 * 1024;

const COMMA = 0x2c;
const NEWLINE = 0x0a;
const CLOSING = new TextEncoder().encode("]}");
const OPENING = new TextEncoder().encode('{"answers":[');

const RATE_LIMITED = problem("RATE_LIMITED");
const TOO_MANY_STREAMS = problem("TOO_MANY_STREAMS");
const ONE_CHECK = problem(
  "PARAMETER_INVALID",
  "`checks=mx` looks up one address at a time in DNS. Send one value as JSON, or use GET.",
);

/** What batches need from the server. */
export interface BatchServer extends MeterOptions {
  readonly pipeline: Pipeline;
  readonly memory: BatchMemory;
  readonly releases: { readonly current: LoadedRelease | undefined };
  readonly overrides: { readonly current: Overrides };
  readonly counts: Counts;
  readonly now: () => number;
  readonly elapsed: () => number;
  /** Overrides STREAM_IDLE_SECONDS. */
  readonly streamIdleSeconds?: number;
}

/** One request for a batch, and what answering it needs. */
export interface Call {
  readonly request: Request;
  readonly scope: Scope;
  readonly key: Key;
  /** State of the key's bucket, after the token of the first value was taken. */
  readonly rate: Decision;
  readonly question: Question;
  /** Checks the key again. Returns its current state, or a problem if it may no longer be used. */
  readonly readmit: () => Key | Problem;
  /** Sets the number of idle seconds after which the connection is closed. */
  readonly setIdleSeconds: (seconds: number) => void;
  readonly onCrash: (error: unknown, value: string) => void;
}

interface BatchCall extends Call {
  readonly scope: Lookup;
}

export interface BatchAnswer {
  readonly body: Uint8Array<ArrayBuffer> | ByteStream;
  readonly type: string;
  readonly isGzip: boolean;
  /** Number of values. For a stream, a promise that resolves when the stream has ended. */
  readonly values: number | Promise<number>;
}

/** Answers a batch, or returns a problem with the whole request. */
export async function answerBatch(server: BatchServer, call: BatchCall): Promise<BatchAnswer | Problem> {
  const { headers, body } = call.request;
  const format = formatOf(headers.get("content-type"));
  if (typeof format !== "string") return format;
  const isGzip = isGzipped(headers.get("content-encoding"));
  if (typeof isGzip !== "boolean") return isGzip;
  const refusal = refusalOf(call.scope, call.question);
  if (refusal !== undefined) return refusal;
  const mayZip = acceptsGzip(headers.get("accept-encoding"));
  if (format === "ndjson" && wantsMx(call)) return ONE_CHECK;
  if (format === "ndjson")
    return answerLines(
      server,
      call,
      { body: decoded(body as ByteStream | null, isGzip), mayZip, isGzip },
      (out) => answersOf(server, call, out, NEWLINE),
    );
  return answerValues(server, call, isGzip, mayZip);
}

const wantsMx = ({ question }: BatchCall) => (question.wants & WANTS.mx) !== 0;

async function answerValues(
  server: BatchServer,
  call: BatchCall,
  isGzip: boolean,
  mayZip: boolean,
): Promise<BatchAnswer | Problem> {
  const { now } = call.question; // the same time as in the headers
  const values = await readValues(server.memory.bodies, call, isGzip);
  if ("code" in values) {
    if (values.code === "RATE_LIMITED") server.usage.record(call.key.id, "rate_limited", now);
    return values;
  }
  if (wantsMx(call) && values.length !== 1) return ONE_CHECK;
  const out = new Output(PIECE_BYTES);
  out.append(OPENING);
  const answers = answersOf(server, call, out, COMMA);
  const meter = new KeyMeter(server, call.scope, call.key, call.rate);
  const covered = meter.takeUpTo(values.length, now);
  const left = meter.takeQuota(covered, now);
  for (const [i, value] of values.entries()) {
    const index = i % BLOCK_ADDRESSES;
    if (index === 0) answers.findValues(values.slice(i, i + BLOCK_ADDRESSES));
    if (i >= covered) answers.refuse(RATE_LIMITED);
    else if (answers.lookups >= left) {
      answers.refuse(QUOTA_EXCEEDED);
      meter.recordRefusals("quota_exceeded", 1, now);
    } else {
      const pending = answers.answerValue(value, index);
      if (pending !== undefined) await pending; // awaiting every value would take as long as the lookups
    }
  }
  meter.recordLookups(answers.lookups, now);
  meter.recordRefusals("rate_limited", values.length - covered, now);
  if (values.length > 0) out.length--; // the last comma
  out.append(CLOSING);
  const plain = out.take();
  const zipped = mayZip ? gzipped(plain) : undefined;
  return {
    body: (zipped ?? plain) as Uint8Array<ArrayBuffer>,
    type: "application/json",
    isGzip: zipped !== undefined,
    values: values.length,
  };
}

/** A stream of lines and its encodings. */
interface LineBody {
  /** The body, already decoded. */
  readonly body: ByteStream;
  readonly isGzip: boolean;
  /** Whether the response may use gzip. */
  readonly mayZip: boolean;
}

/** Starts answering a stream line by line. @returns a problem if the key has too many streams */
export function answerLines(
  server: BatchServer,
  call: Call,
  { body, isGzip, mayZip }: LineBody,
  makeAnswers: (out: Output) => LineAnswers,
): BatchAnswer | Problem {
  const { streams } = server.memory;
  const weight = isGzip || mayZip ? GZIP_WEIGHT : 1;
  const { id } = call.key;
  if (!streams.take(id, weight)) {
    server.usage.record(id, "rate_limited", call.question.now);
    return TOO_MANY_STREAMS;
  }
  const out = new Output(PIECE_BYTES);
  const meter = new KeyMeter(server, call.scope, call.key, call.rate);
  const { promise: values, resolve } = Promise.withResolvers<number>();
  const { stream } = new BatchStream({
    body,
    lines: new Lines(),
    answers: makeAnswers(out),
    out,
    gzip: mayZip ? new GzipPieces() : undefined,
    meter,
    question: currentQuestion(server, call, meter),
    onActivity: () => call.setIdleSeconds(server.streamIdleSeconds ?? STREAM_IDLE_SECONDS),
    onEnd: (count, error) => {
      streams.giveBack(id, weight);
      if (error !== undefined) call.onCrash(error, "");
      resolve(count);
    },
  });
  return { body: stream, type: "application/x-ndjson", isGzip: mayZip, values };
}

function answersOf(server: BatchServer, call: BatchCall, out: Output, separator: number): BatchAnswers {
  const { pipeline, counts } = server;
  const { scope: lookup, onCrash, question } = call;
  return new BatchAnswers({ lookup, pipeline, counts, out, separator, onCrash }, question);
}

/**
 * Returns a function that provides the data for the next piece of a stream, or a problem if the key may no longer be
 * used.
 */
function currentQuestion(server: BatchServer, call: Call, meter: KeyMeter): () => Question | Problem {
  const { key, isSandbox, wants, allowMissing, ids } = call.question;
  const findCaller = () => call.question.findCaller();
  let { release } = call.question;
  let heldSince = server.elapsed();
  let keyChecked = heldSince;
  return () => {
    const elapsed = server.elapsed();
    if (elapsed - keyChecked >= KEY_MS) {
      keyChecked = elapsed;
      const admitted = call.readmit();
      if ("code" in admitted) return admitted;
      meter.replaceKey(admitted, server.now());
    }
    if (elapsed - heldSince >= HOLD_MS) {
      heldSince = elapsed;
      release = server.releases.current;
    }
    const overrides = server.overrides.current;
    return { key, release, overrides, now: server.now(), allowMissing, isSandbox, wants, ids, findCaller };
  };
}
