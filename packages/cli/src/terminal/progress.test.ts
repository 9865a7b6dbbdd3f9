import { describe, expect, test } from "bun:test";
import type { BuildEvent } from "@inkling/compiler/events";
import { BuildProgress, renderBar, stepLine } from "./progress.ts";
import { formatAge, formatAgo, formatBytes, makeStyle, type Terminal, table } from "./terminal.ts";

const style = makeStyle(false);
/** Returns a function that takes an event at a time, and returns the lines that it printed. */
function progress(over: Partial<Terminal> = {}) {
  let printed = "";
  let clock = 0;
  const err = (text: string) => {
    printed += text;
  };
  const shown = new BuildProgress({ live: false, columns: 80, style, err, ...over }, () => clock);
  return {
    next(event: BuildEvent, now: number): string[] {
      printed = "";
      clock = now;
      shown.take(event);
      return printed.split("\n").filter(Boolean);
    },
  };
}

const step = (name: string, done = 0, total?: number): BuildEvent => ({
  type: "progress",
  step: name,
  done,
  ...(total === undefined ? {} : { total }),
});

const feed = (over: object): BuildEvent & { type: "feed" } => ({
  type: "feed",
  feed: {
    id: "ipsum-3",
    sets: "is_abuser",
    source: "seed",
    state: "loaded",
    entries: 1,
    licence: "x",
    ...over,
  },
});

describe("plain lines", () => {
  test("a step is a line when it ends, with its time", () => {
    const log = progress();
    expect(log.next(step("reading feeds"), 0)).toEqual([]);
    expect(log.next(step("building geo"), 2_100)).toEqual(["  reading feeds 2.1 s"]);
  });

  test("a long step is mentioned every ten seconds", () => {
    const log = progress();
    log.next(step("building geo", 0, 200), 0);
    expect(log.next(step("building geo", 10, 200), 9_999)).toEqual([]);
    expect(log.next(step("building geo", 50, 200), 10_000)).toEqual(["  building geo: 25%"]);
    expect(log.next(step("building geo", 60, 200), 12_000)).toEqual([]);
    expect(log.next(step("building geo", 61), 20_000)).toEqual(["  building geo: 61"]);
  });

  test("what happens in a step keeps its place before the step's own line", () => {
    const log = progress();
    log.next(step("reading feeds"), 0);
    const missing = log.next(feed({ state: "missing", source: "none", error: "is a web page" }), 5);
    expect(missing).toEqual(["  ipsum-3 missing: is a web page"]);
  });

  const rows: [name: string, event: BuildEvent, line: string | undefined][] = [
    ["a feed without trouble is not mentioned", feed({}), undefined],
    [
      "a feed whose new copy is held shows what is in use",
      feed({ source: "last-good", error: "has 12 entries, but should have at least 100" }),
      "  ipsum-3 not updated: has 12 entries, but should have at least 100; in use instead: last good copy",
    ],
    [
      "a missing feed",
      feed({ state: "missing", source: "none", error: "no copy" }),
      "  ipsum-3 missing: no copy",
    ],
    [
      "a domain that lists disagree on, which is only counted",
      { type: "conflict", domain: "hush.com", verdict: "not disposable", reason: "1 of 3 lists" },
      undefined,
    ],
    ["a note", { type: "note", text: "97.2% named" }, "  97.2% named"],
  ];
  test.each(rows)("%s", (_, event, line) => {
    expect(progress().next(event, 0)).toEqual(line === undefined ? [] : [line]);
  });

  test("feeds that could not be reached are one line when the step ends, whatever is in use for them", () => {
    const unreached = (id: string, over: object, rest = ""): BuildEvent => ({
      ...feed({ id, error: "publisher: not shown", ...over }),
      trouble: { why: "host not found", rest },
    });
    const log = progress();
    log.next(step("reading feeds"), 0);
    expect(log.next(unreached("ipsum-3", {}), 1)).toEqual([]);
    expect(log.next(unreached("free-mail", { source: "last-good" }), 1)).toEqual([]);
    expect(log.next(unreached("feodo", { state: "missing", source: "none" }), 1)).toEqual([]);
    const old = unreached("tor", { state: "expired", source: "last-good" }, "last-good: is too old");
    expect(log.next(old, 1)).toEqual(["  tor expired: last-good: is too old"]);
    expect(log.next(step("building geo"), 8_000)).toEqual([
      "  4 feeds could not be reached: host not found",
      "    in use instead: npm package (ipsum-3)",
      "    in use instead: last good copy (free-mail)",
      "    in use instead: nothing (feodo)",
      "    in use instead: nothing, because the last copy has expired (tor)",
      "  reading feeds 8.0 s",
    ]);
    expect(log.next(step("building email"), 9_000)).toEqual(["  building geo 1.0 s"]);
  });

  test("feeds without a file in the mirror are one line if they are many", () => {
    const lines = (count: number) => {
      const log = progress();
      log.next(step("reading feeds"), 0);
      for (let i = 0; i < count; i++) {
        const error = `mirror: the mirror has no file f${i}.*`;
        const event = feed({ id: `f${i}`, state: "missing", source: "none", error });
        expect(log.next({ ...event, lacksFile: true }, 1)).toEqual([]);
      }
      return log.next({ type: "failed", message: "m", hint: "h" }, 1_000);
    };
    expect(lines(1)[0]).toBe("  f0 missing: mirror: the mirror has no file f0.*");
    expect(lines(3)).toHaveLength(4);
    expect(lines(40)).toEqual([
      "  the mirror has no file for 40 feeds: run `inkling data status` to list them",
      "  reading feeds 1.0 s",
    ]);
  });

  test("the last step ends with the build", () => {
    const log = progress();
    log.next(step("publishing"), 0);
    expect(log.next({ type: "failed", message: "m", hint: "h" }, 300)).toEqual(["  publishing 0.3 s"]);
  });
});

