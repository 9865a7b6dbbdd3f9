// routes.ts: every path that the API answers.
//
// in   the path of a request, as sent
// out  its route
// cost a lookup's path is compared with at most three prefixes: theirs come first

import { problem } from "../http/problems.ts";
import { ADDRESS_ROUTES } from "./handlers/address.ts";
import { BATCH_ROUTES } from "./handlers/batch.ts";
import { DOCUMENT_ROUTES } from "./handlers/documents.ts";
import { EMAIL_ROUTE } from "./handlers/email.ts";
import { SERVER_ROUTES } from "./handlers/server.ts";
import type { ApiRoute, Route } from "./route.ts";

const PATH_NOT_FOUND = problem("PATH_NOT_FOUND");

const ROWS: readonly ApiRoute[] = [
  ...ADDRESS_ROUTES,
  EMAIL_ROUTE,
  ...BATCH_ROUTES,
  ...SERVER_ROUTES,
  ...DOCUMENT_ROUTES,
];

/** With the index that each is counted by. */
export const ROUTES = ROWS.map((row, index) => ({ ...row, index }));

export interface CountedRoute extends Route {
  readonly index: number;
}

/** Every other path. */
export const NO_ROUTE: CountedRoute = {
  template: "none",
  index: ROUTES.length,
  method: undefined,
  parameters: undefined,
  handle: (exchange, { responses }) => responses.problem(exchange, PATH_NOT_FOUND),
};

const WITH_VALUE = ROUTES.flatMap((route) =>
  route.prefix === undefined ? [] : { ...route, prefix: route.prefix },
);
const WITHOUT_VALUE = new Map<string, CountedRoute>(
  ROUTES.filter((route) => route.prefix === undefined).flatMap((route) =>
    [route.template, route.alias ?? []].flat().map((path) => [path, route] as const),
  ),
);

/** @param path without query; a value must be one segment that is not empty */
export function findRoute(path: string): CountedRoute {
  for (const route of WITH_VALUE) {
    const { prefix } = route;
    if (!path.startsWith(prefix)) continue;
    if (path.length === prefix.length) break;
    return path.indexOf("/", prefix.length) < 0 ? route : NO_ROUTE;
  }
  return WITHOUT_VALUE.get(path) ?? NO_ROUTE;
}
