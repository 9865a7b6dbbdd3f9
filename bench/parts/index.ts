// index.ts: lists the parts of the suite in running order. With --quick, there is only time for the first parts.

import type { Part } from "../lib/record.ts";
import { measureAssess } from "./assess.ts";
import { measureBatch } from "./batch.ts";
import { measureBuild } from "./build.ts";
import { measureEngine } from "./engine.ts";
import { measureEnrich } from "./enrich.ts";
import { measureGroup } from "./group.ts";
import { measureGrowth } from "./growth.ts";
import { measureHttp } from "./http.ts";
import { measureKeys } from "./keys.ts";
import { measureSoak } from "./soak.ts";
import { measureStart } from "./start.ts";

/** Parts that can measure two checkouts (--against). */
export const COMPARABLE: readonly Part[] = [
  {
    name: "engine",
    title: "Lookups in process",
    limitSeconds: 1_200,
    pressureSeconds: 900,
    quickSeconds: 12,
    measure: measureEngine,
  },
  {
    name: "http",
    title: "Single lookups over HTTP",
    limitSeconds: 900,
    pressureSeconds: 900,
    quickSeconds: 17,
    measure: measureHttp,
  },
  { name: "batch", title: "Batches over HTTP", limitSeconds: 300, quickSeconds: 8, measure: measureBatch },
  {
    name: "start",
    title: "Start to first answer",
    limitSeconds: 180,
    quickSeconds: 6,
    measure: measureStart,
  },
  { name: "build", title: "Builds", limitSeconds: 240, quickSeconds: 5, measure: measureBuild },
  { name: "enrich", title: "Enriching a file", limitSeconds: 240, measure: measureEnrich },
];

export const PARTS: readonly Part[] = [
  ...COMPARABLE,
  {
    name: "assess",
    title: "Decisions",
    limitSeconds: 420,
    quickSeconds: 10,
    measure: measureAssess,
  },
  { name: "growth", title: "Growth", limitSeconds: 600, measure: measureGrowth },
  { name: "group", title: "A group of hosts", limitSeconds: 900, measure: measureGroup },
  {
    name: "keys",
    title: "Many keys",
    limitSeconds: 600,
    onlyIfNamed: true,
    measure: measureKeys,
  },
  {
    name: "soak",
    title: "Endurance",
    limitSeconds: 90_000,
    pressureSeconds: 90_000,
    onlyIfNamed: true,
    measure: measureSoak,
  },
];
