// api.ts: causes the refusals of both APIs, each with a request.

import { type AdminProblemCode, type ProblemCode, STARTER_RULESET } from "@inkling/contract";
import { openRelease, requireCurrentName } from "@inkling/data";
import { parsePrefix } from "@inkling/engine";
import { SESSION_COOKIE } from "../../packages/server/src/admin/sessions.ts";
import { App } from "../../packages/server/src/api/app.ts";
import { cellsOnDemand } from "../../packages/server/src/limits/key-cells.testing.ts";
import { Buckets } from "../../packages/server/src/limits/token-bucket.ts";
import type { Decisions } from "../../packages/store/src/decisions/record.ts";
import { StoreError } from "../../packages/store/src/error.ts";
import type { Key } from "../../packages/store/src/keys/key.ts";
import { Keyring } from "../../packages/store/src/keys/keyring.ts";
import { hashToken, newToken } from "../../packages/store/src/keys/token.ts";
import { OverrideConflictError } from "../../packages/store/src/overrides.ts";
import { adminServer, closeAdminServers } from "../harness/admin-server.ts";
import { keyUpdate } from "../harness/key-updates.ts";
import { smallRelease, temporaryFolder } from "../harness/release.ts";
import { testSettings } from "../harness/server-options.ts";
import { KEY, NOON, type Over, testServices } from "../harness/thread-services.ts";
import { freshToken, randomBytes } from "../harness/tokens.ts";

/** Codes that are not caused here, each with the test that causes it. */
export const ELSEWHERE: Readonly<Partial<Record<ProblemCode | AdminProblemCode, string>>> = {
  RATE_LIMITED: "packages/server/src/admin/app.test.ts",
  HOST_REFUSED: "test/admin-api.test.ts",
  PATH_INVALID: "test/attack/targets.test.ts",
  TOO_MANY_STREAMS: "packages/server/src/batch/batch.test.ts",
  VISITOR_DENIED: "packages/server/src/api/forward-auth.test.ts",
  SESSION_ENDED: "packages/server/src/admin/login.test.ts",
  RELEASE_NOT_FOUND: "test/admin-api.test.ts",
  RELEASE_CONFLICT: "test/admin-api.test.ts",
  COPY_CONFLICT: "test/admin-api.test.ts",
  ACTION_REFUSED: "test/admin-api.test.ts",
  SIGNATURE_INVALID: "packages/server/src/api/supabase-hook.test.ts",
  REVOCATION_UNWRITTEN: "test/scenarios/group/database-lost.test.ts",
  WEBHOOKS_FULL: "packages/server/src/admin/webhooks.test.ts",
  WEBHOOK_NOT_FOUND: "packages/server/src/admin/webhooks.test.ts",
  WEBHOOK_URL_REFUSED: "packages/server/src/admin/webhooks.test.ts",
};

/** Settings of a server that stores decisions. */
const STORED = testSettings({ decisions: true });
const GEO = "/v1/ip-intel/geolocate/";
const REPUTATION = "/v1/ip-intel/reputation/";

const TOKENS = {
  live: freshToken(),
  test: freshToken("test"),
  expired: freshToken(),
  email: freshToken(),
  bound: freshToken(),
  spent: freshToken(),
};
type KeyName = keyof typeof TOKENS;
const KEYS: Readonly<Record<KeyName, Partial<Key>>> = {
  live: {},
  test: { mode: "test" },
  expired: { expiresAt: NOON - 1 },
  email: { scopes: ["email"] },
  bound: { networks: [parsePrefix("10.0.0.0/8")!] },
  spent: { quota: 0 },
};

function keyringOf(names: readonly KeyName[]): Keyring {
  const keyring = new Keyring();
  const tokens = names.map((name) => ({
    hash: hashToken(TOKENS[name]),
    key: { ...KEY, id: `key_${name}` as Key["id"], ...KEYS[name] },
    validUntil: undefined,
  }));
  keyring.replace(keyUpdate("1", tokens));
  return keyring;
}