describe("the live line", () => {
  test("has a bar, a percentage and the time", () => {
    const log = progress({ live: true });
    const line = `  building geo ${"█".repeat(6)}${"░".repeat(18)}  25%`;
    expect(log.next(step("building geo", 1, 4), 1_000)).toEqual([`${line} 0.0 s`]);
    expect(log.next(step("building geo", 1, 4), 3_500)).toEqual([`\r\x1b[2K${line} 2.5 s`]);
  });

  test("never fills the line, however long the step's name: it would wrap and could not be erased", () => {
    for (const columns of [20, 40, 79, 80, 200]) {
      for (const total of [undefined, 10]) {
        const line = stepLine({ name: "x".repeat(300), since: 0, done: 5, total }, 123_456, columns, style);
        expect(Bun.stringWidth(line)).toBeLessThan(Math.max(columns, 36));
      }
    }
  });

  test("more than the total is all of it", () => {
    expect(stepLine({ name: "a", since: 0, done: 9, total: 4 }, 0, 80, style)).toContain("100%");
    expect(renderBar(1, 4)).toBe("████");
    expect(renderBar(0, 4)).toBe("░░░░");
  });
});

describe("texts", () => {
  const sizes: [bytes: number, text: string][] = [
    [0, "0 B"],
    [999, "999 B"],
    [1_000, "1.0 KB"],
    [63_100_000, "63.1 MB"],
    [999_960_000, "1.0 GB"],
  ];
  test.each(sizes)("%d bytes: %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  const ages: [milliseconds: number, text: string][] = [
    [500, "just now"],
    [1_000, "1 second"],
    [7_200_000, "2 hours"],
    [86_400_000 * 3, "3 days"],
    [-5_000, "in the future"],
  ];
  test.each(ages)("%d ms: %s", (milliseconds, text) => expect(formatAge(milliseconds)).toBe(text));

  test.each([
    [500, "just now"],
    [7_200_000, "2 hours ago"],
    [-5_000, "in the future"],
  ])("%d ms before now: %s", (milliseconds, text) => expect(formatAgo(milliseconds)).toBe(text));

  test("tables align, colours and wide characters included", () => {
    const colours = makeStyle(true);
    expect(
      table(
        [
          ["a", "10"],
          [colours.red("東京"), "9"],
        ],
        [1],
      ),
    ).toBe(`a     10\n${colours.red("東京")}   9`);
  });
});
