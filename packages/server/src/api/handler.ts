// handler.ts: what the handler of an operation gets, and how it reads the value of its path.

import type { OperationId, OperationRow, Scope } from "@inkling/contract";
import type { AssessServer, answerAssessment, answerOutcome, decide } from "../assess/answer.ts";
import type { Call } from "../batch/batch.ts";
import type { BatchMemory } from "../batch/memory.ts";
import { type Problem, problem } from "../http/problems.ts";
import { decodeSegment, decodeText } from "../http/request-target.ts";
import type { PathTemplate } from "../http/router.ts";
import type { Pipeline } from "../lookup/pipeline.ts";
import type { Slot } from "../telemetry/counts.ts";
import type { Admission, KeyRule } from "./admission.ts";
import type { Parameters } from "./parameters.ts";
import type { AppOptions, Exchange } from "./request-context.ts";
import type { Responses } from "./responses.ts";

/** What handlers work with. */
export interface ApiContext extends AppOptions {
  /** Loaded with the first assessment: the start does not wait for it. */
  readonly assessments: () => Promise<AssessmentAnswers>;
  readonly pipeline: Pipeline;
  readonly admission: Admission;
  readonly responses: Responses;
  readonly memory: BatchMemory;
}

/** Answers about visitors, and what they work with. */
interface AssessmentAnswers {
  readonly server: AssessServer;
  readonly answerAssessment: typeof answerAssessment;
  readonly answerOutcome: typeof answerOutcome;
  readonly decide: typeof decide;
}

export interface Handling {
  /** Answers an admitted request. */
  readonly handle: (exchange: Exchange, api: ApiContext, route: Route) => Response | Promise<Response>;
  /** Sends problems in its own form. */
  readonly sendProblem?: (exchange: Exchange, api: ApiContext, problem: Problem) => Response;
}

/** The handlers of some operations. */
export type Handlings = Readonly<Partial<Record<OperationId, Handling>>>;

/** An operation with its handler, as the request path reads it. */
export interface Route extends KeyRule {
  readonly handle: Handling["handle"];
  readonly sendProblem: Handling["sendProblem"] | undefined;
  readonly path: PathTemplate;
  readonly alias: string | undefined;
  readonly method: OperationRow["method"];
  /** Needs no key, and ignores its query. */
  readonly isOpen: boolean;
  readonly parameters: Parameters;
  readonly slot: Slot;
}

const PATH_INVALID = problem("PATH_INVALID");

/** A request with a body, for what reads it. Call it while the connection is there. */
export function callOf<S extends Scope>(
  exchange: Exchange,
  { admission, log }: ApiContext,
  scope: S,
): Call & { readonly scope: S } {
  const { admittedKey: key, id, isSandbox, mode, now, overrides, peers, release, request, wants } = exchange;
  const caller = exchange.findCaller();
  return {
    request,
    scope,
    key,
    rate: exchange.admittedRate,
    question: { key, release, overrides, now, mode, isSandbox, wants, findCaller: () => caller },
    readmit: () => admission.readmit(request, scope, caller),
    setIdleSeconds: (seconds) => peers.timeout?.(request, seconds),
    onCrash: (error, value) => {
      const route = exchange.target.slice(0, exchange.pathEnd);
      log.crash("request-failed", error, [value], { route, request_id: id });
    },
  };
}

/** The value of a path, decoded. */
export function readPathValue(exchange: Exchange, route: Route): string | Problem {
  return decodeSegment(pathValue(exchange, route)) ?? PATH_INVALID;
}

/** As {@link readPathValue}, for a value that may be any text. */
export function readPathText(exchange: Exchange, route: Route): string | Problem {
  return decodeText(pathValue(exchange, route)) ?? PATH_INVALID;
}

/** The value of a path, as sent; "" where the route has none. */
export function pathValue({ target, pathEnd }: Exchange, { path }: Route): string {
  const { prefix, suffix } = path;
  return suffix === undefined ? "" : target.slice(prefix.length, pathEnd - suffix.length);
}
