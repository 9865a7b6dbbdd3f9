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
import type { FakeOptions } from "../../../packages/client/src/testing/index.ts";
import { fakeVisitors } from "../../../packages/client/test/fake-visitors.ts";
import { namedBlocks } from "../../harness/named-blocks.ts";
import { run } from "../../harness/published-packages.ts";
import { tried } from "../../harness/recorded-rows.ts";
import { temporaryFolder } from "../../harness/release.ts";

const ORIGIN = "http://example.com";
const PLUGIN = join(import.meta.dir, "../../../packages/client/src/middleware/better-auth.ts");

const signUpRequest = (email: string, from: string) =>
  new Request(`${ORIGIN}/api/auth/sign-up/email`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: ORIGIN, "X-Forwarded-For": from },
    body: JSON.stringify({ email, password: "correct horse", name: "Jane" }),
  });

const settingsOf = (database: Database) =>
  ({
    baseURL: ORIGIN,
    secret: "a secret of the test, thirty-two bytes long",
    database,
    telemetry: { enabled: false },
    logger: { disabled: true },
  }) satisfies BetterAuthOptions;

/** Writes the page's hook for sign-ins and its unit test, and returns the path of the hook. */
function writeSignIns(folder: string): string {
  const page = readFileSync(join(import.meta.dir, "../../../docs/auth-hooks.md"), "utf8");
  const modules: Readonly<Record<string, string>> = {
    "@inkling/client/next": PLUGIN.replace("better-auth.ts", "next.ts"),
    "@inkling/client/testing": PLUGIN.replace("middleware/better-auth.ts", "testing/index.ts"),
    vitest: "bun:test",
  };
  for (const [name, code] of namedBlocks(page, "ts"))
    writeFileSync(
      join(folder, name),
      code.replace(/ from "([@\w][^"]+)"/g, (_, module: string) => {
        const path = modules[module] ?? (/^better/.test(module) ? import.meta.resolve(module) : module);
        return ` from ${JSON.stringify(path)}`;
      }),
    );
  return join(folder, "sign-ins.ts");
}

