// Tests POST /v1/assess as a function of a request, with a handmade release.

import { describe, expect, test } from "bun:test";
import { type DecisionAnswer, NO_FLAGS } from "@inkling/contract";
import { formatIp } from "@inkling/engine";
import type { Decisions, NamedDecision } from "@inkling/store/decisions/record";
import { answerOf, type DecisionRow } from "@inkling/store/decisions/record";
import { NO_RULESET, type PublishedRuleset } from "@inkling/store/rulesets/record";
import { checkResponse } from "../../../../test/harness/checked-fetch.ts";
import {
  encode,
  KEY,
  testRelease,
  testSegment,
  testServices,
} from "../../../../test/harness/thread-services.ts";
import { BatchMemory, Bodies } from "../limits/memory.ts";
import { App } from "./app.ts";

const PLACE = {
  city: {},
  continent: {},
  country: { iso_code: "GB" },
  location: {},
  postal: {},
  registered_country: {},
  subdivisions: [],
};
const TOR = "81.2.69.142";
/** The Authorization header of a key whose quota is used up. */
const USED_UP = "Bearer used-up";
/** A second token of the key "good". */
const ROTATED = "rotated";

function release(missing: readonly "is_abuser"[] = []) {
  const segment = (answer: object) =>
    testSegment({
      lookup: (address) => (formatIp(address) === TOR ? encode(JSON.stringify(answer)) : undefined),
    });
  const tails = [encode("}")];
  return testRelease(
    "20260601T000000000Z-0123456789ab",
    { id: "0123456789ab", missing: [...missing] },
    {
      geo: segment(PLACE),
      reputation: segment({ ...NO_FLAGS, is_tor_exit: true }),
      evidence: { geolocate: tails, reputation: tails, email: tails, network: tails },
    },
  );
}

const ruleset = (number: number, text: string): PublishedRuleset => ({ ...NO_RULESET, number, text });

function setUp({
  text = "",
  missing = [] as readonly "is_abuser"[],
  mode = "live",
  hasRelease = true,
  stores = false,
  bodies = new Bodies(),
} = {}) {
  const rulesets = { current: text === "" ? NO_RULESET : ruleset(7, text) };
  const current = hasRelease ? release(missing) : undefined;
  const made = testServices(
    {
      release: current,
      rulesets,
      authenticate: (header) => ({
        ok: true,
        key:
          header === "Bearer good" || header === `Bearer ${ROTATED}`
            ? KEY
            : { ...KEY, id: "key_2", ...(header === USED_UP && { quota: 0 }) },
      }),
      ...(mode === "test" && {
        authenticate: () => ({ ok: true, key: { ...KEY, mode: "test" } }),
      }),
    },
    (_, counted, count) => `${counted} ${count}`,
  );
  const stored: DecisionRow[] = [];
  const claimed = new Map<string, NamedDecision>();
  const decisions: Decisions = {
    record: (row) => stored.push(row),
    claim: async (row) => {
      const first = claimed.get(row.idempotency) ?? row;
      claimed.set(row.idempotency, first);
      return { answer: answerOf(first), bodyHash: first.body_hash };
    },
    label: async (id) => (stored.some((row) => row.id === id) ? "labelled" : "unknown"),
    recall: async () => undefined,
  };
  const app = new App({
    ...made.services,
    decisions,
    settings: { ...made.services.settings, decisions: stores },
    memory: new BatchMemory(1, bodies),
  });
  const send = async (
    body: unknown,
    query = "",
    type = "application/json",
    headers: Record<string, string> = {},
  ) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const request = new Request(`http://test/v1/assess${query}`, {
      method: "POST",
      headers: {
        Authorization: "Bearer good",
        "Content-Type": type,
        "Content-Length": String(Buffer.byteLength(text)),
        ...headers,
      },
      body: text,
    });
    const response = await app.handle(request, { requestIP: () => ({ address: "10.0.0.1" }) });
    if (type === "application/json")
      await checkResponse("POST", `/v1/assess${query.split("?")[0]}`, response);
    return response;
  };
  const ask = async (body: unknown, query = "") =>
    (await send(body, query)).json() as Promise<DecisionAnswer>;
  return { ...made, rulesets, send, ask, stored, claimed };
}

