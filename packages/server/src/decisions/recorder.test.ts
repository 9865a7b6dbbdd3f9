// Tests the recorder with a store that is slow, full or unreachable, or that refuses a row. Tests a worker's collector.

import { describe, expect, test } from "bun:test";
import type { Outcome } from "@inkling/contract";
import type { Memories } from "@inkling/engine/assess";
import type { MemoryQuestion } from "@inkling/store/decisions/memory";
import type { NamedDecision } from "@inkling/store/decisions/record";
import { type DecisionRow, rowBytes } from "@inkling/store/decisions/record";
import { StoreError } from "@inkling/store/error";
import { decisionId, decisionRow } from "../../../../test/harness/decision-rows.ts";
import { until } from "../../../../test/harness/until.ts";
import { DecisionCollector, type FromCollector } from "./collector.ts";
import { DecisionRecorder } from "./recorder.ts";

const NOW = Date.UTC(2026, 5, 1, 12);
const row = (n: number, over: Partial<DecisionRow> = {}) => decisionRow(n, NOW, over);
const named = (n: number, name: string): NamedDecision => ({
  ...row(n),
  idempotency: name,
  body_hash: `body ${n}`,
});

const QUESTION: MemoryQuestion = {
  facts: ["history.mailbox_seen"],
  traces: { mailbox: ["a hash"] },
  now: NOW,
};

const unreachable = (message: string) => new StoreError("UNREACHABLE", message, "");

class FakeStore {
  readonly rows = new Map<string, DecisionRow>();
  readonly labels = new Map<string, Outcome>();
  /** The ids of each batch of claims. */
  readonly claims: string[][] = [];
  recalls = 0;
  /** The error that every call throws. */
  fault: Error | undefined;
  /** The id of a row that the store refuses. The whole batch then fails. */
  refused: string | undefined;
  /** A promise that each call waits for. */
  turn: Promise<void> = Promise.resolve();

  async add(rows: readonly DecisionRow[]): Promise<void> {
    await this.turn;
    if (this.fault !== undefined) throw this.fault;
    if (rows.some(({ id }) => id === this.refused)) throw new Error("refused");
    for (const one of rows) if (!this.rows.has(one.id)) this.rows.set(one.id, one);
  }
  async claim(wanted: readonly NamedDecision[]): Promise<DecisionRow[]> {
    this.claims.push(wanted.map(({ id }) => id));
    await this.turn;
    if (this.fault !== undefined) throw this.fault;
    return wanted.map((row) => {
      const before = [...this.rows.values()].find(({ idempotency }) => idempotency === row.idempotency);
      if (before === undefined) this.rows.set(row.id, row);
      return before ?? row;
    });
  }
  async label(id: string, outcome: Outcome): Promise<object | undefined> {
    if (this.fault !== undefined) throw this.fault;
    if (!this.rows.has(id)) return undefined;
    this.labels.set(id, outcome);
    return {};
  }
  async recall(): Promise<Memories> {
    this.recalls++;
    await this.turn;
    if (this.fault !== undefined) throw this.fault;
    return { "history.mailbox_seen": { value: 1 } };
  }
}

function setUp(over: Partial<ConstructorParameters<typeof DecisionRecorder>[0]> = {}) {
  const store = new FakeStore();
  const recorder = new DecisionRecorder({
    store,
    labelWaitMs: 0,
    now: () => NOW,
    flushMs: 5,
    ...over,
  });
  return { store, recorder };
}

