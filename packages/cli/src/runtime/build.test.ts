// Tests how the settings become a build order, and how a build process's output becomes a result or an error.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BuildEvent } from "@inkling/compiler/events";
import { DATA_FOLDER, findLock, lockDataFolder, readFeedsReport } from "@inkling/data";
import type { FeedReport } from "@inkling/engine";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { loadSettings } from "../config/settings.ts";
import type { CliError } from "../terminal/errors.ts";
import {
  BuildBusy,
  BuildInterrupted,
  type BuildResult,
  buildOrder,
  mayFindNewer,
  runBuild,
  unreachedHint,
  waitForOtherBuild,
} from "./build.ts";

const KEYS = {
  INKLING_MAXMIND_ACCOUNT_ID: "123456",
  INKLING_MAXMIND_LICENSE_KEY: "abcdef_secret",
  INKLING_IP2LOCATION_TOKEN: "token-secret",
};
const CREDENTIALS = {
  maxmindAccountId: "123456",
  maxmindLicenseKey: "abcdef_secret",
  ip2locationToken: "token-secret",
};
const settingsOf = (env: Record<string, string>) => loadSettings({ flags: {}, env, cwd: "/srv" }).settings;

describe("a build order", () => {
  const rows: [
    name: string,
    env: Record<string, string>,
    options: Parameters<typeof buildOrder>[1],
    want: object,
  ][] = [
    [
      "fetches from publishers, with the keys that are set",
      KEYS,
      { fetch: true, onlyDue: true },
      { fetch: true, onlyDue: true, credentials: CREDENTIALS },
    ],
    ["fetches nothing, without any key", KEYS, { fetch: false }, { fetch: false, credentials: {} }],
    [
      "fetches nothing offline, whatever the options",
      { ...KEYS, INKLING_OFFLINE: "1" },
      { fetch: true },
      { fetch: false, credentials: {} },
    ],
    [
      "reads the mirror alone",
      { ...KEYS, INKLING_MIRROR: "feeds" },
      { fetch: true },
      { fetch: false, mirror: "/srv/feeds", credentials: {} },
    ],
    [
      "accepts a large change",
      {},
      { fetch: true, accept: ["ipsum-3"] },
      { accept: ["ipsum-3"], credentials: {} },
    ],
  ];
  test.each(rows)("%s", (_name, env, options, want) => {
    expect(buildOrder(settingsOf(env), options)).toMatchObject({ dataDir: "/srv/data", ...want });
    if ("credentials" in want)
      expect(buildOrder(settingsOf(env), options).credentials).toEqual(want.credentials as never);
  });
});

test.each<[name: string, env: Record<string, string>, want: boolean]>([
  ["publishers may be fetched from", {}, true],
  ["a mirror is", { INKLING_MIRROR: "feeds" }, true],
  ["a mirror is, offline too", { INKLING_MIRROR: "feeds", INKLING_OFFLINE: "1" }, true],
  ["nobody is, offline", { INKLING_OFFLINE: "1" }, false],
])("newer data can be found where %s", (_name, env, want) => {
  expect(mayFindNewer(settingsOf(env))).toBe(want);
});

describe("what could not be reached comes with what to do", () => {
  const feed = (source: string) => ({ source }) as FeedReport;
  const rows: [
    name: string,
    env: Record<string, string>,
    unreached: string[],
    sources: string[],
    hint: RegExp,
  ][] = [
    [
      "nothing at all",
      {},
      ["ipsum-3"],
      ["last-good", "own"],
      /`--offline` .*`--mirror FOLDER`.*HTTPS_PROXY=/,
    ],
    ["one of several", {}, ["ipsum-3"], ["last-good", "fetched"], /^other feeds were reached: /],
    [
      "a mirror, whose password is masked",
      { INKLING_MIRROR: "http://me:secret@mirror.example" },
      ["ipsum-3"],
      ["seed"],
      /^no response from the mirror http:\/\/(?!.*secret).*mirror\.example/,
    ],
  ];
  test.each(rows)("%s", (_, env, unreached, sources, hint) => {
    expect(unreachedHint(settingsOf(env), { done: { unreached }, feeds: sources.map(feed) })).toMatch(hint);
  });
  test("nothing to do where all were reached", () => {
    expect(unreachedHint(settingsOf({}), { done: { unreached: [] }, feeds: [feed("seed")] })).toBeUndefined();
  });
});

const temp = temporaryFolder();

const release = {
  format: 1,
  id: "0123456789ab",
  code: "a".repeat(64),
  created_at: "2026-06-01T00:00:00Z",
  segments: {},
  feeds: [],
  missing: [],
  partial: [],
};
const done = {
  type: "done",
  published: true,
  name: "n",
  release,
  held: [],
  expired: [],
  failed: [],
  unreached: [],
  missing: [],
  seconds: 1,
  peakBytes: 2,
};
const conflict = { type: "conflict", domain: "a.com", verdict: "disposable", reason: "r" };
const printing = (...events: object[]) =>
  events.map((event) => `console.log(${JSON.stringify(JSON.stringify(event))});`).join("");

