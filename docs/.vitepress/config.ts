// config.ts: the site's menu and theme; build.ts writes its pages and starts VitePress.
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
  // Text in angle brackets is a placeholder, no HTML.
  markdown: {
    config: (markdown) => {
      markdown.set({ html: false });
    },
    anchor: { slugify: slugOf },
    languageAlias: { caddyfile: "nginx" },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: MENU.map(({ text, pages }) => ({
      text,
      items: pages.map(([title, path]) => ({ text: title, link: path })),
    })),
  },
});
