// files.ts: serves the console's files.
//
// in   a path below the listener's root, the encodings that the browser accepts
// out  a Response; undefined for any other path
// cost built and compressed at the first request, then kept in memory

import { gzipSync } from "node:zlib";
import { buildConsole, type ConsoleFile } from "./build.ts";

/** Only our own files and the admin API of this listener. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface ConsoleFiles {
  /** The paths that are served. */
  readonly paths: readonly string[];
  /** @param path without the query */
  serve(request: Request, path: string): Response | undefined;
}

/** @throws AggregateError see {@link buildConsole} */
export async function openConsole(): Promise<ConsoleFiles> {
  const built = await buildConsole();
  const served = new Map([...built].map(([path, file]) => [path, prepare(path, file)]));
  return {
    paths: [...served.keys()],
    serve: (request, path) => {
      const file = served.get(path);
      return file && respond(request, file);
    },
  };
}

interface Served {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

function prepare(path: string, { content, type }: ConsoleFile): Served {
  const isPage = path === "/";
  return {
    plain: content,
    gzip: new Uint8Array(gzipSync(content, { level: 9 })),
    headers: {
      "Content-Type": type,
      "Cache-Control": isPage ? "no-cache" : "public, max-age=31536000, immutable",
      ETag: `"${Bun.hash.xxHash64(content).toString(16)}"`,
      Vary: "Accept-Encoding",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      ...(isPage ? { "Content-Security-Policy": CONTENT_SECURITY_POLICY } : {}),
    },
  };
}

function respond(request: Request, { plain, gzip, headers }: Served): Response {
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
