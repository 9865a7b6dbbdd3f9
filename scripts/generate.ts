// generate.ts: `npm run generate` writes every file, and every section of a page, that is derived from rows.
//
// To add a generator:
//   - add a file to scripts/generators with a function that returns files or sections (their types are in
//     generated.ts); the function reads rows, and never the files that it writes
//   - for a section, put the lines `<!-- generated: NAME -->` and `<!-- end -->` where it belongs in the page
//   - add the function to GENERATORS, and run `npm run generate`
//
// test/generated.test.ts has a test for each output, named after it. The test fails if the stored text differs.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answerTables } from "./generators/answer-tables.ts";
import { benchFigures } from "./generators/bench-figures.ts";
import { clientAnswers } from "./generators/client-answers.ts";
import { commandTable } from "./generators/command-table.ts";
import { decisionTables } from "./generators/decision-tables.ts";
import { feedTables } from "./generators/feed-tables.ts";
import type { Generated, Generator } from "./generators/generated.ts";
import { operations } from "./generators/operations.ts";
import { problems } from "./generators/problems.ts";
import { pythonFields } from "./generators/python-fields.ts";
import { rowTables } from "./generators/row-tables.ts";
import { sandboxTables } from "./generators/sandbox-tables.ts";

const ROOT = join(import.meta.dirname, "..");
const GENERATORS: readonly Generator[] = [
  answerTables,
  benchFigures,
  clientAnswers,
  commandTable,
  decisionTables,
  feedTables,
  operations,
  problems,
  pythonFields,
  rowTables,
  sandboxTables,
];

export const generated = (): Generated[] => GENERATORS.flatMap((generator) => generator());

/** Returns the name of an output for messages and tests. */
export const nameOf = (output: Generated): string =>
  "section" in output ? `${output.path}, section ${output.section}` : output.path;

/**
 * Returns the file's stored content, and its content with this output.
 * @throws Error if the section's markers are missing
 */
export function fileWith(output: Generated): { readonly stored: string; readonly wanted: string } {
  const path = join(ROOT, output.path);
  const stored = existsSync(path) ? readFileSync(path, "utf8") : "";
  if (!("section" in output)) return { stored, wanted: output.content };
  const opening = `<!-- generated: ${output.section} -->\n`;
  const from = stored.indexOf(opening);
  const to = stored.indexOf("\n<!-- end -->", from);
  if (from < 0 || to < 0) {
    throw new Error(
      `${output.path} lacks the lines ${opening.trim()} and <!-- end -->: add them where the section belongs`,
    );
  }
  const before = stored.slice(0, from + opening.length);
  return { stored, wanted: `${before}\n${output.content.trimEnd()}\n${stored.slice(to)}` };
}

if (import.meta.main) {
  for (const output of generated()) {
    const { stored, wanted } = fileWith(output);
    if (stored === wanted) continue;
    writeFileSync(join(ROOT, output.path), wanted);
    process.stdout.write(`${nameOf(output)}\n`);
  }
}
