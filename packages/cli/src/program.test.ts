// Tests the command as users run it, as a real process with both streams and the exit code.

import { describe, expect, test } from "bun:test";
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ABANDONED } from "@inkling/compiler/events";
import {
  DATA_FOLDER,
  lockDataFolder,
  publish,
  releaseId,
  requireCurrent,
  writeChannelReport,
} from "@inkling/data";
import { makeKeyPair } from "@inkling/data/channel";
import type { Release } from "@inkling/engine";
import { freePort } from "../../../test/harness/ports.ts";
import { smallRelease } from "../../../test/harness/release.ts";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { sourceText } from "./commands/up.ts";
import { loadSettings } from "./config/settings.ts";
import { type Ran, runHere } from "./program.testing.ts";
import { describeError } from "./program.ts";
import { CliError } from "./terminal/errors.ts";
import { makeStyle } from "./terminal/terminal.ts";

const BIN = resolve(import.meta.dir, "../bin/inkling.mjs");
/** The file that npm links. */
const LINKED = resolve(import.meta.dir, "../bin/inkling");
const temp = temporaryFolder();

const inkling = (args: readonly string[], env: Record<string, string> = {}) =>
  runHere(args, { env, cwd: temp });

const { INKLING_MIRROR: _, INKLING_VECTORS: __, ...env } = process.env;

/** Runs the command as a separate process, as npm does. */
async function spawned(
  command: readonly string[],
  extra: Record<string, string> = {},
  cwd = temp,
): Promise<Ran> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...env, ...extra },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { out, err, code };
}

/** Flags for two free ports. */
function freePorts(): readonly [string, string, string, string] {
  return ["--port", String(freePort()), "--admin-port", String(freePort())];
}

const COMMANDS = [
  [],
  ["up"],
  ["serve"],
  ["data"],
  ["data", "update"],
  ["data", "status"],
  ["data", "verify"],
  ["data", "rollback"],
  ["data", "unpin"],
  ["feeds"],
  ["feeds", "list"],
  ["feeds", "enable"],
  ["feeds", "disable"],
  ["feeds", "export-mirror"],
  ["keys"],
  ["keys", "create"],
  ["keys", "list"],
  ["keys", "update"],
  ["keys", "revoke"],
  ["keys", "rotate"],
  ["lookup"],
  ["lookup", "geolocate"],
  ["lookup", "reputation"],
  ["lookup", "email"],
  ["grep"],
  ["overrides"],
  ["overrides", "add"],
  ["overrides", "list"],
  ["overrides", "remove"],
  ["overrides", "export"],
  ["overrides", "import"],
  ["admin-tokens"],
  ["admin-tokens", "rotate"],
  ["config"],
  ["doctor"],
];

describe("help", () => {
  test.each(COMMANDS.map((path) => [path] as const))("%p --help", async (path) => {
    const { out, err, code } = await inkling([...path, "--help"]);
    expect([err, code]).toEqual(["", 0]);
    expect(out).toStartWith(
      path.length === 0
        ? "Usage: inkling VALUE...\n       inkling [options] [command]\n"
        : `Usage: inkling ${path.join(" ")} `,
    );
    const isGroup = ["data", "feeds", "keys", "lookup", "overrides", "admin-tokens"].includes(path.join(" "));
    if (!isGroup) expect(out).toContain("Examples:\n");
  });
});

