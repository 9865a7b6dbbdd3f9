// documents.ts: provides the public documents: /openapi.json, and the files under /docs.
//
// in   the name of a document
// out  its bytes, type and ETag; undefined if no document has that name
// cost built or read at the first request, then kept
//
// The first request for a document imports this file, so that startup does not pay for it.

import { readFileSync } from "node:fs";
import { programFile } from "@inkling/release-store/program";
import type { OpenDocument, OpenDocuments } from "../api/request-context.ts";
import { openApiJson } from "./public.ts";

/** Allows only this server's files, and requests to it, so that injected content has no effect. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

/** The file for each name under /docs. Problem documents link to /docs/errors. */
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "": ["index.html", HTML],
  errors: ["index.html", HTML],
  "docs.css": ["reference.css", "text/css; charset=utf-8"],
  "docs.js": ["reference.js", SCRIPT],
  "call.js": ["call.js", SCRIPT],
  "elements.js": ["elements.js", SCRIPT],
};

export class PublicDocuments implements OpenDocuments {
  private readonly version: string;
  private readonly kept = new Map<string, OpenDocument>();

  /** @param version the server's version */
  constructor(version: string) {
    this.version = version;
  }

  openApi(): OpenDocument {
    return this.keep("/openapi.json", () => ({ body: openApiJson(this.version), type: "application/json" }));
  }

  docsPage(name: string): OpenDocument | undefined {
    const row = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
    if (row === undefined) return undefined;
    const [file, type] = row;
    return this.keep(file, () => ({
      body: readFileSync(programFile(`server/src/openapi/reference/${file}`), "utf8"),
      type,
    }));
  }

  private keep(name: string, make: () => { body: string; type: string }): OpenDocument {
    const before = this.kept.get(name);
    if (before !== undefined) return before;
    const { body, type } = make();
    const document = {
      body,
      etag: `"${Bun.hash.xxHash64(body).toString(16)}"`,
      headers: {
        "Content-Type": type,
        "X-Content-Type-Options": "nosniff",
        ...(type === HTML
          ? { "Content-Security-Policy": CONTENT_SECURITY_POLICY, "Referrer-Policy": "no-referrer" }
          : {}),
      },
    };
    this.kept.set(name, document);
    return document;
  }
}
