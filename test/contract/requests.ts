// requests.ts: lists the requests of the contract test: hand-written tables, then requests from a fixed seed. Used only
// for recording.

import { batches } from "./batches.ts";
import type { Request } from "./exchange.ts";
import { generated } from "./generated.ts";
import { times } from "./random.ts";
import {
  anonymous,
  EVIDENCE,
  encoded,
  GEO,
  get,
  JSON_TYPE,
  LINES_TYPE,
  LOOKUPS,
  MAIL,
  type More,
  post,
  REP,
  sampleOf,
  values,
  withMethod,
} from "./rows.ts";
import { SERVERS } from "./server.ts";
import {
  EMAILS,
  FORWARDED,
  MALFORMED_ADDRESSES,
  METHODS,
  PATHS,
  QUERIES,
  SEGMENTS,
  SPECIAL,
} from "./values.ts";

function paths(): Request[] {
  const everywhere = SERVERS.flatMap((server) =>
    ["/healthz", "/readyz", "/openapi.json", "/docs", "/v1/status", "/"].map((path) => get(path, { server })),
  );
  return [
    ...everywhere,
    ...PATHS.flatMap((path) => [
      anonymous(path),
      get(path),
      ...METHODS.map((method) => withMethod(method, path)),
    ]),
    ...QUERIES.flatMap((query) =>
      ["/v1/status", "/healthz", "/openapi.json", "/docs", "/"].map((path) => get(path + query)),
    ),
    ...[
      "text/html",
      "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
      "*/*",
      "application/json",
      "TEXT/HTML;q=0",
      "xtext/html",
    ].flatMap((accept) => [
      anonymous("/", { headers: [`Accept: ${accept}`] }),
      withMethod("HEAD", "/", { headers: [`Accept: ${accept}`] }),
    ]),
  ];
}

function addresses(): Request[] {
  return [GEO, REP].flatMap((path) => [
    ...SPECIAL.map((address) => get(`${path}/${address}`)),
    ...MALFORMED_ADDRESSES.map((address) => get(`${path}/${address}`)),
    ...SEGMENTS.map((segment) => get(`${path}/${segment}`)),
    ...QUERIES.map((query) => get(`${path}/81.2.69.142${query}`)),
    ...METHODS.map((method) => withMethod(method, `${path}/81.2.69.142`)),
    ...FORWARDED.flatMap((list) => [
      get(`${path}/me`, { headers: [`X-Forwarded-For: ${list}`] }),
      get(`${path}/me`, { headers: [`X-Forwarded-For: ${list}`], server: "partial" }),
      get(`${path}/81.2.69.142`, { headers: [`X-Forwarded-For: ${list}`], key: "elsewhere" }),
    ]),
    get(`${path}/81.2.69.142`, { headers: ["X-Forwarded-For: 127.0.0.9"], key: "here" }),
    get(`${path}/me`, { headers: ["X-Forwarded-For: 81.2.69.10", "X-Forwarded-For: 10.0.0.1"] }),
    get(`${path}/me${EVIDENCE}`, { headers: ["X-Forwarded-For: 81.2.69.10"] }),
    get(`${path}/me`),
    get(`${path}/me`, { key: "sandbox" }),
  ]);
}

const LONG_EMAILS = [`a@${"b.".repeat(120)}com`, `a@${"b".repeat(250)}.com`];

function emails(): Request[] {
  return [
    ...[...EMAILS, ...LONG_EMAILS].flatMap((email) => [
      get(`${MAIL}/${email}`),
      get(`${MAIL}/${email}${EVIDENCE}`),
    ]),
    ...SEGMENTS.map((segment) => get(`${MAIL}/${segment}`)),
    // checks=mx only for addresses that need no DNS query.
    ...QUERIES.filter((query) => !query.includes("checks=mx")).map((query) =>
      get(`${MAIL}/jane@gmail.com${query}`),
    ),
    ...["a@localhost", "a", "a@a.test", "a@example.com"].flatMap((email) =>
      ["", "&include=evidence"].map((more) => get(`${MAIL}/${email}?checks=mx${more}`)),
    ),
    ...METHODS.map((method) => withMethod(method, `${MAIL}/jane@gmail.com`)),
  ];
}

