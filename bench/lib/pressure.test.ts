// Neighbours: that they stream only beside what is measured with them, and what is recorded.

import { afterEach, describe, expect, test } from "bun:test";
import { compareUnderPressure, startNeighbour } from "./pressure.ts";
import { CLIENT_CORE, processTree } from "./proc.ts";
import { type Line, Run } from "./record.ts";

let run: Run | undefined;
afterEach(async () => run?.end());

/** How many processes this one has started, and still has. */
const children = () => processTree(process.pid).length - 1;

describe("a neighbour", () => {
  test("reads memory until it is stopped", async () => {
    run = new Run("/", { isQuick: true, hours: 1, hasPressure: true });
    const before = children();
    const stop = await startNeighbour(run, CLIENT_CORE, 1);
    expect(children()).toBe(before + 1);
    const traffic = await stop();
    expect(traffic).toBeGreaterThan(0);
    expect(children()).toBe(before);
  });
  test("ends with the part", async () => {
    run = new Run("/", { isQuick: true, hours: 1, hasPressure: true });
    const before = children();
    await startNeighbour(run, CLIENT_CORE, 1);
    await run.end();
    expect(children()).toBe(before);
  });
});

test.each([
  [true, [0, 64]],
  [false, [0, 16, 64, 256]],
])("contestants are measured quiet and beside two neighbours; quick: %p", async (isQuick, strengths) => {
  run = new Run("/", { isQuick, hours: 1, hasPressure: true });
  const before = children();
  const order: string[] = [];
  const contestants = ["a", "b"].map((who, i) => ({
    who,
    measure: async () => {
      const neighbours = children() - before;
      order.push(`${who}${neighbours}`);
      return 10 * neighbours + i + 1;
    },
  }));
  const what = { what: "w", measure: "cost", unit: "µs", plot: "p", rounds: 1 };
  await compareUnderPressure(run, { ...what, contestants });
  const pressed = strengths.slice(1).flatMap(() => ["a2", "b2"]);
  const forwards = ["a0", "b0", ...pressed];
  expect(order).toEqual(forwards);
  const rows = run.lines.flatMap((line): [string, string, number][] =>
    line.type === "row" && line.unit === "µs" ? [[line.who, line.measure, line.values[0]!]] : [],
  );
  const measures = ["quiet", ...strengths.slice(1).map((megabytes) => `${megabytes} MB`)];
  expect(rows).toEqual(
    measures.flatMap((name, i) => [
      ["a", `cost, ${name}`, i === 0 ? 1 : 21],
      ["b", `cost, ${name}`, i === 0 ? 2 : 22],
    ]),
  );
  for (const megabytes of strengths.slice(1))
    for (const who of ["a", "b"])
      expect(
        run.values("w, beside neighbours: what both neighbours read", who, `${megabytes} MB`)[0],
      ).toBeGreaterThan(0);
  const curves: Line[] = run.lines.filter((line) => line.type === "series");
  expect(curves[1]).toEqual({
    type: "series",
    plot: "p",
    who: "b",
    points: strengths.map((megabytes) => [megabytes, megabytes === 0 ? 2 : 22]),
  });
});
