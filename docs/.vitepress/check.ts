// check.ts: opens every page of the built site in a browser, as wide as a desk and as narrow as a phone, and returns
// what a reader would stumble over: content beside the screen, a comment of the source, a link that leads nowhere.

import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DESK, launchBrowser, PHONE } from "../../test/harness/browser.ts";

/** The file behind a path of the site, whose pages have addresses without ".html". */
function fileOf(dist: string, path: string): string | undefined {
  const file = join(dist, decodeURIComponent(path));
  return [file, `${file}.html`, join(file, "index.html")].find(
    (one) => existsSync(one) && statSync(one).isFile(),
  );
}

/** Runs in the page. */
function lookAround() {
  const main = document.querySelector("main");
  const blocks = [...(main?.querySelectorAll("pre") ?? [])]; // an example in HTML may have comments
  const text = blocks.reduce((rest, { innerText }) => rest.replace(innerText, ""), main?.innerText ?? "");
  const links = [...document.querySelectorAll<HTMLAnchorElement>("a[href]")].map(({ href }) => href);
  return {
    beside: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    comment: /<!--|-->/.exec(text.replace(/`[^`]*`/g, ""))?.[0],
    links: links.filter((link) => link.startsWith(location.origin)),
    ids: [...document.querySelectorAll("[id]")].map(({ id }) => id),
  };
}

/** @returns what is wrong, one line each */
export async function checkSite(dist: string): Promise<string[]> {
  const pages = [...new Bun.Glob("**/*.html").scanSync(dist)].filter((path) => path !== "404.html").sort();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      const file = fileOf(dist, new URL(url).pathname);
      return file === undefined ? new Response("not found", { status: 404 }) : new Response(Bun.file(file));
    },
  });
  const browser = await launchBrowser();
  const problems = new Set<string>();
  const ids = new Map<string, ReadonlySet<string>>();
  const links: (readonly [from: string, to: URL])[] = [];
  try {
    for (const [device, viewport] of Object.entries({ desk: DESK, phone: PHONE })) {
      // The pages are complete without scripts, and checking them without scripts is several times as fast.
      const page = await browser.newPage({ viewport, javaScriptEnabled: false });
      for (const path of pages) {
        const address = `/${path.replace(/(?:^|(?<=\/))index\.html$|\.html$/, "")}`;
        await page.goto(new URL(address, server.url).href, { waitUntil: "load" });
        const seen = await page.evaluate(lookAround);
        if (seen.beside > 0) problems.add(`${address} (${device}): ${seen.beside} pixels beside the screen`);
        if (seen.comment) problems.add(`${address}: shows the comment mark ${seen.comment}`);
        ids.set(address, new Set(seen.ids));
        for (const link of seen.links) links.push([address, new URL(link)]);
      }
      await page.close();
    }
  } finally {
    await browser.close();
    await server.stop(true);
  }
  for (const [from, { pathname, hash }] of links) {
    const anchors = ids.get(pathname);
    if (fileOf(dist, pathname) === undefined) problems.add(`${from}: no page ${pathname}`);
    else if (anchors && hash !== "" && !anchors.has(decodeURIComponent(hash.slice(1))))
      problems.add(`${from}: no anchor ${pathname}${hash}`);
  }
  return [...problems];
}