const SHADOW = `[[rule]]
name = "tor"
when = 'ip.is_tor_exit'
then = "deny"
mode = "shadow"
`;

describe("a visitor", () => {
  test("gets the action of its reasons", async () => {
    const { ask, recorded } = setUp();
    const answer = await ask({ event: "sign_up", ip: TOR, email: "info@mailinator.com" });
    expect(answer).toMatchObject({
      action: "deny",
      score: 0.97,
      rule: null,
      ruleset: 0,
      degraded: ["network"],
    });
    expect(answer.reasons.map(({ code }) => code)).toEqual(["tor_exit", "disposable", "role_account"]);
    expect(answer.id).toMatch(/^asm_[0-9A-Za-z]{16}$/);
    expect(recorded).toEqual(["assess 1"]); // one lookup, not three
  });

  const typed: readonly [email: string, meant: string | undefined][] = [
    ["jane@gmail.con", "jane@gmail.com"],
    ["jane@gmial.com", "jane@gmail.com"],
    ["jane@gmail.com", undefined],
    ["jane@acme.com", undefined],
    ["notanemail", undefined],
  ];
  test.each(typed)("who typed %s probably meant %s, which is not stored", async (email, meant) => {
    const { ask, send, stored } = setUp({ stores: true });
    expect((await ask({ event: "sign_up", ip: TOR, email })).did_you_mean).toBe(meant!);
    const line = await send(JSON.stringify({ event: "sign_up", email }), "", "application/x-ndjson");
    expect((JSON.parse(await line.text()) as DecisionAnswer).did_you_mean).toBe(meant!);
    expect(stored.length).toBe(2);
    expect(JSON.stringify(stored)).not.toContain("jane");
  });

  test("gets what the newest rule decides, from the next request on", async () => {
    const { ask, rulesets } = setUp({ text: SHADOW });
    const before = await ask({ event: "sign_up", ip: TOR });
    expect(before).toMatchObject({
      action: "challenge",
      ruleset: 7,
      rule: null,
      shadow: [{ rule: "tor", action: "deny" }],
    });
    rulesets.current = ruleset(8, SHADOW.replace("shadow", "live"));
    expect(await ask({ event: "sign_up", ip: TOR })).toMatchObject({
      action: "deny",
      ruleset: 8,
      rule: "tor",
      shadow: [],
    });
  });

  test("is counted while a rule reads that", async () => {
    const rule = SHADOW.replace("ip.is_tor_exit", 'count("network", "1h") > 2').replace("shadow", "live");
    const { ask, rulesets } = setUp({ text: rule });
    const actions: string[] = [];
    for (let i = 0; i < 3; i++) actions.push((await ask({ event: "sign_up", ip: "8.8.8.8" })).action);
    expect(actions).toEqual(["allow", "allow", "deny"]);
    const { facts } = await ask({ event: "sign_up", ip: "8.8.8.8" }, "?include=facts");
    expect(facts).toMatchObject({ "count.network_1h": 4, "count.network_24h": 4 });
    rulesets.current = ruleset(8, SHADOW);
    const plain = await ask({ event: "sign_up", ip: "8.8.8.8" }, "?include=facts");
    expect(Object.keys(plain.facts ?? {}).filter((name) => name.startsWith("count."))).toEqual([]);
  });

  test("is not innocent for want of data", async () => {
    const { ask } = setUp({ missing: ["is_abuser"] });
    const answer = await ask({ event: "login", ip: "8.8.8.8" });
    expect(answer).toMatchObject({ action: "challenge", score: 0, degraded: ["is_abuser", "network"] });
  });

  test("is explained when that is asked for", async () => {
    const { ask } = setUp({ text: `[facts]\nplan = "text"\n` });
    const visitor = { event: "login", ip: TOR, email: "a@gmail.com", facts: { plan: "free" } };
    const plain = await ask(visitor);
    expect(Object.keys(plain)).not.toContain("facts");
    const { facts, ip, email } = await ask(visitor, "?include=facts,evidence");
    expect(facts).toMatchObject({ "facts.plan": "free", "ip.country": "GB", "email.domain": "gmail.com" });
    expect(ip).toMatchObject({ geolocate: PLACE, reputation: { is_tor_exit: true, evidence: [] } });
    expect(email).toMatchObject({ valid: true, evidence: [] });
  });
});

