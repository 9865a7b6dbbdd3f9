// decisions.test.ts: tests stored decisions as users see them: several workers, two hosts, a worker that throws, an
// unreachable database.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import type { DecisionAnswer } from "@inkling/contract";
import { decisionJson } from "../packages/store/src/decisions/record.ts";
import { parseNewKey } from "../packages/store/src/keys/key-input.ts";
import { openStore, type Store } from "../packages/store/src/store.ts";
import { Postgres } from "./harness/postgres.ts";
import { SMALL_NETWORK, temporaryFolder } from "./harness/release.ts";
import { ServerProgram } from "./harness/server-program.ts";
import { onSignal } from "./harness/thread-faults.ts";
import { until } from "./harness/until.ts";

const ADDRESS = SMALL_NETWORK.replace("0/24", "142");
const VISITOR = { event: "sign_up", ip: ADDRESS, email: "Jane.Doe@Example.com", user_agent: "A browser" };
const UNKNOWN_ID = `asm_${"9".repeat(16)}`;

/** A host with its own data folder and a server process that stores decisions. */
class Host extends ServerProgram {
  ask(path: string, body: unknown, headers?: Record<string, string>): Promise<Response> {
    return this.post(`/v1/assess${path}`, body, headers);
  }

  async assess(body: object = VISITOR, headers: Record<string, string> = {}): Promise<DecisionAnswer> {
    const response = await this.ask("", body, headers);
    expect(response.status).toBe(200);
    return response.json() as Promise<DecisionAnswer>;
  }

  /** @returns a problem's code, or the id's match and the outcome */
  async label(id: string, outcome: string): Promise<string> {
    const answer = (await (await this.ask(`/${id}/outcome`, { outcome })).json()) as Record<string, string>;
    return answer.code ?? `${answer.id === id} ${answer.outcome}`;
  }

  decisions(outcome: string): Promise<number> {
    return this.metric("inkling_decisions_total", `outcome="${outcome}"`);
  }
}

const hosts: Host[] = [];
const stores: Store[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.kill()));
  await Promise.all(stores.splice(0).map((store) => store.close()));
});

async function setUp(databaseUrl: string, count = 1, settings: Record<string, string> = {}) {
  const store = await openStore(databaseUrl);
  stores.push(store);
  const { token } = await store.createKey(parseNewKey({ name: "shop" }, Date.now()));
  const started = await Promise.all(
    Array.from({ length: count }, () => {
      const env = { INKLING_DATABASE_URL: databaseUrl, INKLING_DECISIONS: "true", ...settings };
      const host = new Host({ token, env });
      hosts.push(host);
      return host.ready();
    }),
  );
  const stored = async () => (await store.decisions.list({ limit: 1_000 })).items;
  return { store, hosts: started, host: started[0]!, stored };
}

const sqlite = () => `sqlite://${join(temporaryFolder(), "inkling.db")}`;

