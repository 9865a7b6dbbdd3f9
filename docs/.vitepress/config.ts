// config.ts: defines the site's menu and theme; build.ts writes the pages and starts VitePress.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";
import { MENU, slugOf, sourceOf } from "./pages.ts";

const { version, repository } = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"),
) as { version: string; repository?: { url: string } };

const STYLE = `
:root { --vp-code-lang-color: var(--vp-c-text-2); }
.VPDoc.has-aside .container .content-container { max-width: 960px; }
.VPDoc.has-aside .container .content { padding: 0 24px; }
.VPDoc.has-aside .container .aside { max-width: 224px; padding-left: 16px; }
.vp-doc table { font-size: 13px; }
.vp-doc th, .vp-doc td { padding: 6px 10px; }
`;

export default defineConfig({
  title: "Inkling",
  description: "Self-hosted IP geolocation, IP reputation and disposable-email detection API.",
  lang: "en",
  srcDir: ".vitepress/pages",
  // Copies of the pages as Markdown, for programs.
  srcExclude: ["public/**"],
  cleanUrls: true,
  head: [["style", {}, STYLE]],
  // Text in angle brackets is a placeholder, no HTML.
  markdown: {
    config: (markdown) => {
      markdown.set({ html: false });
      // Long names in tables break at these characters, so that no column hides behind a scroll bar.
      const { code_inline: render } = markdown.renderer.rules;
      markdown.renderer.rules.code_inline = (...args) =>
        render!(...args).replace(/(?<=>[^<]*[_/,=-])(?=\w)/g, "<wbr>");
    },
    anchor: { slugify: slugOf },
    languageAlias: { caddyfile: "nginx", haproxy: "nginx" },
    // The default themes, and the label of a block, have too little contrast for WCAG 2 AA.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    nav: [{ text: `Version ${version}`, link: "/changelog" }],
    // A word in a title says more about a page than the same word in its text.
    search: {
      provider: "local",
      options: { miniSearch: { searchOptions: { boost: { title: 8, titles: 4, text: 1 } } } },
    },
    ...(repository && {
      editLink: {
        text: "Edit this page",
        pattern: ({ filePath }: { filePath: string }) =>
          `${repository.url.replace(/^git\+|\.git$/g, "")}/edit/main/${sourceOf(filePath)}`,
      },
    }),
    outline: [2, 3],
    notFound: { quote: "No page of the documentation has this address.", linkText: "Overview" },
    sidebar: MENU.map(({ text, pages }) => ({
      text,
      collapsed: text !== "Start",
      items: pages.map(([title, path]) => ({ text: title, link: path })),
    })),
  },
});
