// words.test.ts: tests that each of these terms has one spelling, so that a search for the term finds every place.

import { expect, test } from "bun:test";
import { EVIDENCE_LABELS } from "@inkling/contract";
import { made, type ProjectFile, projectFiles } from "./harness/project-files.ts";

const CHECKED = new Bun.Glob("**/*.{md,ts,tsx,mjs,js,css,html,json}");
/** Output of tools, recorded files, the earlier names in the changelog, and this list itself. */
const NEVER = new Bun.Glob(
  "{package-lock.json,CHANGELOG.md,**/fixtures/**,bench/results/**,test/words.test.ts}",
);

interface Rule {
  readonly pattern: RegExp;
  readonly instead: string;
  /** The reason, for the reader of a finding. */
  readonly why: string;
}

const RULES: readonly Rule[] = [
  { pattern: /\be-mails?\b/i, instead: "email", why: "the API's paths and fields spell it so" },
  {
    pattern: /(?<!#)\blook-ups?\b/i,
    instead: "lookup (noun), look up (verb)",
    why: "the metrics spell it so",
  },
  { pattern: /\blog-ins?\b/i, instead: "login (noun), log in (verb)", why: "the admin API spells it so" },
  {
    // Not in host names, because test data and golden segments have some.
    pattern: /\bthrow-?away(?= (?:e?mail|domain|provider|address|service))/i,
    instead: "disposable",
    why: "the field `disposable` is the field's term",
  },
  {
    // Except where a migration names the earlier word.
    pattern: /(?<!replaces ")\bassessments?\b(?!\.changed)/i,
    instead: "decision",
    why: "the console, the metrics and stored decisions use this word",
  },
];

const findings = (files: readonly ProjectFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    [path, ...text.split("\n")].flatMap((line, i) =>
      RULES.filter(({ pattern }) => pattern.test(line)).map(
        ({ pattern, instead, why }) =>
          `${path}${i === 0 ? "" : `:${i}`}: "${pattern.exec(line)?.[0]}": write ${instead}, because ${why}`,
      ),
    ),
  );

test("every file spells the terms as the others do", () => {
  const checked = projectFiles().filter(({ path }) => CHECKED.match(path) && !NEVER.match(path));
  expect(checked.length).toBeGreaterThan(20);
  expect(findings(checked)).toEqual([]);
});

test.each([
  ["a.md", "an e-mail address"],
  ["src/e-mail.ts", "export {}"],
  ["a.md", "three look-ups"],
  ["a.ts", "// the log-in page"],
  ["a.md", "a throw-away domain"],
  ["a.md", "an assessment of the visitor"],
])("a term spelled otherwise is found: %s %p", (path, text) => {
  expect(findings([made(path, text)])).toEqual([expect.stringMatching(/write .+, because /)]);
});

test("every evidence label is in snake_case, as fields are", () => {
  expect(EVIDENCE_LABELS.filter((label) => !/^[a-z0-9]+(_[a-z0-9]+)*$/.test(label))).toEqual([]);
});
