// routes.ts: every path that the API answers: the operations of the contract, each with its handler.
//
// in   the path of a request, as sent
// out  its route
// cost a lookup's path is compared with at most three templates: theirs come first

import { OPERATION_IDS, OPERATIONS, type OperationId } from "@inkling/contract";
import { problem } from "../http/problems.ts";
import { PathTemplate, Router } from "../http/router.ts";
import { slotOf } from "../telemetry/counts.ts";
import { ABOUT_HANDLINGS } from "./about.ts";
import { ASSESS_HANDLINGS } from "./assess.ts";
import { FORWARD_AUTH_HANDLINGS } from "./forward-auth.ts";
import type { Handling, Route } from "./handler.ts";
import { LOOKUP_HANDLINGS } from "./lookups.ts";
import { MAXMIND_HANDLINGS, MAXMIND_ROOT, NO_SERVICE_HANDLING } from "./maxmind.ts";
import { Parameters } from "./parameters.ts";
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
  const { path, alias, method, access, schemes, isForProxies = false, parameters = [] } = OPERATIONS[id];
  const { handle, sendProblem } = HANDLINGS[id];
  const isOpen = access === "open";
  return {
    path: new PathTemplate(path),
    alias,
    method,
    isOpen,
    scope: isOpen || access === "key" ? undefined : access,
    acceptsBasic: schemes?.includes("basic") ?? false,
    isForProxies,
    parameters: new Parameters(parameters),
    slot: slotOf(id),
    handle,
    sendProblem,
  };
}

const ROUTER = new Router(OPERATION_IDS.map(routeOf));

const PATH_NOT_FOUND = problem("PATH_NOT_FOUND");
/** Of every other path. */
const NO_ROUTE: Route = {
  path: new PathTemplate("none"),
  alias: undefined,
  method: "ANY",
  isOpen: true,
  scope: undefined,
  acceptsBasic: false,
  isForProxies: false,
  parameters: new Parameters([]),
  slot: slotOf("none"),
  handle: (exchange, { responses }) => responses.sendProblem(exchange, PATH_NOT_FOUND),
  sendProblem: undefined,
};
const NO_SERVICE: Route = { ...NO_ROUTE, ...NO_SERVICE_HANDLING };

/** @param path without query */
export function findRoute(path: string): Route {
  return ROUTER.find(path) ?? (path.startsWith(MAXMIND_ROOT) ? NO_SERVICE : NO_ROUTE);
}