/** Conditional requests follow the requests that make the ETags known. $etag0 is the first ETag of the recording. */
function conditions(): Request[] {
  const conditional = (target: string, condition: string, more: More = {}) =>
    get(target, { ...more, headers: [...(more.headers ?? []), `If-None-Match: ${condition}`] });
  const targets = [
    `${GEO}/81.2.69.142`,
    `${REP}/81.2.69.142`,
    `${REP}/81.2.69.10`,
    `${REP}/81.2.69.10${EVIDENCE}`,
    `${REP}/81.2.70.7`,
    "/openapi.json",
    "/docs",
    `${MAIL}/jane@gmail.com`,
    "/v1/status",
    "/healthz",
  ];
  const list = (count: number) => times(count, (index) => `$etag${index}`);
  const each = [
    ...list(12),
    "*",
    '"x"',
    'W/$etag0, "x"',
    ...[4, 8].map((count) => list(count).join(", ")),
    "W/$etag1",
    "",
    "$etag2x",
    '"sandbox-1"',
  ];
  return [
    ...targets.map((target) => get(target)),
    get(`${GEO}/me`, { headers: ["X-Forwarded-For: 81.2.69.10"] }),
    ...targets.flatMap((target) => each.map((condition) => conditional(target, condition))),
    ...each.flatMap((condition) => [
      conditional(`${GEO}/me`, condition, { headers: ["X-Forwarded-For: 81.2.69.10"] }),
      conditional(`${GEO}/192.0.2.1`, condition, { key: "sandbox" }),
      { ...conditional(`${REP}/81.2.69.142`, condition), method: "HEAD" },
    ]),
    conditional(`${GEO}/10.0.0.1`, "*"),
    conditional(`${GEO}/81.2.69.142`, "*", { key: "expired" }),
  ];
}

function keys(): Request[] {
  const targets = [...LOOKUPS.map((path) => `${path}/${sampleOf(path)}`), "/v1/status"];
  const names = [
    "live",
    "sandbox",
    "sandboxEmail",
    "emailOnly",
    "placesOnly",
    "here",
    "elsewhere",
    "expired",
    "revoked",
    "rotated",
  ];
  const headers = [
    "Bearer",
    "Bearer ",
    "Basic YTpi",
    "bearer $token:live",
    "BEARER $token:live",
    "Bearer  $token:live",
    "Bearer $token:live ",
    "Bearer $token:live x",
    "$token:live",
    "Bearer ink_live_x",
    "Bearer ink_admin_x",
    "Bearer\t$token:live",
    "Token $token:live",
    "Bearer é",
    "Bearer $token:live, Bearer $token:live",
    "",
    "Bearer ink_live_00000000000000000000000000000000_000000",
  ];
  return targets
    .flatMap((target) => [
      ...SERVERS.flatMap((server) => names.map((key) => get(target, { key, server }))),
      anonymous(target),
      ...headers.map((value) => anonymous(target, { headers: [`Authorization: ${value}`] })),
      anonymous(target, {
        headers: ["Authorization: Bearer $token:live", "Authorization: Bearer $token:sandbox"],
      }),
      anonymous(`${target}?api_key=x`),
      anonymous(target, { headers: ["X-Api-Key: $token:live"] }),
      ...times(5, () => get(target, { key: "slow", server: "full" })),
      ...times(4, () => get(target, { key: "spent", server: "lenient" })),
      ...times(6, () => get(target, { key: "daily" })),
      get(target, { key: "limited" }),
      withMethod("HEAD", target, { key: "limited" }),
      withMethod("HEAD", target, { key: "expired" }),
      withMethod("POST", target, { key: "expired" }),
    ])
    .concat([
      get(`${GEO}/10.0.0.1`, { key: "limited" }),
      get(`${GEO}/223.255.255.1`, { key: "daily" }),
      get(`${GEO}/10.0.0.1`, { key: "daily" }),
      get("/v1/status", { key: "daily" }),
      get("/v1/status?include=feeds", { key: "daily" }),
      get("/v1/status?include=feeds,evidence", { key: "daily" }),
      get(`${GEO}/nonsense`, { key: "emailOnly" }),
      get(`${GEO}/nonsense?x`, { key: "expired" }),
      get(`${GEO}/%FF?x`, {}),
    ]);
}

