// batch.ts: many values in one request: JSON up to 1,000, NDJSON without end.
//
// in   a POST whose key was admitted, with the token of one value taken
// out  the body and type of a 200, or a problem about the request as a whole
// err  none thrown for what was sent
// src  docs/api.md, "Many at once"
//
// A value is one look-up of the rate, of the quota and of usage. A JSON batch is answered as far as the bucket
// goes, the rest with RATE_LIMITED; a stream waits for the bucket, so that nothing in it is refused for its rate.
// A JSON batch is answered from one release. A stream stays with its release for HOLD_MS, then takes the current one
// between two lines: as old as an answer may be that somebody cached (`max-age=300`), and a stream of hours does not
// keep a release of hours ago, nor its files.

import type { LoadedRelease, Overrides } from "@inkling/engine";
import { type Problem, type ProblemCode, problem } from "../http/problems.ts";
import type { Counted, Key, Refusal, Scope } from "../keys/key.ts";
import type { Buckets, Decision } from "../limits/token-bucket.ts";
import { type Pipeline, type Question, refusalOf, WANTS } from "../lookup/pipeline.ts";
import type { Counts } from "../telemetry/counts.ts";
import { BatchAnswers } from "./answers.ts";
import {
  type Arriving,
  acceptsGzip,
  type ByteStream,
  declaresTooMuch,
  decoded,
  formOf,
  isGzipped,
  readValues,
} from "./body.ts";
import { GzipPieces, gzipped } from "./gzip.ts";
import { Lines } from "./lines.ts";
import { Output } from "./output.ts";
import { BatchStream, type Meter } from "./stream.ts";

/** How long a stream stays with a release that is no longer the current one. */
export const HOLD_MS = 300_000;
/** How often a stream asks whether its key is still good. */
const KEY_MS = 1_000;
/** Seconds in which a stream has to get on, in one direction or the other. */
export const STREAM_IDLE_SECONDS = 60;
const PIECE_BYTES = 64 * 1024;
/** A stream that waits for its key's rate looks again after at most this long. */
const MOST_WAIT_MS = 1_000;
/** … and does not wake for fewer look-ups than come in this time. */
const WAIT_MS = 20;

const COMMA = 0x2c;
const NEWLINE = 0x0a;
const CLOSING = new TextEncoder().encode("]}");
const OPENING = new TextEncoder().encode('{"answers":[');

const RATE_LIMITED = problem("RATE_LIMITED");
const QUOTA_EXCEEDED = problem("QUOTA_EXCEEDED");
const ONE_CHECK = problem(
  "PARAMETER_INVALID",
  "`checks=mx` asks DNS, about one address at a time: send one value, as JSON, or ask with GET.",
);

/** What batches need of the server. */
export interface BatchServer {
  readonly pipeline: Pipeline;
  /** Bodies of this process that are not all there. */
  readonly arriving: Arriving;
  readonly releases: { readonly current: LoadedRelease | undefined };
  readonly overrides: { readonly current: Overrides };
  readonly buckets: Pick<Buckets, "take" | "takeUpTo">;
  readonly usage: {
    record(keyId: string, counted: Counted, now: number, count?: number): void;
    takeQuota(key: Key, now: number, most: number): number;
    giveQuotaBack(key: Key, now: number, count: number): void;
  };
  readonly counts: Counts<ProblemCode>;
  readonly now: () => number;
  readonly elapsed: () => number;
  /** Instead of STREAM_IDLE_SECONDS. */
  readonly streamIdleSeconds?: number;
}

/** One request. */
export interface BatchCall {
  readonly request: Request;
  readonly lookup: Scope;
  readonly key: Key;
  /** The bucket of the key, after the token of the first value was taken. */
  readonly rate: Decision;
  readonly question: Question;
  /** The key as it is now; a problem when it may no longer do this. */
  readonly readmit: () => Key | Problem;
  /** Sets the seconds in which the connection has to get on. */
  readonly onLife: (seconds: number) => void;
  readonly onCrash: (error: unknown, value: string) => void;
}

