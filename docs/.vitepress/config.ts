// config.ts: defines the site's menu and theme; build.ts writes the pages and starts VitePress.
//
// out  dist/: static files that need no network; search is in them

import { defineConfig } from "vitepress";
import { MENU, slugOf } from "./pages.ts";

export default defineConfig({
  title: "Inkling",
  description: "Self-hosted IP geolocation, IP reputation and disposable-email detection API.",
  lang: "en",
  srcDir: ".vitepress/pages",
  cleanUrls: true,
  head: [["style", {}, ":root { --vp-code-lang-color: var(--vp-c-text-2); }"]],
  // Text in angle brackets is a placeholder, no HTML.
  markdown: {
    config: (markdown) => {
      markdown.set({ html: false });
    },
    anchor: { slugify: slugOf },
    languageAlias: { caddyfile: "nginx", haproxy: "nginx" },
    // The default themes, and the label of a block, have too little contrast for WCAG 2 AA.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    notFound: { quote: "No page of the documentation has this address.", linkText: "Quick start" },
    sidebar: MENU.map(({ text, pages }) => ({
      text,
      items: pages.map(([title, path]) => ({ text: title, link: path })),
    })),
  },
});
