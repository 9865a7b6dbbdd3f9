// hostile-requests.ts: requests that no honest client sends. They are complete messages; framing-cases.ts has ambiguous
// and incomplete messages.

import { gzipSync } from "node:zlib";
import { PROBLEMS } from "@inkling/contract";
import { randomBelow } from "../harness/random.ts";
import { freshToken } from "../harness/tokens.ts";
import type { KeyName } from "./attacked-server.ts";

export interface HostileRequest {
  readonly bytes: Buffer;
  readonly method: string;
  /** The active key of the request; undefined if the request has no active key. */
  readonly key: KeyName | undefined;
  /** This request's keys and values, which no log line and no problem may contain. */
  readonly secrets: readonly string[];
}

/** An address and an email address that the server has data about. The log must contain neither. */
export const ADDRESS = "81.2.69.142";
export const EMAIL = "jane.s3cr3t@disposable-1.com";
/** A mark in headers, queries and bodies. */
export const MARK = "s3cr3t";

const GEO = "/v1/ip-intel/geolocate";
const REP = "/v1/ip-intel/reputation";
const MAIL = "/v1/user-intel/email";
const LOOKUPS = [
  ...[`${GEO}/${ADDRESS}`, `${REP}/${ADDRESS}`, `${MAIL}/${EMAIL}`, `${GEO}/me`, `${REP}/${MARK}`],
  ...["/v1/forward-auth", `/geoip/v2.1/city/${ADDRESS}`],
];
const BATCHES = [GEO, REP, MAIL];
/** Paths of the admin listener. */
export const ADMIN_TARGETS = [
  ...[
    "session",
    "lookup",
    "data",
    "data/feeds",
    "data/releases",
    "data/update",
    "data/rollback",
    "data/pin",
    "keys",
  ],
  ...[
    "keys/key_0123456789abcdef",
    "keys/key_0123456789abcdef/rotate",
    "overrides",
    "overrides/export",
    "audit",
    "traffic",
  ],
].map((path) => `/admin/v1/${path}`);
const PATHS = [
  ...[
    "/",
    "/v1",
    "/v1/",
    "/v1/status",
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/docs",
    "/favicon.ico",
    "/robots.txt",
  ],
  ...[
    "/metrics",
    "/admin",
    "/admin/v1/keys",
    "/v1/keys",
    "/v1/admin/keys",
    "/console",
    "/.env",
    "/.git/config",
  ],
  ...[
    "/v1/ip-intel",
    "/v1/user-intel/",
    "/v2/status",
    "/v1/ip-intel/geolocate/",
    `${GEO}/${ADDRESS}/`,
    `${GEO}//${ADDRESS}`,
  ],
  ...[
    "/inkling.db",
    "/data/current",
    "/wp-login.php",
    "/cgi-bin/sh",
    "//evil.example/",
    "/v1/../metrics",
    "/__proto__",
  ],
  ...[
    `${MAIL}/a/${EMAIL}`,
    `${MAIL}/%00`,
    `${GEO}/constructor`,
    `${GEO}/%C0%AF`,
    `${GEO}/%FF`,
    `${GEO}/%`,
    `${GEO}/%4`,
  ],
];
const PIECES = [
  ...[
    "%2e%2e",
    "..",
    "/",
    "//",
    "%2F",
    "\\",
    "%5c",
    ";a=b",
    "%00",
    "%0d%0a",
    "%FF",
    "%25",
    "%u0041",
    "+",
    "*",
    "~",
  ],
  ...[
    "'",
    "%22",
    "<script>",
    "<%=7*7%>",
    "{{7*7}}",
    "$(id)",
    "|id",
    "%27--",
    "\u00e9",
    "\u00ff",
    "[",
    "]",
    "^",
    "`",
  ],
  ...[
    "8.8.8.8",
    "::1",
    "0x7f.1",
    "127.1",
    "2130706433",
    "::ffff:10.0.0.1",
    "fe80::1%25eth0",
    "a@b",
    "@",
    MARK,
  ],
];
const QUERIES = [
  ...[
    "",
    "?",
    "??",
    "?include=evidence",
    "?include=evidence&include=evidence",
    "?include=everything",
    "?checks=mx,mx",
  ],
  ...[
    "?checks",
    "?x=1",
    "?include=evidence%2Cnetwork",
    "?__proto__=1",
    `?key=${MARK}`,
    "?include=%FF",
    "?a[b]=c",
    "?&&&",
  ],
  `?${"a=b&".repeat(500)}`,
];
const METHODS = [
  "GET",
  "GET",
  "GET",
  "GET",
  "GET",
  "HEAD",
  "POST",
  "POST",
  "POST",
  "PUT",
  "DELETE",
  "PATCH",
  "OPTIONS",
  "TRACE",
];
const HEADERS = [
  ...[
    `X-Forwarded-For: ${ADDRESS}`,
    "X-Forwarded-For: , , unknown, [::1",
    `Forwarded: for=${ADDRESS}`,
    "X-Real-IP: 1.1.1.1",
  ],
  ...[
    "X-Forwarded-Host: evil.example",
    "X-Original-URL: /metrics",
    "X-HTTP-Method-Override: DELETE",
    "X-Rewrite-URL: /",
  ],
  ...[
    "If-None-Match: *",
    `If-None-Match: ${'"a",'.repeat(300)}`,
    'If-None-Match: W/"',
    "If-Match: x",
    "If-Range: x",
  ],
  ...[
    "Range: bytes=0-0,-1",
    "Accept: application/xml;q=2",
    "Accept-Encoding: gzip;q=0,br,*",
    "Accept-Language: \xff\xfe",
  ],
  ...[
    `Cookie: session=${MARK}; a=b`,
    `Referer: https://x.example/?${MARK}`,
    `User-Agent: () { :;}; ${MARK}`,
    "TE: trailers",
  ],
  ...[
    "Origin: null",
    "Origin: https://evil.example",
    "Access-Control-Request-Method: DELETE",
    "Content-Encoding: br",
  ],
  ...[
    "Content-Encoding: gzip",
    "Prefer: respond-async",
    "Max-Forwards: 0",
    "Via: 1.1 x",
    "Idempotency-Key: \x7f",
    "DNT: \t1",
  ],
  ...[
    `X-Long: ${"x".repeat(3_000)}`,
    `${"X".repeat(200)}: y`,
    "Connection: keep-alive, authorization",
    "Early-Data: 1",
  ],
];
const TYPES = [
  ...[
    "application/json",
    "application/json",
    "application/x-ndjson",
    "application/x-ndjson",
    "text/plain",
    "*/*",
    "",
  ],
  ...[
    "application/json; charset=utf-16",
    "APPLICATION/JSON",
    "multipart/form-data; boundary=x",
    "application/xml",
    ";;;",
  ],
];
const VALUES: readonly unknown[] = [
  ADDRESS,
  EMAIL,
  "me",
  "",
  MARK,
  null,
  0,
  true,
  {},
  [],
  "\ud800",
  "a".repeat(300),
  "::",
];
/** All documented codes. The codes in docs/maxmind.md are MaxMind's. */
const CODES = new Set([
  ...Object.keys(PROBLEMS),
  ...["AUTHORIZATION_INVALID", "INSUFFICIENT_FUNDS", "LICENSE_KEY_REQUIRED", "PERMISSION_REQUIRED"],
]);