type Case = readonly [
  what: string,
  path: string,
  init?: RequestInit & { readonly token?: string | null },
  over?: Over,
];

function cases(): readonly Case[] {
  const post = (body: string, type = "application/json", more: object = {}) => ({
    method: "POST",
    body,
    headers: { "Content-Type": type, ...more },
  });
  const batch = "/v1/ip-intel/geolocate";
  const broken = () => {
    throw new Error("made for this test");
  };
  const one = new Buckets({ rate: 10, burst: 1 }, cellsOnDemand(NOON));
  return [
    ["no header", `${GEO}8.8.8.8`, { token: null }],
    ["X-Api-Key", `${GEO}8.8.8.8`, { token: null, headers: { "X-Api-Key": TOKENS.live } }],
    ["Basic", `${GEO}8.8.8.8`, { token: null, headers: { Authorization: "Basic YTpi" } }],
    ["a key of another server", `${GEO}8.8.8.8`, { token: freshToken() }],
    ["a truncated key", `${GEO}8.8.8.8`, { token: TOKENS.live.slice(0, -3) }],
    ["an admin token", `${GEO}8.8.8.8`, { token: newToken("ink_admin_", randomBytes) }],
    ["any text", `${GEO}8.8.8.8`, { token: "secret" }],
    ["an expired key", `${GEO}8.8.8.8`, { token: TOKENS.expired }],
    ["before keys were read", `${GEO}8.8.8.8`, {}, { keyring: new Keyring() }],
    ["a key without the scope", `${GEO}8.8.8.8`, { token: TOKENS.email }],
    ["another network", `${GEO}8.8.8.8`, { token: TOKENS.bound }],
    [
      "a proxy that names nobody",
      `${GEO}8.8.8.8`,
      { token: TOKENS.bound },
      { trustedProxies: [parsePrefix("81.2.69.142/32")!] },
    ],
    ["a quota used up", `${GEO}81.2.69.142`, { token: TOKENS.spent }],
    ["a burst (first)", `${GEO}81.2.69.142`, {}, { buckets: one }],
    ["a burst (second)", `${GEO}81.2.69.142`, {}, { buckets: one }],
    ["an unknown parameter", `${GEO}8.8.8.8?inclde=evidence`],
    ["an unknown value", `${GEO}8.8.8.8?include=everything`],
    ["a parameter twice", `${GEO}8.8.8.8?include=network&include=evidence`],
    ["a value twice", `${GEO}8.8.8.8?include=network,network`],
    ["a parameter without a value", `${GEO}8.8.8.8?include`],
    ["a parameter where none is taken", "/v1/ip-intel/geolocate?x=1", post('{"values":[]}')],
    ["a wrong path", "/v1/geo/8.8.8.8"],
    ["a wrong method", `${GEO}8.8.8.8`, { method: "DELETE" }],
    ["bytes that are not UTF-8", `${GEO}%FF`],
    ["no address", `${GEO}example.com`],
    ["a private address", `${REPUTATION}10.0.0.1`],
    ["a sandbox address with a live key", `${REPUTATION}192.0.2.1`],
    ["its own private address", `${REPUTATION}me`, {}, {}],
    ["a real address with a sandbox key", `${REPUTATION}8.8.8.8`, { token: TOKENS.test }],
    ["an address without a place", `${GEO}9.9.9.9`],
    ["no release", `${GEO}8.8.8.8`, {}, { release: undefined }],
    [
      "a fault of the server",
      `${GEO}81.2.69.142`,
      {},
      { usage: { ...testServices({}, () => 0).services.usage, record: broken } },
    ],
    ["a Host header with a space", `${GEO}8.8.8.8`, { headers: { Host: "a b" } }],
    ["a batch that is not JSON", batch, post("{")],
    ["a batch of another shape", batch, post('["8.8.8.8"]')],
    ["a batch of no text", batch, post('{"values":[1]}')],
    ["a batch of another type", batch, post("8.8.8.8", "text/plain")],
    ["a batch with another coding", batch, post("x", "application/json", { "Content-Encoding": "br" })],
    ["a batch of 1,001", batch, post(JSON.stringify({ values: new Array(1001).fill("8.8.8.8") }))],
    ["a visitor that is not JSON", "/v1/assess", post("{")],
    ["a visitor without event", "/v1/assess", post('{"ip":"8.8.8.8"}')],
    ["a visitor with an unknown field", "/v1/assess", post('{"event":"login","ip":"8.8.8.8","mail":"x"}')],
    [
      "an Idempotency-Key with a space",
      "/v1/assess",
      post('{"event":"login","ip":"8.8.8.8"}', "application/json", { "Idempotency-Key": "a b" }),
      { settings: STORED, decisions: decisionsThat("unknown") },
    ],
    [
      "an outcome of no decision",
      `/v1/assess/asm_${"9".repeat(16)}/outcome`,
      post('{"outcome":"fraud"}'),
      { settings: STORED, decisions: decisionsThat("unknown") },
    ],
    [
      "an outcome while the database is unreachable",
      `/v1/assess/asm_${"9".repeat(16)}/outcome`,
      post('{"outcome":"fraud"}'),
      { settings: STORED, decisions: decisionsThat("unreachable") },
    ],
  ];
}

