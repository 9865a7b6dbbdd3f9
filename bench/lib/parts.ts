// parts.ts: the parts of the suite: a script each, in the order that they run in: with --quick there is time for the first ones.

export interface Part {
  readonly name: string;
  /** A file in bench/. */
  readonly script: string;
  readonly title: string;
  /** It is ended after this, and told as not whole. */
  readonly limitSeconds: number;
  /** What it takes with --quick; absent where it is left out then. */
  readonly quickSeconds?: number;
  /** Peers from npm take part. */
  readonly hasNpmPeers?: true;
  /** Plots that stand in its section. */
  readonly plots: readonly string[];
}

export const PARTS: readonly Part[] = [
  {
    name: "engine",
    script: "engine.ts",
    title: "Look-ups in process",
    limitSeconds: 420,
    quickSeconds: 12,
    hasNpmPeers: true,
    plots: ["distribution-v4", "distribution-v6"],
  },
  {
    name: "http",
    script: "http.ts",
    title: "Single look-ups over HTTP",
    limitSeconds: 420,
    quickSeconds: 17,
    hasNpmPeers: true,
    plots: ["cpu"],
  },
  {
    name: "batch",
    script: "batch.ts",
    title: "Batches over HTTP",
    limitSeconds: 300,
    quickSeconds: 8,
    plots: [],
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
    name: "enrich",
    script: "enrich.ts",
    title: "Enriching a file",
    limitSeconds: 240,
    hasNpmPeers: true,
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
