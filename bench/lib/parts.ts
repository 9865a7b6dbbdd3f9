// parts.ts: the parts of the suite: a script each, in the order that they run in.

export interface Part {
  readonly name: string;
  /** A file in bench/. */
  readonly script: string;
  readonly title: string;
  /** It is ended after this, and told as not whole. */
  readonly limitSeconds: number;
  /** What it takes with --quick; absent where it is left out then. */
  readonly quickSeconds?: number;
  /** Plots that stand in its section. */
  readonly plots: readonly string[];
}

export const PARTS: readonly Part[] = [
  {
    name: "engine",
    script: "engine.ts",
    title: "Look-ups in process",
    limitSeconds: 420,
    quickSeconds: 17,
    plots: ["distribution-v4", "distribution-v6"],
  },
  {
    name: "http",
    script: "http.ts",
    title: "Single look-ups over HTTP",
    limitSeconds: 420,
    quickSeconds: 22,
    plots: ["cpu"],
  },
  {
    name: "start",
    script: "start.ts",
    title: "Start to first answer",
    limitSeconds: 180,
    quickSeconds: 6,
    plots: [],
  },
  { name: "build", script: "build.ts", title: "Builds", limitSeconds: 240, quickSeconds: 5, plots: [] },
  {
    name: "batch",
    script: "batch.ts",
    title: "Batches over HTTP",
    limitSeconds: 300,
    quickSeconds: 14,
    plots: [],
  },
  {
    name: "enrich",
    script: "enrich.ts",
    title: "Enriching a file",
    limitSeconds: 240,
    plots: [],
  },
  { name: "workers", script: "workers.ts", title: "Workers", limitSeconds: 180, plots: [] },
  {
    name: "kill",
    script: "kill.ts",
    title: "kill -9 of a worker under load",
    limitSeconds: 90,
    plots: [],
  },
  { name: "growth", script: "growth.ts", title: "Growth", limitSeconds: 600, plots: ["growth"] },
  { name: "swap", script: "swap.ts", title: "Swaps under load", limitSeconds: 900, plots: ["swaps"] },
];
