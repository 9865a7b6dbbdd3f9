// words.test.ts: one vocabulary. The field's terms (ARCHITECTURE.md) instead of private ones, one spelling of each.
//
// What a rule finds in a file or in its path fails, unless ALLOWED has it. An allowance that is not needed fails as
// well. Each rule is also run on made-up text that breaks it.

import { describe, expect, test } from "bun:test";
import { made, type ProjectFile, projectFiles } from "./project-files.ts";

/** The files that the rules hold for. */
const CHECKED = ["**/*.{md,ts,tsx,mjs,js,css,html,json}"];

/** Tools' output, recorded files, and this list itself. */
const NEVER = ["package-lock.json", "**/fixtures/**", "bench/results/**", "test/words.test.ts"];

interface Rule {
  readonly word: string;
  readonly pattern: RegExp;
  /** What to write. */
  readonly instead: string;
  /** Only in code. */
  readonly code?: true;
}

const VERBS = "says?|said|tells?|told|asks?|asked|answered|charged|hears?|heard|speaks?|spoken";

const RULES: readonly Rule[] = [
  { word: "e-mail", pattern: /\be-mails?\b/i, instead: "email" },
  // Not in host names: test data and golden segments have some.
  { word: "throw-away", pattern: /\bthrow-aways?\b(?![-.][\w$])/i, instead: "disposable" },
  { word: "look-up", pattern: /\blook-ups?\b/i, instead: "lookup (noun), look up (verb)" },
  { word: "log-in", pattern: /\blog-ins?\b/i, instead: "login (noun), log in (verb)" },
  {
    word: "at the door",
    pattern: /\bat the (?:front )?doors?\b|\bdoors?\b/i,
    instead: "import rule, API, visitor",
  },
  { word: "rooms", pattern: /\brooms\b/i, instead: "packages" },
  { word: "house", pattern: /\bhouses?\b/i, instead: "project, package" },
  { word: "backstage", pattern: /\bback-?stage\b/i, instead: "services" },
  { word: "footing", pattern: /\bfooting\b/i, instead: "bootstrap" },
  { word: "crew", pattern: /\bcrews?\b/i, instead: "worker pool" },
  { word: "belief", pattern: /\bbeliefs?\b/i, instead: "cache" },
  { word: "hole", pattern: /\breport(?:s|ed|ing)? (?:a |the )?holes?\b/i, instead: "vulnerability" },
  { word: "three in the morning", pattern: /\bin the morning\b/i, instead: "incident" },
  {
    word: "a declared name that personifies",
    pattern: new RegExp(
      `\\b(?:const|let|function|class|interface|type|get|set) +(?:${VERBS}|Told|Said|Asked)\\b|` +
        `^ *(?:(?:public|private|readonly|async|static) +)*(?:said|told|asked|answered|charged)\\??(?:\\(.*\\{$|: )`,
      "m",
    ),
    instead: "a verb phrase: recordAnswer, broadcastKeys, countFlags, chargeQuota",
    code: true,
  },
  {
    word: "a test name that personifies",
    pattern: /\b(?:test|describe|it)\((["'`])(?:(?!\1).)*\b(?:says?|said|tells?|told)\b/,
    instead: "what the code does: returns, reports, refuses",
    code: true,
  },
];

interface Allowed {
  readonly path: string;
  /** Part of the line. */
  readonly text: string;
}

/** Members of the admin API's answers. */
const ALLOWED: readonly Allowed[] = [
  { path: "packages/server/src/admin/handler.ts", text: "readonly asked: boolean" },
  { path: "packages/server/src/admin/data-actions.ts", text: "asked: z.boolean()" },
  { path: "test/admin-api.test.ts", text: "      asked: false," },
];

const matches = (globs: readonly string[], path: string) =>
  globs.some((glob) => new Bun.Glob(glob).match(path));
const isCode = (path: string) => /\.(?:tsx?|mjs|js)$/.test(path);

/** "path:line: word: …" for each line that breaks a rule, and for each path that does. */
function findings(all: readonly ProjectFile[], allowed: readonly Allowed[] = ALLOWED): string[] {
  return all.flatMap(({ path, text }) => {
    const rules = RULES.filter(({ code }) => code === undefined || isCode(path));
    const inPath = rules
      .filter(
        ({ code, pattern }) =>
          code === undefined && pattern.test(`${path} ${path.replaceAll(/[-_./]/g, " ")}`),
      )
      .map(({ word, instead }) => `${path}: ${word} in its name: write ${instead}`);
    const inLines = text
      .split("\n")
      .flatMap((line, i) =>
        allowed.some((one) => one.path === path && line.includes(one.text))
          ? []
          : rules
              .filter(({ pattern }) => pattern.test(line))
              .map(({ word, instead }) => `${path}:${i + 1}: ${word}: write ${instead}`),
      );
    return [...inPath, ...inLines];
  });
}

const checked = projectFiles().filter(({ path }) => matches(CHECKED, path) && !matches(NEVER, path));

test("no file has a word that the vocabulary has another for", () => {
  expect(checked.length).toBeGreaterThan(20);
  expect(findings(checked)).toEqual([]);
});

test.each(ALLOWED)("the allowance is still needed: %o", (allowance) => {
  const others = ALLOWED.filter((one) => one !== allowance);
  expect(findings(checked, others)).toHaveLength(1);
});

describe("a word is found", () => {
  test.each([
    ["a.md", "an e-mail address"],
    ["a.md", "E-Mail"],
    ["a.md", "a throw-away provider"],
    ["a.md", "three look-ups"],
    ["a.md", "at each log-in"],
    ["a.md", "Who is at the door?"],
    ["a.md", "the doors between packages"],
    ["a.md", "the rooms"],
    ["a.md", "the map of the house"],
    ["a.md", "backstage"],
    ["a.md", "on a firm footing"],
    ["a.md", "the crew of workers"],
    ["a.md", "a belief of DNS"],
    ["a.md", "how to report a hole"],
    ["a.md", "at three in the morning"],
    ["packages/x/src/crew.ts", ""],
    ["packages/x/src/look-up.ts", ""],
    ["test/doors.test.ts", ""],
    ["a.ts", "const told = 1;"],
    ["a.ts", "export interface Told {"],
    ["a.ts", "const heard = 1;"],
    ["a.ts", "  answered(route: string): void {"],
    ["a.ts", "  private readonly asked: number;"],
    ["a.ts", 'test("says how many", () => {})'],
  ])("%s: %s", (path, text) => {
    const [finding, ...more] = findings([made(path, text)]);
    expect(more).toEqual([]);
    expect(finding).toStartWith(path);
  });
});

describe("other words are fine", () => {
  test.each([
    ["a.md", "a household, ClickHouse, the outdoors, classrooms, room for more"],
    ["a.md", "email, lookup, look up, disposable, `throwaway`, login, sign-up"],
    ["a.ts", '"jane@throw-away.com", "throw-away-1.com"'],
    ["a.md", "the log says why"],
    ["a.ts", "// a server that says no"],
    ["a.ts", "const answeredCount = 1; const isAsked = true;"],
    ["a.ts", '"/docs": said,'],
    ["a.ts", 'test("refuses what nobody can read", () => {})'],
  ])("%s: %s", (path, text) => expect(findings([made(path, text)])).toEqual([]));

  test("an allowance holds for its line and file alone", () => {
    const allowed = [{ path: "a.md", text: "a look-up table" }];
    expect(findings([made("a.md", "a look-up table\na look-up")], allowed)).toHaveLength(1);
    expect(findings([made("b.md", "a look-up table")], allowed)).toHaveLength(1);
  });
});