export interface BatchAnswer {
  readonly body: Uint8Array<ArrayBuffer> | ByteStream;
  readonly type: string;
  readonly isGzip: boolean;
  /** How many values there were; of a stream when it has ended. */
  readonly values: number | Promise<number>;
}

const wantsMx = ({ question }: BatchCall) => (question.wants & WANTS.mx) !== 0;

/** Answers a batch, or returns what is wrong with it as a whole. */
export async function answerBatch(server: BatchServer, call: BatchCall): Promise<BatchAnswer | Problem> {
  const { headers, body } = call.request;
  const form = formOf(headers.get("content-type"));
  if (typeof form !== "string") return form;
  const isGzip = isGzipped(headers.get("content-encoding"));
  if (typeof isGzip !== "boolean") return isGzip;
  const refusal = refusalOf(call.lookup, call.question);
  if (refusal !== undefined) return refusal;
  const stream = decoded(body as ByteStream | null, isGzip);
  const mayZip = acceptsGzip(headers.get("accept-encoding"));
  if (form === "ndjson" && wantsMx(call)) return ONE_CHECK;
  if (form === "ndjson") return answerLines(server, call, stream, mayZip);
  return declaresTooMuch(headers.get("content-length")) ?? answerValues(server, call, stream, mayZip);
}

async function answerValues(
  server: BatchServer,
  call: BatchCall,
  stream: ByteStream,
  mayZip: boolean,
): Promise<BatchAnswer | Problem> {
  const { now } = call.question;
  const values = await readValues(stream, (bytes) => server.arriving.add(call.key.id, bytes));
  if ("code" in values) {
    if (values.code === "RATE_LIMITED") server.usage.record(call.key.id, "rate_limited", now);
    return values;
  }
  if (wantsMx(call) && values.length !== 1) return ONE_CHECK;
  const out = new Output(PIECE_BYTES);
  out.add(OPENING);
  // The release and the time are those of the start: what its headers say.
  const answers = answersOf(server, call, out, COMMA);
  const meter = new KeyMeter(server, call.lookup, call.key, call.rate);
  const covered = meter.takeUpTo(values.length, now);
  const left = meter.left(covered, now);
  for (const [i, value] of values.entries()) {
    if (i >= covered) answers.refuse(RATE_LIMITED);
    else if (answers.lookups >= left) {
      answers.refuse(QUOTA_EXCEEDED);
      meter.refused("quota_exceeded", 1, now);
    } else {
      const pending = answers.value(value);
      if (pending !== undefined) await pending; // an await for each value would cost as much as its answer
    }
  }
  meter.count(answers.lookups, now);
  meter.refused("rate_limited", values.length - covered, now);
  if (values.length > 0) out.length--; // the last comma
  out.add(CLOSING);
  const plain = out.take();
  const zipped = mayZip ? gzipped(plain) : undefined;
  return {
    body: (zipped ?? plain) as Uint8Array<ArrayBuffer>,
    type: "application/json",
    isGzip: zipped !== undefined,
    values: values.length,
  };
}

function answerLines(server: BatchServer, call: BatchCall, body: ByteStream, mayZip: boolean): BatchAnswer {
  const out = new Output(PIECE_BYTES);
  const meter = new KeyMeter(server, call.lookup, call.key, call.rate);
  let onEnded: (values: number) => void = () => {};
  const values = new Promise<number>((resolve) => {
    onEnded = resolve;
  });
  const { stream } = new BatchStream({
    body,
    lines: new Lines(),
    answers: answersOf(server, call, out, NEWLINE),
    out,
    gzip: mayZip ? new GzipPieces() : undefined,
    meter,
    source: sourceOf(server, call, meter),
    onLife: () => call.onLife(server.streamIdleSeconds ?? STREAM_IDLE_SECONDS),
    onEnd: (count, error) => {
      if (error !== undefined) call.onCrash(error, "");
      onEnded(count);
    },
  });
  return { body: stream, type: "application/x-ndjson", isGzip: mayZip, values };
}