describe("errors: one line, a hint, the exit code", () => {
  writeFileSync(join(temp, "a-file"), "");
  const rows: [line: string, code: number, err: RegExp][] = [
    [
      "up --prot 1",
      2,
      /^inkling: unknown option '--prot'\nhint: did you mean --port\? Run `inkling up --help` .*\n$/,
    ],
    ["dta", 2, /^inkling: unknown command 'dta'\nhint: did you mean data\? .*\n$/],
    [
      "lookup email",
      2,
      /^inkling: missing required argument 'email'\nhint: run `inkling lookup email --help` .*\n$/,
    ],
    ["lookup email a b", 2, /^inkling: too many arguments.*\nhint: .*\n$/],
    [
      "geo 8.8.8.8",
      2,
      /^inkling: unknown command 'geo'\nhint: did you mean `inkling lookup geolocate 8.8.8.8`\? .*\n$/,
    ],
    [
      "geolocate",
      2,
      /^inkling: unknown command 'geolocate'\nhint: did you mean `inkling lookup geolocate VALUE`\? .*\n$/,
    ],
    ["ip", 2, /^inkling: unknown command 'ip'\nhint: did you mean `inkling VALUE`\? .*\n$/],
    ["foo a@b.com", 2, /^inkling: unknown command 'foo'\nhint: did you mean `inkling a@b.com`\? .*\n$/],
    ["foo", 2, /^inkling: unknown command 'foo'\nhint: run `inkling --help` .*\n$/],
    ["keys crate", 2, /^inkling: unknown command 'crate'\nhint: did you mean create\? .*\n$/],
    [
      "8.8.8.8 --field proxy",
      2,
      /^inkling: --field: there is no "proxy"\nhint: did you mean is_proxy\? .*\n$/,
    ],
    ["lokup", 2, /^inkling: unknown command 'lokup'\nhint: did you mean lookup\? .*\n$/],
    ["8.8.8.8.8", 1, /^inkling: "8.8.8.8.8" cannot be looked up: .* four numbers\nhint: .*--help.*\n$/],
    ["8.8.8.8/33", 1, /^inkling: "8.8.8.8\/33" cannot be looked up: .* \/32\nhint: .*--help.*\n$/],
    ["AS99999999999", 1, /^inkling: "AS99999999999" cannot be looked up: .* 4294967295\nhint: .*\n$/],
    ["lookup nonsense", 1, /^inkling: "nonsense" is not an IP address, network, .*\nhint: .*--help.*\n$/],
    [
      "export xml",
      2,
      /^inkling: unknown command 'xml'\nhint: available: mmdb, csv, .*; run `.* export --help` .*\n$/,
    ],
    ["AS60729", 1, /^inkling: .* does not exist\nhint: check the path .*\n$/],
    [
      "lookup emial a@b.com",
      2,
      /^inkling: "emial" is not an IP address, network, AS number, domain or email address\nhint: did you mean email\? .*\n$/,
    ],
    ["8.8.8.8 --field x", 2, /^inkling: --field: there is no "x"\nhint: available: value, .*\n$/],
    ["8.8.8.8 --field country.iso_code", 2, /\nhint: did you mean country_iso_code\? available: value, /],
    ["8.8.8.8 --field contry", 2, /\nhint: did you mean country_iso_code\? available: value, /],
    ["8.8.8.8", 1, /^inkling: .* does not exist\nhint: check the path .*\n$/],
    [
      "keys update key_x",
      2,
      /^inkling: nothing to update\nhint: name at least one of --name, --scopes, .*\n$/,
    ],
    [
      "keys update key_x --rate x --networks any,10.0.0.1/8 --scopes mail --quota 1.5 --expires 2001-01-01",
      2,
      /^inkling: Cannot update the key:\n {2}--scopes.*: must be some of .*\n(.*\n)+hint: run `inkling keys update --help` .*\n$/,
    ],
    [
      "keys update key_x --trace long",
      2,
      /\n {2}--trace "long": must be a duration such as 90d, a date such as .*\n/,
    ],
    ["keys revoke", 2, /^inkling: missing required argument 'id'\nhint: .*\n$/],
    ["keys revoke key_x", 1, /^inkling: there is no database yet: .*\nhint: .*--data-dir.*\n$/],
    [
      "keys create --rate x",
      2,
      /^inkling: Cannot create the key:\n {2}--rate "x": must be a number from 0 to 1,000,000\nhint: .*\n$/,
    ],
    [
      "keys create --rate x --scopes geo,mail --quota 1.5",
      2,
      /^inkling: .*\n {2}--scopes "geo,mail": must be some of .*\n {2}--rate "x": .*\n {2}--quota "1.5": must be a whole number .*\nhint: .*\n$/,
    ],
    ["keys create --rate -5", 2, /\n {2}--rate "-5": must be a number from 0 to 1,000,000\n/],
    ["keys create --networks 10.0.0.5/8", 2, /: 10.0.0.5\/8 has host bits set. Use 10.0.0.0\/8\n/],
    [
      "keys create --expires soon",
      2,
      /\n {2}--expires "soon": must be a duration such as 90d, a date such as .*\n/,
    ],
    ["keys rotate key_x --overlap soon", 2, /^inkling: --overlap must be .*"soon"\nhint: for example .*\n$/],
    ["data status", 1, /^inkling: .* does not exist\nhint: check the path .*\n$/],
    ["data verify", 1, /^inkling: .* does not exist\nhint: check the path .*\n$/],
    ["data rollback", 1, /^inkling: .* does not exist\nhint: check the path .*\n$/],
    ["lookup geolocate 1.1.1.1", 1, /^inkling: .* does not exist\nhint: check the path .*\n$/],
    [
      "data update --mirror nowhere",
      1,
      /^inkling: the mirror .*\/nowhere does not exist\nhint: INKLING_MIRROR .*\n$/,
    ],
    [
      "data update --data-dir a-file/x",
      1,
      /^inkling: the data folder .*\/a-file\/x is not a folder\nhint: .*\n$/,
    ],
    ["up --data-dir a-file", 1, /^inkling: the data folder .*\/a-file is not a folder\nhint: .*\n$/],
    [
      "up --config nowhere.toml",
      2,
      /^Invalid settings:\n {2}Configuration file not found: .*nowhere\.toml\. Check `--config`\.\nhint: .*\n$/,
    ],
    [
      "up --port 0 --rate no",
      2,
      /^Invalid settings:\n {2}--port must be .*"0"\n {2}--rate must be .*"no"\nhint: .*\n$/,
    ],
  ];
  test.each(rows)("%s", async (line, code, err) => {
    const ran = await inkling(line.split(" "));
    expect(ran.err).toMatch(err);
    expect([ran.out, ran.code]).toEqual(["", code]);
  });

  const PAST = /^inkling: Cannot .* the key:\n {2}--expires "2001-01-01": is in the past\nhint: .*\n$/;
  const inStore: [line: string, code: number, err: RegExp][] = [
    ["create --expires 2001-01-01", 2, PAST],
    ["update key_x --expires 2001-01-01", 2, PAST],
    ["update key_x --trace 8d", 2, /\n {2}--trace "8d": must be at most 7 days from now\nhint: .*\n$/],
    ...["revoke", "rotate", "update --rate 5"].flatMap((command): [string, number, RegExp][] => [
      [`${command} key_x`, 1, /^inkling: there is no key "key_x"\nhint: run `inkling keys list` .*\n$/],
      [
        `${command} till`,
        1,
        /^inkling: there is no key "till"\nhint: use the id: key_\w{16} is named till\n$/,
      ],
    ]),
  ];
  test.each(inStore)("keys %s, in a database with a key", async (line, code, err) => {
    const data = ["--data-dir", "with-keys"];
    if (!existsSync(join(temp, "with-keys"))) await inkling(["keys", "create", "--name", "till", ...data]);
    const ran = await inkling(["keys", ...line.split(" "), ...data]);
    expect(ran.err).toMatch(err);
    expect([ran.out, ran.code]).toEqual(["", code]);
  });

  test("a group without a command shows its help, as an error", async () => {
    const { out, err, code } = await inkling(["data"]);
    expect([out, code]).toEqual(["", 2]);
    expect(err).toStartWith("Usage: inkling data ");
  });

  test.each(["port", "admin-port"])("a %s in use, before anything takes long", async (flag) => {
    const other = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    // The other listener also gets a free port, because 8080 may be in use on the tester's machine.
    const rest = [`--${flag === "port" ? "admin-port" : "port"}`, String(freePort()), "--offline"];
    const { err, code } = await inkling(["up", `--${flag}`, String(other.port), ...rest]);
    other.stop(true);
    expect(err).toMatch(
      new RegExp(`^inkling: .*port ${other.port} on 127.0.0.1 is in use .*\\nhint: .*\\n$`),
    );
    expect(code).toBe(1);
  });

  test("a misspelt variable is a warning", async () => {
    const { err, code } = await inkling(["config"], { INKLING_PROT: "1" });
    expect(err).toBe("warning: INKLING_PROT is not a setting; did you mean INKLING_PORT?\n");
    expect(code).toBe(0);
  });

  test("a fault of ours shows its stack and asks for a report", () => {
    const style = makeStyle(false);
    expect(describeError(new TypeError("x is undefined"), style)).toMatch(
      /TypeError: x[\s\S]* at [\s\S]*\nhint: .*report/,
    );
    expect(describeError(new CliError("m", "h"), style)).toBe("inkling: m\nhint: h\n");
    // Column names from a foreign file, and messages from a foreign server.
    const codes = new CliError("columns: \x1b]0;x\x07\u009b2J\r\u202eab\n\tür", "\x1b[31m");
    expect(describeError(codes, style)).toBe(
      "inkling: columns: \ufffd]0;x\ufffd\ufffd2J\ufffd\ufffdab\n\tür\nhint: \ufffd[31m\n",
    );
    const denied = Object.assign(new Error("EACCES"), { code: "EACCES", path: "/x" });
    expect(describeError(denied, style)).toMatch(/^inkling: \/x: permission denied\nhint: .*\n$/);
  });
});

