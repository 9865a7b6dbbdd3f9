// route.ts: one path of the API: how it is found, which key it needs, and its handler.

import type { Lookup } from "@inkling/engine";
import type { BatchMemory } from "../batch/memory.ts";
import { type Problem, problem } from "../http/problems.ts";
import { decodeSegment, decodeText } from "../http/request-target.ts";
import type { Pipeline } from "../lookup/pipeline.ts";
import type { Admission, KeyRule } from "./admission.ts";
import type { Template } from "./counts.ts";
import type { Exchange } from "./exchange.ts";
import type { AppOptions } from "./options.ts";
import type { Parameters } from "./parameters.ts";
import type { Responses } from "./responses.ts";

/** What handlers work with. */
export interface ApiContext extends AppOptions {
  readonly pipeline: Pipeline;
  readonly admission: Admission;
  readonly responses: Responses;
  readonly memory: BatchMemory;
}

/** Answers an admitted request. */
export type Handler = (exchange: Exchange, api: ApiContext, route: Route) => Response | Promise<Response>;

export interface Route extends KeyRule {
  /** Its name in logs and metrics. */
  readonly template: Template;
  /** All before the value, for routes that end in one. */
  readonly prefix?: string;
  /** Another path that it has. */
  readonly alias?: string;
  /** HEAD is answered as GET. Undefined: the handler takes all. */
  readonly method: "GET" | "POST" | undefined;
  /** Needs no key, and ignores its query. */
  readonly isOpen?: boolean;
  /** None unless given. */
  readonly parameters?: Parameters;
  /** Sends problems in a form of its own. */
  readonly sendProblem?: (exchange: Exchange, api: ApiContext, problem: Problem) => Response;
  readonly handle: Handler;
}

/** A row of the API's table. */
export interface ApiRoute extends Route {
  /** Its name in the OpenAPI document's tables. */
  readonly operation: Operation;
}

export type Operation =
  | Lookup
  | "batch"
  | "forward_auth"
  | "status"
  | "healthz"
  | "readyz"
  | "openapi"
  | "docs"
  | "root"
  | "maxmind";

const PATH_INVALID = problem("PATH_INVALID");

/** The value at the end of a path, decoded. */
export function readPathValue(exchange: Exchange, route: Route): string | Problem {
  return decodeSegment(pathValue(exchange, route)) ?? PATH_INVALID;
}

/** As {@link readPathValue}, for a value that may be any text. */
export function readPathText(exchange: Exchange, route: Route): string | Problem {
  return decodeText(pathValue(exchange, route)) ?? PATH_INVALID;
}

/** The value at the end of a path, as sent; "" where the route has none. */
export function pathValue({ target, pathEnd }: Exchange, { prefix }: Route): string {
  return prefix === undefined ? "" : target.slice(prefix.length, pathEnd);
}
