// files.ts: compresses and serves the console's files.
//
// Cost: `openConsole` takes about 60 ms, unless the console is already bundled. The files remain in memory.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { FormSchemas } from "@inkling/operations/form-schemas";
import { type BundledFile, bundleConsole, PREFIX } from "./bundle.ts";

const PAGE = "index.html";

/** Allows only the console's own files and this listener's admin API. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

interface ConsoleFiles {
  /** The paths of all files. */
  readonly paths: readonly string[];
  /** @param path the path without the query */
  serve(request: Request, path: string): Response | undefined;
}

/**
 * @param source the folder of a bundled console, or the schemas with which the console is bundled now
 * @throws AggregateError if a source file does not compile or a package is missing
 */
export async function openConsole(source: string | FormSchemas): Promise<ConsoleFiles> {
  const bundled = typeof source === "string" ? readBundle(source) : (await bundleConsole(source)).files;
  const files = new Map(bundled.map(([name, plain]) => prepare(name, plain)));
  return {
    paths: [...files.keys()],
    serve: (request, path) => {
      const file = files.get(path);
      return file && respond(request, file);
    },
  };
}

function readBundle(folder: string): BundledFile[] {
  return readdirSync(folder).map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]);
}

interface File {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

function prepare(name: string, plain: BundledFile[1]): [path: string, file: File] {
  const isPage = name === PAGE;
  const headers = {
    "Content-Type": Bun.file(name).type.replace(/;\s*charset=utf-8$/i, "; charset=utf-8"),
    "Cache-Control": isPage ? "no-cache" : "public, max-age=31536000, immutable",
    ETag: `"${Bun.hash.xxHash64(plain).toString(16)}"`,
    Vary: "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    ...(isPage ? { "Content-Security-Policy": CONTENT_SECURITY_POLICY } : {}),
  };
  const gzip = new Uint8Array(gzipSync(plain, { level: 9 }));
  return [isPage ? "/" : PREFIX + name, { plain, gzip, headers }];
}

function respond(request: Request, { plain, gzip, headers }: File): Response {
  if (request.method !== "GET" && request.method !== "HEAD") {
    return new Response(null, { status: 405, headers: { Allow: "GET, HEAD" } });
  }
  if (request.headers.get("if-none-match") === headers.ETag) {
    return new Response(null, { status: 304, headers });
  }
  const isGzip = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  const body = request.method === "HEAD" ? null : isGzip ? gzip : plain;
  return new Response(body, { headers: isGzip ? { ...headers, "Content-Encoding": "gzip" } : headers });
}
