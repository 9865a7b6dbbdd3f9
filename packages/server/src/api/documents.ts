// documents.ts: serves documents without a key on the public listener: /openapi.json, the reference page under /docs,
// which is Swagger UI, and /docs/errors. The first request for a document imports this file, so that startup does not
// wait for it. A document is built or read once, then kept.

import { readFileSync } from "node:fs";
import { PROBLEMS } from "@inkling/contract";
import { packageFile } from "@inkling/data/program";
import { PROBLEMS_PAGE_HEADERS, problemsPage } from "../openapi/problems-page.ts";
import { openApiJson } from "./openapi.ts";

export interface OpenDocument {
  readonly body: string | Uint8Array;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
}

const SCRIPT = { "Content-Type": "text/javascript; charset=utf-8" };

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Inkling API</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
    <script src="/docs/swagger-ui-bundle.js" defer></script>
    <script src="/docs/start.js" defer></script>
  </head>
  <body>
    <div id="reference"></div>
    <noscript>This page needs JavaScript. <a href="/openapi.json">/openapi.json</a> has the same content.</noscript>
  </body>
</html>
`;

/** Allows only this server's files, and requests to it, so that injected content has no effect. */
const PAGE_HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
};

/** Without `validatorUrl: null`, Swagger UI sends the document's address to its publisher's validator. */
const START = `const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

const kept = new Map<string, OpenDocument>();

/** Returns /openapi.json. @param version the server's version */
export const openApi = (version: string): OpenDocument =>
  keep(`openapi ${version}`, { "Content-Type": "application/json" }, () => openApiJson(version));

/** @param name what follows "/docs/", or "" for /docs itself */
export function docsPage(name: string): OpenDocument | undefined {
  switch (name) {
    case "":
      return keep(name, PAGE_HEADERS, () => PAGE);
    case "errors":
      return keep(name, PROBLEMS_PAGE_HEADERS, () => problemsPage(PROBLEMS));
    case "start.js":
      return keep(name, SCRIPT, () => START);
    case "swagger-ui-bundle.js":
      return keep(name, SCRIPT, () => readFileSync(packageFile(`swagger-ui-dist/${name}`)));
    case "swagger-ui.css":
      return keep(name, { "Content-Type": "text/css; charset=utf-8" }, () =>
        readFileSync(packageFile(`swagger-ui-dist/${name}`)),
      );
  }
}

function keep(
  name: string,
  headers: Readonly<Record<string, string>>,
  make: () => string | Uint8Array,
): OpenDocument {
  const before = kept.get(name);
  if (before !== undefined) return before;
  const body = make();
  const document = {
    body,
    etag: `"${Bun.hash.xxHash64(body).toString(16)}"`,
    headers: { "X-Content-Type-Options": "nosniff", ...headers },
  };
  kept.set(name, document);
  return document;
}
