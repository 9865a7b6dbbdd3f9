// Tests stored decisions over the admin API: listing, counting, labelling, deleting, and a replay.

import { afterAll, describe, expect, test } from "bun:test";
import { traceHash } from "@inkling/store/decisions/hashes";
import { adminServer, closeAdminServers, ADMIN_NOW as NOW } from "../../../../test/harness/admin-server.ts";
import { decisionId, decisionRow } from "../../../../test/harness/decision-rows.ts";
import { temporaryFolder } from "../../../../test/harness/release.ts";
import { testSettings } from "../../../../test/harness/server-options.ts";

afterAll(closeAdminServers);

const DAY_MS = 86_400_000;
const TOR = {
  action: "challenge",
  reasons: '[{"code":"tor_exit","weight":0.6}]',
  facts: '{"event":"login","ip.network":"81.2.69.0/24","ip.is_tor_exit":true}',
} as const;

async function setUp() {
  const it = await adminServer();
  await it.store.decisions.add([
    decisionRow(1, NOW, { email_domain: "xn--mnchen-3ya.de" }),
    decisionRow(2, NOW - 1_000, {
      ...TOR,
      event: "login",
      ref: "user-81",
      request_id: "req-2",
      trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    }),
    decisionRow(3, NOW - DAY_MS, TOR),
    decisionRow(4, NOW - 40 * DAY_MS, TOR),
  ]);
  return it;
}

describe("decisions", () => {
  test("are listed by filters, in pages, and shown with their facts", async () => {
    const { ask } = await setUp();
    const numbers = async (query: string) =>
      (await ask("GET", `decisions?${query}`)).document.decisions.map(({ id }: { id: string }) =>
        Number(id.slice(4)),
      );
    for (const [query, found] of [
      ["", [1, 2, 3, 4]],
      ["action=challenge&since=2026-05-30", [2, 3]],
      ["reason=tor_exit&event=sign_up", [3, 4]],
      ["ref=user-81", [2]],
      ["request=req-2", [2]],
      ["request=4bf92f3577b34da6a3ce929d0e0e4736&event=login", [2]],
      ["request=req-9", []],
      ["network=81.2.69.142", [2, 3, 4]],
      ["network=81.2.69.0/24&ref=user-81", [2]],
      ["network=81.2.6.0/24", []],
      ["network=2a00:1450::1", []],
      ["network=::ffff:81.2.69.1", [2, 3, 4]],
      ["domain=xn--mnchen-3ya.de", [1]],
      ["domain=M%C3%BCnchen.DE", [1]],
      ["outcome=none&until=2026-05-30T00:00:00Z", [4]],
      ["outcome=fraud", []],
    ] as const)
      expect([query, await numbers(query)]).toEqual([query, [...found]]);
    const { document } = await ask("GET", "decisions?limit=3");
    expect(await numbers(`cursor=${document.next_cursor}`)).toEqual([4]);
    const one = (await ask("GET", `decisions/${decisionId(2)}`)).document;
    expect(one).toMatchObject({
      ref: "user-81",
      facts: { "ip.network": "81.2.69.0/24", "ip.is_tor_exit": true },
    });
    expect((await ask("GET", `decisions/${decisionId(9)}`)).code).toBe("DECISION_NOT_FOUND");
    for (const query of [
      "action=block",
      "reason=nothing",
      "since=yesterday",
      "cursor=1",
      "network=81.2.0.0/16",
      "network=",
    ])
      expect((await ask("GET", `decisions?${query}`)).code).toBe("PARAMETER_INVALID");
  });

  test("are shown with the facts behind them and the action of their rule", async () => {
    const { ask, store } = await setUp();
    const rule =
      'name = "tor"\nwhen = "ip.is_tor_exit && email.free_mail"\nthen = "challenge"\nmode = "live"';
    const { document } = await ask("POST", "rulesets", { text: `[[rule]]\n${rule}` });
    await store.decisions.add([
      decisionRow(5, NOW, { action: "deny", rule: "tor", ruleset: document.number }),
      decisionRow(6, NOW, { action: "deny", rule: "tor", ruleset: document.number + 1 }), // no such ruleset
    ]);
    const explained = async (n: number) => {
      const { facts_read, rule_action } = (await ask("GET", `decisions/${decisionId(n)}`)).document;
      return [facts_read, rule_action];
    };
    expect(await explained(1)).toEqual([["ip.is_proxy"], null]);
    expect(await explained(5)).toEqual([["ip.is_proxy", "ip.is_tor_exit", "email.free_mail"], "challenge"]);
    expect(await explained(6)).toEqual([["ip.is_proxy"], null]);
  });

  test("are found by mailbox and account, with the current key of hashes and the one before it", async () => {
    const [key, before] = ["n".repeat(32), "b".repeat(32)];
    const settings = testSettings({ decisions: true, memoryKey: `${key}|${before}` });
    const { ask, store } = await adminServer({ settings });
    await store.decisions.add([
      decisionRow(1, NOW, { mailbox_hash: traceHash(key, "mailbox", "janedoe@gmail.com") }),
      decisionRow(2, NOW - 1, { mailbox_hash: traceHash(before, "mailbox", "janedoe@gmail.com") }),
      decisionRow(3, NOW - 2, { account_hash: traceHash(key, "account", "user-81") }),
    ]);
    const find = async (query: string): Promise<unknown> => {
      const { code, document } = await ask("GET", `decisions?${query}`);
      return code ?? (document.decisions as { id: string }[]).map(({ id }) => Number(id.slice(4)));
    };
    expect(await find("mailbox=Jane.Doe%2Bshop@googlemail.com")).toEqual([1, 2]);
    expect(await find("mailbox=jane@gmail.com")).toEqual([]);
    expect(await find("account=user-81")).toEqual([3]);
    expect(await find("account=user-81&mailbox=janedoe@gmail.com")).toEqual([]);
    for (const mailbox of ["jane", "@", "a%00@example.com", "x".repeat(600)])
      expect(await find(`mailbox=${mailbox}`)).toBe("PARAMETER_INVALID");
  });

  test("are not found by mailbox or account without the key of hashes", async () => {
    const settings = testSettings({ decisions: true, dataDir: temporaryFolder() });
    const { ask } = await adminServer({ settings });
    for (const query of ["mailbox=jane@example.com", "account=user-81"]) {
      const { code, document } = await ask("GET", `decisions?${query}`);
      expect([code, document.detail]).toEqual([
        "PARAMETER_INVALID",
        expect.stringContaining("its key is missing here"),
      ]);
    }
  });

  test("are labelled, and counted by day and action for 30 days unless asked for more", async () => {
    const { ask } = await setUp();
    const path = `decisions/${decisionId(2)}/outcome`;
    expect((await ask("POST", path, { outcome: "fraud" })).document.outcome).toBe("fraud");
    expect((await ask("POST", path, { outcome: "abuse" })).code).toBe("BODY_INVALID");
    expect((await ask("POST", `decisions/${decisionId(9)}/outcome`, { outcome: "fraud" })).code).toBe(
      "DECISION_NOT_FOUND",
    );
    const { days, stores_decisions } = (await ask("GET", "decisions/counts")).document;
    expect(stores_decisions).toBe(true);
    expect(days).toEqual([
      { day: "2026-06-01", action: "allow", count: 1, legitimate: 0, fraud: 0 },
      { day: "2026-06-01", action: "challenge", count: 1, legitimate: 0, fraud: 1 },
      { day: "2026-05-31", action: "challenge", count: 1, legitimate: 0, fraud: 0 },
    ]);
    const all = (await ask("GET", "decisions/counts?since=2026-01-01&event=sign_up")).document.days;
    expect(all.map(({ day }: { day: string }) => day)).toEqual(["2026-06-01", "2026-05-31", "2026-04-22"]);
  });

  test("are deleted by ref or by time, not both and not all", async () => {
    const { ask, store } = await setUp();
    for (const query of ["", "?ref=user-81&before=2026-06-01", "?ref="])
      expect((await ask("DELETE", `decisions${query}`)).code).toBe("PARAMETER_INVALID");
    expect((await ask("DELETE", "decisions?before=2026-06-01")).document).toEqual({ deleted: 2 });
    expect((await ask("DELETE", "decisions?ref=user-81")).document).toEqual({ deleted: 1 });
    expect((await store.decisions.list({ limit: 10 })).items.map(({ id }) => id)).toEqual([decisionId(1)]);
  });
});

