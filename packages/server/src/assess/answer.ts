// answer.ts: a request about one visitor as JSON, or about many as NDJSON -> its answer.
//
// in   a POST whose key was admitted, with the token of one visitor taken
// out  the decision about one visitor; or a stream with a decision or a problem for each line
// err  problems as values

import { answerLines, type BatchAnswer, type BatchServer, type Call, isCutOff } from "../batch/batch.ts";
import { acceptsGzip, CUT_SHORT, decoded, formOf, isGzipped, parseJson, readAll } from "../batch/body.ts";
import type { ByteStream } from "../batch/gunzip.ts";
import type { LineAnswers, LineBlock } from "../batch/line-block.ts";
import type { Output } from "../batch/output.ts";
import { type Problem, problem, problemBody } from "../http/problems.ts";
import type { Question } from "../lookup/pipeline.ts";
import type { Assessments, Decided } from "./assessments.ts";

/** Largest description of one visitor: a line of a stream has no more. */
const MAX_VISITOR_BYTES = 64 * 1024;
const TOO_LARGE = problem("CONTENT_TOO_LARGE", "The description of a visitor has at most 64 KiB, decoded.");
const LINE_TOO_LONG = problem("BODY_INVALID", "This line is longer than 64 KiB.");
const CRASHED = problem("INTERNAL");

const NEWLINE = 0x0a;
const encoder = new TextEncoder();

/** Records decisions, off the request path. */
export interface DecisionSink {
  record(decided: Decided, question: Question): void;
}

interface AssessServer extends BatchServer {
  readonly assessments: Assessments;
  readonly decisions?: DecisionSink | undefined;
}

/** Answers about one visitor, or returns the stream that answers about many. */
export async function answerAssessment(
  server: AssessServer,
  call: Call,
): Promise<Decided | BatchAnswer | Problem> {
  const { headers, body } = call.request;
  const form = formOf(headers.get("content-type"));
  if (typeof form !== "string") return form;
  const isGzip = isGzipped(headers.get("content-encoding"));
  if (typeof isGzip !== "boolean") return isGzip;
  if (form === "ndjson") {
    const mayZip = acceptsGzip(headers.get("accept-encoding"));
    const answers = (out: Output) => new AssessmentLines(server, call, out);
    return answerLines(
      server,
      call,
      { body: decoded(body as ByteStream | null, isGzip), isGzip, mayZip },
      answers,
    );
  }
  const bytes = await readVisitor(server, call, isGzip);
  if (!(bytes instanceof Uint8Array)) return bytes;
  return decide(server, parseJson(bytes), call.question);
}

/** Decides about one visitor, and records the decision. */
export function decide(
  { assessments, decisions }: Pick<AssessServer, "assessments" | "decisions">,
  visitor: unknown,
  question: Question,
): Decided | Problem {
  const decided = assessments.assess(visitor, question);
  if (!("code" in decided)) decisions?.record(decided, question);
  return decided;
}

/** The body of a request about one visitor, decoded. */
async function readVisitor(
  { memory }: AssessServer,
  { request, key }: Call,
  isGzip: boolean,
): Promise<Uint8Array | Problem> {
  const declared = request.headers.get("content-length");
  if (Number(declared ?? 0) > MAX_VISITOR_BYTES) return TOO_LARGE;
  // Of nearly every request: a stream for the body would take as long as all the rest.
  if (declared !== null && !isGzip) return request.bytes().catch(() => CUT_SHORT);
  const bytes = await readAll(decoded(request.body as ByteStream | null, isGzip), memory.arriving, key.id);
  if (await isCutOff(request)) return CUT_SHORT;
  if (!(bytes instanceof Uint8Array)) return bytes.code === "CONTENT_TOO_LARGE" ? TOO_LARGE : bytes;
  return bytes.length > MAX_VISITOR_BYTES ? TOO_LARGE : bytes;
}

/** Answers the lines of a stream. */
class AssessmentLines implements LineAnswers {
  lookups = 0;
  private readonly server: AssessServer;
  private readonly call: Call;
  private readonly out: Output;
  private question: Question;

  constructor(server: AssessServer, call: Call, out: Output) {
    this.server = server;
    this.call = call;
    this.out = out;
    this.question = call.question;
  }

  use(question: Question): void {
    this.question = question;
  }

  findLines(): void {}

  answerLine(block: LineBlock, index: number): void {
    const line = block.bytes.subarray(block.startOf(index), block.endOf(index));
    const decided = this.assess(line);
    if ("code" in decided) {
      this.refuse(decided);
      return;
    }
    this.lookups++;
    this.server.decisions?.record(decided, this.question);
    this.write(JSON.stringify(decided.answer));
  }

  refuseLongLine(): void {
    this.refuse(LINE_TOO_LONG);
  }

  refuse(refusal: Problem): void {
    this.server.counts.countProblem(refusal.code);
    this.write(problemBody(refusal));
  }

  private assess(line: Uint8Array): Decided | Problem {
    try {
      return this.server.assessments.assess(parseJson(line), this.question);
    } catch (error) {
      this.call.onCrash(error, Buffer.from(line).toString());
      return CRASHED;
    }
  }

  private write(text: string): void {
    this.out.add(encoder.encode(text));
    this.out.addByte(NEWLINE);
  }
}