describe("a recorder", () => {
  test("stores what it is given, and the rest when it stops", async () => {
    const { store, recorder } = setUp();
    recorder.start();
    for (let n = 0; n < 2_500; n++) recorder.record(row(n));
    await until(() => store.rows.size === 2_500);
    recorder.record(row(2_500));
    expect(await recorder.stop()).toEqual({ lost: 0 });
    expect([store.rows.size, recorder.state.stored]).toEqual([2_501, 2_501]);
  });

  test("keeps decisions while the store is unreachable, drops the excess, and counts it", async () => {
    const { store, recorder } = setUp({ maxWaiting: 10 });
    store.fault = unreachable("unreachable");
    for (let n = 0; n < 15; n++) recorder.record(row(n));
    expect(await recorder.flush()).toBe(false);
    recorder.record(row(20)); // also while a batch is being sent
    expect(recorder.state).toMatchObject({
      waiting: 10,
      stored: 0,
      dropped: 6,
      failuresInRow: 1,
      lastError: "unreachable",
    });
    store.fault = undefined;
    expect(await recorder.flush()).toBe(true);
    expect([...store.rows.keys()]).toEqual(Array.from({ length: 10 }, (_, n) => decisionId(n)));
    expect(recorder.state).toMatchObject({ waiting: 0, stored: 10, dropped: 6, failuresInRow: 0 });
    store.fault = unreachable("unreachable");
    recorder.record(row(30));
    expect(await recorder.stop()).toEqual({ lost: 1 });
  });

  test("drops decisions that are too large together, and has room again once they are stored", async () => {
    const { store, recorder } = setUp({ maxWaitingBytes: 100_000 });
    const facts = "x".repeat(40_000);
    for (let n = 0; n < 5; n++) recorder.record(row(n, { facts }));
    expect(recorder.state).toMatchObject({ waiting: 2, dropped: 3 });
    store.fault = unreachable("unreachable");
    await recorder.flush();
    recorder.record(row(5, { facts }));
    expect(recorder.state).toMatchObject({ waiting: 2, dropped: 4 });
    store.fault = undefined;
    await recorder.flush();
    for (let n = 6; n < 8; n++) recorder.record(row(n, { facts }));
    expect(recorder.state).toMatchObject({ waiting: 2, stored: 2, dropped: 4 });
  });

  test("sends claims in batches, one at a time, and none that was answered without the store", async () => {
    const { store, recorder } = setUp();
    const slow = Promise.withResolvers<void>();
    store.turn = slow.promise;
    const first = recorder.claim(named(0, "0"));
    const others = Array.from({ length: 300 }, (_, n) => recorder.claim(named(n + 1, `${n + 1}`)));
    const answered = await Promise.all([first, ...others]); // although the store does not respond
    expect(answered.map(({ answer }) => answer.id)).toEqual(
      Array.from({ length: 301 }, (_, n) => decisionId(n)),
    );
    slow.resolve();
    await recorder.claim(named(400, "400"));
    expect(store.claims).toEqual([[decisionId(0)], [decisionId(400)]]);
    await recorder.flush();
    expect(store.rows.size).toBe(302);
    store.claims.length = 0;
    await Promise.all(Array.from({ length: 300 }, (_, n) => recorder.claim(named(n + 500, `${n + 500}`))));
    expect(store.claims.map((batch) => batch.length)).toEqual([1, 200, 99]);
  });

  test("a batch that the database refuses does not keep the others waiting", async () => {
    const { store, recorder } = setUp();
    store.refused = decisionId(1);
    recorder.record(row(1));
    expect(await recorder.flush()).toBe(false);
    recorder.record(row(2));
    expect(await recorder.flush()).toBe(true);
    expect([[...store.rows.keys()], recorder.state.dropped]).toEqual([[decisionId(2)], 1]);
  });

  test("labels a decision that waits, one that comes later, and none that never comes", async () => {
    const { store, recorder } = setUp({ labelWaitMs: 2_000 });
    recorder.record(row(1));
    expect(await recorder.label(decisionId(1), "fraud")).toBe("labelled");
    const late = recorder.label(decisionId(2), "legitimate");
    setTimeout(() => store.rows.set(decisionId(2), row(2)), 50); // as if another host had stored it
    expect(await late).toBe("labelled");
    const impatient = setUp();
    expect(await impatient.recorder.label(decisionId(3), "fraud")).toBe("unknown");
    impatient.store.fault = unreachable("unreachable");
    expect(await impatient.recorder.label(decisionId(3), "fraud")).toBe("unreachable");
  });

  test("the first decision of a name counts, here and in the store; without the store, here", async () => {
    const { store, recorder } = setUp();
    const [first, second] = await Promise.all([recorder.claim(named(1, "a")), recorder.claim(named(2, "a"))]);
    expect([first.answer.id, second.answer.id]).toEqual([decisionId(1), decisionId(1)]);
    expect(second.bodyHash).toBe("body 1");
    expect((await setUp({ store }).recorder.claim(named(3, "a"))).answer.id).toBe(decisionId(1));
    store.fault = unreachable("unreachable");
    for (const n of [4, 5]) expect((await recorder.claim(named(n, "b"))).answer.id).toBe(decisionId(4));
    expect(recorder.state.waiting).toBe(1);
    store.fault = undefined;
    const slow = Promise.withResolvers<void>();
    store.turn = slow.promise;
    // `claim` does not wait for a store that does not respond
    expect((await recorder.claim(named(6, "c"))).answer.id).toBe(decisionId(6));
    slow.resolve();
    await recorder.flush();
    expect([...store.rows.keys()].sort()).toEqual([1, 4, 6].map(decisionId));
  });
});