const decisionsThat = (label: "unknown" | "unreachable"): Decisions => ({
  record: () => {},
  claim: () => Promise.reject(new Error("nothing is claimed here")),
  label: async () => label,
  recall: () => Promise.reject(new Error("nothing is remembered here")),
});

interface Refusal {
  readonly code: string;
  readonly what: string;
  readonly lines: readonly string[];
}

async function publicRefusals(): Promise<Refusal[]> {
  const dataDir = temporaryFolder();
  smallRelease(dataDir, 1);
  const current = openRelease(dataDir, requireCurrentName(dataDir));
  const keyring = keyringOf(Object.keys(TOKENS) as KeyName[]);
  const found: Refusal[] = [];
  for (const [what, path, { token = TOKENS.live, ...init } = {}, over = {}] of cases()) {
    const { services } = testServices({ keyring, release: current, ...over }, () => undefined);
    const headers = {
      ...(token !== null && { Authorization: `Bearer ${token}` }),
      ...(init.headers as Record<string, string>),
    };
    const address = what.startsWith("its own") ? "192.168.0.1" : "81.2.69.142";
    const request = new Request(`http://test${path}`, { ...init, headers });
    const response = await new App(services).handle(request, { requestIP: () => ({ address }) });
    found.push(...refusalsIn(what, await response.text()));
  }
  return found;
}

/** Returns the response's problem, or the problems in a batch's positions; none for an answer. */
function refusalsIn(what: string, body: string): Refusal[] {
  const document = JSON.parse(body);
  return [document, ...(document.answers ?? [])]
    .filter(({ code }) => code !== undefined)
    .map(({ code, detail, problems = [] }) => ({ code, what, lines: [detail, ...problems] }));
}