describe("what is refused, and not charged", () => {
  const rows: [string, unknown, number, string, RegExp][] = [
    ["no JSON", "{", 400, "BODY_INVALID", /Send a JSON object/],
    ["another JSON value", [], 400, "BODY_INVALID", /body/],
    ["no event", { ip: TOR }, 400, "BODY_INVALID", /^event: is required\.$/],
    ["nobody", { event: "login" }, 400, "BODY_INVALID", /ip or email is required/],
    [
      "a misspelt field",
      { event: "x", ip: TOR, emial: "" },
      400,
      "BODY_INVALID",
      /"emial", did you mean "email"\?$/,
    ],
    [
      "an address as a name",
      { event: "x", ip: TOR, "a@b.de": 1 },
      400,
      "BODY_INVALID",
      /with an invalid name/,
    ],
    [
      "an undeclared fact",
      { event: "x", ip: TOR, facts: { a: 1 } },
      400,
      "BODY_INVALID",
      /declares no fact "a"/,
    ],
    ["no address", { event: "x", ip: "81.2.69" }, 400, "IP_ADDRESS_INVALID", /dotted quad/],
    ["a private address", { event: "x", ip: "10.0.0.1" }, 400, "IP_ADDRESS_RESERVED", /private address/],
    [
      "a sandbox address",
      { event: "x", ip: "192.0.2.1" },
      400,
      "IP_ADDRESS_RESERVED",
      /a key that begins with `ink_test_`/,
    ],
    ["too much", { event: "x", user_agent: "a".repeat(70_000) }, 413, "CONTENT_TOO_LARGE", /64 KiB/],
    ["a deep value", `{"event":${"[".repeat(30_000)}`, 400, "BODY_INVALID", /JSON/],
  ];
  test.each(rows)("%s", async (_, body, status, code, detail) => {
    const { send, recorded } = setUp();
    const response = await send(body);
    const problem = (await response.json()) as { code: string; detail: string };
    expect([response.status, problem.code]).toEqual([status, code]);
    expect(problem.detail).toMatch(detail);
    expect(recorded).toEqual([]);
  });

  test("a body whose gzip is damaged, of a visitor or an outcome", async () => {
    const { send } = setUp({ stores: true });
    for (const path of ["", `/asm_${"9".repeat(16)}/outcome`]) {
      const response = await send("no gzip", path, "application/json", { "Content-Encoding": "gzip" });
      expect(await response.json()).toMatchObject({
        code: "BODY_INVALID",
        detail: expect.stringContaining("gzip"),
      });
    }
  });

  test("another type of content", async () => {
    expect((await setUp().send("event=x", "", "application/x-www-form-urlencoded")).status).toBe(415);
  });

  test("anything while there is no release", async () => {
    const response = await setUp({ hasRelease: false }).send({ event: "x", ip: TOR });
    expect(response.status).toBe(503);
  });
});

