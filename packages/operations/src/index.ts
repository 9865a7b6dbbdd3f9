// @inkling/operations: every operation of operators, by kind of object.

import type { z } from "zod";
import { ADMIN_TOKENS } from "./admin-tokens.ts";
import { ASSESS } from "./assess.ts";
import { AUDIT } from "./audit.ts";
import { DATA } from "./data.ts";
import { DECISIONS } from "./decisions.ts";
import { FEEDS } from "./feeds.ts";
import { HOSTS } from "./hosts.ts";
import { KEYS } from "./keys.ts";
import { LOOKUP } from "./lookup.ts";
import type { AnyOperation, Resource } from "./operation.ts";
import { OVERRIDES } from "./overrides.ts";
import { RULESETS } from "./rulesets.ts";
import { TRAFFIC } from "./traffic.ts";
import { WEBHOOKS } from "./webhooks.ts";

export * from "./context.ts";
export * from "./operation.ts";
export * from "./problem.ts";
export {
  ADMIN_TOKENS,
  ASSESS,
  AUDIT,
  DATA,
  DECISIONS,
  FEEDS,
  HOSTS,
  KEYS,
  LOOKUP,
  OVERRIDES,
  RULESETS,
  TRAFFIC,
  WEBHOOKS,
};

const ALL = [
  LOOKUP,
  DATA,
  FEEDS,
  KEYS,
  ADMIN_TOKENS,
  OVERRIDES,
  ASSESS,
  RULESETS,
  DECISIONS,
  WEBHOOKS,
  AUDIT,
  TRAFFIC,
  HOSTS,
] as const;
export const RESOURCES: readonly Resource[] = ALL;

type RowOf<One> = One extends Resource ? One["operations"][keyof One["operations"]] : never;
type Row = RowOf<(typeof ALL)[number]>;

/** The input and output of each route, for clients in TypeScript. */
export type Api = {
  [One in Row as One["route"]]: {
    readonly input: z.input<z.ZodObject<One["input"]>>;
    readonly output: z.output<One["output"]>;
  };
};

/** The input and output of an operation. */
export type Input<One extends AnyOperation> = z.output<z.ZodObject<One["input"]>>;
export type Output<One extends AnyOperation> = z.output<One["output"]>;
