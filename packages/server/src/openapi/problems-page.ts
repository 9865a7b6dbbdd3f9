// problems-page.ts: creates the page that `type` in a problem document links to. It lists every code of an API with its
// status, title and detail. Both listeners serve it at /docs/errors, without any other file.

import type { ProblemRow } from "@inkling/contract";

const STYLE = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 48rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
  h2 { margin: 1.5rem 0 0; font-size: 1rem; }
  h2 a { color: inherit; }
  p { margin: 0; }
  :target { outline: 2px solid; outline-offset: 4px; }
`;

export const PROBLEMS_PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${new Bun.CryptoHasher("sha256").update(STYLE).digest("base64")}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "Referrer-Policy": "no-referrer",
};

/** @param rows every problem of one API, by code */
export function problemsPage(rows: Readonly<Record<string, ProblemRow>>): string {
  const sections = Object.entries(rows).map(([code, { status, title, detail }]) => {
    const id = code.toLowerCase();
    return `<section id="${id}"><h2><a href="#${id}">${code}</a></h2><p>${status} ${html(title)}</p><p>${html(detail)}</p></section>`;
  });
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Inkling: errors</title>
    <link rel="icon" href="data:," />
    <style>${STYLE}</style>
  </head>
  <body>
    <main>
      <h1>Errors</h1>
      <p>A code never changes its meaning or its status. The detail in a problem document may be more specific.</p>
      ${sections.join("\n      ")}
    </main>
  </body>
</html>
`;
}

/** Turns a text with code in backticks into HTML. */
const html = (text: string) => Bun.escapeHTML(text).replace(/`([^`]*)`/g, "<code>$1</code>");
