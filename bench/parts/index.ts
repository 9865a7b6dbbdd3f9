// index.ts: the parts of the suite in the order that they run in: with --quick there is time for the first ones.

import type { Part } from "../lib/record.ts";
import { batch } from "./batch.ts";
import { buildPart } from "./build.ts";
import { engine } from "./engine.ts";
import { enrichPart } from "./enrich.ts";
import { growth } from "./growth.ts";
import { http } from "./http.ts";
import { killPart } from "./kill.ts";
import { startPart } from "./start.ts";
import { swap } from "./swap.ts";
import { workersPart } from "./workers.ts";

export const PARTS: readonly Part[] = [
  engine,
  http,
  batch,
  startPart,
  buildPart,
  enrichPart,
  workersPart,
  killPart,
  growth,
  swap,
];