/** Returns every address and domain in docs/sandbox.md, and some that are in none of its tables. */
function sandbox(page: string): Request[] {
  const named = [
    ...new Set(
      [...page.matchAll(/`([\da-f.:]{5,}|[a-z.-]+\.(?:example|com|net|org))`/g)].map(([, name = ""]) => name),
    ),
  ];
  const isDomain = (name: string) => /\.[a-z]+$/.test(name);
  const more = [
    "192.0.2.200",
    "203.0.113.200",
    "198.51.100.1",
    "8.8.8.8",
    "10.0.0.1",
    "2001:db8::ff",
    "::ffff:192.0.2.6",
    "me",
  ];
  const addresses = [...named.filter((name) => !isDomain(name)), ...more];
  const domains = [...named.filter(isDomain), "gmail.com", "gmial.com", "x.disposable.example"];
  const mails = [
    ...domains.map((domain) => `jane+shop@${domain}`),
    "a..b@disposable.example",
    "postmaster@example.com",
    "nonsense",
  ];
  const sent = { key: "sandbox" };
  const lines = { ...sent, headers: [LINES_TYPE] };
  const queries = ["", EVIDENCE, "?checks=mx", "?checks=mx&include=evidence"];
  return [
    ...[GEO, REP].flatMap((path) => [
      ...addresses.flatMap((address) => [
        get(`${path}/${address}`, sent),
        get(`${path}/${address}${EVIDENCE}`, sent),
      ]),
      ...["", EVIDENCE].map((query) => post(path + query, values(...addresses), sent)),
    ]),
    ...mails.flatMap((mail) => queries.map((query) => get(`${MAIL}/${encoded(mail)}${query}`, sent))),
    ...["", EVIDENCE].map((query) => post(MAIL + query, values(...mails), sent)),
    post(`${MAIL}?checks=mx`, values("jane@no-domain.example"), sent),
    post(MAIL, mails.map((mail) => JSON.stringify(mail)).join("\n"), lines),
    post(REP, addresses.map((address) => JSON.stringify(address)).join("\n"), lines),
    get(`${GEO}/192.0.2.1`, { ...sent, server: "empty" }),
    get(`${MAIL}/jane@disposable.example`, { ...sent, server: "partial" }),
    get(`${GEO}/192.0.2.1`, { key: "sandboxEmail" }),
  ];
}

/** Requests that are not valid HTTP, or have another version. */
function raws(): Request[] {
  const raw = (text: string): Request => ({
    server: "full",
    method: "RAW",
    target: text.slice(0, 40),
    raw: text,
  });
  return [
    raw("GET /healthz HTTP/1.1\r\n\r\n"),
    raw("GET /healthz HTTP/1.0\r\n\r\n"),
    raw("GET /healthz HTTP/1.0\r\nHost: inkling.test\r\n\r\n"),
    raw(`GET ${GEO}/81.2.69.142 HTTP/1.0\r\nHost: inkling.test\r\n\r\n`),
    raw("GET http://inkling.test/healthz HTTP/1.1\r\nHost: inkling.test\r\n\r\n"),
    raw(`GET http://elsewhere.test${GEO}/8.8.8.8?x=1 HTTP/1.1\r\nHost: inkling.test\r\n\r\n`),
    raw(`GET /healthz HTTP/1.1\r\nHost: inkling.test\r\nX-Long: ${"a".repeat(20_000)}\r\n\r\n`),
    raw(`GET ${GEO}/81.2.69.142 HTTP/1.1\r\nHost: inkling.test\r\nHost: elsewhere.test\r\n\r\n`),
    raw("GET /healthz HTTP/1.1\r\nHost: inkling test\r\n\r\n"),
    raw("GET /health z HTTP/1.1\r\nHost: inkling.test\r\n\r\n"),
    raw("GET /healthz HTTP/1.1\r\nHost: inkling.test\r\nConnection: close\r\n\r\n"),
  ];
}

