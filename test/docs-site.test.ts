// Tests the pages of the documentation site, as docs/.vitepress/build.ts writes them. `.ci/run` builds the site.

import { describe, expect, test } from "bun:test";
import { copiesOf, folderPage, pageFile, pageText, SOURCES, slugOf } from "../docs/.vitepress/pages.ts";
import { type OpenApi, referencePage } from "../docs/.vitepress/reference.ts";
import { openApiJson } from "../packages/server/src/api/openapi.ts";
import { projectFiles, projectPaths } from "./harness/project-files.ts";

const files = projectFiles().filter(({ path }) => path.endsWith(".md"));
const paths = projectPaths();
const isFolder = (path: string) => paths.some((one) => one.startsWith(`${path}/`));
const pages = files
  .filter(({ path }) => SOURCES.includes(path))
  .map(({ path, text }) => pageText(path, text, isFolder));

test("every page of docs/ is on the site", () => {
  const written = files.map(({ path }) => path).filter((path) => path.startsWith("docs/"));
  expect(written.filter((path) => !SOURCES.includes(path))).toEqual([]);
});

test("every page has a file of its own", () => {
  expect(SOURCES.filter((source) => !files.some(({ path }) => path === source))).toEqual([]);
  expect(new Set(SOURCES.map(pageFile)).size).toBe(SOURCES.length);
  expect(() => pageFile("none.md")).toThrow("none.md is no page");
});

test("links lead to pages and copies on the site, or elsewhere", () => {
  const onSite = SOURCES.map((source) => `/${pageFile(source).replace(/(index)?\.md$/, "")}`);
  const links = pages.flatMap((page) => {
    const prose = page.replace(/^(`{3,})[\s\S]*?^\1$/gm, "");
    return [...prose.matchAll(/\[[^\][]*\]\(([^()\s]+)\)/g)].map(([, target]) => target!);
  });
  const inside = links.filter((target) => !/^(https?:|mailto:|#|\/source\/|\/images\/)/.test(target));
  expect(inside.length).toBeGreaterThan(100);
  expect(inside.filter((target) => !onSite.includes(target.split("#")[0]!))).toEqual([]);

  const copies = pages.map(copiesOf);
  const copied = copies.flatMap((one) => [...one.files, ...one.images]);
  expect(copied).toContain("docs/console.png");
  expect(copied.filter((path) => !paths.includes(path))).toEqual([]);
  const folders = copies.flatMap((one) => one.folders);
  expect(folders).toContain("deploy/kubernetes");
  expect(folders.filter((path) => !isFolder(path))).toEqual([]);
});

test("no page shows the marker of a generated section", () => {
  const marked = files.filter(({ path, text }) => SOURCES.includes(path) && /^<!--/m.test(text));
  expect(marked.length).toBeGreaterThan(10);
  expect(pages.filter((page) => /<!--\s*(generated|measured|end)\b/.test(page))).toEqual([]);
});

describe("a page", () => {
  const unit = '(/source/deploy/x.service.txt){target="_self"}';
  const rows: [name: string, text: string, page: string][] = [
    ["a link to a page", "see [b](errors.md#a-b)", "see [b](/errors#a-b)"],
    ["a label of two lines", "[a\nb](errors.md)", "[a\nb](/errors)"],
    ["a folder with a page", "[b](../examples)", "[b](/examples/)"],
    ["a file that is no page", "[the unit](../deploy/x.service)", `[the unit]${unit}`],
    ["a folder without a page", "[b](../deploy/)", "[b](/source/deploy/)"],
    ["an image", "![b](console.png)", "![b](/images/docs/console.png)"],
    ["a heading of its own", "[b](#c)", "[b](#c)"],
    ["another site", "[b](https://c.example/d.md)", "[b](https://c.example/d.md)"],
    ["code", "```\n[b](errors.md)\n```\n[b](errors.md)", "```\n[b](errors.md)\n```\n[b](/errors)"],
    ["an anchor", '- <a id="x"></a>**X** y', "- **X**{#x} y"],
    ["markers", "a\n\n<!-- generated: x -->\n\nb\n\n<!-- end -->\n", "a\n\n\nb\n\n"],
    ["a comment in code", "```html\n<!-- b -->\n```", "```html\n<!-- b -->\n```"],
  ];
  test.each(rows)("%s", (_, text, page) => expect(pageText("docs/api.md", text, isFolder)).toBe(page));
  test("of a folder lists its files", () =>
    expect(folderPage("deploy", ["deploy/x.service"])).toBe(`# deploy\n\n- [\`x.service\`]${unit}\n`));
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