describe("output for programs", () => {
  test.each([
    ["0", {}, "default"],
    ["1", { INKLING_OFFLINE: "yes" }, "environment"],
  ])("config prints a switch as a variable has it: %s", async (value, env, from) => {
    const { out } = await inkling(["config"], env);
    expect(out).toMatch(new RegExp(`^INKLING_OFFLINE +${value} +${from}$`, "m"));
  });

  test("config --json: values, origins, secrets masked", async () => {
    const extra = { INKLING_PORT: "9000", INKLING_DATABASE_URL: "postgres://u:hush@h/d" };
    const { out, code } = await inkling(["config", "--json", "--rate", "5"], extra);
    expect(out).not.toContain("hush");
    const { settings } = JSON.parse(out);
    expect(settings.port).toEqual({ value: 9000, from: "environment", variable: "INKLING_PORT" });
    expect(settings.rate).toEqual({ value: 5, from: "flag", variable: "INKLING_RATE" });
    expect(settings.database_url.value).toBe("postgres://u:***@h/d");
    expect(code).toBe(0);
  });

  test("keys: only the key on standard output; created, listed, rotated, revoked", async () => {
    const data = ["--data-dir", "keys-data"];
    const made = await inkling(["keys", "create", "--name", "shop", "--scopes", "email,geolocate", ...data]);
    expect(made.out).toMatch(/^ink_live_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}\n$/);
    const [warning, remark] = made.err.split("\n");
    expect(warning).toMatch(/^warning: creating a new database at .*keys-data\/inkling\.db;/);
    // There is no running server that could use this key.
    expect(remark).toMatch(
      /^Created live key key_\w{16} "shop"\. It is shown only once: Inkling keeps only its hash\.$/,
    );
    const list = async () => JSON.parse((await inkling(["keys", "list", "--json", ...data])).out);
    const [key] = await list();
    expect(key).toMatchObject({ name: "shop", mode: "live", state: "live", scopes: ["geolocate", "email"] });
    expect(JSON.stringify(key)).not.toContain(made.out.trim());
    const traced = await inkling(["keys", "update", key.id, "--trace", "2h", ...data]);
    expect(traced.out).toMatch(
      /^Updated live key key_\w{16} "shop"\. .*\nUntil 20.*Z, each server logs "key-traced" .*\n$/,
    );
    expect((await inkling(["keys", "list", ...data])).out).toMatch(/ shop +live, traced +/);
    await inkling(["keys", "update", key.id, "--trace", "off", ...data]);
    expect((await list())[0].traced_until).toBeNull();
    const rotated = await inkling(["keys", "rotate", key.id, "--overlap", "0s", "--json", ...data]);
    expect(JSON.parse(rotated.out).token).toMatch(/^ink_live_/);
    expect(JSON.parse(rotated.out).token).not.toBe(made.out.trim());
    const revoked = await inkling(["keys", "revoke", key.id, ...data]);
    expect(revoked.out).toMatch(/^Revoked live key key_\w{16} "shop" at 20.*Z\.\n$/);
    expect((await list())[0].state).toBe("revoked");
    const again = await inkling(["keys", "revoke", key.id, ...data]);
    expect([again.out, again.code]).toEqual([revoked.out, 0]);
    const json = JSON.parse((await inkling(["keys", "revoke", key.id, "--json", ...data])).out);
    expect(json).toMatchObject({ state: "revoked", revoked_at: expect.any(String) });
    const sandbox = await inkling(["keys", "create", "--sandbox", "--json", ...data]);
    expect(sandbox.err).toBe("");
    expect((await inkling(["keys", "create", ...data])).err).toMatch(
      /^Created .* accepts it within a second, and returns 401 until then\.\n$/,
    );
    expect(JSON.parse(sandbox.out)).toMatchObject({ mode: "test", state: "sandbox", name: "unnamed" });
    const table = await inkling(["keys", "list", ...data]);
    expect(table.out.split("\n")[0]).toMatch(/^ID +KEY +NAME +STATE/);
  });

  test("keys update: only given fields change; words remove a setting; a revoked key is refused", async () => {
    const data = ["--data-dir", "keys-to-update"];
    const limits = [
      "--networks",
      "10.0.0.0/8",
      "--rate",
      "5",
      "--burst",
      "7",
      "--quota",
      "90",
      "--expires",
      "9d",
    ];
    const { out } = await inkling([
      "keys",
      "create",
      "--name",
      "shop",
      "--scopes",
      "email",
      ...limits,
      "--json",
      ...data,
    ]);
    const { token, ...made } = JSON.parse(out);
    const update = (...flags: string[]) => inkling(["keys", "update", made.id, ...flags, ...data]);
    const list = async () => JSON.parse((await inkling(["keys", "list", "--json", ...data])).out)[0];
    const named = await update(
      "--name",
      "90",
      "--scopes",
      "geolocate,email",
      "--networks",
      "192.0.2.0/24,::1/128",
    );
    expect([named.code, named.err]).toEqual([0, ""]);
    expect(named.out).toBe(
      `Updated live key ${made.id} "90". A running server applies it within a second.\n`,
    );
    const after = { name: "90", scopes: ["geolocate", "email"], networks: ["192.0.2.0/24", "::1/128"] };
    expect(await list()).toMatchObject({ ...made, ...after });
    const limited = await update(
      "--rate",
      "0.5",
      "--burst",
      "2",
      "--quota",
      "0",
      "--expires",
      "2099-01-31",
      "--json",
    );
    const next = { rate: 0.5, burst: 2, quota: 0, expires_at: "2099-01-31T00:00:00.000Z" };
    expect(JSON.parse(limited.out)).toEqual({ ...made, ...after, ...next });
    expect((await update("--rate", "0.6")).out).toContain(
      "second.\nIts burst size is still 2; `--burst default` makes it twice the rate.\n",
    );
    const words = "--scopes all --networks any --rate default --burst default --quota none --expires never";
    const free = { scopes: ["geolocate", "reputation", "email", "assess"], networks: [] };
    const none = { rate: null, burst: null, quota: null, expires_at: null };
    expect(JSON.parse((await update(...words.split(" "), "--json")).out)).toEqual({
      ...made,
      name: "90",
      ...free,
      ...none,
    });
    await inkling(["keys", "revoke", made.id, ...data]);
    const refused = await update("--name", "x");
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining("A revoked key cannot be changed"),
    ]);
    expect(token).toMatch(/^ink_live_/);
  });

  test("doctor --json finds what an empty folder lacks, and that this is not a problem", async () => {
    mkdirSync(join(temp, "an-empty-folder"), { recursive: true });
    const { out, code } = await inkling([
      "doctor",
      "--json",
      "--data-dir",
      "an-empty-folder",
      ...freePorts(),
    ]);
    const { ok, checks } = JSON.parse(out);
    const states = Object.fromEntries(
      checks.map((one: { check: string; state: string }) => [one.check, one.state]),
    );
    expect([ok, code]).toEqual([true, 0]);
    expect(states).toMatchObject({
      settings: "ok",
      clock: "ok",
      data: "ok",
      release: "note",
      database: "note",
    });
    for (const { state, fix } of checks) expect(fix === undefined).toBe(state === "ok");
  });

  test("doctor: a configured data folder that does not exist is a problem", async () => {
    const { out, code } = await inkling(["doctor", "--data-dir", "none", ...freePorts()]);
    expect(out).toMatch(/^problem {2}data folder: .*none does not exist\n {9}-> check --data-dir/m);
    expect(code).toBe(1);
  });

  test("doctor: no release where a server of ours runs is a problem", async () => {
    const fetch = () => Response.json({ status: "alive" });
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
    try {
      const ports = ["--port", String(server.port), "--admin-port", freePorts()[3]];
      const { out, code } = await inkling(["doctor", "--data-dir", "none", ...ports]);
      expect(out).toMatch(
        /^problem {2}release: there is none, but Inkling is running: .*\n {9}-> .*--data-dir/m,
      );
      expect(code).toBe(1);
    } finally {
      await server.stop(true);
    }
  });

  const unfetched = {
    id: "ipsum-3",
    sets: "is_abuser",
    source: "none",
    state: "missing",
    entries: 0,
    licence: "x",
  } as const;
  test.each<[name: string, flags: string[], state: string, fix: RegExp]>([
    [
      "fetches",
      [],
      "note",
      /^run `inkling data status` to see why; a running server fetches what is due, or run `/,
    ],
    ["is offline", ["--offline"], "problem", /to see why; INKLING_OFFLINE fetches nothing/],
  ])("doctor: an answer without data, on a host that %s", async (_, flags, state, fix) => {
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 1, ["is_abuser"], [unfetched]);
    const { out } = await inkling(["doctor", "--json", "--data-dir", dataDir, ...flags, ...freePorts()]);
    const found = JSON.parse(out).checks.find((one: { check: string }) => one.check === "data");
    expect(found).toEqual({
      check: "data",
      state,
      found: expect.stringMatching(/^`inkling serve` returns 503 for is_abuser/),
      fix: expect.stringMatching(fix),
    });
  });

  const checked = async (name: string, dataDir: string, ...flags: string[]) => {
    const { out } = await inkling(["doctor", "--json", "--data-dir", dataDir, ...flags, ...freePorts()]);
    return JSON.parse(out).checks.find((one: { check: string }) => one.check === name);
  };
  const release = (dataDir: string, ...flags: string[]) => checked("release", dataDir, ...flags);

  test("doctor: with a channel, no remedy for the release builds one", async () => {
    const channel = ["--channel", temp, "--channel-key", makeKeyPair().publicKey];
    const dataDir = temporaryFolder();
    expect((await release(dataDir, ...channel)).fix).toBe("`inkling serve` fetches one from the channel");
    const { files } = smallRelease(dataDir, 1);
    writeFileSync(files[0]!, "x");
    expect(await release(dataDir, ...channel)).toMatchObject({
      state: "problem",
      fix: "the server fetches it from the channel again; if none is running, start `inkling serve`",
    });
    expect((await release(dataDir)).fix).toStartWith("run `inkling data update`");
  });

  test("doctor: with a channel, no remedy is a build on this host", async () => {
    const channel = ["--channel", temp, "--channel-key", makeKeyPair().publicKey];
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 1, ["is_abuser"], [unfetched]);
    const builds = async (...flags: string[]) => {
      const { out } = await inkling(["doctor", "--json", "--data-dir", dataDir, ...flags, ...freePorts()]);
      const checks: { check: string; fix?: string }[] = JSON.parse(out).checks;
      return checks.flatMap(({ check, fix }) => (fix?.includes("data update") ? [[check, fix]] : []));
    };
    const onBuilder = /on the host that builds, run `inkling data update`, then `inkling channel publish`$/;
    expect(await builds(...channel)).toEqual([["data", expect.stringMatching(onBuilder)]]);
    const [[, fix] = []] = await builds("--mirror", "http://127.0.0.1:1");
    expect(fix).toContain(
      "refresh the files in the mirror http://127.0.0.1:1, then run `inkling data update`",
    );
    expect(fix).not.toContain("set INKLING_MIRROR");
  });

  test("doctor: a channel's fault comes with its own remedy, and with the release that is served", async () => {
    const flags = ["--channel", temp, "--channel-key", makeKeyPair().publicKey];
    const dataDir = temporaryFolder();
    const since = "2026-11-01T00:00:00.000Z";
    const none = { followed_at: null, version: null, release: null, expires_at: null };
    const fault = { kind: "wrong-object", reason: "x is damaged", since } as const;
    writeChannelReport(dataDir, { channel: "stable", ...none, fault });
    const found = async () => {
      const { out } = await inkling(["doctor", "--json", "--data-dir", dataDir, ...flags, ...freePorts()]);
      return JSON.parse(out).checks.find((one: { check: string }) => one.check === "channel");
    };
    const failing = `not followed since ${since}: x is damaged (wrong-object)`;
    expect(await found()).toEqual({
      check: "channel",
      state: "problem",
      found: `${failing}; this host has no release to serve`,
      fix: expect.stringMatching(
        /^find out who wrote to the store, then run `inkling channel publish --again`/,
      ),
    });
    smallRelease(dataDir, 1);
    const kept = `${failing}; the server keeps ${requireCurrent(dataDir).name}`;
    expect((await found()).found).toBe(kept);
    // A follower with the signing key in its environment still reports its fault. Without a fault, the host publishes.
    flags.push("--channel-signing-key", join(temp, "key.pem"));
    expect(await found()).toMatchObject({ state: "problem", found: kept });
    writeChannelReport(dataDir, { channel: "stable", ...none, fault: null });
    expect((await found()).found).toBe(`${temp}: this host publishes`);
  });

  test("doctor: a database without keys is a problem only where a server runs", async () => {
    const dataDir = temporaryFolder();
    const data = ["--data-dir", dataDir];
    const { id } = JSON.parse((await inkling(["keys", "create", "--name", "x", "--json", ...data])).out);
    await inkling(["keys", "revoke", id, ...data]);
    const state = async (...ports: string[]) => {
      const { out } = await inkling(["doctor", "--json", ...data, ...ports]);
      return JSON.parse(out).checks.find((one: { check: string }) => one.check === "database").state;
    };
    expect(await state(...freePorts())).toBe("note");
    const fetch = () => Response.json({ status: "alive" });
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
    try {
      expect(await state("--port", String(server.port), "--admin-port", freePorts()[3])).toBe("problem");
    } finally {
      await server.stop(true);
    }
  });

  test.if(process.geteuid?.() === 0)("doctor: files of another user in the data folder", async () => {
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 1);
    const data = async () => {
      const { out } = await inkling(["doctor", "--json", "--data-dir", dataDir, ...freePorts()]);
      return JSON.parse(out).checks.find((one: { check: string }) => one.check === "data folder");
    };
    expect((await data()).found).toContain("is writable");
    chownSync(join(dataDir, "current"), 65_534, 65_534);
    expect(await data()).toEqual({
      check: "data folder",
      state: "problem",
      found: `user 0 owns ${dataDir}, but not all files in it: current (user 65534)`,
      fix: `as root, run \`chown -R 0 ${dataDir}\`; then run commands as user 0`,
    });
  });

  test("doctor: while a build runs, the only remedy is to wait", async () => {
    const dataDir = temporaryFolder();
    const unlock = lockDataFolder(dataDir);
    const running = `; a build is running \\(process ${process.pid}, started (just now|\\d+ seconds? ago)\\)$`;
    const fix = "wait until it is done; the server then uses its release";
    const found = expect.stringMatching(new RegExp(running));
    expect(await release(dataDir)).toMatchObject({ state: "note", found, fix });
    const { files } = smallRelease(dataDir, 1);
    writeFileSync(files[0]!, "x");
    expect(await release(dataDir)).toMatchObject({ state: "problem", found, fix });
    unlock();
    expect((await release(dataDir)).fix).not.toBe(fix);
  });

  test("doctor: partial answers are not errors", async () => {
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 1);
    const { id: _, ...whole } = requireCurrent(dataDir).manifest;
    const partial: Release["partial"] = [{ answer: "is_abuser", why: "ipsum-3 is missing" }];
    const content = { ...whole, partial };
    publish(dataDir, { ...content, id: releaseId(content) });
    const { out } = await inkling(["doctor", "--data-dir", dataDir, ...freePorts()]);
    expect(out).toMatch(
      /^note {5}data: is_abuser is partial \(ipsum-3 is missing\).*\n +-> run `inkling data status` to see why/m,
    );
    expect(out).not.toContain(" 503");
  });

  /** Writes the report of a build two hours ago. */
  const writeReport = (dataDir: string, more: (at: string) => object) => {
    mkdirSync(join(dataDir, "feeds"), { recursive: true });
    const at = new Date(Date.now() - 7_200_000).toISOString();
    const report = { format: 1, at, feeds: [], ...more(at) };
    writeFileSync(join(dataDir, DATA_FOLDER.feedsReport), JSON.stringify(report));
  };

  test("doctor: a held copy", async () => {
    const dataDir = temporaryFolder();
    const held = { sha256: "0".repeat(64), why: "is_vpn flags too much" };
    const about = {
      sets: "is_proxy",
      source: "seed",
      state: "loaded",
      entries: 1,
      licence: "",
      held,
    } as const;
    smallRelease(dataDir, 1, [], [{ id: "x4bnet-vpn-v4", ...about }]);
    const found = expect.stringContaining("new copies that look wrong are held: x4bnet-vpn-v4");
    const fix = expect.stringMatching(/^run `inkling data status` to see why/);
    expect(await checked("data", dataDir)).toMatchObject({ state: "note", found, fix });
  });

  test("doctor: a build whose server ended", async () => {
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 1);
    writeReport(dataDir, (at) => ({ failed: { at, why: ABANDONED } }));
    expect(await checked("data", dataDir)).toMatchObject({
      state: "note",
      fix: "a running server builds again by itself; or run `inkling data update`",
    });
  });

  test("doctor: a build that failed as a whole", async () => {
    const dataDir = temporaryFolder();
    smallRelease(dataDir, 1);
    writeReport(dataDir, (at) => ({ failed: { at, why: "the disk is full" } }));
    const { out, code } = await inkling(["doctor", "--data-dir", dataDir, ...freePorts()]);
    expect(out).toMatch(
      /^problem {2}data: the latest build failed 2 hours ago: the disk is full\n +-> fix the cause/m,
    );
    expect(code).toBe(1);
  });

  test("data status: a build that failed as a whole, on a host that builds", async () => {
    const dataDir = temporaryFolder();
    const status = (...flags: string[]) => inkling(["data", "status", "--data-dir", dataDir, ...flags]);
    writeReport(dataDir, (at) => ({ failed: { at, why: "the disk is full" } }));
    expect(await status()).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^inkling: there is no release in .*: the latest build failed at 20\S+Z: the disk is full\nhint: fix the cause/,
      ),
    });
    smallRelease(dataDir, 1);
    expect((await status()).out).toMatch(
      /^The latest build failed at 20\S+Z: the disk is full\.\nFix the cause, then run `inkling data update`\.$/m,
    );
    expect(JSON.parse((await status("--json")).out).failed).toMatchObject({ why: "the disk is full" });
    const follower = await inkling(["data", "status", "--data-dir", dataDir], { INKLING_CHANNEL: temp });
    expect(follower.out).not.toContain("failed");
  });

  test("a mirror's password is not printed by up before its first build", () => {
    const mirror = "http://bob:secret@127.0.0.1:1/";
    const { settings } = loadSettings({ flags: { mirror }, env: {}, cwd: temp });
    expect(sourceText(settings)).toBe("from the mirror http://bob:***@127.0.0.1:1/");
  });

  test.each([
    ["missing", "nowhere", /does not exist\nhint: INKLING_MIRROR must be a folder with one file per feed$/m],
    ["a file", "a-file", /is not a folder\nhint: INKLING_MIRROR must be a folder/],
    ["empty", "an-empty-folder", /is empty\nhint: it needs one file per feed/],
  ])("data update with a mirror that is %s", async (_name, mirror, says) => {
    mkdirSync(join(temp, "an-empty-folder"), { recursive: true });
    writeFileSync(join(temp, "a-file"), "");
    const { err } = await inkling(["data", "update", "--mirror", mirror, "--data-dir", "none"]);
    expect(err).toMatch(says);
    expect(err).toContain(`inkling: the mirror ${join(temp, mirror)} `);
    expect(err).not.toMatch(/ENOENT|ENOTDIR|scandir/);
  });

  test("doctor reports wrong settings as a finding", async () => {
    const { out, code } = await inkling(["doctor", "--port", "0"]);
    expect(out).toMatch(/^problem {2}settings: --port must be .*\n {9}-> /);
    expect(code).toBe(1);
  });
});