describe("what is remembered", () => {
  test("of 10,000 visitors at once is asked for 256 of them while the database is silent, and then again", async () => {
    const { store, recorder } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    store.turn = promise;
    const all = await Promise.all(Array.from({ length: 10_000 }, () => recorder.recall(QUESTION)));
    expect(all.every((memories) => memories === undefined)).toBe(true);
    expect([store.recalls, recorder.state.notRecalled]).toEqual([256, 10_000]);
    resolve();
    await until(async () => (await recorder.recall(QUESTION)) !== undefined);
    store.fault = unreachable("no connection");
    expect(await recorder.recall(QUESTION)).toBeUndefined();
    expect(recorder.state.lastError).toBe("no connection");
  });
});

describe("a collector", () => {
  function collect() {
    const sent: FromCollector[] = [];
    const collector = new DecisionCollector((message) => sent.push(message));
    return { sent, collector };
  }
  const handedOver = (sent: readonly FromCollector[]) =>
    sent.reduce((sum, message) => sum + (rowsOf(message)?.length ?? 0), 0);
  const rowsOf = (message: FromCollector | undefined) =>
    message?.type === "decisions" ? message.rows.map(({ id }) => id) : undefined;

  test("hands decisions over soon, and drops them while the primary takes none", async () => {
    const { sent, collector } = collect();
    collector.record(row(1));
    await until(() => sent.length === 1);
    expect(rowsOf(sent[0])).toEqual([decisionId(1)]);
    for (let n = 2; n <= 10_005; n++) collector.record(row(n));
    collector.handOver();
    expect(handedOver(sent)).toBe(10_000);
    expect(sent.at(-1)).toMatchObject({ dropped: 5 });
    collector.take({ type: "decisions-taken", count: 10_000, bytes: 10_000 * rowBytes(row(1)) });
    collector.record(row(20_000));
    await until(() => rowsOf(sent.at(-1))?.includes(decisionId(20_000)));
    const stopping = collector.stop(60_000);
    collector.take({ type: "decisions-taken", count: 1, bytes: rowBytes(row(20_000)) });
    await stopping;
  });

  test("drops decisions that are too large together", async () => {
    const { sent, collector } = collect();
    const large = row(1, { facts: "x".repeat(4 * 1024 * 1024) });
    for (let n = 0; n < 5; n++) collector.record(large);
    collector.handOver();
    expect(handedOver(sent)).toBe(3);
    collector.take({ type: "decisions-taken", count: 3, bytes: 3 * rowBytes(large) });
    collector.record(large);
    await collector.stop(0);
    expect(handedOver(sent)).toBe(4);
  });

  test("asks after it has handed over what is asked about", async () => {
    const { sent, collector } = collect();
    collector.record(row(1));
    const labelled = collector.label(decisionId(1), "fraud");
    expect(sent.map(({ type }) => type)).toEqual(["decisions", "decision-question"]);
    const question = sent[1] as Extract<FromCollector, { type: "decision-question" }>;
    collector.take({ type: "decision-reply", number: question.number, reply: "labelled" });
    expect(await labelled).toBe("labelled");
  });

  test("asks what is remembered without handing decisions over, and waits no longer than a decision may", async () => {
    const { sent, collector } = collect();
    collector.record(row(1));
    const answered = collector.recall(QUESTION);
    const silent = collector.recall(QUESTION);
    expect(sent.map(({ type }) => type)).toEqual(["decision-question", "decision-question"]);
    const { number } = sent[0] as Extract<FromCollector, { type: "decision-question" }>;
    const reply = { "history.mailbox_seen": { value: 1 } };
    collector.take({ type: "decision-reply", number, reply });
    expect([await answered, await silent]).toEqual([reply, undefined]);
    collector.take({ type: "decision-reply", number: number + 1, reply }); // too late, and ignored
  });

  test("a primary that does not answer in time changes no decision", async () => {
    const { sent, collector } = collect();
    const { answer, bodyHash } = await collector.claim(named(1, "a"));
    collector.handOver();
    expect([answer.id, bodyHash, handedOver(sent)]).toEqual([decisionId(1), "body 1", 1]);
  });
});