async function adminRefusals(): Promise<Refusal[]> {
  const it = await adminServer({
    actions: undefined,
  });
  const found: Refusal[] = [];
  const ask = async (what: string, method: string, path: string, body?: unknown, headers = {}, from = it) => {
    const { document } = await from.ask(method, path, body, headers);
    if (document?.code !== undefined) found.push(...refusalsIn(what, JSON.stringify(document)));
    return document;
  };
  const OVERRIDE = { value: "81.2.69.142", flag: "is_proxy", verdict: true, note: "x" };
  await ask("no token", "GET", "keys", undefined, { Authorization: "" });
  await ask("another token", "GET", "keys", undefined, { Authorization: "Bearer ink_admin_x" });
  await ask("an API key", "GET", "keys", undefined, { Authorization: `Bearer ${TOKENS.live}` });
  await ask("an old session", "GET", "keys", undefined, {
    Authorization: "",
    Cookie: `${SESSION_COOKIE}=${"a".repeat(43)}`,
  });
  await ask("a wrong path", "GET", "nothing");
  await ask("a wrong method", "PUT", "keys");
  await ask("an unknown and a repeated parameter", "GET", "overrides?x=1&limit=1&limit=2");
  await ask("a wrong parameter", "GET", "overrides?limit=none");
  await ask("a line break in the author", "POST", "overrides", OVERRIDE, {
    "Inkling-Author": "x".repeat(101),
  });
  await ask("a space in Idempotency-Key", "POST", "keys", { name: "x" }, { "Idempotency-Key": "a b" });
  await ask("no JSON", "POST", "overrides", "{");
  await ask("missing fields", "POST", "overrides", {});
  await ask("a key with three mistakes", "POST", "keys", {
    rate: -1,
    scopes: ["mail"],
    networks: ["10.0.0.1/8"],
  });
  await ask("host bits", "POST", "overrides", { ...OVERRIDE, value: "10.0.0.1/8" });
  await ask("a wide network", "POST", "overrides", { ...OVERRIDE, value: "81.0.0.0/8" });
  await ask("a large body", "POST", "overrides", { ...OVERRIDE, note: "x".repeat(20_000) });
  await ask("an override", "POST", "overrides", OVERRIDE);
  await ask("its opposite", "POST", "overrides", { ...OVERRIDE, verdict: false });
  await ask("no such override", "GET", `overrides/ovr_${"9".repeat(16)}`);
  await ask("no such key", "GET", `keys/key_${"9".repeat(16)}`);
  const { id } = await ask("a key", "POST", "keys", { name: "x" });
  await ask("its end", "DELETE", `keys/${id}`);
  const { token } = await ask("an admin token", "POST", "admin-tokens", { name: "ada", role: "read" });
  const ada = { Authorization: `Bearer ${token}` };
  await ask("a change with a read token", "POST", "keys", { name: "x" }, ada);
  await ask("another author with a named token", "GET", "keys", undefined, {
    ...ada,
    "Inkling-Author": "bob",
  });
  await ask("the same name", "POST", "admin-tokens", { name: "ada", role: "admin" });
  await ask("a name in upper case", "POST", "admin-tokens", { name: "Ada" });
  await ask("no such admin token", "DELETE", "admin-tokens/eve");
  await ask("a change of a revoked key", "PATCH", `keys/${id}`, { name: "y" });
  await ask("no such decision", "GET", `decisions/asm_${"9".repeat(16)}`);
  await ask("no such ruleset", "GET", "rulesets/9");
  await ask("a ruleset with mistakes", "POST", "rulesets", { text: "[rules" });
  await ask("an unknown field", "POST", "overrides", { ...OVERRIDE, flagg: "is_proxy" });
  const ruleset = { text: STARTER_RULESET, note: "x" };
  await ask("a ruleset", "POST", "rulesets", ruleset);
  await ask("a ruleset after another", "POST", "rulesets", {
    ...ruleset,
    text: `${STARTER_RULESET}\n`,
    current: 7,
  });
  await ask("a lookup without a release", "POST", "lookup", { values: ["8.8.8.8"] });
  const broken = await adminServer({
    traffic: {
      get minutes() {
        throw new Error("made for this test");
      },
    },
  });
  await ask("a fault of the server", "GET", "traffic", undefined, {}, broken);
  const away = await adminServer();
  away.store.overrides.list = () => Promise.reject(new StoreError("UNREACHABLE", "unreachable", ""));
  await ask("the database unreachable", "GET", "overrides", undefined, {}, away);
  const filled = await adminServer();
  filled.store.overrides.put = () =>
    Promise.reject(
      new OverrideConflictError("TOO_MANY", ["10,001 overrides would be active; the maximum is 10,000"]),
    );
  await ask("one override too many", "POST", "overrides", OVERRIDE, {}, filled);
  await closeAdminServers();
  return found;
}

/** Returns all refusals, by API. */
export async function refusals(): Promise<Readonly<Record<"API" | "admin API", readonly Refusal[]>>> {
  return { API: await publicRefusals(), "admin API": await adminRefusals() };
}
