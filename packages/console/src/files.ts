// files.ts: the console's files: bundled, compressed, and served.
//
// in   a path below the listener's root
// out  a Response; undefined for any other path. "/" is the page; other names contain a hash of the content
// cost bundled when it is opened, in about 60 ms, then kept in memory; nothing is written to disk

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HTML = fileURLToPath(new URL("index.html", import.meta.url));
/** A classic script: modules run after the first frame. */
const THEME = fileURLToPath(new URL("theme.ts", import.meta.url));
const PREFIX = "/console/";

/** Only our own files and the admin API of this listener. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface ConsoleFiles {
  /** The paths that are served. */
  readonly paths: readonly string[];
  /** @param path without the query */
  serve(request: Request, path: string): Response | undefined;
}

/** @throws AggregateError when a source file does not compile or a package is missing */
export async function openConsole(): Promise<ConsoleFiles> {
  const shared = { publicPath: PREFIX, target: "browser", minify: true } as const;
  const name = "[name]-[hash].[ext]";
  const [theme, page] = await Promise.all([
    Bun.build({ ...shared, entrypoints: [THEME], format: "iife", naming: name }),
    Bun.build({
      ...shared,
      entrypoints: [HTML],
      splitting: true,
      naming: { chunk: name, asset: name },
      jsx: { runtime: "automatic", importSource: "preact", development: false },
    }),
  ]);
  const [early] = await Promise.all(theme.outputs.map((output) => prepare(output)));
  const script = `<script src="${early![0]}"></script>`; // one entry point, one file
  const files = new Map([
    early!,
    ...(await Promise.all(page.outputs.map((output) => prepare(output, script)))),
  ]);
  return {
    paths: [...files.keys()],
    serve: (request, path) => {
      const file = files.get(path);
      return file && respond(request, file);
    },
  };
}

interface File {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** @param script put into the head of the page */
async function prepare(output: Bun.BuildArtifact, script = ""): Promise<[path: string, file: File]> {
  const name = output.path.replace(/^\.\//, "");
  const isPage = name === "index.html";
  const text = await output.text();
  const plain = new TextEncoder().encode(isPage ? text.replace("<head>", `<head>${script}`) : text);
  const headers = {
    "Content-Type": output.type.replace(/;\s*charset=utf-8$/i, "; charset=utf-8"),
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