test("many visitors are answered line by line", async () => {
  const { send, recorded, batched } = setUp();
  const lines = [{ event: "login", ip: TOR }, "nothing", { event: "login", email: "a@mailinator.com" }];
  const body = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  const response = await send(body, "", "application/x-ndjson");
  const answers = (await response.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(answers.map(({ action, code }) => action ?? code)).toEqual(["challenge", "BODY_INVALID", "deny"]);
  expect([recorded, batched]).toEqual([
    ["assess 1", "assess 1"], // the last line ends with the body, after the lines before it were answered
    ["assess_batch 1", "assess_batch 1"],
  ]);
});

describe("a server that stores decisions", () => {
  const VISITOR = { event: "login", ip: TOR, user_agent: "A browser" };
  const named = (name: string) => ["", "application/json", { "Idempotency-Key": name }] as const;

  test("stores what each line and each visitor got, and what is refused not at all", async () => {
    const { send, ask, stored } = setUp({ stores: true });
    const answer = await ask({ ...VISITOR, ref: "user-81" });
    await send({ ip: TOR });
    const lines = await send(`${JSON.stringify(VISITOR)}\n{}\n`, "", "application/x-ndjson");
    const ids = (await lines.text()).split("\n").filter((line) => line.includes("asm_"));
    expect(stored.map(({ id, ref }) => [id, ref])).toEqual([
      [answer.id, "user-81"],
      [JSON.parse(ids[0]!).id, null],
    ]);
    await setUp().ask(VISITOR); // storing a decision would fail here
  });

  test.each([
    ["keeps", "live", "size(user_agent) == 0.0"],
    ["keeps", "shadow", "size(user_agent) == 0.0"],
    ["drops", "off", "size(user_agent) == 0.0"],
    ["drops", "live", "ip.is_proxy"],
  ])("%s the user agent with a rule in mode %s: %s", async (what, mode, when) => {
    const text = `[[rule]]\nname = "agent"\nwhen = '${when}'\nthen = "deny"\nmode = "${mode}"\n`;
    const { ask, stored } = setUp({ stores: true, text });
    await ask(VISITOR);
    expect(JSON.parse(stored[0]!.facts).user_agent).toBe(what === "keeps" ? "A browser" : undefined);
  });

  test("recognizes a repeated request by its API key and Idempotency-Key, but not in a stream", async () => {
    const { send, stored, claimed } = setUp({ stores: true });
    for (const name of ["a", "a", "b"]) await send(VISITOR, ...named(name));
    await send(VISITOR, "", "application/json", { "Idempotency-Key": "a", Authorization: "Bearer other" });
    expect([stored.length, claimed.size]).toEqual([0, 3]);
    // a hash without a key would let readers of the database find the visitor's address by trying all of its network
    const hashes = [...claimed.values()].map((row) => row.body_hash);
    expect(new Set(hashes).size).toBe(2);
    expect(hashes).not.toContain(
      new Bun.CryptoHasher("sha256").update(JSON.stringify(VISITOR)).digest("base64url"),
    );
    const [type, code] = ["application/x-ndjson", "IDEMPOTENCY_KEY_INVALID"];
    expect(await (await send(VISITOR, "", type, { "Idempotency-Key": "a" })).json()).toMatchObject({ code });
  });

  test("recognizes a retry with a new token of the same key, and stores the key", async () => {
    const { send, claimed } = setUp({ stores: true });
    const retry = async (token: string, body: object) => {
      const headers = { "Idempotency-Key": "a", Authorization: `Bearer ${token}` };
      return (await send(body, "", "application/json", headers)).json() as Promise<Record<string, unknown>>;
    };
    const first = await retry("good", VISITOR);
    expect((await retry(ROTATED, VISITOR)).id).toBe(first.id!);
    expect((await retry("good", { ...VISITOR, ref: "x" })).code).toBe("IDEMPOTENCY_KEY_INVALID");
    expect([...claimed.values()].map(({ key_id }) => key_id)).toEqual([KEY.id]);
  });

  test("stores the caller's facts up to a size, and Inkling's own always", async () => {
    const text = `[facts]\n${Array.from({ length: 32 }, (_, n) => `f${n} = "list"`).join("\n")}\n`;
    const { ask, stored } = setUp({ stores: true, text });
    const large = Array.from({ length: 7 }, () => "y".repeat(250));
    const facts = Object.fromEntries(
      Array.from({ length: 32 }, (_, n) => [`f${n}`, n === 0 ? ["small"] : large]),
    );
    await ask({ ...VISITOR, facts });
    const [row] = stored;
    expect(row!.facts.length).toBeLessThanOrEqual(8_192);
    expect(JSON.parse(row!.facts)).toMatchObject({ "facts.f0": ["small"], "ip.is_tor_exit": true });
  });

  test("labels a decision, and says what is wrong with an outcome", async () => {
    const { ask, send } = setUp({ stores: true });
    const { id } = await ask(VISITOR);
    const rows: readonly (readonly [string, unknown, unknown])[] = [
      [id, { outcome: "fraud" }, { id, outcome: "fraud" }],
      [`asm_${"9".repeat(16)}`, { outcome: "fraud" }, { code: "DECISION_NOT_FOUND" }],
      ["asm_1", { outcome: "fraud" }, { code: "DECISION_NOT_FOUND" }],
      [id, { outcome: "abuse" }, { code: "BODY_INVALID" }],
      [id, { outcome: "fraud", note: "x" }, { code: "BODY_INVALID" }],
      [id, "{", { code: "BODY_INVALID" }],
    ];
    for (const [of, body, want] of rows) {
      const answer = await (await send(body, `/${of}/outcome`)).json();
      expect([of, answer]).toEqual([
        of,
        "code" in (want as object) ? expect.objectContaining(want as object) : want,
      ]);
    }
    const stream = await send({ outcome: "fraud" }, `/${id}/outcome`, "application/x-ndjson");
    expect(stream.status).toBe(415);
  });

  test("labels a decision even if the key's quota is used up, because that is no lookup", async () => {
    const { ask, send } = setUp({ stores: true });
    const { id } = await ask(VISITOR);
    const headers = { Authorization: USED_UP };
    expect((await send(VISITOR, "", "application/json", headers)).status).toBe(429);
    expect((await send({ outcome: "fraud" }, `/${id}/outcome`, "application/json", headers)).status).toBe(
      200,
    );
  });

  test("stores nothing of the sandbox, which labels its own decision only", async () => {
    const { ask, send, stored, claimed } = setUp({ stores: true, mode: "test" });
    const sandbox = { event: "sign_up", ip: "192.0.2.4" };
    const { id } = await ask(sandbox);
    await send(sandbox, ...named("a"));
    expect([stored.length, claimed.size]).toEqual([0, 0]);
    const label = async (of: string) => (await send({ outcome: "fraud" }, `/${of}/outcome`)).json();
    expect(await label(id)).toEqual({ id, outcome: "fraud" });
    expect(await label(`asm_${"9".repeat(16)}`)).toMatchObject({ code: "DECISION_NOT_FOUND" });
  });
});

describe("the sandbox", () => {
  const rows: [string, object, object][] = [
    ["allows", { ip: "192.0.2.1", email: "jane@example.com" }, { action: "allow" }],
    ["challenges", { ip: "192.0.2.4" }, { action: "challenge" }],
    ["denies", { email: "jane@disposable.example" }, { action: "deny" }],
    ["has every problem", { ip: "203.0.113.14" }, { code: "RATE_LIMITED" }],
    ["names its own scope", { ip: "203.0.113.8" }, { code: "SCOPE_REQUIRED", detail: /"assess"/ }],
    ["refuses what is real", { ip: TOR }, { code: "SANDBOX_VALUE_REQUIRED" }],
  ];
  test.each(rows)("%s", async (_, visitor, want) => {
    const { ask } = setUp({ mode: "test", text: SHADOW.replace("shadow", "live") });
    const { detail, ...fields } = want as { detail?: RegExp };
    const answer = await ask({ event: "sign_up", ...visitor });
    expect(answer).toMatchObject(fields);
    if (detail !== undefined) expect((answer as unknown as { detail: string }).detail).toMatch(detail);
    if ("action" in want) expect(answer).toMatchObject({ ruleset: 0, id: "asm_0000000000000000" });
  });
});

test("while too many bodies arrive, a visitor is not assessed", async () => {
  const { send } = setUp({ bodies: new Bodies({ all: 10, alone: 10 }) });
  const response = await send({ event: "login", ip: TOR });
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
    429,
    "RATE_LIMITED",
  ]);
});

test("the caller's request id and trace are in the answer, the access line and the stored decision", async () => {
  const trace = "0af7651916cd43dd8448eb211c80319c";
  const traceparent = `00-${trace}-b7ad6b7169203331-01`;
  const { send, stored, lines, services } = setUp({ stores: true });
  const sent = { "X-Request-Id": "order-81", traceparent };
  const response = await send({ event: "login", ip: TOR }, "", "application/json", sent);
  expect([response.headers.get("x-request-id"), response.headers.get("traceparent")]).toEqual([
    "order-81",
    traceparent,
  ]);
  services.log.flush();
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ level: "access", request_id: "order-81", trace_id: trace }),
  );
  expect(stored).toMatchObject([{ request_id: "order-81", trace_id: trace }]);
  const stream = await send('{"event":"login","ip":"81.2.69.142"}\n', "", "application/x-ndjson", sent);
  await stream.text();
  expect(stored[1]).toMatchObject({ request_id: "order-81", trace_id: trace });
  const own = await send({ event: "login", ip: TOR });
  expect(own.headers.get("traceparent")).toBeNull();
  expect(stored[2]).toMatchObject({ request_id: own.headers.get("x-request-id"), trace_id: null });
});
