// batch.ts: looks up many values in one request: up to 1,000 as JSON, and any number as NDJSON (stream.ts).
//
// Source: docs/batches.md.
//
// Each value counts as one lookup against rate and quota, and in usage. A JSON batch looks up as many values as the
// bucket has tokens for, and refuses the rest with RATE_LIMITED. A stream waits for the bucket instead.
//
// A JSON batch uses one release throughout.

import { BLOCK_ADDRESSES } from "@inkling/engine";
import { type Problem, problem } from "../http/problems.ts";
import { GZIP_WEIGHT } from "../limits/memory.ts";
import { refusalOf, WANTS } from "../lookup/pipeline.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import { BatchAnswers, type LineAnswers, QUOTA_EXCEEDED } from "./answers.ts";
import { type BodyEncoding, encodingOf, readValues } from "./body.ts";
import type { LineCall, LookupCall } from "./call.ts";
import { type ByteStream, gzipped } from "./gzip.ts";
import { KeyMeter } from "./key-meter.ts";
import { Output, PIECE_BYTES } from "./output.ts";
import { BatchStream } from "./stream.ts";

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

export interface BatchAnswer {
  readonly body: Uint8Array<ArrayBuffer> | ByteStream;
  readonly type: string;
  readonly isGzip: boolean;
  /** Number of values. For a stream, a promise that resolves when the stream has ended. */
  readonly values: number | Promise<number>;
}

/** Answers a batch, or returns a problem with the whole request. */
export async function answerBatch(
  services: ThreadServices,
  call: LookupCall,
): Promise<BatchAnswer | Problem> {
  const encoding = encodingOf(call.request.headers);
  if ("code" in encoding) return encoding;
  const refusal = refusalOf(call.scope, call.question);
  if (refusal !== undefined) return refusal;
  if (encoding.format === "json") return answerValues(services, call, encoding);
  if (wantsMx(call)) return ONE_CHECK;
  return answerLines(services, call, encoding, (out) => new BatchAnswers(services, call, out, NEWLINE));
}

const wantsMx = ({ question }: LookupCall) => (question.wants & WANTS.mx) !== 0;

async function answerValues(
  services: ThreadServices,
  call: LookupCall,
  { isGzip, mayZip }: BodyEncoding,
): Promise<BatchAnswer | Problem> {
  const { now } = call.question; // the same time as in the headers
  const values = await readValues(services.memory.bodies, call, isGzip);
  if ("code" in values) {
    if (values.code === "RATE_LIMITED") services.usage.record(call.key.id, "rate_limited", now);
    return values;
  }
  if (wantsMx(call) && values.length !== 1) return ONE_CHECK;
  const out = new Output(PIECE_BYTES);
  out.append(OPENING);
  const answers = new BatchAnswers(services, call, out, COMMA);
  const meter = new KeyMeter(services, call);
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

/** Starts answering a stream line by line. @returns a problem if the key has too many streams */
export function answerLines(
  services: ThreadServices,
  call: LineCall,
  { isGzip, mayZip }: BodyEncoding,
  makeAnswers: (out: Output) => LineAnswers,
): BatchAnswer | Problem {
  const { streams } = services.memory;
  const weight = isGzip || mayZip ? GZIP_WEIGHT : 1;
  const { id } = call.key;
  if (!streams.take(id, weight)) {
    services.usage.record(id, "rate_limited", call.question.now);
    return TOO_MANY_STREAMS;
  }
  const { stream, ended } = new BatchStream(services, call, isGzip, mayZip, makeAnswers);
  void ended.then(() => streams.giveBack(id, weight));
  return { body: stream, type: "application/x-ndjson", isGzip: mayZip, values: ended };
}
