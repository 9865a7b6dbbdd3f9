// routes.ts: every path that the API answers, one row each.
//
// in   the path of a request, as sent
// out  its route, or undefined
// cost a look-up's path is compared with at most three prefixes: theirs come first

import type { Scope } from "../keys/key.ts";

export interface Route {
  /** How logs and metrics name it. */
  readonly template: string;
  /** Position in ROUTES: where its counts stand. */
  readonly index: number;
  readonly handler: Scope | "batch" | "healthz" | "readyz" | "status" | "openapi" | "docs" | "root";
  /** All before the value, for routes that end in one. */
  readonly prefix?: string;
  /** Another way to write it: people type the address of a page, with a slash or without. */
  readonly alias?: string;
  /** What a batch is about. */
  readonly lookup?: Scope;
}

const ROWS: readonly Omit<Route, "index">[] = [
  { template: "/v1/ip-intel/geolocate/{ip}", handler: "geolocate", prefix: "/v1/ip-intel/geolocate/" },
  { template: "/v1/ip-intel/reputation/{ip}", handler: "reputation", prefix: "/v1/ip-intel/reputation/" },
  { template: "/v1/user-intel/email/{email_address}", handler: "email", prefix: "/v1/user-intel/email/" },
  { template: "/v1/ip-intel/geolocate", handler: "batch", lookup: "geolocate" },
  { template: "/v1/ip-intel/reputation", handler: "batch", lookup: "reputation" },
  { template: "/v1/user-intel/email", handler: "batch", lookup: "email" },
  { template: "/v1/status", handler: "status" },
  { template: "/healthz", handler: "healthz" },
  { template: "/readyz", handler: "readyz" },
  { template: "/openapi.json", handler: "openapi" },
  { template: "/docs", handler: "docs", alias: "/docs/" },
  { template: "/docs/{file}", handler: "docs", prefix: "/docs/" },
  { template: "/", handler: "root" },
];

export const ROUTES: readonly Route[] = ROWS.map((row, index) => ({ ...row, index }));
/** Where requests to no route are counted. */
export const NO_ROUTE = { template: "none", index: ROUTES.length } as const;

const WITH_VALUE = ROUTES.filter((route): route is Route & { prefix: string } => route.prefix !== undefined);
const WITHOUT = new Map(
  ROUTES.filter((route) => route.prefix === undefined).flatMap((route) =>
    [route.template, route.alias ?? []].flat().map((path) => [path, route] as const),
  ),
);

/** @param path without query; a value must be one segment that is not empty */
export function findRoute(path: string): Route | undefined {
  for (const route of WITH_VALUE) {
    const { prefix } = route;
    if (path.startsWith(prefix)) {
      if (path.length === prefix.length) break;
      return path.indexOf("/", prefix.length) < 0 ? route : undefined;
    }
  }
  return WITHOUT.get(path);
}
