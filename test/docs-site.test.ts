// Tests the pages of the documentation site, as docs/.vitepress/build.ts writes them. VitePress itself runs in CI.

import { describe, expect, test } from "bun:test";
import { pageFile, pageText, SOURCES, slugOf } from "../docs/.vitepress/pages.ts";
import { type OpenApi, referencePage } from "../docs/.vitepress/reference.ts";
import { openApiJson } from "../packages/server/src/openapi/public.ts";
import { projectFiles } from "./harness/project-files.ts";

const files = projectFiles().filter(({ path }) => path.endsWith(".md"));

test("every page of docs/ is on the site", () => {
  const pages = files.map(({ path }) => path).filter((path) => path.startsWith("docs/"));
  expect(pages.filter((path) => !SOURCES.includes(path))).toEqual([]);
});

test("every page has a file of its own", () => {
  expect(SOURCES.filter((source) => !files.some(({ path }) => path === source))).toEqual([]);
  expect(new Set(SOURCES.map(pageFile)).size).toBe(SOURCES.length);
  expect(() => pageFile("none.md")).toThrow("none.md is no page");
});

test("links lead to pages of the site, or elsewhere", () => {
  const paths = SOURCES.map((source) => `/${pageFile(source).replace(/(index)?\.md$/, "")}`);
  const links = files
    .filter(({ path }) => SOURCES.includes(path))
    .flatMap(({ path, text }) => {
      const prose = pageText(path, text).replace(/^(`{3,})[\s\S]*?^\1$/gm, "");
      return [...prose.matchAll(/(?<!!)\[[^\][]*\]\(([^()\s]+)\)/g)].map(([, target]) => target!);
    });
  const inside = links.filter((target) => !/^(https?:|mailto:|#)/.test(target));
  expect(inside.length).toBeGreaterThan(100);
  expect(inside.filter((target) => !paths.includes(target.split("#")[0]!))).toEqual([]);
});

describe("a page", () => {
  const rows: [name: string, text: string, page: string][] = [
    ["a link to a page", "see [b](errors.md#a-b)", "see [b](/errors#a-b)"],
    ["a label of two lines", "[a\nb](errors.md)", "[a\nb](/errors)"],
    ["a folder with a page", "[b](../examples)", "[b](/examples/)"],
    ["a file that is no page", "[the unit](../deploy/x.service)", "the unit (`deploy/x.service`)"],
    ["a file whose path is the label", "[`a.ts`](../a.ts)", "`a.ts`"],
    ["a heading of its own", "[b](#c)", "[b](#c)"],
    ["another site", "[b](https://c.example/d.md)", "[b](https://c.example/d.md)"],
    ["code", "```\n[b](errors.md)\n```\n[b](errors.md)", "```\n[b](errors.md)\n```\n[b](/errors)"],
    ["an anchor", '- <a id="x"></a>**X** y', "- **X**{#x} y"],
  ];
  test.each(rows)("%s", (_, text, page) => expect(pageText("docs/api.md", text)).toBe(page));
});

test("anchors are those of forges", () => {
  expect(slugOf("What `inkling up` does: once, or twice?")).toBe("what-inkling-up-does-once-or-twice");
});

test("the reference has every operation, with an example where there is one", () => {
  const document = JSON.parse(openApiJson("1")) as OpenApi;
  const page = referencePage(document);
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of Object.keys(methods)) expect(page).toContain(`\`${method.toUpperCase()} ${path}\``);
  }
  expect(page).toContain('"is_tor_exit"');
});
