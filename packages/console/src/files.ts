// files.ts: the console's files: bundled, compressed, and served.
//
// in   a path below the listener's root
// out  a Response; undefined for any other path. "/" is the page; other names contain a hash of the content
// cost bundled when it is opened, in about 60 ms, then kept in memory; nothing is written to disk

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HTML = fileURLToPath(new URL("index.html", import.meta.url));
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
  const { outputs } = await Bun.build({
    entrypoints: [HTML],
    publicPath: PREFIX,
    target: "browser",
    minify: true,
    splitting: true,
    naming: { chunk: "[name]-[hash].[ext]", asset: "[name]-[hash].[ext]" },
    jsx: { runtime: "automatic", importSource: "preact", development: false },
  });
  const files = new Map(await Promise.all(outputs.map(prepare)));
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

async function prepare(output: Bun.BuildArtifact): Promise<[path: string, file: File]> {
  const name = output.path.replace(/^\.\//, "");
  const isPage = name === "index.html";
  const plain = new Uint8Array(await output.arrayBuffer());
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
