// Tests the plugin in the real better-auth, with its SQLite adapter.

import { Database } from "bun:sqlite";
import { describe, spyOn, test } from "bun:test";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Unavailable } from "@inkling/client";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { inklingPlugin, type PluginOptions } from "../../../packages/client/src/middleware/better-auth.ts";
import type { Admitted } from "../../../packages/client/src/middleware/protect.ts";
import { fakeVisitors } from "../../../packages/client/test/fake-visitors.ts";
import { tried } from "../../harness/recorded-rows.ts";
import { temporaryFolder } from "../../harness/release.ts";

const ORIGIN = "http://example.com";

async function application(
  client = fakeVisitors(),
  plugin: Partial<PluginOptions> = {},
  more: Partial<BetterAuthOptions> = {},
) {
  const database = new Database(":memory:");
  const decisions: [string, string][] = [];
  const options = {
    baseURL: ORIGIN,
    secret: "a secret of the test, thirty-two bytes long",
    database,
    emailAndPassword: { enabled: true },
    telemetry: { enabled: false },
    logger: { disabled: true },
    plugins: [
      inklingPlugin(client, {
        trustProxy: 1,
        onDecision: (decision: Admitted, { email }) => {
          decisions.push([email, decision instanceof Unavailable ? decision.error.code : decision.action]);
        },
        ...plugin,
      } as PluginOptions),
    ],
    ...more,
  } satisfies BetterAuthOptions;
  const { runMigrations } = await getMigrations(options);
  await runMigrations();
  const auth = betterAuth(options);
  const signUp = (email: string, from: string) =>
    auth.handler(
      new Request(`${ORIGIN}/api/auth/sign-up/email`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Origin: ORIGIN, "X-Forwarded-For": from },
        body: JSON.stringify({ email, password: "correct horse", name: "Jane" }),
      }),
    );
  const users = () => database.query("SELECT email FROM user").all() as { email: string }[];
  return { auth, signUp, users, decisions };
}

describe("a sign-up with better-auth", () => {
  test("is let in, with its decision", async () => {
    const { signUp, users, decisions } = await application();
    assert.equal((await signUp("jane@example.com", "192.0.2.1")).status, 200);
    assert.equal((await signUp("john@example.com", "192.0.2.6")).status, 200);
    assert.deepEqual(decisions, [
      ["jane@example.com", "allow"],
      ["john@example.com", "challenge"],
    ]);
    assert.deepEqual(
      users().map(({ email }) => email),
      ["jane@example.com", "john@example.com"],
    );
  });

  test("that is denied creates no user", async () => {
    const { signUp, users, decisions } = await application();
    const response = await signUp("jane@disposable.example", "192.0.2.1");
    const { code, message, decision } = (await response.json()) as Record<string, string>;
    assert.equal(response.status, 403);
    assert.deepEqual([code, decision], ["SIGN_UP_DENIED", "asm_0000000000000000"]);
    assert.match(message!, /contact us/);
    assert.deepEqual([users(), decisions], [[], []]);
  });

  test("with a mistyped address creates no user, and says what was meant", async () => {
    const client = fakeVisitors();
    client.server.answer("assess", "jane@gmial.com", { did_you_mean: "jane@gmail.com" });
    const { signUp, users } = await application(client);
    const response = await signUp("jane@gmial.com", "192.0.2.1");
    assert.deepEqual([response.status, users()], [422, []]);
    assert.deepEqual(await response.json(), {
      code: "EMAIL_INVALID",
      message: "Did you mean jane@gmail.com?",
      did_you_mean: "jane@gmail.com",
      decision: "asm_0000000000000000",
    });
    const insisting = await application(client, { onInvalid: () => "admit" });
    assert.equal((await insisting.signUp("jane@gmial.com", "192.0.2.1")).status, 200);
  });

  test("that is denied looks like any other where better-auth hides who has an account", async () => {
    const emailAndPassword = { enabled: true, requireEmailVerification: true };
    const { signUp, users } = await application(undefined, {}, { emailAndPassword });
    const denied = await signUp("jane@disposable.example", "192.0.2.1");
    assert.deepEqual([denied.status, users()], [200, []]);
  });

  test("that is challenged is refused if onChallenge does not admit it", async () => {
    const { signUp, users } = await application(undefined, { onChallenge: () => "refuse" });
    const response = await signUp("john@example.com", "192.0.2.6");
    const { code } = (await response.json()) as Record<string, string>;
    assert.deepEqual([response.status, code, users()], [403, "SIGN_UP_DENIED", []]);
    assert.equal((await signUp("jane@example.com", "192.0.2.1")).status, 200);
  });

  test("keeps the id of its decision, as auth-hooks.md shows, and a sign-in is not asked about", async () => {
    const page = readFileSync(join(import.meta.dir, "../../../docs/auth-hooks.md"), "utf8");
    const [, code] = /^```ts\n(import type \{ Admitted[\s\S]*?)^```$/m.exec(page)!;
    const file = join(temporaryFolder(), "on-decision.ts");
    writeFileSync(file, code!);
    const { decisions, onDecision } = await import(file);
    const client = fakeVisitors();
    const { auth, signUp } = await application(client, { onDecision });
    await signUp("jane@example.com", "192.0.2.6");
    assert.deepEqual([...decisions], [["jane@example.com", "asm_0000000000000000"]]);
    client.server.reset();
    await auth.api.signInEmail({
      body: { email: "jane@example.com", password: "correct horse" },
      headers: new Headers({ "X-Forwarded-For": "192.0.2.6" }),
    });
    assert.deepEqual(client.server.requests, []);
  });

  for (const [onUnavailable, status] of [
    ["allow", 200],
    ["deny", 503],
  ] as const)
    test(`during an outage, by onUnavailable: ${onUnavailable}`, async () => {
      const warn = spyOn(console, "warn").mockImplementation(() => {});
      const client = fakeVisitors({ onUnavailable });
      client.server.fail("TIMED_OUT");
      const { signUp, users, decisions } = await application(client as never);
      assert.equal((await signUp("jane@example.com", "192.0.2.1")).status, status);
      assert.equal(users().length, status === 200 ? 1 : 0);
      assert.deepEqual(decisions, status === 200 ? [["jane@example.com", "TIMED_OUT"]] : []);
      warn.mockRestore();
    });

  test("of the application's own is not asked about", async () => {
    const { auth, users } = await application();
    const context = await auth.$context;
    await context.internalAdapter.createUser(
      { email: "jane@disposable.example", name: "Jane" },
      { method: "email-password" },
    );
    assert.equal(users().length, 1);
    tried(import.meta.path, "better-auth", "better-auth", "the plugin: sign-ups with a password, on SQLite");
  });
});

test("without a way to the address the plugin is refused", () =>
  assert.throws(() => inklingPlugin(fakeVisitors(), {} as PluginOptions), /trustProxy/));