let scripts = 0;
/** Runs `script` instead of the compiler. */
function runScript(
  script: string,
  { signal = new AbortController().signal, dataDir = temporaryFolder() } = {},
) {
  const path = join(temp, `${scripts++}.js`);
  writeFileSync(path, script);
  const events: BuildEvent[] = [];
  const command = [process.execPath, path];
  const result = runBuild({ dataDir, fetch: false }, { command, signal, onEvent: (e) => events.push(e) });
  return { result, events, dataDir, failed: () => readFeedsReport(dataDir)?.failed };
}

async function errorOf(result: Promise<BuildResult>): Promise<CliError> {
  return result.then(
    () => {
      throw new Error("it did not fail");
    },
    (error) => error,
  );
}

test("a build has no credential in its environment", async () => {
  const secrets = [
    "INKLING_MAXMIND_LICENSE_KEY",
    "INKLING_DATABASE_URL",
    "PGPASSWORD",
    "AWS_SECRET_ACCESS_KEY",
  ];
  const proxies = ["HTTPS_PROXY", "no_proxy"];
  for (const name of [...secrets, ...proxies]) process.env[name] = "made-up-secret";
  const script = `throw new Error(Object.keys(process.env).join(" "));`;
  const error = await errorOf(runScript(script).result);
  for (const name of [...secrets, ...proxies]) delete process.env[name];
  for (const name of ["PATH", ...proxies]) expect(error.hint).toMatch(new RegExp(`\\b${name}\\b`));
  for (const name of secrets) expect(error.hint).not.toContain(name);
});

test("a build's heap does not grow with the memory of the machine", async () => {
  // If Bun did not support the option, it would exit with an error.
  const script = "throw new Error(process.env.BUN_JSC_forceRAMSize);";
  expect((await errorOf(runScript(script).result)).hint).toContain("error: 250000000");
});

describe("how a build ends", () => {
  test("done: events in order, conflicts kept", async () => {
    const { result, events } = runScript(printing({ type: "note", text: "hello" }, conflict, done));
    const { conflicts, done: last } = await result;
    expect(events.map(({ type }) => type)).toEqual(["note", "conflict", "done"]);
    expect([last.held, conflicts.length, last.name]).toEqual([[], 1, "n"]);
  });

  test("exit code 3: done, but a feed is held", async () => {
    const { result } = runScript(`${printing({ ...done, held: ["ipsum-3"] })}process.exitCode = 3`);
    expect((await result).done.held).toEqual(["ipsum-3"]);
  });

  test("the order comes through standard input, and none of it is in the arguments", async () => {
    const { events, result, dataDir } = runScript(
      `const text = process.argv.slice(2).join("|") + require("fs").readFileSync(0, "utf8");
      console.log(JSON.stringify({ type: "note", text }));${printing(done)}`,
    );
    await result;
    expect(events[0]).toEqual({ type: "note", text: JSON.stringify({ dataDir, fetch: false }) });
  });

  test("an event cut into pieces is one event", async () => {
    const text = JSON.stringify({ type: "note", text: "zürich" });
    const script = `const all = new TextEncoder().encode(${JSON.stringify(text)} + "\\n");
      for (const byte of all) require("fs").writeSync(1, new Uint8Array([byte]));${printing(done)}`;
    const { events, result } = runScript(script);
    await result;
    expect(events[0]).toEqual({ type: "note", text: "zürich" });
  });

  /** `recorded` is the failure that is recorded in place of the build. */
  const failures: [name: string, script: string, message: RegExp, hint: RegExp, recorded: RegExp | null][] = [
    [
      "by an event",
      `${printing({ type: "failed", message: "disk is full", hint: "free some" })}process.exitCode = 1`,
      /^disk is full$/,
      /^free some\nNothing was published/,
      null, // the compiler itself recorded it
    ],
    [
      "by dying, with its last lines",
      `${printing({ type: "note", text: "x" })}console.error("out of cheese");process.exit(7)`,
      /^the build died \(exit code 7\)$/,
      /its last lines:\n {2}out of cheese\nNothing was published/,
      /^the build died \(exit code 7\)$/,
    ],
    [
      "after a release was published without what was late",
      `${printing({ type: "note", text: "x", published: "r1" })}process.exit(7)`,
      /^the build died \(exit code 7\)$/,
      /^The release r1 was published before that\.$/,
      /^the build died \(exit code 7\)$/,
    ],
    [
      "by a signal from outside",
      'process.kill(process.pid, "SIGKILL")',
      /^the build died \(SIGKILL\)$/,
      /short of memory.*\nNothing was published/,
      /^the build died \(SIGKILL\); the system or container may be short of memory: /,
    ],
    [
      "by ending without output",
      "",
      /^the build died \(exit code 0\)$/,
      /^Nothing was published/,
      /exit code 0/,
    ],
    [
      "by claiming success and failing",
      `${printing(done)}process.exitCode = 1`,
      /^the build died/,
      /Nothing was/,
      /exit code 1/,
    ],
    [
      "by writing something else",
      'console.log("{}")',
      /^the build died/,
      /its last lines:\n {2}\{\}/,
      /exit code 0/,
    ],
  ];
  test.each(failures)("failed %s", async (_, script, message, hint, recorded) => {
    const { result, failed } = runScript(script);
    const error = await errorOf(result);
    if (recorded === null) expect(failed()).toBeUndefined();
    else expect(failed()?.why).toMatch(recorded);
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
    expect(error.exitCode).toBe(1);
  });

  test("because another build is running in the folder, as the compiler itself reports", async () => {
    const dataDir = temporaryFolder();
    const release = lockDataFolder(dataDir);
    const { signal } = new AbortController();
    const error = await errorOf(runBuild({ dataDir, fetch: false }, { signal, onEvent: () => {} }));
    release();
    expect(error).toBeInstanceOf(BuildBusy);
    expect(error.message).toBe(`another build is running in ${dataDir} (process ${process.pid})`);
    expect(error.hint).toMatch(/^wait for that build to finish, then try again\nNothing was published/);
  });

  test("stopped: the child is gone, and nothing was published", async () => {
    const controller = new AbortController();
    const script = `setInterval(() => {}, 1000);console.log(JSON.stringify({ type: "note", text: String(process.pid) }));`;
    const { result, events, failed } = runScript(script, { signal: controller.signal });
    while (events.length === 0) await Bun.sleep(10);
    controller.abort();
    const error = await errorOf(result);
    expect([error.message, error.hint, error.exitCode]).toEqual([
      "stopped: nothing was published; the current release is unchanged",
      undefined,
      130,
    ]);
    expect(failed()).toBeUndefined();
    const pid = Number((events[0] as BuildEvent & { type: "note" }).text);
    expect(() => process.kill(pid, 0)).toThrow();
  });
});