export const isDocumented = (code: unknown): boolean => typeof code === "string" && CODES.has(code);

export function* hostileRequests(
  seed: number,
  keys: Readonly<Record<KeyName, string>>,
  targets?: readonly string[],
): Generator<HostileRequest, never> {
  const random = randomBelow(seed);
  const pick = <T>(items: readonly T[]): T => items[random(items.length)]!;
  const chance = (share: number) => random(1000) < share * 1000;
  const names = Object.keys(keys) as KeyName[];
  const stranger = freshToken();

  const path = () => {
    let text = chance(0.6) ? pick(targets ?? LOOKUPS) : pick(PATHS);
    for (let i = chance(0.4) ? random(4) : 0; i > 0; i--) {
      const at = 1 + random(text.length);
      text = text.slice(0, at) + pick(PIECES) + text.slice(at + random(2));
    }
    if (chance(0.02)) text += "/x".repeat(random(8_000));
    return (
      [...text].filter((letter) => letter > " " && letter !== "#").join("") +
      (chance(0.3) ? pick(QUERIES) : "")
    );
  };

  /** Returns an Authorization header, and the active key that it carries. */
  const authorization = (): [header: string, key: KeyName | undefined, token: string | undefined] => {
    const name = pick(names);
    const token = keys[name];
    const at = 10 + random(token.length - 10);
    const other = token.slice(0, at) + (token[at] === "a" ? "b" : "a") + token.slice(at + 1);
    const bad = (header: string, of = token): [string, undefined, string] => [header, undefined, of];
    switch (random(15)) {
      case 0:
      case 1:
        return ["", undefined, undefined];
      case 2:
        return bad(`Authorization: Bearer ${other}`, other);
      case 3:
        return bad(`Authorization: Bearer ${stranger}`, stranger);
      case 4:
        return bad(`Authorization: Basic ${btoa(pick([`${token}:`, `a:${other}`]))}`);
      case 5:
        return bad(
          `Authorization: ${pick(["Bearer", "Bearer ", "Digest x", ":", MARK, "Bearer \t", "Bearer null"])}`,
        );
      case 6:
        return bad(`X-API-Key: ${token}`);
      case 7:
        return bad(`Authorization: Bearer ${token}, Bearer ${stranger}`);
      default:
        return [`Authorization: Bearer ${token}`, name, token];
    }
  };

  const body = (): Buffer => {
    const values = Array.from({ length: random(6) }, () => pick(VALUES));
    const texts = [
      () => JSON.stringify({ values }),
      () => values.map((value) => JSON.stringify(value)).join(pick(["\n", "\r\n", "\n\n", ","])),
      () => JSON.stringify({ values, more: MARK, __proto__: null }),
      () => "[".repeat(1 + random(5_000)),
      () => `{"values":[${'"1.1.1.1",'.repeat(random(1_200))}"x"]}`,
      () => `{"values":"${ADDRESS}"}`,
      () => "\n".repeat(random(3_000)),
      () => `"${"x".repeat(random(70_000))}"`,
      () => "\xff\xfe\0\x80",
      () => '{"values":[1e999,-0,"\\ud800","\\u0000"]}',
      () => "",
    ];
    const plain = Buffer.from(pick(texts)(), chance(0.1) ? "latin1" : "utf8");
    if (!chance(0.15)) return plain;
    const packed = gzipSync(chance(0.1) ? Buffer.alloc(3 << 20) : plain);
    return chance(0.3) ? packed.subarray(0, random(packed.length)) : packed;
  };

  for (;;) {
    const method = pick(METHODS);
    const [header, key, token] = authorization();
    const hasBody = method !== "GET" && method !== "HEAD" && chance(0.8);
    const content = hasBody ? body() : Buffer.alloc(0);
    const isBatch = hasBody && chance(method === "POST" ? 0.9 : 0.2);
    const target = isBatch ? pick(targets ?? BATCHES) + (chance(0.2) ? pick(QUERIES) : "") : path();
    const lines = [`${method} ${target} HTTP/1.1`, "Host: 127.0.0.1", header];
    if (hasBody) lines.push(`Content-Length: ${content.length}`, `Content-Type: ${pick(TYPES)}`);
    if (hasBody && content[0] === 0x1f && chance(0.8)) lines.push("Content-Encoding: gzip");
    const named = new Set(lines.map((line) => line.split(":")[0]!.toLowerCase()));
    for (let i = random(4); i > 0; i--) {
      const more = pick(HEADERS);
      const name = more.split(":")[0]!.toLowerCase();
      if (!named.has(name)) lines.push(more);
      named.add(name);
    }
    const head = lines.filter((line) => line !== "").join("\r\n");
    yield {
      bytes: Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "latin1"), content]),
      method,
      key,
      secrets: [...(token === undefined ? [] : [token]), EMAIL, MARK],
    };
  }
}
