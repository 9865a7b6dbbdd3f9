// decisions.test.ts: stored decisions as their users meet them: several workers, two hosts, a killed worker, a database that
// goes away.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import type { AssessmentAnswer } from "@inkling/contract";
import { decisionJson } from "../packages/server/src/decisions/record.ts";
import { parseNewKey } from "../packages/server/src/keys/key-input.ts";
import { openStore, type Store } from "../packages/server/src/store/store.ts";
import { fetch } from "./harness/checked-fetch.ts";
import { childrenOf } from "./harness/main-process.ts";
import { Postgres } from "./harness/postgres.ts";
import { SMALL_NETWORK, smallRelease, temporaryFolder } from "./harness/release.ts";
import type { Ports } from "./harness/server-process.ts";
import { until } from "./harness/until.ts";

const ADDRESS = SMALL_NETWORK.replace("0/24", "142");
const VISITOR = { event: "sign_up", ip: ADDRESS, email: "Jane.Doe@Example.com", user_agent: "A browser" };
const UNKNOWN_ID = `asm_${"9".repeat(16)}`;

/** A host of its own: a data folder and a server process. */
class Host {
  private readonly child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  private readonly token: string;
  ports: Ports = { port: 0, adminPort: 0 };
  log = "";

  constructor(databaseUrl: string, token: string, options: Record<string, unknown> = {}) {
    this.token = token;
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 1);
    const given = { dataDir, databaseUrl, workers: 2, logLevel: "info", decisions: true, ...options };
    this.child = Bun.spawn(
      [process.execPath, join(import.meta.dir, "harness/server-process.ts"), JSON.stringify(given)],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    void this.readLog();
  }

  async start(): Promise<this> {
    const { value } = await this.child.stdout.getReader().read();
    if (value === undefined) throw new Error(`it did not start: ${this.log}`);
    this.ports = JSON.parse(new TextDecoder().decode(value));
    return this;
  }

  get workers(): number[] {
    return childrenOf(this.child.pid);
  }

  /** On a connection of its own: any worker may get it. */
  send(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.ports.port}/v1/assess${path}`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${this.token}`,
        "Content-Type": "application/json",
        Connection: "close",
        ...headers,
      },
      body: JSON.stringify(body),
      keepalive: false,
    });
  }

  async assess(body: object = VISITOR, headers: Record<string, string> = {}): Promise<AssessmentAnswer> {
    const response = await this.send("", body, headers);
    expect(response.status).toBe(200);
    return response.json() as Promise<AssessmentAnswer>;
  }

  /** @returns the code of a problem, or the outcome */
  async label(id: string, outcome: string): Promise<string> {
    const answer = (await (await this.send(`/${id}/outcome`, { outcome })).json()) as Record<string, string>;
    return answer.code ?? `${answer.id === id} ${answer.outcome}`;
  }

  async metric(outcome: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.ports.adminPort}/metrics`)).text();
    return Number(new RegExp(`inkling_decisions_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1]);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGTERM");
    await this.child.exited;
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }

  private async readLog(): Promise<void> {
    for await (const chunk of this.child.stderr) this.log += new TextDecoder().decode(chunk);
  }
}

const hosts: Host[] = [];
const stores: Store[] = [];

afterEach(async () => {
  for (const host of hosts.splice(0)) host.kill();
  await Promise.all(stores.splice(0).map((store) => store.close()));
});

