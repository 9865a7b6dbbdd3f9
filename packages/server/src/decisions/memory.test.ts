// Tests what the server remembers: POST /v1/assess with stored decisions in SQLite.

import { afterEach, describe, expect, test } from "bun:test";
import { type DecisionAnswer, NO_FLAGS, STARTER_RULESET } from "@inkling/contract";
import { parseRuleset, Replay } from "@inkling/engine/assess";
import { pastDecision } from "@inkling/store/decisions/record";
import { NO_RULESET } from "@inkling/store/rulesets/record";
import { openStore, type Store } from "@inkling/store/store";
import {
  encode,
  NOON,
  testRelease,
  testSegment,
  testServices,
} from "../../../../test/harness/thread-services.ts";
import { App } from "../api/app.ts";
import { DecisionRecorder } from "./recorder.ts";

const IP = "81.2.69.142";
const KEY = "k".repeat(32);
const BLAMES_MAILBOXES = "[weights]\nmailbox_fraud = 0.9\n";
const stores: Store[] = [];

afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
});

async function setUp(
  text: string,
  { keys = [KEY], isSlow = false, store = undefined as Store | undefined } = {},
) {
  const opened = store ?? (await openStore(":memory:", { now: () => NOON }));
  if (store === undefined) stores.push(opened);
  let recalls = 0;
  const recorder = new DecisionRecorder({
    store: {
      add: (rows) => opened.decisions.add(rows),
      claim: (rows) => opened.decisions.claim(rows),
      label: (...label) => opened.decisions.label(...label),
      recall: (question) => {
        recalls++;
        return isSlow ? new Promise(() => {}) : opened.decisions.recall(question);
      },
    },
    labelWaitMs: 0,
  });
  const release = testRelease(
    "20260601T000000000Z-0123456789ab",
    { id: "0123456789ab", missing: [] },
    {
      geo: testSegment(),
      reputation: testSegment({ lookup: () => encode(JSON.stringify(NO_FLAGS)) }),
      network: testSegment({ lookup: () => encode('{"services":[]}') }),
      evidence: { geolocate: [], reputation: [], email: [], network: [] },
    },
  );
  let ids = 0;
  const { services, lines } = testServices(
    {
      release: release,
      rulesets: { current: { ...NO_RULESET, number: 7, text } },
      decisions: recorder,
      memoryKeys: keys,
      randomBytes: (n) => new Uint8Array(n).fill(ids++),
    },
    () => undefined,
  );
  const app = new App({ ...services, settings: { ...services.settings, decisions: keys.length > 0 } });
  const send = async (body: unknown, type = "application/json") => {
    const content = typeof body === "string" ? body : JSON.stringify(body);
    const response = await app.handle(
      new Request("http://test/v1/assess?include=facts", {
        method: "POST",
        headers: {
          Authorization: "Bearer good",
          "Content-Type": type,
          "Content-Length": String(Buffer.byteLength(content)),
        },
        body: content,
      }),
      { requestIP: () => ({ address: "10.0.0.1" }) },
    );
    const answer = await response.text();
    await recorder.flush();
    return answer;
  };
  const ask = async (body: object) => JSON.parse(await send(body)) as DecisionAnswer;
  const rows = async () => (await opened.decisions.list({ limit: 100 })).items;
  return { ask, send, rows, store: opened, lines, recalls: () => recalls };
}

const visitor = (email: string, over: object = {}) => ({ event: "sign_up", ip: IP, email, ...over });

describe("a mailbox that was labelled fraud", () => {
  test("is recognized under another address, and the answer says since when, and never who", async () => {
    const { ask, rows, store, lines } = await setUp(BLAMES_MAILBOXES);
    const first = await ask(visitor("Jane.Doe@gmail.com", { account: "account-81" }));
    expect([first.action, first.history, first.degraded]).toEqual(["allow", undefined, []]);
    expect(first.facts).toMatchObject({ "history.mailbox_fraud": false });
    await store.decisions.label(first.id, "fraud");
    const second = await ask(visitor("janedoe+x@googlemail.com"));
    expect(second).toMatchObject({
      action: "deny",
      reasons: [{ code: "mailbox_fraud", weight: 0.9 }],
      history: [
        {
          fact: "history.mailbox_fraud",
          text: "This mailbox was labelled fraud on 1 June 2026.",
          decision: first.id,
          at: new Date(NOON).toISOString(),
        },
      ],
    });
    expect((await ask(visitor("john@gmail.com"))).action).toBe("allow");
    // A replay decides from the facts of that day, although the label is gone.
    await store.decisions.label(first.id, "legitimate");
    const replay = new Replay(parseRuleset(BLAMES_MAILBOXES, 7));
    const replayed = (await rows()).map((row) => [row.id, replay.add(pastDecision(row)).action]);
    expect(replayed).toContainEqual([second.id, "deny"]);
    expect(replay.report.changed).toBe(0);
    const everything = JSON.stringify([
      await store.database.run((sql) => sql`SELECT * FROM inkling_decisions`),
      lines,
      second.history,
    ]);
    expect(everything).toMatch(/"mailbox_hash":"[\w-]{16}"/);
    for (const secret of [/jane/i, /doe\b/i, /account-81/, /81\.2\.69\.142/])
      expect(everything).not.toMatch(secret);
  });

  test("is recognized after a rotation of the key, until the old key is removed", async () => {
    const before = await setUp(BLAMES_MAILBOXES);
    const { id } = await before.ask(visitor("jane@acme.com"));
    await before.store.decisions.label(id, "fraud");
    const actionWith = async (keys: readonly string[]) => {
      const { ask } = await setUp(BLAMES_MAILBOXES, { keys: [...keys], store: before.store });
      return (await ask(visitor("jane@acme.com"))).action;
    };
    expect(await actionWith(["n".repeat(32), KEY])).toBe("deny");
    expect(await actionWith(["n".repeat(32)])).toBe("allow");
  });
});

