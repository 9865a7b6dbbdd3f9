// routes.ts: maps every path of the API to an operation of the contract and its handler.
//
// Cost: finding a lookup's route takes at most three comparisons, because the lookups come first.

import { OPERATION_IDS, OPERATIONS, type OperationId, PROBLEMS, UNCLEAR_PATH } from "@inkling/contract";
import { nearest } from "@inkling/engine";
import { type Problem, problem } from "../http/problems.ts";
import { PathTemplate, Router } from "../http/router.ts";
import { slotOf } from "../telemetry/counts.ts";
import { ABOUT_HANDLINGS } from "./about.ts";
import { ASSESS_HANDLINGS } from "./assess.ts";
import { FORWARD_AUTH_HANDLINGS } from "./forward-auth.ts";
import type { Handling, Route } from "./handler.ts";
import { LOOKUP_HANDLINGS } from "./lookups.ts";
import { MAXMIND_HANDLINGS, MAXMIND_ROOT, NO_SERVICE_HANDLING } from "./maxmind.ts";
import { Parameters } from "./parameters.ts";
import type { Exchange } from "./request-context.ts";
import { SUPABASE_HOOK_HANDLINGS } from "./supabase-hook.ts";

const HANDLINGS: Readonly<Record<OperationId, Handling>> = {
  ...LOOKUP_HANDLINGS,
  ...ASSESS_HANDLINGS,
  ...FORWARD_AUTH_HANDLINGS,
  ...SUPABASE_HOOK_HANDLINGS,
  ...MAXMIND_HANDLINGS,
  ...ABOUT_HANDLINGS,
};

function routeOf(id: OperationId): Route {
  const {
    path,
    alias,
    method,
    access,
    schemes,
    looksUp,
    isForProxies = false,
    parameters = [],
  } = OPERATIONS[id];
  const { handle, sendProblem } = HANDLINGS[id];
  const isOpen = access === "open";
  return {
    path: new PathTemplate(path),
    alias,
    method,
    isOpen,
    scope: isOpen || access === "key" ? undefined : access,
    isLookup: looksUp !== undefined,
    acceptsBasic: schemes?.includes("basic") ?? false,
    isForProxies,
    parameters: new Parameters(parameters),
    slot: slotOf(id),
    handle,
    sendProblem,
  };
}

const ROUTER = new Router(OPERATION_IDS.map(routeOf));

/** Maps the text before the value to the whole path, for each path that callers use. */
const PATHS = new Map(
  Object.values(OPERATIONS).flatMap(({ path }) =>
    path.startsWith("/v1/") ? [[path.split("{")[0]!, path]] : [],
  ),
);
const ALL_PATHS = `The paths are ${[...PATHS.values()].join(", ")}. ${PROBLEMS.PATH_NOT_FOUND.detail}`;
/** Number of characters of an unknown path that are compared with the known paths, to suggest a correction. */
const MAX_MISTYPED = 80;

function pathNotFound({ target, pathEnd }: Exchange): Problem {
  const path = target.slice(0, Math.min(pathEnd, MAX_MISTYPED));
  const starts = [...PATHS.keys()];
  const near = nearest(path, starts) ?? nearest(path.slice(0, path.lastIndexOf("/") + 1), starts);
  const meant = near === undefined ? "" : `Did you mean ${PATHS.get(near)}? `;
  return problem("PATH_NOT_FOUND", `${meant}${ALL_PATHS}`);
}

/** The route for paths that match no other route. */
const NO_ROUTE: Route = {
  path: new PathTemplate("none"),
  alias: undefined,
  method: "ANY",
  isOpen: true,
  scope: undefined,
  isLookup: false,
  acceptsBasic: false,
  isForProxies: false,
  parameters: new Parameters([]),
  slot: slotOf("none"),
  handle: (exchange, { responses }) => responses.sendProblem(exchange, pathNotFound(exchange)),
  sendProblem: undefined,
};
const PATH_UNCLEAR = problem("PATH_INVALID", UNCLEAR_PATH);
/** The route for paths that a proxy in front may have read as another path. */
export const UNCLEAR: Route = {
  ...NO_ROUTE,
  handle: (exchange, { responses }) => responses.sendProblem(exchange, PATH_UNCLEAR),
};
const NO_SERVICE: Route = { ...NO_ROUTE, ...NO_SERVICE_HANDLING };

/** Finds the route for a path. @param path the path without its query */
export function findRoute(path: string): Route {
  return ROUTER.find(path) ?? (path.startsWith(MAXMIND_ROOT) ? NO_SERVICE : NO_ROUTE);
}

/** Returns whether a path has a value, which may contain an encoded "/". */
export const hasValue = (path: string): boolean => ROUTER.find(path)?.path.suffix !== undefined;