async function application(
  client = fakeVisitors(),
  plugin: Partial<PluginOptions> = {},
  more: Partial<BetterAuthOptions> = {},
) {
  const database = new Database(":memory:");
  const decisions: [string, string][] = [];
  const options = {
    ...settingsOf(database),
    emailAndPassword: { enabled: true },
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
  const signUp = (email: string, from: string) => auth.handler(signUpRequest(email, from));
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

  for (const option of [{ requireEmailVerification: true }, { autoSignIn: false }])
    test(`that is denied looks like any other: ${JSON.stringify(option)}`, async () => {
      const emailAndPassword = { enabled: true, ...option };
      const { signUp, users } = await application(undefined, {}, { emailAndPassword });
      const denied = await signUp("jane@disposable.example", "192.0.2.1");
      assert.deepEqual([denied.status, users()], [200, []]);
      assert.equal((await signUp("jane@invalid.example", "192.0.2.1")).status, 422);
    });

  test("that is challenged is refused if onChallenge does not admit it", async () => {
    const { signUp, users } = await application(undefined, { onChallenge: () => "refuse" });
    const response = await signUp("john@example.com", "192.0.2.6");
    const { code } = (await response.json()) as Record<string, string>;
    assert.deepEqual([response.status, code, users()], [403, "SIGN_UP_DENIED", []]);
    assert.equal((await signUp("jane@example.com", "192.0.2.1")).status, 200);
  });

  test("keeps the id of its decision, with the module of auth-hooks.md", async () => {
    const page = readFileSync(join(import.meta.dir, "../../../docs/auth-hooks.md"), "utf8");
    const database = new Database(":memory:");
    const { runMigrations } = await getMigrations(settingsOf(database));
    await runMigrations();
    Object.assign(globalThis, { inkling: fakeVisitors(), settings: settingsOf(database) });
    const code = namedBlocks(page, "ts")
      .get("auth.ts")!
      .replace(/^import \{ type Admitted.*\n/m, "")
      .replace('"@inkling/client/better-auth"', JSON.stringify(PLUGIN))
      .replace('"better-auth"', JSON.stringify(import.meta.resolve("better-auth")))
      .replace(/new Inkling\(.*\)/, "globalThis.inkling")
      .replace("betterAuth({", "$&\n  ...globalThis.settings,");
    const file = join(temporaryFolder(), "auth.ts");
    writeFileSync(file, code);
    const { auth, decisions } = await import(file);
    for (const [email, from] of [
      ["jane@example.com", "192.0.2.6"],
      ["jane@disposable.example", "192.0.2.1"],
    ] as const)
      assert.equal((await auth.handler(signUpRequest(email, from))).status, 200);
    assert.deepEqual([...decisions], [["jane@example.com", "asm_0000000000000000"]]);
    assert.deepEqual(database.query("SELECT email FROM user").all(), [{ email: "jane@example.com" }]);
  });

  test("and a sign-in are assessed with the hook of auth-hooks.md, and a denied sign-in has no session", async () => {
    const error = spyOn(console, "error").mockImplementation(() => {});
    const client = fakeVisitors();
    client.server.answer("assess", "192.0.2.7", { action: "deny" });
    const { afterSignIn } = await import(writeSignIns(temporaryFolder()));
    const { auth, signUp } = await application(client, {}, { hooks: { after: afterSignIn(client) } });
    await signUp("jane@example.com", "192.0.2.1");
    const signIn = async (password: string, from: string) => {
      const url = `${ORIGIN}/api/auth/sign-in/email`;
      const { method, headers } = signUpRequest("jane@example.com", from);
      const body = JSON.stringify({ email: "Jane@example.com", password });
      const response = await auth.handler(new Request(url, { method, headers, body }));
      const cookie = response.headers.getSetCookie().map((one) => one.split(";")[0]);
      const session = await auth.api.getSession({ headers: new Headers({ cookie: cookie.join("; ") }) });
      return [response.status, session !== null];
    };
    const answers = [];
    for (const [password, from] of [
      ["correct horse", "192.0.2.1"],
      ["wrong", "192.0.2.1"],
      ["wrong", "192.0.2.7"],
      ["correct horse", "192.0.2.7"],
      ["correct horse", "192.0.2.6"],
      ["correct horse", "10.0.0.1"], // no decision
    ] as const)
      answers.push(await signIn(password, from));
    assert.deepEqual(answers, [
      [200, true],
      [401, false],
      [401, false],
      [403, false],
      [200, true],
      [200, true],
    ]);
    const sent = client.server.requests.map(({ body }) => body as Record<string, string>).slice(1);
    const account = "jane@example.com";
    assert.deepEqual(sent.slice(0, 4), [
      { event: "login", ip: "192.0.2.1", account },
      { event: "login_failed", ip: "192.0.2.1", account },
      { event: "login_failed", ip: "192.0.2.7", account },
      { event: "login", ip: "192.0.2.7", account },
    ]);
    assert.equal(error.mock.calls.length, 1);
    error.mockRestore();
  });

  test("and a sign-in pass the unit test of auth-hooks.md", async () => {
    const folder = temporaryFolder();
    writeSignIns(folder);
    await run([process.execPath, "test", "./sign-ins.test.ts"], folder);
  });

  test("is decided about, and a sign-in without the hook is not", async () => {
    const client = fakeVisitors();
    const { auth, signUp } = await application(client);
    await signUp("jane@example.com", "192.0.2.6");
    assert.equal(client.server.requests.length, 1);
    await auth.api.signInEmail({
      body: { email: "jane@example.com", password: "correct horse" },
      headers: new Headers({ "X-Forwarded-For": "192.0.2.6" }),
    });
    assert.equal(client.server.requests.length, 1);
  });

  for (const [failure, options, status, code] of [
    ["TIMED_OUT", {}, 200],
    ["TIMED_OUT", { onUnavailable: "deny" }, 503, "SIGN_UP_UNCHECKED"],
    ["KEY_EXPIRED", {}, 200],
    ["RATE_LIMITED", {}, 503, "SIGN_UP_UNCHECKED"],
    ["RATE_LIMITED", { onUnavailable: "allow", onThrottled: "allow" }, 200],
    ["SCOPE_REQUIRED", {}, 422, "FAILED_TO_CREATE_USER"],
  ] as const)
    for (const requireEmailVerification of [false, true])
      test(`without a decision: ${failure} ${JSON.stringify({ ...options, requireEmailVerification })}`, async () => {
        const warn = spyOn(console, "warn").mockImplementation(() => {});
        const client = fakeVisitors(options as FakeOptions<"throw">);
        client.server.fail(failure);
        const emailAndPassword = { enabled: true, requireEmailVerification };
        const { signUp, users, decisions } = await application(client, {}, { emailAndPassword });
        const response = await signUp("jane@example.com", "192.0.2.1");
        assert.equal(response.status, status);
        assert.equal(((await response.json()) as { code?: string }).code, code);
        assert.equal(users().length, status === 200 ? 1 : 0);
        assert.deepEqual(decisions, status === 200 ? [["jane@example.com", failure]] : []);
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
