// handler.ts: defines what an operation's handler receives, and what it passes to functions that read a body.

import type { OperationId, OperationRow, Scope } from "@inkling/contract";
import type { LineCall } from "../batch/call.ts";
import { type Problem, problem } from "../http/problems.ts";
import type { PathTemplate } from "../http/router.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import type { Slot } from "../telemetry/counts.ts";
import type { Admission, KeyRule } from "./admission.ts";
import type { DecisionAnswers } from "./assess-answers.ts";
import type { Parameters } from "./parameters.ts";
import type { Exchange } from "./request-context.ts";
import type { Responses } from "./responses.ts";

/** The thread's services, and the objects that all handlers share. */
export interface Api extends ThreadServices {
  readonly admission: Admission;
  readonly responses: Responses;
  /** The first decision loads its code, so that startup does not wait for it. */
  readonly decisionAnswers: () => Promise<DecisionAnswers>;
  /** Has this server been told to stop? */
  isDraining: boolean;
}

export interface Handling {
  /** Answers a request that was admitted, or that needs no key. */
  readonly handle: (exchange: Exchange, api: Api, route: Route) => Response | Promise<Response>;
  /** Formats problems for routes that do not send problem documents. */
  readonly sendProblem?: (exchange: Exchange, api: Api, problem: Problem) => Response;
}

/** The handlers of a group of operations. */
export type Handlings = Readonly<Partial<Record<OperationId, Handling>>>;

/** An operation of the contract and its handler, prepared for use in each request. */
export interface Route extends KeyRule {
  readonly handle: Handling["handle"];
  readonly sendProblem: Handling["sendProblem"] | undefined;
  readonly path: PathTemplate;
  readonly alias: string | undefined;
  readonly method: OperationRow["method"];
  /** True if the operation needs no key. It then ignores the query. */
  readonly isOpen: boolean;
  readonly parameters: Parameters;
  readonly slot: Slot;
}

/** The value in a path cannot be decoded. */
export const PATH_INVALID = problem("PATH_INVALID");

/**
 * Collects what the functions that read a body need. Call it while the connection is open, because the caller's address
 * is lost afterwards.
 */
export function callOf<S extends Scope>(
  exchange: Exchange,
  { admission, log }: Api,
  scope: S,
): LineCall & { readonly scope: S } {
  const { admittedKey: key, admittedRate: rate, peers, request } = exchange;
  exchange.keepCaller();
  return {
    request,
    scope,
    key,
    rate,
    question: exchange,
    readmit: () => admission.readmit(request, scope, exchange.findCaller()),
    setIdleSeconds: (seconds) => peers.timeout?.(request, seconds),
    onCrash: (error, value) => {
      const route = exchange.target.slice(0, exchange.pathEnd);
      log.crash("request-failed", error, [value], { route, ...exchange.ids });
    },
  };
}