/** Decisions about visitors. They come after all earlier requests of the recording. */
function decisions(): Request[] {
  const path = "/v1/assess";
  const key = "visitors";
  const about = (visitor: unknown, query = "", more: More = {}) =>
    post(path + query, typeof visitor === "string" ? visitor : JSON.stringify(visitor), { key, ...more });
  const places = [
    "81.2.69.142",
    "81.2.69.10",
    "81.2.70.7",
    "8.8.8.8",
    "2a01:4f8:1::1",
    "10.0.0.1",
    "1.2",
    "me",
  ];
  const mails = ["jane@gmail.com", "info@mailinator.com", "jane@gmial.com", "nonsense", "a@localhost"];
  const visitors = [
    ...places.map((ip) => ({ event: "sign_up", ip })),
    ...mails.map((email) => ({ event: "login", email })),
    {
      event: "checkout",
      ip: "81.2.69.142",
      email: "jane+x@gmail.com",
      expected_country: "FR",
      ref: "user-81",
    },
    {
      event: "login",
      ip: "81.2.69.142",
      user_agent: "Googlebot/2.1",
      previous: { latitude: 35.7, longitude: 139.7, at: "2026-08-02T11:00:00Z" },
    },
  ];
  const wrong = [
    "",
    "{",
    "[]",
    "null",
    { event: "x" },
    { ip: "8.8.8.8" },
    { event: "A b", ip: "8.8.8.8" },
    { event: "x", ip: "8.8.8.8", emial: "jane@gmail.com" },
    { event: "x", ip: "8.8.8.8", facts: { plan: "free" } },
    { event: "x", ip: 8 },
  ];
  const sandboxed = [
    "192.0.2.1",
    "192.0.2.4",
    "192.0.2.7",
    "192.0.2.8",
    "203.0.113.14",
    "203.0.113.8",
    "8.8.8.8",
  ];
  const fixed = { key: "sandboxVisitors" };
  const lines = [...visitors, "nonsense", ...wrong].map((line) => JSON.stringify(line)).join("\n");
  return [
    ...visitors.flatMap((visitor) => ["", "?include=facts", EVIDENCE].map((query) => about(visitor, query))),
    ...wrong.map((visitor) => about(visitor)),
    ...QUERIES.map((query) => about(visitors[0], query)),
    ...SERVERS.map((server) => about(visitors[0], "", { server })),
    about(lines, "", { headers: [LINES_TYPE] }),
    about(visitors[0], "", { headers: [JSON_TYPE, "Idempotency-Key: a b"] }),
    about(lines, "", { headers: [LINES_TYPE, "Idempotency-Key: a"] }),
    ...["fraud", "legitimate", "abuse"].flatMap((outcome) =>
      [
        ["asm_aaaaaaaaaaaaaaaa", "visitors"],
        ["asm_0000000000000000", "sandboxVisitors"],
      ].map(([id, owner]) =>
        post(`${path}/${id}/outcome`, JSON.stringify({ outcome }), { key: owner as string }),
      ),
    ),
    about("event=x", "", { headers: ["Content-Type: application/x-www-form-urlencoded"] }),
    ...METHODS.map((method) => ({ ...about(visitors[0]), method })),
    about(visitors[0], "", { key: "emailOnly" }),
    about(visitors[0], "", fixed),
    ...sandboxed.map((ip) => about({ event: "sign_up", ip, email: "info@disposable.example" }, "", fixed)),
    about({ event: "sign_up", ip: "192.0.2.8", email: "jane@mistyped.example" }, `${EVIDENCE},facts`, fixed),
    withMethod("POST", `${path}/`, { key }),
  ];
}

/**
 * Visitors behind proxies, and locations in MaxMind's format. They come last, so that earlier requests keep
 * their numbers.
 */
