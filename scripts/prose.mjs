// prose.mjs: `npm run lint` checks prose with textlint: Markdown, and the comments in source files.
//
// exit 1 on any finding
//
// To accept a finding, write `prose-ok: reason` in the same line or in the line above.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import prh from "textlint-rule-prh";
import sentenceLength from "textlint-rule-sentence-length";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/**
 * Maximum characters in a sentence, about 40 words. Good sentences have at most 25 words, but tables and lists of
 * values need more.
 */
const MAX_SENTENCE = 260;
const RULES = [
  { ruleId: "words", rule: moduleOf(prh), options: { rulePaths: [join(ROOT, "scripts/prose.yml")] } },
  { ruleId: "length", rule: moduleOf(sentenceLength), options: { max: MAX_SENTENCE } },
];
const PLUGINS = [{ pluginId: "markdown", plugin: moduleOf(markdown) }];
/** Files that are not checked: recorded output, and tests, whose names quote wrong text. */
const NEVER = /^bench\/(?:RESULTS|TRUTH)\.md$|\/dist\/|\.test\.ts$|\/test\//;
/** Accepted lines: a line with a reason, and quoted names of tests. */
const ACCEPTED = /prose-ok: \w|\.test\.ts\)/;

/** Returns a CommonJS package's export, which is under `default` once or twice. */
function moduleOf(found) {
  return found.default?.default ?? found.default ?? found;
}

const kernel = new TextlintKernel();

/** @returns {Promise<{ line: number, message: string }[]>} findings, with lines counted from 1 */
export async function lintProse(path, text) {
  const prose = path.endsWith(".md") ? text : commentsOf(text);
  const { messages } = await kernel.lintText(prose, {
    filePath: `${path}.md`,
    ext: ".md",
    plugins: PLUGINS,
    rules: path.endsWith(".md") ? RULES : RULES.filter(({ ruleId }) => ruleId === "words"),
  });
  const lines = text.split("\n");
  return messages
    .map(({ line, message }) => ({ line, message: message.split("\n")[0] }))
    .filter(({ line }) => ![lines[line - 1], lines[line - 2]].some((near) => ACCEPTED.test(near ?? "")));
}

/** Returns the comments of a source file, each in its own line of the file. All other text is left out. */
function commentsOf(text) {
  let isInBlock = false;
  return text
    .split("\n")
    .map((line) => {
      const trimmed = line.trim();
      if (/^\/\*\*?/.test(trimmed)) isInBlock = true;
      const isComment = isInBlock || trimmed.startsWith("//");
      if (isInBlock && trimmed.includes("*/")) isInBlock = false;
      const tail = isComment ? undefined : /(?<=[\s;{,)])\/\/ (?!biome-)(.*)$/.exec(line)?.[1];
      if (!isComment) return tail ?? "";
      return trimmed.replace(/^(?:\/\/+|\/\*\*?|\*\/|\*)\s?/, "").replace(/\s*\*\/$/, "");
    })
    .map((line) =>
      line.replace(/^(?:in|out|err|note|cost|src|exit|opt|run) {1,4}(?=\S)/, "").replace(/^@\w+ /, ""),
    )
    .join("\n");
}

function projectFiles() {
  const list = spawnSync("git", ["-c", "safe.directory=*", "ls-files", "-z"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return list.stdout
    .split("\0")
    .filter((path) =>
      /^(?:[^/]+\.md|(?:docs|bench|packages|scripts|examples)\/.*\.(?:md|tsx?|mjs))$/.test(path),
    )
    .filter((path) => !NEVER.test(path));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const named = process.argv.slice(2);
  const files = projectFiles().filter(
    (path) => named.length === 0 || named.some((part) => path.includes(part)),
  );
  let count = 0;
  for (const path of files) {
    for (const { line, message } of await lintProse(path, readFileSync(join(ROOT, path), "utf8"))) {
      process.stdout.write(`${path}:${line}: ${message}\n`);
      count++;
    }
  }
  process.stdout.write(
    `${files.length} files checked for prose, ${count} finding${count === 1 ? "" : "s"}\n`,
  );
  if (count > 0) process.exitCode = 1;
}