describe("several workers on SQLite", () => {
  test("a decision is stored without the visitor's address, mailbox and user agent", async () => {
    const { host, stored } = await setUp(sqlite());
    const answer = await host.assess({ ...VISITOR, ref: "user-81" });
    await until(async () => (await stored()).length === 1);
    const decision = decisionJson((await stored())[0]!);
    expect(decision).toMatchObject({
      id: answer.id,
      event: "sign_up",
      ref: "user-81",
      action: answer.action,
      score: answer.score,
      reasons: [...answer.reasons],
      data_version: answer.data_version,
      outcome: null,
    });
    expect(decision.facts).toMatchObject({ "ip.network": SMALL_NETWORK, "email.domain": "example.com" });
    const text = JSON.stringify(decision).toLowerCase();
    for (const secret of [ADDRESS, "jane", "browser"]) expect(text).not.toContain(secret);
  });

  test("an outcome comes right after its decision, whichever worker gets it; the last one counts", async () => {
    const { host, store } = await setUp(sqlite());
    for (let n = 0; n < 10; n++) {
      const { id } = await host.assess();
      expect(await host.label(id, "fraud")).toBe("true fraud");
      expect(await host.label(id, "legitimate")).toBe("true legitimate");
      expect((await store.decisions.find(id))!.outcome).toBe("legitimate");
    }
    expect(await host.label(UNKNOWN_ID, "fraud")).toBe("DECISION_NOT_FOUND");
    expect(await host.label("asm_1", "fraud")).toBe("DECISION_NOT_FOUND");
    expect(await host.label(UNKNOWN_ID, "abuse")).toBe("BODY_INVALID");
  });

  test("a request that is repeated with its Idempotency-Key gets the same decision", async () => {
    const { host, stored } = await setUp(sqlite());
    const key = { "Idempotency-Key": "sign-up-81" };
    const answers = await Promise.all(Array.from({ length: 20 }, () => host.assess(VISITOR, key)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect((await stored()).map(({ id }) => id)).toEqual([answers[0]!.id]);
    const withFacts = await host.ask("?include=facts", VISITOR, key);
    expect(await withFacts.json()).toEqual({
      ...answers[0]!,
      facts: expect.objectContaining({ event: "sign_up" }),
    });
    expect((await host.assess(VISITOR, { "Idempotency-Key": "sign-up-82" })).id).not.toBe(answers[0]!.id);
    for (const [body, header] of [
      [{ ...VISITOR, event: "login" }, "sign-up-81"],
      [VISITOR, "two words"],
    ] as const) {
      const refused = await host.ask("", body, { "Idempotency-Key": header });
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
        400,
        "IDEMPOTENCY_KEY_INVALID",
      ]);
    }
  });

  test("neither a worker that throws nor a stop loses a decision", async () => {
    const { host, store } = await setUp(sqlite(), 1, onSignal({ workersBelow: 1 }, "throw new Error()"));
    const counts = { answered: 0 };
    const end = new AbortController();
    const client = async () => {
      while (!end.signal.aborted) {
        const response = await host.ask("", VISITOR).catch(() => undefined);
        if (response?.status === 200) counts.answered++;
      }
    };
    const clients = Array.from({ length: 8 }, client);
    await until(() => counts.answered > 200);
    host.child.kill("SIGUSR2");
    await until(() => host.err.includes('"event":"worker-died"'));
    const before = counts.answered;
    await until(() => counts.answered > before + 200);
    end.abort();
    await Promise.all(clients);
    await until(async () => (await host.decisions("stored")) >= counts.answered);
    const stored = await host.decisions("stored");
    // A request whose worker threw may have been decided but not answered.
    expect(stored - counts.answered).toBeLessThanOrEqual(8);
    for (let n = 0; n < 50; n++) await host.assess();
    await host.stop();
    const days = await store.decisions.count();
    expect(days.reduce((sum, { count }) => sum + count, 0)).toBe(stored + 50);
  });

  test("while the database is unreachable, actions are as before, and decisions wait", async () => {
    const url = sqlite();
    const file = url.slice("sqlite://".length);
    const { host, store } = await setUp(url);
    const { id } = await host.assess();
    expect(await host.label(id, "fraud")).toBe("true fraud");
    await store.close();
    for (const end of ["", "-wal", "-shm"]) renameSync(`${file}${end}`, `${file}.away${end}`);
    const { action } = await host.assess();
    await until(() => host.err.includes('"event":"decisions-not-stored"'));
    const named = await host.assess(VISITOR, { "Idempotency-Key": "away" });
    expect([named.action, (await host.assess(VISITOR, { "Idempotency-Key": "away" })).id]).toEqual([
      action,
      named.id,
    ]);
    expect(await host.label(id, "legitimate")).toBe("DECISIONS_UNREACHABLE");
    for (const end of ["", "-wal", "-shm"]) renameSync(`${file}.away${end}`, `${file}${end}`);
    await until(async () => (await host.decisions("stored")) === 3);
    expect(await host.label(named.id, "legitimate")).toBe("true legitimate");
  });

  test("a server that stores none ignores Idempotency-Key, and says so to outcomes", async () => {
    const { host } = await setUp(sqlite(), 1, { INKLING_DECISIONS: "false", INKLING_WORKERS: "1" });
    const key = { "Idempotency-Key": "sign-up-81" };
    const [first, second] = [await host.assess(VISITOR, key), await host.assess(VISITOR, key)];
    expect(first.id).not.toBe(second.id);
    expect(await host.label(first.id, "fraud")).toBe("DECISION_NOT_FOUND");
    expect(await host.decisions("stored")).toBe(0);
  });
});

describe("two hosts on PostgreSQL", () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await Postgres.create();
  }, 60_000);
  afterAll(() => postgres?.close());

  test("share decisions: outcomes and repeated requests may reach either", async () => {
    const { hosts, stored } = await setUp(await postgres.freshDatabase(), 2, { INKLING_WORKERS: "1" });
    const [a, b] = hosts as [Host, Host];
    const { id } = await a.assess();
    expect(await b.label(id, "fraud")).toBe("true fraud");
    const key = { "Idempotency-Key": "sign-up-81" };
    const first = await a.assess(VISITOR, key);
    await until(async () => (await stored()).length === 2); // a request waits at most half a second for that
    const answers = await Promise.all([b, a, b].map((host) => host.assess(VISITOR, key)));
    expect(answers.map((answer) => answer.id)).toEqual([first.id, first.id, first.id]);
    expect(await stored()).toHaveLength(2);
  });
});