function otherInterfaces(): Request[] {
  const path = "/v1/forward-auth";
  const about = (visitor: string, query: string, more: More = {}) =>
    get(path + query, { ...more, headers: [`X-Forwarded-For: ${visitor}`] });
  const queries = [
    "",
    "?",
    "?deny=tor,abuser,proxy",
    ...["tor", "abuser", "proxy", "", "Tor", "tor,tor"].map((flag) => `?deny=${flag}`),
  ];
  const visitors = [
    "81.2.69.10",
    "81.2.69.142",
    "81.2.70.1",
    "8.8.8.8",
    "2a01:4f8:1::1",
    "10.9.9.9",
    "unknown",
    "",
  ];
  const services = ["city", "country"].map((service) => `/geoip/v2.1/${service}`);
  const basic = (key: string) => ({
    headers: [`Authorization: Basic ${Buffer.from(`1:${key}`).toString("base64")}`],
  });
  return [
    ...visitors.flatMap((visitor) => queries.map((query) => about(visitor, query))),
    ...FORWARDED.map((list) => about(list, "?deny=tor")),
    ...SERVERS.flatMap((server) => [
      get(path, { server }),
      ...["is_proxy", "proxy", "tor", "abuser"].map((flag) =>
        about("81.2.69.10", `?deny=${flag}`, { server }),
      ),
    ]),
    ...METHODS.map((method) => ({ ...about("81.2.69.10", "?deny=tor"), method })),
    ...["192.0.2.1", "192.0.2.6", "203.0.113.17", "8.8.8.8"].map((visitor) =>
      about(visitor, "?deny=tor", { key: "sandbox" }),
    ),
    ...["here", "elsewhere", "expired", "emailOnly", "limited", "spent"].map((key) =>
      about("81.2.69.10", "", { key }),
    ),
    anonymous(path),
    get("/geoip/v2.1/insights/81.2.69.142"),
    ...services.flatMap((service) => [
      ...["81.2.69.142", "8.8.8.8", "10.0.0.1", "1.2.3", "me", "%FF", "", "2a01:4f8::1", "81.2.69.142?x"].map(
        (value) => get(`${service}/${value}`),
      ),
      ...SERVERS.map((server) => get(`${service}/81.2.69.142`, { server })),
      ...METHODS.map((method) => withMethod(method, `${service}/81.2.69.142`)),
      ...["expired", "emailOnly", "elsewhere", "spent", "limited"].map((key) =>
        get(`${service}/81.2.69.142`, { key }),
      ),
      ...["192.0.2.1", "192.0.2.2", "192.0.2.3", "203.0.113.15"].map((value) =>
        get(`${service}/${value}`, { key: "sandbox" }),
      ),
      anonymous(`${service}/81.2.69.142`),
      anonymous(`${service}/81.2.69.142`, basic("abc")),
    ]),
    ...LOOKUPS.map((lookup) => anonymous(`${lookup}/${sampleOf(lookup)}`, basic("abc"))),
  ];
}

export function contractRequests(
  data: { readonly networks: readonly string[]; readonly domains: readonly string[] },
  sandboxPage: string,
): Request[] {
  return [
    ...paths(),
    ...conditions(),
    ...keys(),
    ...sandbox(sandboxPage),
    ...addresses(),
    ...emails(),
    ...batches(),
    ...raws(),
    ...generated(data.networks, data.domains),
    ...otherInterfaces(),
    ...decisions(),
    ...hooks(),
  ];
}

/** Hooks that nobody has signed. Signed hooks have their own test. */
function hooks(): Request[] {
  const path = "/v1/hooks/supabase";
  const body = JSON.stringify({ metadata: { name: "before-user-created" }, user: {} });
  const signed = (timestamp: string) => ({
    headers: [
      "webhook-id: msg_1",
      `webhook-timestamp: ${timestamp}`,
      "webhook-signature: v1,bm90IG91cnM=",
      "Content-Type: application/json",
    ],
  });
  return [post(path, body), post(path, body, signed("1")), post(path, body, signed("1785672000")), get(path)];
}
