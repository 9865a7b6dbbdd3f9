// Tests rulesets over the admin API: answers, refusals and audit entries.

import { afterAll, expect, test } from "bun:test";
import { STARTER_RULESET } from "@inkling/contract";
import { adminServer, closeAdminServers } from "../../../../test/harness/admin-server.ts";

afterAll(closeAdminServers);

test("publish, list, show, restore", async () => {
  const { ask, store } = await adminServer();
  const first = await ask("POST", "rulesets", { text: STARTER_RULESET, note: "starter" });
  expect([first.status, first.document.number, first.headers.get("location")]).toEqual([
    201,
    1,
    "/admin/v1/rulesets/1",
  ]);
  const again = await ask("POST", "rulesets", { text: STARTER_RULESET });
  expect([again.status, again.document.number, again.document.created]).toEqual([200, 1, false]);
  expect((await ask("GET", "rulesets/previous")).code).toBe("RULESET_NOT_FOUND");
  expect((await ask("POST", "rulesets", { text: 'on_missing = "deny"', current: 1 })).document.number).toBe(
    2,
  );
  const late = await ask("POST", "rulesets", { text: "", current: 1 });
  expect([late.status, late.code]).toEqual([409, "RULESET_CONFLICT"]);
  const restored = await ask("POST", "rulesets/1/restore", { note: "too strict" });
  expect(restored.document).toMatchObject({
    number: 3,
    restores: 1,
    text: STARTER_RULESET,
    note: "too strict",
  });
  const { document } = await ask("GET", "rulesets?limit=2");
  expect(document.rulesets.map(({ number }: { number: number }) => number)).toEqual([3, 2]);
  expect((await ask("GET", `rulesets?cursor=${document.next_cursor}`)).document.rulesets[0].number).toBe(1);
  const texts = ["newest", "previous"].map(async (id) => (await ask("GET", `rulesets/${id}`)).document.text);
  expect(await Promise.all(texts)).toEqual([STARTER_RULESET, 'on_missing = "deny"']);
  expect((await ask("GET", "rulesets/2")).document.text).toBe('on_missing = "deny"');
  expect((await ask("GET", "rulesets/9")).code).toBe("RULESET_NOT_FOUND");
  const { items } = await store.audit.list({ limit: 10 });
  expect(items.map(({ action, subject }) => `${action} ${subject}`).slice(0, 3)).toEqual([
    "ruleset-rolled-back ruleset 3",
    "ruleset-published ruleset 2",
    "ruleset-published ruleset 1",
  ]);
});

test("a newest ruleset that this version cannot read is reported, and an administrator can replace it", async () => {
  const { ask, store } = await adminServer();
  const { document } = await ask("POST", "admin-tokens", { name: "bea", role: "analyst" });
  const analyst = { Authorization: `Bearer ${document.token}` };
  await store.rulesets.publish({ text: "future = 1", note: "" }, { author: "ada", source: "cli" });
  const refused = {
    code: "RULESET_INVALID",
    detail: expect.stringMatching(/^This version of Inkling cannot read ruleset 1\. Upgrade/),
  };
  expect((await ask("GET", "decisions/calibration")).document).toMatchObject(refused);
  expect((await ask("GET", "rulesets/suggested")).document).toMatchObject(refused);
  expect((await ask("POST", "rulesets", { text: "" }, analyst)).document).toMatchObject(refused);
  expect((await ask("POST", "rulesets", { text: "" })).status).toBe(201);
});

test("a ruleset with mistakes changes nothing, and every mistake is listed", async () => {
  const { ask, store } = await adminServer();
  const text = '[[rule]]\nname = "a"\nwhen = \'ip.knd == "x"\'\nthen = "refuse"\nmode = "live"\n';
  const { status, document } = await ask("POST", "rulesets", { text });
  expect([status, document.code]).toEqual([422, "RULESET_INVALID"]);
  expect(document.problems).toEqual([
    'line 3, column 9: rule "a": unknown fact "ip.knd": did you mean "ip.kind"?',
    "line 4, column 1: rule: then: must be one of allow, challenge, deny",
  ]);
  const failing = STARTER_RULESET.replaceAll('mode = "shadow"', 'mode = "live"');
  const refused = await ask("POST", "rulesets", { text: failing });
  expect(refused.document.problems).toEqual([
    'The example "a login from a network where 20 others failed" gives challenge, rules credential-stuffing. Correct the rule, or what the example expects.',
    'The example "a sign-up from a data centre" gives challenge, rules no-hosting-sign-ups. Correct the rule, or what the example expects.',
  ]);
  expect((await store.rulesets.newest()).number).toBe(0);
});

test("a check lists mistakes with their places, or the results of the examples", async () => {
  const { ask } = await adminServer();
  const wrong = await ask("POST", "rulesets/check", { text: "[[rule]]\nname = 1" });
  expect(wrong.document.mistakes[0]).toMatchObject({ line: 1, column: 1 });
  const { document } = await ask("POST", "rulesets/check", { text: STARTER_RULESET });
  expect(document).toMatchObject({ mistakes: [], rules: { live: 0, shadow: 5 }, facts: {} });
  const declared = await ask("POST", "rulesets/check", { text: '[facts]\nplan = "text"' });
  expect(declared.document.facts).toEqual({ plan: "text" });
  expect(document.examples.map(({ passed }: { passed: boolean }) => passed)).toEqual([
    true,
    true,
    true,
    true,
    true,
  ]);
});

test("nobody is assessed without a release", async () => {
  const { ask } = await adminServer();
  const { code } = await ask("POST", "assess", { visitor: { event: "login", ip: "8.8.8.8" } });
  expect(code).toBe("DATA_NOT_LOADED");
});
