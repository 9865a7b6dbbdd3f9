// console-pages.ts: generates the table of pages in docs/console.md from the console's rows.

import { type GeneratedSection, markdownTable } from "./generated.ts";

interface Page {
  readonly title: string;
  readonly content: string;
}

// Not a literal, so that the types of the console, which is for browsers, are not checked with those of the scripts.
const PAGES_FILE = "../../packages/console/src/pages.tsx";
const { PAGES }: { readonly PAGES: readonly Page[] } = await import(PAGES_FILE);

export const consolePages = (): GeneratedSection[] => [
  {
    path: "docs/console.md",
    section: "pages",
    content: markdownTable(
      ["page", "content"],
      PAGES.map(({ title, content }) => [title, content]),
    ),
  },
];
