// Tests the hook as Supabase calls it, with bodies from its documentation and signatures of Standard Webhooks.

import { describe, expect, test } from "bun:test";
import { NO_FLAGS } from "@inkling/contract";
import { formatIp } from "@inkling/engine";
import type { Decisions, NamedDecision } from "@inkling/store/decisions/record";
import { answerOf, type DecisionRow } from "@inkling/store/decisions/record";
import { Webhook } from "standardwebhooks";
import { checkResponse } from "../../../../test/harness/checked-fetch.ts";
import { testSettings } from "../../../../test/harness/server-options.ts";
import {
  encode,
  NOON,
  testRelease,
  testSegment,
  testServices,
} from "../../../../test/harness/thread-services.ts";
import { BatchMemory, Bodies } from "../limits/memory.ts";
import { App } from "./app.ts";

const SECRET = Buffer.from("a secret of thirty-two bytes, ok").toString("base64");
const OTHER = Buffer.from("another one of thirty-two bytes!").toString("base64");
const TOR = "81.2.69.142";

function release() {
  const reputation = testSegment({
    lookup: (address) =>
      formatIp(address) === TOR ? encode(JSON.stringify({ ...NO_FLAGS, is_tor_exit: true })) : undefined,
  });
  const tails = [encode("}")];
  return testRelease(
    "20260601T000000000Z-0123456789ab",
    { id: "0123456789ab" },
    {
      geo: testSegment(),
      reputation,
      evidence: { geolocate: tails, reputation: tails, email: tails, network: tails },
    },
  );
}

function setUp({
  secrets = [SECRET] as readonly string[],
  hasRelease = true,
  bodies = undefined as Bodies | undefined,
} = {}) {
  const stored: DecisionRow[] = [];
  const made = testServices(
    {
      settings: testSettings({ decisions: true, supabaseHookSecret: secrets }),
      decisions: {
        claim: async (row: NamedDecision) => {
          const before = stored.find(({ idempotency }) => idempotency === row.idempotency);
          if (before === undefined) stored.push(row);
          const { body_hash } = before ?? row;
          return { answer: answerOf(before ?? row), bodyHash: body_hash! };
        },
      } as unknown as Decisions,
      ...(bodies && { memory: new BatchMemory(1, bodies) }),
      release: hasRelease ? release() : undefined,
    },
    (_, counted) => counted,
  );
  return { ...made, stored, app: new App(made.services) };
}