describe("a ruleset that reads no memory", () => {
  test("causes no statement, and stores only the hashes by which operators search", async () => {
    const { ask, store, recalls } = await setUp("");
    await ask(visitor("jane@acme.com", { account: "account-81" }));
    expect(recalls()).toBe(0);
    const rows = await store.database.run(
      (sql) => sql`SELECT mailbox_hash, network_hash, address_hash, account_hash FROM inkling_decisions`,
    );
    const hash = expect.stringMatching(/^[\w-]{16}$/);
    expect([...rows]).toEqual([
      { mailbox_hash: hash, network_hash: null, address_hash: null, account_hash: hash },
    ]);
  });
});

describe("a memory that does not answer", () => {
  const LIVE = "[[rule]]\nname = 'a'\nwhen = 'history.mailbox_fraud'\nthen = 'deny'\nmode = 'live'\n";
  const SHADOW = LIVE.replace("live", "shadow");
  const rows: [string, string, object, object, string][] = [
    ["in time, for a reason", BLAMES_MAILBOXES, { isSlow: true }, {}, "challenge history"],
    ["in time, for a live rule", LIVE, { isSlow: true }, {}, "challenge history"],
    [
      "in time, where on_missing is milder",
      `on_missing = "allow"\n${LIVE}`,
      { isSlow: true },
      {},
      "allow history",
    ],
    ["in time, for a shadow rule", SHADOW, { isSlow: true }, {}, "allow history"],
    [
      "in time, but is about an email address, and none was sent",
      LIVE,
      { isSlow: true },
      { email: undefined },
      "allow ",
    ],
    ["because nothing is stored, for a live rule", LIVE, { keys: [] }, {}, "challenge history"],
    ["because nothing is stored, for a shadow rule", SHADOW, { keys: [] }, {}, "allow "],
  ];
  test.each(rows)("%s", async (_, text, how, over, expected) => {
    const { ask } = await setUp(text, how);
    const { action, degraded, facts } = await ask(visitor("jane@acme.com", over));
    expect(`${action} ${degraded.join()}`).toBe(expected);
    expect(facts).not.toHaveProperty(["history.mailbox_fraud"]);
  });
});

describe("an account", () => {
  const WATCHES = STARTER_RULESET;

  test("that fails to log in is counted with its network and address, and a rule in shadow sees the attack", async () => {
    const { ask, send } = await setUp(WATCHES);
    const failed = (n: number) => ({ event: "login_failed", ip: IP, account: `account-${n}` });
    const lines = [1, 2, 3, 4, 5].map((n) => JSON.stringify(failed(n))).join("\n");
    const answers = (await send(lines, "application/x-ndjson")).trim().split("\n");
    expect(answers.map((line) => (JSON.parse(line) as DecisionAnswer).action)).toEqual(
      Array(5).fill("allow"),
    );
    const login = await ask({ event: "login", ip: IP.replace(".142", ".9"), account: "account-6" });
    expect(login.shadow).toEqual([{ rule: "credential-stuffing", action: "challenge" }]);
    expect(login.history?.map(({ text }) => text)).toEqual([
      "Failed logins from this network in the last hour: 5.",
      "Accounts with failed logins from this network in the last hour: 5.",
    ]);
    expect((await ask({ event: "login", ip: "81.2.70.1", account: "account-1" })).shadow).toEqual([]);
  });

  const hostile: [string, string, RegExp][] = [
    ["of 1 MB", "a".repeat(1_000_000), /CONTENT_TOO_LARGE/],
    ["of 129 characters", "a".repeat(129), /account: at most 128 characters.*BODY_INVALID/],
    ["with control characters", "a\u0000b", /account: must not contain control characters/],
    ["that is empty", "", /account: must not be empty/],
  ];
  test.each(hostile)("%s is refused, and nothing is stored", async (_, account, refusal) => {
    const { send, rows } = await setUp(WATCHES);
    const text = await send({ event: "login_failed", ip: IP, account });
    expect(text).toMatch(refusal);
    expect(text.length).toBeLessThan(1_000);
    expect(await rows()).toEqual([]);
  });
});
