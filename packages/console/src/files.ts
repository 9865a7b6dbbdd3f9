// files.ts: the console's files, as a listener serves them.
//
// in   a path below the listener's root, the encodings that the browser takes
// out  a Response; undefined for a path that is none of ours
// cost each file is read and compressed when it is first asked for, and kept

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { iso31661Alpha2ToNumeric } from "iso-3166";

/** Nothing but our own files and the admin API of this listener. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const PAGES = ["lookup", "data", "keys", "traffic", "overrides"] as const;
const SCRIPTS = ["main", "api", "dom", "charts", "map", "words"] as const;

/** A file, or text that is made here. */
type Row = readonly [content: URL | string, type: string];

const here = (file: string) => new URL(`./${file}`, import.meta.url);

/** Path -> what is there, and its type. */
const FILES: ReadonlyMap<string, Row> = new Map<string, Row>([
  ["/", [here("index.html"), HTML]],
  ["/console/console.css", [here("console.css"), "text/css; charset=utf-8"]],
  ...SCRIPTS.map((name): [string, Row] => [`/console/${name}.js`, [here(`${name}.js`), SCRIPT]]),
  ...PAGES.map((name): [string, Row] => [`/console/pages/${name}.js`, [here(`pages/${name}.js`), SCRIPT]]),
  [
    "/console/world.json",
    [new URL(import.meta.resolve("world-atlas/countries-110m.json")), "application/json"],
  ],
  // The outlines go by the numbers of ISO 3166-1, answers by its letters.
  ["/console/countries.json", [JSON.stringify(iso31661Alpha2ToNumeric), "application/json"]],
]);

interface Kept {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly headers: Record<string, string>;
}

const kept = new Map<string, Kept>();

/** @param path without query */
export function consoleFile(request: Request, path: string): Response | undefined {
  const row = FILES.get(path);
  if (row === undefined) return undefined;
  if (request.method !== "GET" && request.method !== "HEAD") {
    return new Response(null, { status: 405, headers: { Allow: "GET, HEAD" } });
  }
  const { plain, gzip, headers } = kept.get(path) ?? read(path, row);
  if (request.headers.get("if-none-match") === headers.ETag)
    return new Response(null, { status: 304, headers });
  const isGzip = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  const body = request.method === "HEAD" ? null : isGzip ? gzip : plain;
  return new Response(body, { headers: isGzip ? { ...headers, "Content-Encoding": "gzip" } : headers });
}

/** Every path there is. */
export const consolePaths = (): string[] => [...FILES.keys()];

function read(path: string, [content, type]: Row): Kept {
  const plain = new Uint8Array(typeof content === "string" ? Buffer.from(content) : readFileSync(content));
  const made: Kept = {
    plain,
    gzip: new Uint8Array(gzipSync(plain, { level: 9 })),
    headers: {
      "Content-Type": type,
      "Cache-Control": "no-cache",
      ETag: `"${Bun.hash.xxHash64(plain).toString(16)}"`,
      Vary: "Accept-Encoding",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      ...(type === HTML ? { "Content-Security-Policy": CONTENT_SECURITY_POLICY } : {}),
    },
  };
  kept.set(path, made);
  return made;
}
