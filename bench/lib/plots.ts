// plots.ts: draws the specifications in bench/specs (Vega-Lite) with the recorded figures.
//
// Each specification gets all figures as the data set "figures". It has {what, who, measure, value} for every value of
// a row, and {plot, who, x, y} for every point of a curve.

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { BENCH } from "./peers.ts";
import type { PartResult } from "./record.ts";

export interface Plot {
  /** File name without folder and extension. */
  readonly name: string;
  readonly title: string;
  readonly usermeta: { readonly part: string };
}

/** All plots. Each contains the name of the part whose section shows it. */
export const PLOTS: readonly Plot[] = readdirSync(join(BENCH, "specs"))
  .toSorted()
  .map((file) => ({
    ...JSON.parse(readFileSync(join(BENCH, "specs", file), "utf8")),
    name: basename(file, ".json"),
  }));

/** Draws the plots that have figures, with Vega from bench/node_modules. @returns their SVG */
export async function drawPlots(results: readonly PartResult[]): Promise<Map<Plot, string>> {
  const figures = results.flatMap(({ lines }) =>
    lines.flatMap((line): object[] => {
      if (line.type === "row") return line.values.map((value) => ({ ...line, value }));
      return line.type === "series"
        ? line.points.map(([x, y]) => ({ plot: line.plot, who: line.who, x, y }))
        : [];
    }),
  );
  const load = (name: string) => import(Bun.resolveSync(name, BENCH));
  const [{ View, parse }, { compile }] = await Promise.all([load("vega"), load("vega-lite")]);
  const draw = async (plot: Plot): Promise<[Plot, string]> => {
    const view = new View(parse(compile({ ...plot, datasets: { figures } }).spec), { renderer: "none" });
    return [plot, await view.toSVG()];
  };
  const drawn = await Promise.all(PLOTS.map(draw));
  return new Map(drawn.filter(([, svg]) => /"(line mark|bar)"/.test(svg))); // a plot without marks is empty
}