async function setUp(databaseUrl: string, count = 1, options: Record<string, unknown> = {}) {
  const store = await openStore(databaseUrl);
  stores.push(store);
  const { token } = await store.createKey(parseNewKey({ name: "shop" }, Date.now()));
  const started = await Promise.all(
    Array.from({ length: count }, () => {
      const host = new Host(databaseUrl, token, options);
      hosts.push(host);
      return host.start();
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
      expect(await host.label(id, "abuse")).toBe("true abuse");
      expect(await host.label(id, "legitimate")).toBe("true legitimate");
      expect((await store.decisions.find(id))!.outcome).toBe("legitimate");
    }
    expect(await host.label(UNKNOWN_ID, "abuse")).toBe("DECISION_NOT_FOUND");
    expect(await host.label("asm_1", "abuse")).toBe("DECISION_NOT_FOUND");
    expect(await host.label(UNKNOWN_ID, "fraud")).toBe("BODY_INVALID");
  });

  test("a request that is repeated with its Idempotency-Key gets the same decision", async () => {
    const { host, stored } = await setUp(sqlite());
    const key = { "Idempotency-Key": "sign-up-81" };
    const answers = await Promise.all(Array.from({ length: 20 }, () => host.assess(VISITOR, key)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect((await stored()).map(({ id }) => id)).toEqual([answers[0]!.id]);
    const withFacts = await host.send("?include=facts", VISITOR, key);
    expect(await withFacts.json()).toEqual({
      ...answers[0]!,
      facts: expect.objectContaining({ event: "sign_up" }),
    });
    expect((await host.assess(VISITOR, { "Idempotency-Key": "sign-up-82" })).id).not.toBe(answers[0]!.id);
    for (const [body, header] of [
      [{ ...VISITOR, event: "login" }, "sign-up-81"],
      [VISITOR, "two words"],
    ] as const) {
      const refused = await host.send("", body, { "Idempotency-Key": header });
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
        400,
        "IDEMPOTENCY_KEY_INVALID",
      ]);
    }
  });

  test("a killed worker loses what it has not handed over, and that is counted; a stop loses nothing", async () => {
    const { host, store } = await setUp(sqlite());
    const counts = { answered: 0 };
    const end = new AbortController();
    const client = async () => {
      while (!end.signal.aborted) {
        const response = await host.send("", VISITOR).catch(() => undefined);
        if (response?.status === 200) counts.answered++;
      }
    };
    const clients = Array.from({ length: 8 }, client);
    await until(() => counts.answered > 200);
    process.kill(host.workers[0]!, "SIGKILL");
    await until(() => host.log.includes('"event":"worker-died"'));
    const before = counts.answered;
    await until(() => counts.answered > before + 200);
    end.abort();
    await Promise.all(clients);
    const total = async () =>
      (await Promise.all(["stored", "lost", "dropped"].map((outcome) => host.metric(outcome)))).reduce(
        (sum, count) => sum + count,
      );
    // A request whose worker was killed may have been decided, and not answered.
    await until(async () => (await total()) >= counts.answered);
    const [stored, lost] = [await host.metric("stored"), await host.metric("lost")];
    expect(stored + lost - counts.answered).toBeLessThanOrEqual(8);
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
    expect(await host.label(id, "abuse")).toBe("true abuse");
    await store.close();
    for (const end of ["", "-wal", "-shm"]) renameSync(`${file}${end}`, `${file}.away${end}`);
    const { action } = await host.assess();
    await until(() => host.log.includes('"event":"decisions-not-stored"'));
    const named = await host.assess(VISITOR, { "Idempotency-Key": "away" });
    expect([named.action, (await host.assess(VISITOR, { "Idempotency-Key": "away" })).id]).toEqual([
      action,
      named.id,
    ]);
    expect(await host.label(id, "legitimate")).toBe("DECISIONS_UNREACHABLE");
    for (const end of ["", "-wal", "-shm"]) renameSync(`${file}.away${end}`, `${file}${end}`);
    await until(async () => (await host.metric("stored")) === 3);
    expect(await host.label(named.id, "legitimate")).toBe("true legitimate");
  });

  test("a server that stores none ignores Idempotency-Key, and says so to outcomes", async () => {
    const { host } = await setUp(sqlite(), 1, { decisions: false, workers: 1 });
    const key = { "Idempotency-Key": "sign-up-81" };
    const [first, second] = [await host.assess(VISITOR, key), await host.assess(VISITOR, key)];
    expect(first.id).not.toBe(second.id);
    expect(await host.label(first.id, "abuse")).toBe("DECISION_NOT_FOUND");
    expect(await host.metric("stored")).toBe(0);
  });
});

describe("two hosts on PostgreSQL", () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await Postgres.create();
  }, 60_000);
  afterAll(() => postgres?.close());

  test("share decisions: outcomes and repeated requests may reach either", async () => {
    const { hosts, stored } = await setUp(await postgres.freshDatabase(), 2, { workers: 1 });
    const [a, b] = hosts as [Host, Host];
    const { id } = await a.assess();
    expect(await b.label(id, "abuse")).toBe("true abuse");
    const key = { "Idempotency-Key": "sign-up-81" };
    const first = await a.assess(VISITOR, key);
    await until(async () => (await stored()).length === 2); // a request waits half a second for that at most
    const answers = await Promise.all([b, a, b].map((host) => host.assess(VISITOR, key)));
    expect(answers.map((answer) => answer.id)).toEqual([first.id, first.id, first.id]);
    expect(await stored()).toHaveLength(2);
  });
});