describe("a replay", () => {
  const text = `[[rule]]\nname = "no-tor"\nwhen = 'ip.is_tor_exit'\nthen = "deny"\nmode = "live"\n`;

  test("reads the decisions of 30 days, or those since a time", async () => {
    const { ask, store } = await setUp();
    await store.decisions.label(decisionId(2), "fraud");
    const { document } = await ask("POST", "rulesets/replay", { text });
    expect(document).toMatchObject({
      decisions: 3,
      changed: 2,
      outcomes: { fraud: 1, legitimate: 0 },
      stopped: null,
      rules: [{ rule: "no-tor", matches: 2, decides: 2, changes: 2, precision: { count: 1, of: 1 } }],
    });
    const since = (await ask("POST", "rulesets/replay", { text, since: "2026-01-01" })).document;
    expect(since.decisions).toBe(4);
    expect((await ask("POST", "rulesets/replay", { text: "[[rule]]" })).code).toBe("RULESET_INVALID");
  });

  test("stops in time, and says so", async () => {
    let elapsed = 0;
    const { ask, store } = await adminServer({ elapsed: () => (elapsed += 6_000) });
    await store.decisions.add(Array.from({ length: 600 }, (_, n) => decisionRow(n, NOW - n)));
    const { document } = await ask("POST", "rulesets/replay", { text });
    expect([document.decisions, document.stopped]).toEqual([500, "time"]);
    expect(document.to).toBe("2026-06-01T12:00:00.000Z"); // the newest decisions come first
  });
});
