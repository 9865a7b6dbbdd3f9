import { describe, expect, test } from "bun:test";
import { type Connection, excessConnections } from "./connection-eviction.ts";

/** Creates connections by source. Each connection's index is its descriptor and its idle time. */
function connectionsOf(
  counts: Readonly<Record<string, number>>,
  trusted: readonly string[] = [],
): Connection[] {
  let descriptor = 0;
  return Object.entries(counts).flatMap(([source, count]) =>
    Array.from({ length: count }, () => ({
      descriptor: descriptor++,
      source,
      isTrusted: trusted.includes(source),
    })),
  );
}
const idleMs = ({ descriptor }: Connection) => descriptor;

function closedOf(counts: Readonly<Record<string, number>>, excess: number, trusted?: readonly string[]) {
  const closed = excessConnections(connectionsOf(counts, trusted), excess, idleMs);
  expect(new Set(closed).size).toBe(closed.length);
  return Object.fromEntries(
    Object.keys(counts).map((source) => [source, closed.filter((c) => c.source === source).length]),
  );
}

describe("excessConnections", () => {
  test.each<[Record<string, number>, number, Record<string, number>]>([
    [{ a: 100, b: 1, c: 1 }, 50, { a: 50, b: 0, c: 0 }],
    [{ a: 100, b: 60, c: 1 }, 60, { a: 50, b: 10, c: 0 }],
    [{ a: 100, b: 60, c: 1 }, 61, { a: 51, b: 10, c: 0 }],
    [{ a: 10, b: 10, c: 10 }, 3, { a: 1, b: 1, c: 1 }],
    [{ a: 10, b: 10, c: 10 }, 1, { a: 1, b: 0, c: 0 }],
    [{ a: 2, b: 1 }, 3, { a: 2, b: 1 }],
    [{ a: 2, b: 1 }, 9, { a: 2, b: 1 }],
    [{ a: 5 }, 0, { a: 0 }],
    [{}, 5, {}],
  ])("of %j, %i too many: closes %j", (counts, excess, want) =>
    expect(closedOf(counts, excess)).toEqual(want),
  );

  test("those of a trusted proxy go last", () => {
    expect(closedOf({ proxy: 500, a: 3, b: 1 }, 2, ["proxy"])).toEqual({ proxy: 0, a: 2, b: 0 });
    expect(closedOf({ proxy: 500, a: 3, b: 1 }, 10, ["proxy"])).toEqual({ proxy: 6, a: 3, b: 1 });
  });

  test("of a source the longest idle go first", () => {
    const closed = excessConnections(connectionsOf({ a: 5, b: 1 }), 2, idleMs);
    expect(closed.map(({ descriptor }) => descriptor)).toEqual([4, 3]);
  });
});
