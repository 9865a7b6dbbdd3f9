// routes.ts: every path that the API answers.
//
// in   the path of a request, as sent
// out  its route
// cost a lookup's path is compared with at most three prefixes: theirs come first

import { problem } from "../http/problems.ts";
import { TEMPLATES } from "./counts.ts";
import { ADDRESS_ROUTES } from "./handlers/address.ts";
import { BATCH_ROUTES } from "./handlers/batch.ts";
import { DOCUMENT_ROUTES } from "./handlers/documents.ts";
import { EMAIL_ROUTE } from "./handlers/email.ts";
import { FORWARD_AUTH_ROUTE } from "./handlers/forward-auth.ts";
import { MAXMIND_ROOT, MAXMIND_ROUTES, NO_MAXMIND_SERVICE } from "./handlers/maxmind.ts";
import { SERVER_ROUTES } from "./handlers/server.ts";
import type { ApiRoute, Route } from "./route.ts";

const PATH_NOT_FOUND = problem("PATH_NOT_FOUND");

const ROWS: readonly ApiRoute[] = [
  ...ADDRESS_ROUTES,
  EMAIL_ROUTE,
  ...BATCH_ROUTES,
  FORWARD_AUTH_ROUTE,
  ...SERVER_ROUTES,
  ...DOCUMENT_ROUTES,
  ...MAXMIND_ROUTES,
];

export interface CountedRoute extends Route {
  /** What it is counted by. */
  readonly index: number;
}

const counted = <R extends Route>(row: R) => ({ ...row, index: TEMPLATES.indexOf(row.template) });

export const ROUTES = ROWS.map(counted);

/** Every other path. */
const NO_ROUTE = counted<Route>({
  template: "none",
  method: undefined,
  isOpen: true,
  handle: (exchange, { responses }) => responses.sendProblem(exchange, PATH_NOT_FOUND),
});

const NO_SERVICE = counted<Route>(NO_MAXMIND_SERVICE);

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
    if (path.indexOf("/", prefix.length) < 0) return route;
    break;
  }
  return WITHOUT_VALUE.get(path) ?? (path.startsWith(MAXMIND_ROOT) ? NO_SERVICE : NO_ROUTE);
}