interface Sent {
  readonly body: unknown;
  readonly secret?: string;
  readonly secondsOff?: number;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

async function send(app: App, { body, secret = SECRET, secondsOff = 0, headers = {} }: Sent) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const timestamp = String(Math.floor(NOON / 1000) + secondsOff);
  const signature = new Webhook(secret).sign("msg_1", new Date(Number(timestamp) * 1_000), text);
  const all = {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(text)),
    "webhook-id": "msg_1",
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1a,bm90IG91cnM= ${signature}`,
    ...headers,
  };
  const sent = Object.entries(all).filter((row): row is [string, string] => row[1] !== undefined);
  const request = new Request("http://test/v1/hooks/supabase", { method: "POST", headers: sent, body: text });
  const response = await app.handle(request, { requestIP: () => ({ address: "10.0.0.1" }) });
  await checkResponse("POST", "/v1/hooks/supabase", response);
  return response;
}

const hook = (ip: string | undefined, email: string | undefined) => ({
  metadata: {
    uuid: "8b34dcdd-9df1-4c10-850a-b3277c653040",
    time: "2025-04-29T13:13:24.755552-07:00",
    name: "before-user-created",
    ip_address: ip,
  },
  user: {
    id: "ff7fc9ae-3b1b-4642-9241-64adb9848a03",
    aud: "authenticated",
    email,
    phone: "",
    identities: [],
  },
});

describe("a user", () => {
  const rows: [string, string | undefined, string | undefined, string | null][] = [
    ["is created", "8.8.8.8", "jane@gmail.com", "allow"],
    ["of a Tor exit is challenged, and created", TOR, "jane@gmail.com", "challenge"],
    ["with a disposable address is not", "8.8.8.8", "jane@mailinator.com", "deny"],
    ["of this machine is judged by the email address", "127.0.0.1", "jane@mailinator.com", "deny"],
    ["whose address cannot be read, too", "unknown", "jane@mailinator.com", "deny"],
    ["without an address, too", undefined, "jane@mailinator.com", "deny"],
    ["who signs up by telephone is judged by the address", TOR, "", "challenge"],
    ["of this machine who signs up by telephone has nothing to judge", "127.0.0.1", "", null],
    ["of whom nothing is known, too", "", undefined, null],
  ];
  test.each(rows)("%s", async (_, ip, email, action) => {
    const { app, recorded } = setUp();
    const response = await send(app, { body: hook(ip, email) });
    expect(response.status).toBe(200);
    const answer = (await response.json()) as { error?: { message: string; http_code: number } };
    expect(response.headers.get("Inkling-Action")).toBe(action);
    if (action === "deny")
      expect(answer).toEqual({ error: { message: expect.stringMatching(/account/), http_code: 403 } });
    else expect(answer).toEqual({});
    expect(recorded).toEqual([]); // no key is charged
  });

  test.each([
    ["jane@gmail.con", "Did you mean jane@gmail.com?"],
    ["notanemail", "Please check the email address."],
  ])("who typed %s reads what to correct", async (email, message) => {
    const response = await send(setUp().app, { body: hook("8.8.8.8", email) });
    expect(await response.json()).toEqual({ error: { message, http_code: 422 } });
    expect(response.headers.get("Inkling-Action")).toBe("deny");
  });

  test("leaves a decision, under the user's id and the id in the response", async () => {
    const { app, stored } = setUp();
    const response = await send(app, { body: hook(TOR, "jane@gmail.com") });
    expect(stored).toMatchObject([
      {
        id: response.headers.get("Inkling-Decision"),
        event: "sign_up",
        ref: "ff7fc9ae-3b1b-4642-9241-64adb9848a03",
        action: "challenge",
      },
    ]);
  });

  test("is counted as one lookup", async () => {
    const { app, counts } = setUp();
    await send(app, { body: hook("8.8.8.8", "jane@gmail.com") });
    expect([...counts.lookupRows()]).toEqual([
      { lookup: "assess", audience: "live", kind: "single", count: 1 },
    ]);
  });
});

test("both secrets of a rotation are taken", async () => {
  const { app } = setUp({ secrets: [OTHER, SECRET] });
  for (const secret of [SECRET, OTHER])
    expect((await send(app, { body: hook("8.8.8.8", "a@gmail.com"), secret })).status).toBe(200);
});

describe("what Supabase has not signed is refused", () => {
  const body = hook("8.8.8.8", "jane@gmail.com");
  const rows: [string, Sent, number, string][] = [
    ["another secret", { body, secret: OTHER }, 401, "SIGNATURE_INVALID"],
    ["no signature", { body, headers: { "webhook-signature": undefined } }, 401, "SIGNATURE_INVALID"],
    ["no id", { body, headers: { "webhook-id": undefined } }, 401, "SIGNATURE_INVALID"],
    ["another id", { body, headers: { "webhook-id": "msg_2" } }, 401, "SIGNATURE_INVALID"],
    ["a time that is none", { body, headers: { "webhook-timestamp": "now" } }, 401, "SIGNATURE_INVALID"],
    ["an empty signature", { body, headers: { "webhook-signature": "v1," } }, 401, "SIGNATURE_INVALID"],
    ["a copy of yesterday", { body, secondsOff: -301 }, 401, "SIGNATURE_INVALID"],
    ["a copy of tomorrow", { body, secondsOff: 301 }, 401, "SIGNATURE_INVALID"],
    ["a body without an end", { body, headers: { "Content-Length": undefined } }, 413, "CONTENT_TOO_LARGE"],
    ["a long body", { body: "a".repeat(65_537) }, 413, "CONTENT_TOO_LARGE"],
    ["no JSON", { body: "{" }, 400, "BODY_INVALID"],
    ["another hook", { body: { ...body, metadata: { name: "send-email" } } }, 400, "BODY_INVALID"],
    ["a deep value", { body: "[".repeat(60_000) }, 400, "BODY_INVALID"],
  ];
  test.each(rows)("%s", async (_, sent, status, code) => {
    const response = await send(setUp().app, sent);
    const problem = (await response.json()) as { code: string };
    expect([response.status, problem.code]).toEqual([status, code]);
  });

  test("everything, while there is no secret", async () => {
    const response = await send(setUp({ secrets: [] }).app, { body });
    expect(response.status).toBe(404);
    expect(((await response.json()) as { detail: string }).detail).toContain("INKLING_SUPABASE_HOOK_SECRET");
  });

  test("a good one, while there is no release", async () => {
    expect((await send(setUp({ hasRelease: false }).app, { body })).status).toBe(503);
  });

  test("everything, while too many bodies arrive", async () => {
    const { app } = setUp({ bodies: new Bodies({ all: 100, alone: 100 }) });
    const response = await send(app, { body, secret: OTHER });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
      429,
      "RATE_LIMITED",
    ]);
  });
});

describe("a copy of a signed request", () => {
  const sent: Sent = { body: hook(TOR, "jane@gmail.com"), headers: { "webhook-id": "msg_1" } };

  test("gets the decision about the first one, which is stored once", async () => {
    const { app, stored } = setUp();
    const ids = new Set<string | null>();
    for (let i = 0; i < 40; i++) ids.add((await send(app, sent)).headers.get("Inkling-Decision"));
    expect(ids.size).toBe(1);
    expect(stored).toHaveLength(1);
  });

  test("with a different body is refused", async () => {
    const { app, stored } = setUp();
    await send(app, sent);
    const response = await send(app, { ...sent, body: hook("8.8.8.8", "joe@gmail.com") });
    expect(response.status).toBe(401);
    expect(((await response.json()) as { detail: string }).detail).toContain("webhook-id");
    expect(stored).toHaveLength(1);
  });
});
