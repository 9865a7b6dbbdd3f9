// Tests test/promises.md: every promise names an existing test, and each adversary in packages/server/threat-model.md
// has promises.

import { describe, expect, test } from "bun:test";
import { posix } from "node:path";
import { made, type ProjectFile, projectFiles } from "./harness/project-files.ts";

const PAGE = "packages/server/threat-model.md";
const PROMISES = "test/promises.md";
const FEWEST_ROWS = 3;

interface Line {
  readonly id: string;
  /** The path from the project's folder. */
  readonly path: string;
  readonly name: string;
}

const ROW = /^\| ([A-Z]\d+) \| [^|]+ \| \[[^\]]+\]\(([^)]+)\) "(.+)" \|[^|]*\|$/;

/** @throws Error for a row that cannot be read */
function linesOf(page: string): Line[] {
  return [...page.matchAll(/^\| [A-Z]\d.*$/gm)].map(([text]) => {
    const [, id, path, name] = ROW.exec(text) ?? [];
    if (id === undefined) throw new Error(`not a line with a test: ${text}`);
    return { id, path: posix.join("test", path!), name: name! };
  });
}

/** Returns quoted texts in code that may be a test's name, with `…` for inserted values. */
const namesIn = ({ text }: ProjectFile) =>
  new Set(
    [...text.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)].map(([, quoted, template]) =>
      (quoted ?? template!).replaceAll(/\$\{[^}]*\}|%[sido]/g, "…"),
    ),
  );

function missing(lines: readonly Line[], files: readonly ProjectFile[]): string[] {
  return lines
    .filter(({ path, name }) => {
      const file = files.find((one) => one.path === path);
      return file === undefined || !path.endsWith(".test.ts") || !namesIn(file).has(name);
    })
    .map(({ id, path, name }) => `${id}: no test "${name}" in ${path}`);
}

describe("test/promises.md", () => {
  const files = projectFiles();
  const textOf = (wanted: string) => files.find(({ path }) => path === wanted)!.text;
  const page = textOf(PAGE);
  const lines = linesOf(textOf(PROMISES));

  test("names a test that exists in each line", () => expect(missing(lines, files)).toEqual([]));

  test("has lines for every adversary, numbered without gaps, and no test twice", () => {
    const adversaries = [...page.matchAll(/^\| ([A-Z]) \|/gm)].map(([, letter]) => letter!);
    expect(adversaries.length).toBe(7);
    for (const letter of adversaries) {
      const ids = lines.filter(({ id }) => id[0] === letter).map(({ id }) => id);
      expect(ids).toEqual(ids.map((_, i) => `${letter}${i + 1}`));
      expect(ids.length).toBeGreaterThanOrEqual(FEWEST_ROWS);
    }
    expect(lines.filter(({ id }) => !adversaries.includes(id[0]!))).toEqual([]);
    expect(new Set(lines.map(({ path, name }) => `${path} ${name}`)).size).toBe(lines.length);
  });

  const code = made("test/a.test.ts", `test("holds", x); test.each(y)(\`\${n} of %s\`, x);`);
  test.each([
    ["holds", "a.test.ts", []],
    ["… of …", "a.test.ts", []],
    ["hold", "a.test.ts", ['A1: no test "hold" in test/a.test.ts']],
    ["holds", "b.test.ts", ['A1: no test "holds" in test/b.test.ts']],
  ])("a test %p in %s", (name, path, problems) => {
    expect(missing(linesOf(`| A1 | It holds | [a](${path}) "${name}" | 3 |`), [code])).toEqual(problems);
  });
  test("a line without a test is refused", () => {
    expect(() => linesOf("| A1 | It holds | | 3 |")).toThrow("not a line with a test");
  });
});