function answersOf(server: BatchServer, call: BatchCall, out: Output, separator: number): BatchAnswers {
  const { pipeline, counts } = server;
  const { lookup, onCrash, question } = call;
  return new BatchAnswers({ lookup, pipeline, counts, out, separator, onCrash }, question);
}

/** What a stream answers from, as time goes by. */
function sourceOf(server: BatchServer, call: BatchCall, meter: KeyMeter): () => Question | Problem {
  const { isSandbox, wants, mode } = call.question;
  const findCaller = () => call.question.findCaller();
  let { release } = call.question;
  let heldSince = server.elapsed();
  let keyChecked = heldSince;
  return () => {
    const elapsed = server.elapsed();
    if (elapsed - keyChecked >= KEY_MS) {
      keyChecked = elapsed;
      const key = call.readmit();
      if ("code" in key) return key;
      meter.adopt(key, server.now());
    }
    if (elapsed - heldSince >= HOLD_MS) {
      heldSince = elapsed;
      release = server.releases.current;
    }
    const overrides = server.overrides.current;
    return { release, overrides, now: server.now(), mode, isSandbox, wants, findCaller };
  };
}

/** Rate, quota and usage of one key, for the values of one batch. */
class KeyMeter implements Meter {
  private key: Key;
  private readonly server: BatchServer;
  private readonly lookup: Scope;
  private isLimited: boolean;
  /** Tokens that were taken and not yet used: the request came with one. */
  private paid = 1;
  /** Taken from the quota for what is being answered. */
  private taken = 0;
  waitMs: number;

  constructor(server: BatchServer, lookup: Scope, key: Key, rate: Decision) {
    this.server = server;
    this.lookup = lookup;
    this.key = key;
    this.isLimited = rate.limit > 0;
    this.waitMs = waitMs(key, rate);
  }

  /** The limits of a key may change while a stream goes on. */
  adopt(key: Key, now: number): void {
    if (key === this.key) return;
    this.key = key;
    const rate = this.server.buckets.take(key, now, 0);
    this.isLimited = rate.limit > 0;
    this.waitMs = waitMs(key, rate);
  }

  take(now: number): boolean {
    if (!this.isLimited) return true;
    if (this.paid > 0) {
      this.paid--;
      return true;
    }
    return this.server.buckets.takeUpTo(this.key, now, 1) > 0;
  }

  /** Takes as many as there are. @returns how many values are covered */
  takeUpTo(values: number, now: number): number {
    const more = values - this.paid;
    return more <= 0 ? values : this.paid + this.server.buckets.takeUpTo(this.key, now, more);
  }

  /** Takes what is left of the quota, `most` at most: `count` gives back what was not used. */
  left(most: number, now: number): number {
    if (this.key.quota === undefined) return Number.POSITIVE_INFINITY;
    this.taken = this.server.usage.takeQuota(this.key, now, most);
    return this.taken;
  }

  count(lookups: number, now: number): void {
    const unused = this.taken - lookups;
    this.taken = 0;
    if (unused > 0) this.server.usage.giveQuotaBack(this.key, now, unused);
    if (lookups === 0) return;
    this.server.usage.record(this.key.id, this.lookup, now, lookups);
    this.server.counts.countLookup(this.lookup, this.key.mode, lookups);
  }

  refused(reason: Refusal, values: number, now: number): void {
    if (values > 0) this.server.usage.record(this.key.id, reason, now, values);
  }
}

/** Until there is one token, or those of WAIT_MS, or a full bucket. */
function waitMs(key: Key, { limit, windowSeconds }: Decision): number {
  if (limit === 0) return 0;
  const perMs = (key.rate ?? limit / windowSeconds) / 1_000;
  return Math.min(MOST_WAIT_MS, Math.max(1 / perMs, Math.min(WAIT_MS, limit / perMs)));
}
