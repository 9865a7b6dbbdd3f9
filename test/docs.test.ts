// docs.test.ts: tests the rules for the documentation: links and anchors resolve, pages open with an example, and the
// README is short.
//
// Each rule is a function of files, and also runs on made-up files that break it.

import { describe, expect, test } from "bun:test";
import { posix } from "node:path";
import { made, type ProjectFile, projectFiles, projectPaths } from "./harness/project-files.ts";

const MAX_README_WORDS = 700;
/** The README shows a server's first answer at or above this line. */
const MAX_FIRST_RESULT_LINE = 20;
/** Each page of docs/ begins an example at or above this line. */
const MAX_FIRST_EXAMPLE_LINE = 10;

/** This file names pages that do not exist, so it is skipped. */
const OWN_PATH = "test/docs.test.ts";

const files = projectFiles();
const paths = projectPaths();
const isMarkdown = ({ path }: ProjectFile) => path.endsWith(".md");
const isPage = ({ path }: ProjectFile) => /^docs\/[^/]+\.md$/.test(path);

const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");

/**
 * Anchors as GitHub creates them, and `id`s. A heading's anchor is in lower case, without punctuation, and
 * numbered if it repeats.
 */
function anchorsOf({ text }: ProjectFile): Set<string> {
  const anchors = new Set([...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!));
  const counts = new Map<string, number>();
  for (const [, heading] of text.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/^#{1,6} +(.+?)\s*$/gm)) {
    const plain = heading!.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = plain.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

/** @returns what is wrong with a link from a file to a path and an anchor, or undefined */
function deadLink(all: readonly ProjectFile[], existing: readonly string[], from: string, link: string) {
  const [target = "", anchor] = link.split("#");
  const path = target === "" ? from : posix.join(posix.dirname(from), target).replace(/\/$/, "");
  if (!existing.some((one) => one === path || one.startsWith(`${path}/`))) return `no file ${link}`;
  if (anchor === undefined) return undefined;
  const page = all.find((file) => file.path === path);
  return page !== undefined && anchorsOf(page).has(anchor) ? undefined : `no anchor ${link}`;
}

/** Links from Markdown files to project files. */
const deadLinks = (all: readonly ProjectFile[], existing = all.map(({ path }) => path)) =>
  all.filter(isMarkdown).flatMap(({ path, text }) =>
    [...withoutCode(text).matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)]
      .map(([, link]) => link!)
      .filter((link) => !/^[a-z]+:/.test(link))
      .map((link) => deadLink(all, existing, path, link))
      .filter((problem) => problem !== undefined)
      .map((problem) => `${path}: ${problem}`),
  );

/** Pages of docs/ that code, comments and data mention. */
const deadMentions = (all: readonly ProjectFile[], existing = all.map(({ path }) => path)) =>
  all
    .filter((file) => !isMarkdown(file) && file.path !== OWN_PATH)
    .flatMap(({ path, text }) =>
      [...text.matchAll(/(?<![\w/])(?:docs|packages\/(?:compiler|engine|server))\/[a-z-]+\.md(?:#[\w-]+)?/g)]
        .map(([link]) => deadLink(all, existing, "README.md", link))
        .filter((problem) => problem !== undefined)
        .map((problem) => `${path}: ${problem}`),
    );

/** Returns source files that comments mention but that do not exist, and notes that are not part of the project. */
const deadFileNames = (all: readonly ProjectFile[], existing = all.map(({ path }) => path)) =>
  all
    .filter(({ path }) => /\.(?:m?js|tsx?)$/.test(path) && path !== OWN_PATH)
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^\s*(?:\/\/|\*|\/\*).*$| \/\/ .*$/gm)]
        .flatMap(
          ([comment]) => comment.match(/(?<![\w./*-])[\w.][\w./-]*\.tsx?\b|\b(?:DESIGN|STYLE)\.md\b/g) ?? [],
        )
        .filter(
          (name) => !existing.some((one) => `/${one}`.endsWith(`/${name.replace(/^(?:\.\.?\/)+/, "")}`)),
        )
        .map((name) => `${path}: no file ${name}`),
    );

/** Returns the number of the first line that matches a pattern, from 1. */
const lineOf = ({ text }: ProjectFile, pattern: RegExp) =>
  text.split("\n").findIndex((line) => pattern.test(line)) + 1 || Number.POSITIVE_INFINITY;

/** Returns table rows without a header, or with a different number of cells than their header. */
const badRows = (all: readonly ProjectFile[]) =>
  all.filter(isMarkdown).flatMap(({ path, text }) =>
    text
      .replace(/^```[\s\S]*?^```$/gm, "")
      .split(/^(?!\|)/m)
      .map((part) => part.split("\n").filter((line) => line.startsWith("|")))
      .flatMap(([head = "", rule = "", ...rows]) => {
        const cells = (row: string) => row.replaceAll("\\|", "").split("|").length;
        const isTable = head === "" || (/^[|: -]+$/.test(rule) && cells(rule) === cells(head));
        return isTable ? rows.filter((row) => cells(row) !== cells(head)) : [head];
      })
      .map((row) => `${path}: ${row.slice(0, 80)}`),
  );

/** Counts words. Bars of tables and fences of code do not count. */
const countWords = (text: string) => text.replace(/^ *```.*$/gm, "").match(/\S*\w\S*/g)?.length ?? 0;

/** Words that somebody wrote for a reader: no code, no generated section, no address of a link. */
const wordsToRead = (text: string) =>
  text
    .replace(/<!-- generated[\s\S]*?<!-- end -->/g, "")
    .replace(/^ *```[\s\S]*?^ *```$/gm, "")
    .replace(/\]\([^)]*\)/g, "]")
    .match(/\S*\w\S*/g)?.length ?? 0;

/** What a reader has to read for a task, and how many words that may be. `README.md#top` ends at the first section. */
const TASKS: readonly (readonly [task: string, words: number, pages: readonly string[]])[] = [
  ["the first lookup", 400, ["README.md#top"]],
  ["the lookups only", 900, ["README.md#top", "docs/lookups.md"]],
  ["sign-up protection", 1_000, ["docs/sign-up-protection.md"]],
  ["a CAPTCHA", 600, ["docs/captcha.md"]],
  ["a CAPTCHA in Python", 400, ["docs/captcha-python.md"]],
  ["logins", 1_000, ["docs/login-protection.md"]],
  ["logins in Python", 400, ["docs/login-python.md"]],
  ["outages", 700, ["docs/outages.md"]],
  [
    "one host in production",
    5_000,
    ["install", "one-host", "data", "backup", "monitoring", "security-incidents"].map(
      (name) => `docs/${name}.md`,
    ),
  ],
  [
    "three hosts in production",
    6_000,
    ["install", "one-host", "several-hosts", "backup", "monitoring"].map((name) => `docs/${name}.md`),
  ],
  ["a wrong answer", 800, ["docs/wrong-answer.md"]],
];

/** Checks that a page opens with a title, a sentence and an example. */
const badOpenings = (all: readonly ProjectFile[]) =>
  all
    .filter(isPage)
    .filter(
      (file) =>
        !/^# .+\n\n(?:[A-Z]|`(?!``))/.test(file.text) || lineOf(file, /^```/) > MAX_FIRST_EXAMPLE_LINE,
    )
    .map(({ path }) => path);

describe("tables", () => {
  test("have a head, and rows of its width", () => {
    expect(badRows(files)).toEqual([]);
    expect(
      files.filter(isMarkdown).flatMap(({ text }) => text.match(/^\|[| :-]+\|$/gm) ?? []).length,
    ).toBeGreaterThan(50);
  });
  const head = "| a | b |\n|---|---|\n";
  test.each([
    ["a row with another's cells", `${head}| x | y |\n| x | y | z |\n`, ["| x | y | z |"]],
    ["a row behind an empty line", `${head}| x | y |\n\n| z | z |\n`, ["| z | z |"]],
    ["none", `${head}| \`x\\|y\` | y |\n\ntext\n${head}| x | y |\n\n\`\`\`\n| x |\n\`\`\`\n`, []],
  ])("%s", (_, text, rows) =>
    expect(badRows([made("README.md", text)])).toEqual(rows.map((row) => `README.md: ${row}`)),
  );
});

describe("links", () => {
  test("of Markdown files resolve, anchors included", () => {
    expect(deadLinks(files, paths)).toEqual([]);
    const links = files.filter(isMarkdown).flatMap(({ text }) => text.match(/\]\((?!https?:)/g) ?? []);
    expect(links.length).toBeGreaterThan(100);
  });
  test("of code to pages of docs/ resolve", () => {
    expect(deadMentions(files, paths)).toEqual([]);
  });
  test("of comments to source files resolve", () => {
    expect(deadFileNames(files, paths)).toEqual([]);
    const named = files.flatMap(({ text }) => text.match(/^\/\/ [\w-]+\.tsx?: /) ?? []);
    expect(named.length).toBeGreaterThan(300);
  });

  const page = made("docs/a.md", '# A\n\n## Where to start?\n\n## `x=1`, y\n\n## `x=1`, y\n\n<a id="own">\n');
  test.each([
    ["a file that is not there", "[b](b.md)", "README.md: no file b.md"],
    ["a file in a folder that is not there", "[b](packages/b)", "README.md: no file packages/b"],
    ["an anchor of another page", "[a](docs/a.md#start)", "README.md: no anchor docs/a.md#start"],
    ["an anchor of the page itself", "[a](#start)", "README.md: no anchor #start"],
    ["a heading in code is none", "```\n# Start\n```\n[a](#start)", "README.md: no anchor #start"],
    ["link text in code", "[`docs/a.md`](docs/b.md)", "README.md: no file docs/b.md"],
  ])("%s is found", (_, text, problem) => {
    expect(deadLinks([page, made("README.md", text)])).toEqual([problem]);
  });
  test.each([
    "[a](docs/a.md)",
    "[a](docs)",
    "[a](docs/a.md#where-to-start)",
    "[a](docs/a.md#x1-y) [a](docs/a.md#x1-y-1) [a](docs/a.md#own)",
    "[a](https://example.com/b.md)",
    "`[b](b.md)`",
    "```\n[b](b.md)\n```",
  ])("%s is fine", (text) => expect(deadLinks([page, made("README.md", text)])).toEqual([]));
  test("a missing page that code names is found", () => {
    const code = made("packages/x/src/a.ts", "// docs/a.md, docs/b.md and docs/a.md#own, docs/a.md#other");
    expect(deadMentions([page, code])).toEqual([
      "packages/x/src/a.ts: no file docs/b.md",
      "packages/x/src/a.ts: no anchor docs/a.md#other",
    ]);
  });
  test("a missing source file that a comment names is found", () => {
    const lines = [
      "// a.ts: as src/a.ts does, x/a.ts, ./a.ts, *.ts, but not b.ts",
      "/** See src/c.tsx. */",
      'import "./d.ts"; // DESIGN.md',
      '"in a string: e.ts"',
    ];
    expect(deadFileNames([made("packages/x/src/a.ts", lines.join("\n"))])).toEqual(
      ["x/a.ts", "b.ts", "src/c.tsx", "DESIGN.md"].map((name) => `packages/x/src/a.ts: no file ${name}`),
    );
  });
});

/**
 * Returns the first lines of code blocks that a reader cannot copy: a prompt, or commands without the language `sh`.
 */
const badBlocks = (all: readonly ProjectFile[]) =>
  all
    .filter(isMarkdown)
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^( *)```([a-z]*)\n([\s\S]*?)^ *```$/gm)]
        .filter(
          ([, , language, code]) =>
            (["", "sh", "bash"].includes(language!) && /^ *\$ /m.test(code!)) ||
            (language === "" && COMMAND.test(code!)) ||
            language === "bash",
        )
        .map(([, , , code]) => `${path}: ${code!.split("\n")[0]}`),
    );
const COMMAND = /^\(?(?:[A-Z_]+=\S+ )*(?:npx|inkling|curl|npm|git|cd|systemctl|journalctl|docker|export|sh) /;

describe("code blocks", () => {
  test("of commands are `sh`, without a prompt or output", () => {
    expect(badBlocks(files)).toEqual([]);
    expect(
      files.filter(isMarkdown).flatMap(({ text }) => text.match(/^ *```sh$/gm) ?? []).length,
    ).toBeGreaterThan(100);
  });
  test.each([
    ["a prompt", "```sh\n$ curl x\n{}\n```\n", ["$ curl x"]],
    ["a prompt behind output", "```\n{}\n$ curl x\n```\n", ["{}"]],
    ["no language", "```\nKEY=1 inkling serve\n```\n", ["KEY=1 inkling serve"]],
    ["none", "```sh\ninkling serve\n```\n\n```\nListening\n```\n", []],
  ])("%s", (_, text, lines) =>
    expect(badBlocks([made("README.md", text)])).toEqual(lines.map((line) => `README.md: ${line}`)),
  );
});

/** Commands that take something away for good, unless their argument is a placeholder. `key_3fK9…` is nobody's key. */
const DESTRUCTIVE =
  /admin-tokens rotate|(?:keys|admin-tokens) revoke (?!ID\b|NAME\b|key_3fK9)|keys rotate (?!ID\b|key_3fK9)|decisions delete(?! --ref REF\b| --before TIME\b)|restore (?!--force FILE\b).*--force|\brm -r|> (?:inkling\.toml|\.env)$/;

/** Lines of examples, in pages and in the help of commands, that destroy what their reader has. */
const destructiveExamples = (all: readonly ProjectFile[]) =>
  all.flatMap(({ path, text }) => {
    const blocks = isMarkdown({ path, text })
      ? [...text.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, code]) => code!)
      : [...text.matchAll(/Examples:([\s\S]*?)[`"],?$/gm)].map(([, code]) => code!.replaceAll("\\n", "\n"));
    return blocks
      .flatMap((code) => code.split("\n"))
      .filter((line) => DESTRUCTIVE.test(line.replace(/ +# .*/, "")) && !/^ *test -e/.test(line))
      .map((line) => `${path}: ${line.trim()}`);
  });

describe("examples", () => {
  const isHelp = ({ path }: ProjectFile) => /^packages\/cli\/src\/commands\/[a-z-]+\.ts$/.test(path);
  test("destroy nothing that a reader has", () => {
    expect(destructiveExamples(files.filter((file) => isMarkdown(file) || isHelp(file)))).toEqual([]);
  });
  test.each([
    [
      "docs/a.md",
      "```sh\nTOKEN=$(inkling admin-tokens rotate)\n```\n",
      "TOKEN=$(inkling admin-tokens rotate)",
    ],
    [
      "docs/a.md",
      "```sh\ninkling keys revoke $(inkling keys list)\n```\n",
      "inkling keys revoke $(inkling keys list)",
    ],
    [
      "packages/cli/src/commands/a.ts",
      "`Examples:\n  inkling decisions delete --before 7d`,\n",
      "inkling decisions delete --before 7d",
    ],
    [
      "packages/cli/src/commands/a.ts",
      '"\\nExamples:\\n  inkling keys revoke shop",\n',
      "inkling keys revoke shop",
    ],
  ])("%s: one that does is found: %s", (path, text, line) =>
    expect(destructiveExamples([made(path, text)])).toEqual([`${path}: ${line}`]),
  );
  test.each([
    "inkling keys revoke ID",
    "inkling decisions delete --ref REF",
    "test -e .env || echo x > .env",
  ])("%s is fine", (line) =>
    expect(destructiveExamples([made("docs/a.md", `\`\`\`sh\n${line}\n\`\`\`\n`)])).toEqual([]),
  );
});

describe("length", () => {
  test("the README has at most 700 words, and a first result by line 20", () => {
    const readme = files.find(({ path }) => path === "README.md")!;
    expect(countWords(readme.text)).toBeLessThanOrEqual(MAX_README_WORDS);
    expect(lineOf(readme, /^\{"valid":/)).toBeLessThanOrEqual(MAX_FIRST_RESULT_LINE);
  });
});

describe("words to read", () => {
  test.each(TASKS)("for %s: at most %d", (_, limit, pages) => {
    const texts = pages.map((page) => {
      const [path, part] = page.split("#");
      const { text } = files.find((file) => file.path === path)!;
      return part === undefined ? text : text.split(/^## /m)[0]!;
    });
    const words = texts.map(wordsToRead).reduce((sum, count) => sum + count, 0);
    expect(words).toBeGreaterThan(50);
    expect(words).toBeLessThanOrEqual(limit);
  });
  test("leave out code, generated sections and addresses", () =>
    expect(
      wordsToRead("two words\n\n```sh\na b c\n```\n<!-- generated: x -->\na b\n<!-- end -->\n[one](b.md)"),
    ).toBe(3));
});

describe("pages of docs/", () => {
  test("open with a title, a sentence and an example", () => expect(badOpenings(files)).toEqual([]));
  test.each([
    ["no example", "# A\n\nA sentence.\n"],
    ["an example further down", `# A\n\nA sentence.\n${"\nmore\n".repeat(9)}\n\`\`\`\nx\n\`\`\`\n`],
    ["no sentence", "# A\n\n```\nx\n```\n"],
    ["no title", "A sentence.\n\n```\nx\n```\n"],
  ])("%s is found", (_, text) => expect(badOpenings([made("docs/a.md", text)])).toEqual(["docs/a.md"]));
});