describe("as a process", () => {
  test("an error goes to standard error, with its exit code", async () => {
    expect(await spawned(["node", BIN, "data", "status", "--data-dir", "nowhere"])).toEqual({
      out: "",
      err: `inkling: ${temp}/nowhere does not exist\nhint: check the path (--data-dir or INKLING_DATA_DIR), or build a release there with \`inkling data update\`\n`,
      code: 1,
    });
    expect((await spawned(["node", BIN, "--nonsense"])).code).toBe(2);
  });

  test("--version", async () => {
    expect(await spawned(["node", BIN, "--version"])).toEqual({ out: "0.1.0\n", err: "", code: 0 });
  });

  test("a .env file sets nothing", async () => {
    const folder = join(temp, "with-env");
    mkdirSync(folder);
    writeFileSync(join(folder, ".env"), "INKLING_PORT=9999\n");
    const { out } = await spawned(["node", BIN, "config", "--json"], {}, folder);
    expect(JSON.parse(out).settings.port.value).toBe(8080);
  });

  test.each([BIN, LINKED])("a bunfig.toml runs nothing: %s", async (bin) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
    writeFileSync(
      join(folder, "preload.ts"),
      'require("node:fs").appendFileSync("ran", process.argv.join());\n',
    );
    const command = bin === BIN ? ["node", bin] : [bin];
    expect((await spawned([...command, "--version"], {}, folder)).out).toBe("0.1.0\n");
    expect(readdirSync(folder)).not.toContain("ran");
  });

  test("no colour without a terminal, whatever the environment has", async () => {
    const { out, err } = await spawned(["node", BIN, "doctor"], { FORCE_COLOR: "1" });
    expect(out).toContain("settings: all are valid");
    expect(out + err).not.toContain("\x1b");
  });

  test("a reader that closes the pipe ends it quietly", async () => {
    const command = `node ${BIN} config --example | head -c 1; echo " \${PIPESTATUS[0]}"`;
    expect(await spawned(["bash", "-c", command])).toEqual({ out: "# 0\n", err: "", code: 0 });
  });
});
