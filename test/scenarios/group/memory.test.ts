// memory.test.ts: tests that hosts with one PostgreSQL and one key of hashes remember the same visitors, with threads
// and after a restart, and that outcomes reported to one host become the precision that another shows.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ServerOptions } from "../../../packages/server/src/run/server.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { openStore, type Store } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { Postgres } from "../../harness/postgres.ts";
import { smallDomain } from "../../harness/release.ts";
import { startGroupHost } from "../../harness/server.ts";
import { until } from "../../harness/until.ts";

interface Answer {
  readonly id: string;
  readonly action: string;
  readonly reasons: readonly { readonly code: string; readonly precision?: number }[];
  readonly history?: readonly { readonly fact: string; readonly decision?: string }[];
  readonly degraded: readonly string[];
}

const SHARED = { decisions: true, memoryKey: "k".repeat(32) } as const;
const RULESET = "[weights]\nmailbox_fraud = 0.9\nnetwork_fraud = 0.4\n";
let postgres: Postgres;
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  await postgres?.close();
});

async function setUp() {
  const url = await postgres.freshDatabase();
  const store = await openStore(url);
  cleanUps.push(() => store.close());
  await store.rulesets.publish({ text: RULESET, note: "" }, { author: "test", source: "cli" });
  const { token } = await store.createKey(parseNewKey({ name: "shop" }, 0));
  const host = async (options: Partial<ServerOptions> = SHARED) => {
    const { server, origin } = await startGroupHost(url, options);
    cleanUps.push(() => server.stop());
    const post = async (path: string, body: object) => {
      const response = await fetch(`${origin}/v1/assess${path}`, {
        method: "POST",
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      return [response.status, await response.json()] as const;
    };
    return {
      server,
      assess: async (email: string, ip = "8.8.8.8") => {
        // A busy machine may need more than the 50 ms that a decision waits for the memory. Immediate retries of many
        // requests would keep it busy.
        for (let wait = 100; ; wait = Math.min(2 * wait, 3_000)) {
          const [status, answer] = await post("", { event: "sign_up", ip, email });
          expect(status).toBe(200);
          if (!(answer as Answer).degraded.includes("history")) return answer as Answer;
          await Bun.sleep(wait * Math.random());
        }
      },
      label: async (id: string, outcome: string) =>
        expect((await post(`/${id}/outcome`, { outcome }))[0]).toBe(200),
    };
  };
  return { store, host };
}

/** Resolves once the decision is stored, which takes its server a moment. */
const stored = (store: Store, id: string) =>
  until(async () => (await store.decisions.find(id)) !== undefined);

test("a mailbox labelled on one host is known on the other, in each of its threads and after a restart", async () => {
  const { store, host } = await setUp();
  const first = await host();
  const second = await host({ ...SHARED, workers: 2 });
  const { id, action } = await first.assess("Jane.Doe@gmail.com");
  expect(action).toBe("allow");
  await stored(store, id);
  await second.label(id, "fraud");
  const known = {
    action: "deny",
    history: expect.arrayContaining([expect.objectContaining({ decision: id })]),
  };
  // Each connection may be answered by either thread.
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => second.assess(`janedoe+${i}@googlemail.com`)),
  );
  expect(answers).toEqual(answers.map(() => expect.objectContaining(known)));
  expect(await first.assess("janedoe@gmail.com")).toMatchObject(known);
  expect((await second.assess("john@acme.com", "9.9.9.9")).history).toBeUndefined();
  await first.server.stop();
  expect(await (await host()).assess("jane.doe@gmail.com")).toMatchObject(known);
});

test("a host with another key of hashes recognizes nobody whom the others saw", async () => {
  const { store, host } = await setUp();
  const first = await host();
  const { id } = await first.assess("jane@acme.com");
  await stored(store, id);
  await first.label(id, "fraud");
  const other = await host({ ...SHARED, memoryKey: "o".repeat(32) });
  expect((await first.assess("jane@acme.com")).action).toBe("deny");
  expect((await other.assess("jane@acme.com")).action).toBe("allow");
  const rotated = await host({ ...SHARED, memoryKey: `${"o".repeat(32)}|${SHARED.memoryKey}` });
  expect((await rotated.assess("jane@acme.com")).action).toBe("deny");
});

test("outcomes reported on one host are the precision that a host shows", async () => {
  const { store, host } = await setUp();
  const first = await host({ decisions: true });
  const email = (i: number) => `user${i}@${smallDomain(1)}`;
  const answers: Answer[] = [];
  for (let i = 0; i < 20; i++) answers.push(await first.assess(email(i)));
  expect(answers[0]!.reasons).toEqual([expect.objectContaining({ code: "disposable" })]);
  expect(answers[0]!.reasons[0]!.precision).toBeUndefined();
  for (const { id } of answers) await stored(store, id);
  for (const [i, { id }] of answers.entries()) await first.label(id, i < 15 ? "fraud" : "legitimate");
  const later = await host({ decisions: true });
  // No answer waits for the precisions.
  let reasons: Answer["reasons"] = [];
  await until(async () => {
    ({ reasons } = await later.assess(email(20)));
    return reasons[0]?.precision !== undefined;
  });
  expect(reasons).toEqual([expect.objectContaining({ code: "disposable", precision: 0.75 })]);
});