describe("a build that another one keeps waiting", () => {
  function start(signal = new AbortController().signal) {
    const dataDir = temporaryFolder();
    const unlock = lockDataFolder(dataDir);
    const since = findLock(dataDir)!.since.toISOString();
    let err = "";
    const terminal = {
      err: (text: string) => {
        err += text;
      },
    };
    const began = waitForOtherBuild(dataDir, terminal, signal);
    const shown = async (text: string) => {
      while (!err.includes(text)) await Bun.sleep(10);
    };
    return { dataDir, unlock, since, began, shown };
  }

  test("says so, and returns when that one began", async () => {
    const { dataDir, unlock, since, began, shown } = start();
    await shown(`Waiting for the build that is running (process ${process.pid}).\n`);
    unlock();
    expect(await began).toBe(since);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  test("can be stopped", async () => {
    const controller = new AbortController();
    const { unlock, began, shown } = start(controller.signal);
    await shown("Waiting");
    controller.abort();
    expect(await errorOf(began as Promise<never>)).toBeInstanceOf(BuildInterrupted);
    unlock();
  });
});

test("a build that keeps the email segment keeps the conflicts from its creation", async () => {
  const dataDir = temporaryFolder();
  const segment = { sha256: "a".repeat(64), bytes: 1, inputs: "b".repeat(64) };
  const with_ = (sha256: string) => ({
    ...done,
    release: { ...release, segments: { email: { ...segment, sha256 } } },
  });
  const record = async (...events: object[]) => {
    await runScript(printing(...events), { dataDir }).result;
    return JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.lastBuild), "utf8")).conflicts.length;
  };
  expect(await record(conflict, with_("a".repeat(64)))).toBe(1);
  expect(await record(with_("a".repeat(64)))).toBe(1);
  expect(await record(with_("c".repeat(64)))).toBe(0);
});

test("the last build is recorded whole, without temporary files", async () => {
  const { result, dataDir } = runScript(printing(conflict, done));
  await result;
  expect(readdirSync(dataDir)).toEqual([DATA_FOLDER.lastBuild]);
  expect(JSON.parse(readFileSync(join(dataDir, DATA_FOLDER.lastBuild), "utf8"))).toEqual({
    finished_at: expect.stringMatching(/^20.*Z$/),
    release: "n",
    published: true,
    seconds: 1,
    peak_bytes: 2,
    conflicts: [{ domain: "a.com", verdict: "disposable", reason: "r" }],
  });
});
