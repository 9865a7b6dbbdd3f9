import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { flagName, SETTING_NAMES, settingRow, settingsOf, tomlKey, variableName } from "@inkling/contract";
import { newKeyToken } from "@inkling/store";
import { parse } from "smol-toml";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { SettingsError } from "../terminal/errors.ts";
import { maskUrl, typeOf } from "./setting-types.ts";
import { defaultWorkers, exampleFile, loadSettings, shown } from "./settings.ts";
import type { SettingsInput } from "./sources.ts";

const temp = temporaryFolder();

/** Creates a folder with an inkling.toml, or an empty folder. */
function folder(toml?: string): string {
  const path = temporaryFolder();
  if (toml !== undefined) writeFileSync(join(path, "inkling.toml"), toml);
  return path;
}

const load = (input: Partial<SettingsInput>) => loadSettings({ flags: {}, env: {}, cwd: folder(), ...input });

function problemsOf(input: Partial<SettingsInput>): readonly string[] {
  try {
    load(input);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

test("without any setting: defaults of the rows, and what is computed", () => {
  const cwd = folder();
  const { settings, origins } = load({ cwd });
  expect(settings).toMatchObject({
    port: 8080,
    dataDir: join(cwd, "data"),
    databaseUrl: `sqlite://${cwd}/data/inkling.db`,
    workers: defaultWorkers(process.platform, availableParallelism()),
    mirror: undefined,
  });
  expect(new Set(Object.values(origins))).toEqual(new Set(["default"]));
});

test.each([
  ["linux", 1, 1],
  ["linux", 2, 2],
  ["linux", 8, 8],
  ["linux", 96, 8],
  ["darwin", 10, 1],
  ["win32", 4, 1],
])("workers on %s with %i cores: %i", (platform, cores, want) => {
  expect(defaultWorkers(platform, cores)).toBe(want);
});

test("names follow from each other", () => {
  expect(flagName("adminPort")).toBe("--admin-port");
  expect(variableName("adminPort")).toBe("INKLING_ADMIN_PORT");
  expect(tomlKey("adminPort")).toBe("admin_port");
});

describe("flags before environment before file before default", () => {
  const toml = "port = 3\nrate = 5\nburst = 7";
  const rows: [name: string, input: Partial<SettingsInput>, port: number, origin: string][] = [
    ["all", { flags: { port: "1" }, env: { INKLING_PORT: "2" }, cwd: folder(toml) }, 1, "flag"],
    ["environment and file", { env: { INKLING_PORT: "2" }, cwd: folder(toml) }, 2, "environment"],
    ["file", { cwd: folder(toml) }, 3, "file"],
    ["an empty variable is not set", { env: { INKLING_PORT: "" }, cwd: folder(toml) }, 3, "file"],
    ["none", {}, 8080, "default"],
    ["file before a command's own default", { cwd: folder(toml), defaults: { port: 4 } }, 3, "file"],
    ["a command's own default", { defaults: { port: 4 } }, 4, "default"],
  ];
  test.each(rows)("%s", (_, input, port, origin) => {
    const loaded = load(input);
    expect(loaded.settings.port).toBe(port);
    expect(loaded.origins.port as string).toBe(origin);
  });
});

describe("credentials", () => {
  const secrets = (files: Readonly<Record<string, string>>) => {
    const path = folder();
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
    return { CREDENTIALS_DIRECTORY: path };
  };
  const database = (text: string) => secrets({ inkling_database_url: text });
  const url = "postgres://a:b@c/d";

  test("a secret is read from its file, without the line break", () => {
    const { settings, origins } = load({ env: database(`${url}\n`) });
    expect([settings.databaseUrl, origins.databaseUrl]).toEqual([url, "credential"]);
  });
  test("after a variable, before inkling.toml", () => {
    const env = { ...database(url), INKLING_DATABASE_URL: "postgres://x/y" };
    expect(load({ env }).settings.databaseUrl).toBe("postgres://x/y");
    const cwd = folder('database_url = "postgres://x/y"');
    expect(load({ env: database(url), cwd }).settings.databaseUrl).toBe(url);
  });
  test("other settings are none", () => {
    expect(load({ env: secrets({ inkling_port: "9" }) }).settings.port).toBe(8080);
  });
  test("an empty file is not set, a folder is none", () => {
    expect(load({ env: database("\n") }).origins.databaseUrl).toBe("default");
    expect(load({ env: { CREDENTIALS_DIRECTORY: "/nowhere" } }).origins.databaseUrl).toBe("default");
  });
  test("a problem shows the file's name, and not its content", () => {
    const env = secrets({ inkling_api_key: "ink_live_hidden" });
    const [problem] = problemsOf({ env });
    expect(problem).toStartWith(`${join(env.CREDENTIALS_DIRECTORY, "inkling_api_key")} `);
    expect(problem).not.toContain("hidden");
  });
  test("without a service manager: beside the settings file, wherever that is", () => {
    const cwd = folder("port = 9");
    mkdirSync(join(cwd, "credentials"));
    writeFileSync(join(cwd, "credentials/database_url"), `${url}\n`);
    expect(load({ cwd }).settings.databaseUrl).toBe(url);
    expect(load({ flags: { config: join(cwd, "inkling.toml") } }).settings.databaseUrl).toBe(url);
    expect(load({ cwd, env: database("postgres://x/y") }).settings.databaseUrl).toBe("postgres://x/y");
    expect(load({ cwd, env: secrets({}) }).origins.databaseUrl).toBe("default");
  });
  test.if(process.getuid?.() === 0)("not readable for this user: one problem, never another database", () => {
    const cwd = folder("port = 9");
    for (const path of [temp, cwd]) chmodSync(path, 0o755);
    mkdirSync(join(cwd, "credentials"), { mode: 0o700 });
    process.seteuid!(65534);
    try {
      expect(() => loadSettings({ flags: {}, env: {}, cwd })).toThrow(
        `Invalid settings:\n  ${cwd}/credentials and its files must be readable by this user; run commands as the service's user`,
      );
    } finally {
      process.seteuid!(0);
    }
  });
  test("one that cannot be read is a problem", () => {
    const env = secrets({});
    mkdirSync(join(env.CREDENTIALS_DIRECTORY, "inkling_api_key"));
    expect(problemsOf({ env })).toEqual([expect.stringContaining("inkling_api_key cannot be read")]);
  });
});

const key = newKeyToken("live", (n) => new Uint8Array(n).fill(7));

describe("values that are taken", () => {
  const rows: [
    variable: string,
    text: string,
    name: keyof ReturnType<typeof load>["settings"],
    value: unknown,
  ][] = [
    ["INKLING_PORT", "65535", "port", 65535],
    ["INKLING_HOST", "::", "host", "::"],
    ["INKLING_HOST", "localhost", "host", "localhost"],
    ["INKLING_WORKERS", "1", "workers", 1],
    ["INKLING_WORKERS", "64", "workers", 64],
    ["INKLING_OFFLINE", "1", "offline", true],
    ["INKLING_OFFLINE", "No", "offline", false],
    ["INKLING_RATE", "0", "rate", 0],
    ["INKLING_LOG_LEVEL", "access", "logLevel", "access"],
    ["INKLING_MIRROR", "https://mirror.example/feeds/", "mirror", "https://mirror.example/feeds/"],
    ["INKLING_MIRROR", "/srv/feeds", "mirror", "/srv/feeds"],
    ["INKLING_DATABASE_URL", "postgres://u:p@h/d", "databaseUrl", "postgres://u:p@h/d"],
    ["INKLING_DATABASE_URL", "sqlite:///var/k.db", "databaseUrl", "sqlite:///var/k.db"],
    ["INKLING_API_KEY", key, "apiKey", key],
  ];
  test.each(rows)("%s=%s", (variable, text, name, value) => {
    expect(load({ env: { [variable]: text } }).settings[name]).toEqual(value as never);
  });

  test("trusted proxies, by variable and by file", () => {
    const want = ["10.0.0.0/8", "127.0.0.1/32", "fd00::/8"];
    const byVariable = load({ env: { INKLING_TRUSTED_PROXIES: "10.0.0.0/8, 127.0.0.1,fd00::/8" } });
    const byFile = load({ cwd: folder(`trusted_proxies = ${JSON.stringify(want)}`) });
    expect(byVariable.settings.trustedProxies).toEqual(want);
    expect(byFile.settings.trustedProxies).toEqual(want);
  });

  test("two secrets of a hook, as Supabase shows them", () => {
    const [one, two] = ["A".repeat(43), "B".repeat(43)].map((text) => `${text}=`);
    const { settings } = load({ env: { INKLING_SUPABASE_HOOK_SECRET: `v1,whsec_${one}|v1,whsec_${two}` } });
    expect(settings.supabaseHookSecret).toEqual([one!, two!]);
  });

  test("DNS servers, by variable and by file", () => {
    const want = ["192.0.2.53", "192.0.2.54:5353", "[2001:db8::53]:5353"];
    const byVariable = load({
      env: { INKLING_DNS_SERVERS: "192.0.2.53, 192.0.2.54:5353 [2001:db8::53]:5353" },
    });
    const byFile = load({ cwd: folder(`dns_servers = ${JSON.stringify(want)}`) });
    expect(byVariable.settings.dnsServers).toEqual(want);
    expect(byFile.settings.dnsServers).toEqual(want);
    expect(problemsOf({ env: { INKLING_DNS_SERVERS: "192.0.2.53,dns.example" } })).toEqual([
      'INKLING_DNS_SERVERS must be addresses of DNS servers such as 192.0.2.53 or [2001:db8::53]:5353: "dns.example" is invalid: it is "192.0.2.53,dns.example"',
    ]);
  });

  test("excluded domains, by variable and by file", () => {
    const byVariable = load({ env: { INKLING_DNS_EXCLUDE: "Corp.example.com, bücher.example" } });
    const byFile = load({ cwd: folder('dns_exclude = ["corp.example.com", "xn--bcher-kva.example"]') });
    for (const { settings } of [byVariable, byFile]) {
      expect(settings.dnsExclude).toEqual(["corp.example.com", "xn--bcher-kva.example"]);
    }
    expect(problemsOf({ env: { INKLING_DNS_EXCLUDE: "a.example,*.b.example" } })).toEqual([
      'INKLING_DNS_EXCLUDE must be domains such as corp.example.com: "*.b.example" is invalid: it is "a.example,*.b.example"',
    ]);
  });

  test("relative paths start at the folder of their origin", () => {
    const files = folder('data_dir = "here"\ndatabase_url = "sqlite://k.db"\nmirror = "feeds"');
    const cwd = folder();
    const byFile = load({ cwd, flags: { config: join(files, "inkling.toml") } }).settings;
    expect([byFile.dataDir, byFile.mirror, byFile.databaseUrl]).toEqual([
      join(files, "here"),
      join(files, "feeds"),
      `sqlite://${files}/k.db`,
    ]);
    expect(load({ cwd, env: { INKLING_DATA_DIR: "there" } }).settings.dataDir).toBe(join(cwd, "there"));
  });
});

describe("values that are refused", () => {
  const whole = "must be a whole number from 1 to 65535: it is";
  const rows: [name: string, input: Partial<SettingsInput>, problem: string | RegExp][] = [
    ["zero port", { env: { INKLING_PORT: "0" } }, `INKLING_PORT ${whole} "0"`],
    ["port too large", { flags: { port: "65536" } }, `--port ${whole} "65536"`],
    [
      "no workers",
      { env: { INKLING_WORKERS: "0" } },
      'INKLING_WORKERS must be a whole number from 1 to 64: it is "0"',
    ],
    [
      "too many workers",
      { flags: { workers: "65" } },
      '--workers must be a whole number from 1 to 64: it is "65"',
    ],
    [
      "a channel that lacks a slash",
      { env: { INKLING_CHANNEL: "s3:/bucket/prod" } },
      /^INKLING_CHANNEL must be a folder, http\(s\):\/\/host\/path or s3:\/\/bucket\/prefix, .*s3:\/bucket\/prod"$/,
    ],
    [
      "a channel that lacks its bucket",
      { env: { INKLING_CHANNEL: "s3://" } },
      /^INKLING_CHANNEL must be a folder, .*"s3:\/\/"$/,
    ],
    ["port with a fraction", { env: { INKLING_PORT: "80.5" } }, `INKLING_PORT ${whole} "80.5"`],
    ["port with a sign", { env: { INKLING_PORT: "+80" } }, `INKLING_PORT ${whole} "+80"`],
    ["port in hex", { env: { INKLING_PORT: "0x50" } }, `INKLING_PORT ${whole} "0x50"`],
    [
      "port of another type",
      { cwd: folder("port = true") },
      /^port in .*inkling\.toml must be a whole .*: it is true$/,
    ],
    [
      "port as a fraction in the file",
      { cwd: folder("port = 80.5") },
      /whole number from 1 to 65535: it is 80\.5$/,
    ],
    [
      "host with a port",
      { env: { INKLING_HOST: "a/b" } },
      /^INKLING_HOST must be an address such as .*"a\/b"$/,
    ],
    ["yes or no", { env: { INKLING_OFFLINE: "maybe" } }, 'INKLING_OFFLINE must be 1 or 0: it is "maybe"'],
    [
      "another database",
      { env: { INKLING_DATABASE_URL: "mysql://u:secret@h" } },
      'INKLING_DATABASE_URL must start with sqlite:// or postgres://: it is "mysql://u:***@h"',
    ],
    [
      "a database in memory",
      { env: { INKLING_DATABASE_URL: "sqlite://:memory:" } },
      'INKLING_DATABASE_URL must name a file: an in-memory database is lost when the process exits: it is "sqlite://:memory:"',
    ],
    [
      "another database, with the password in its query",
      { env: { INKLING_DATABASE_URL: "mysql://u@h/d?password=secret" } },
      'INKLING_DATABASE_URL must start with sqlite:// or postgres://: it is "mysql://u@h/d?***"',
    ],
    [
      "half of MaxMind's account",
      { env: { INKLING_MAXMIND_LICENSE_KEY: "abcdef_secret" } },
      "INKLING_MAXMIND_LICENSE_KEY is set, but INKLING_MAXMIND_ACCOUNT_ID is not: MaxMind needs both",
    ],
    [
      "the other half, as a number in the file",
      { cwd: folder("maxmind_account_id = 123456") },
      /^maxmind_account_id in .* is set, but INKLING_MAXMIND_LICENSE_KEY is not/,
    ],
    [
      "a token with a space in it, which is not shown",
      { env: { INKLING_IPINFO_TOKEN: "secret token" } },
      /^INKLING_IPINFO_TOKEN must be exactly what the publisher gave you: .* without spaces$/,
    ],
    [
      "a secret of a hook that is short, which is not shown",
      { env: { INKLING_SUPABASE_HOOK_SECRET: "v1,whsec_c2VjcmV0" } },
      /^INKLING_SUPABASE_HOOK_SECRET must be v1,whsec_ and a secret of at least 24 bytes in base64; .*\|$/,
    ],
    [
      "a mirror elsewhere",
      { env: { INKLING_MIRROR: "ftp://h/" } },
      /^INKLING_MIRROR must be a folder, or start/,
    ],
    [
      "a mirror with a token in its query, which is not shown",
      { env: { INKLING_MIRROR: "https://h/feeds?token=secret" } },
      /^INKLING_MIRROR must be a base URL without \? and # [^:]*$/,
    ],
    [
      "a mirror with # in its password, which is not shown",
      { env: { INKLING_MIRROR: "https://bob:pw#secret@h/" } },
      /^INKLING_MIRROR must be a base URL without \? and # [^:]*$/,
    ],
    [
      "a mirror that is no URL, without its password",
      { env: { INKLING_MIRROR: "https://bob:secret@no host/" } },
      'INKLING_MIRROR must be a valid URL, such as https://mirror.example/feeds: it is "https://bob:***@no host/"',
    ],
    [
      "a key that is none",
      { env: { INKLING_API_KEY: `${key.slice(0, -1)}x` } },
      /^INKLING_API_KEY must be ink_live_/,
    ],
    [
      "proxies with host bits",
      { env: { INKLING_TRUSTED_PROXIES: "10.0.0.1/8" } },
      /^INKLING_TRUSTED_PROXIES must be addresses or networks .*10\.0\.0\.1\/8 has host bits set; use 10\.0\.0\.0\/8/,
    ],
    [
      "log level",
      { flags: { logLevel: "debug" } },
      '--log-level must be error, info or access: it is "debug"',
    ],
    [
      "both ports the same",
      { env: { INKLING_PORT: "8081" } },
      "INKLING_ADMIN_PORT must differ from INKLING_PORT: both are 8081",
    ],
    [
      "a file that is not there",
      { flags: { config: "nowhere.toml" } },
      /^Configuration file not found: .*nowhere\.toml\. Check `--config`\.$/,
    ],
    ["a file that is no TOML", { cwd: folder("port = \n") }, /inkling\.toml cannot be read: line 1: /],
    ["an unknown key", { cwd: folder("prot = 1") }, /^prot in .* is not a setting; did you mean port\?$/],
  ];
  test.each(rows)("%s", (_, input, problem) => {
    const problems = problemsOf(input);
    expect(problems).toHaveLength(1);
    if (typeof problem === "string") expect(problems[0]).toBe(problem);
    else expect(problems[0]).toMatch(problem);
  });

  test("a refused key is not shown", () => {
    expect(problemsOf({ env: { INKLING_API_KEY: "ink_live_hunter2" } }).join()).not.toContain("hunter2");
  });

  test("all problems come together", () => {
    const env = { INKLING_PORT: "0", INKLING_DATABASE_URL: "mysql://x", INKLING_RATE: "-1" };
    const problems = problemsOf({
      env: { ...env, INKLING_MAXMIND_ACCOUNT_ID: "123456" },
      cwd: folder("nonsense = 1"),
    });
    expect(problems).toHaveLength(5);
    expect(() => load({ env })).toThrow(
      /^Invalid settings:\n {2}INKLING_PORT must .*\n {2}INKLING_DATABASE_URL must .*\n {2}INKLING_RATE must .*$/,
    );
  });
});

test("an unknown variable is pointed out, with the nearest name; it may belong to somebody else", () => {
  const env = { INKLING_PROT: "1", INKLING_WHATEVER_ELSE: "1", INKLING_PORT: "9000" };
  expect(load({ env }).warnings).toEqual([
    "INKLING_PROT is not a setting; did you mean INKLING_PORT?",
    "INKLING_WHATEVER_ELSE is not a setting",
  ]);
});

test("every flag takes a value, unless it turns something on", () => {
  const flags = SETTING_NAMES.filter((name) => !settingRow(name).secret);
  expect(flags.filter((name) => typeOf(settingRow(name).type).placeholder === undefined)).toEqual(
    flags.filter((name) => settingRow(name).type === "yes or no"),
  );
});

test("a worker receives no secret but that of the hook, whose signatures it checks", () => {
  const received = Object.keys(settingsOf(load({}).settings, "worker"));
  expect(received).toContain("trustedProxies");
  expect(SETTING_NAMES.filter((name) => settingRow(name).secret && received.includes(name))).toEqual([
    "supabaseHookSecret",
  ]);
});

test("secrets are masked", () => {
  const env = {
    INKLING_API_KEY: key,
    INKLING_DATABASE_URL: "postgres://u:secret@h:5432/d",
    INKLING_MAXMIND_ACCOUNT_ID: "123456",
    INKLING_MAXMIND_LICENSE_KEY: "abcdef_secret",
    INKLING_IP2LOCATION_TOKEN: "token-secret",
    INKLING_SUPABASE_HOOK_SECRET: `v1,whsec_${"secret00".repeat(4)}`,
  };
  const { settings } = load({ env });
  const masked = SETTING_NAMES.filter((name) => settingRow(name).secret).map((name) => shown(name, settings));
  expect(masked.join()).not.toMatch(/secret|123456/);
  expect(shown("maxmindAccountId", settings)).toBe("***");
  expect(shown("ipinfoToken", settings)).toBe(null);
  expect(shown("apiKey", settings)).toBe("ink_live_***");
  expect(shown("databaseUrl", settings)).toBe("postgres://u:***@h:5432/d");
  expect(maskUrl("postgres://u:p%40:x@h/d")).toBe("postgres://u:***@h/d");
  expect(maskUrl("postgres://u:p@ss@h/d")).toBe("postgres://u:***@h/d");
  expect(maskUrl("postgres://u:p/w@h/d")).toBe("postgres://u:***@h/d");
  expect(maskUrl("https://mirror.example/a@b")).toBe("https://mirror.example/a@b");
  expect(maskUrl("https://token-4711@mirror.example/a@b")).toBe("https://***@mirror.example/a@b");
  expect(maskUrl("postgres://inkling@db/inkling")).toBe("postgres://inkling@db/inkling");
  expect(maskUrl("sqlite:///a:b@c")).toBe("sqlite:///a:b@c");
  expect(maskUrl("/srv/a?b&c")).toBe("/srv/a?b&c");
  expect(maskUrl("postgres://u@h/d?sslmode=require&password=p")).toBe("postgres://u@h/d?sslmode=require&***");
  expect(maskUrl("postgres://u@h/d?sslpassword=p&p%26q#r&sslrootcert=c")).toBe(
    "postgres://u@h/d?***&***&sslrootcert=c",
  );
  expect(maskUrl("postgres://u:p?q@h/d")).toBe("postgres://u:***@");
  expect(maskUrl("postgres://h:5432/d?user=u&password=p@q")).toBe("postgres://h:***@");
  expect(maskUrl("postgres://u@h/d?password=p@q")).toBe("postgres://u@h/d?***");
});

test("the example file has every setting, and its lines are the defaults", () => {
  const cwd = folder(exampleFile());
  expect(load({ cwd }).origins).toEqual(load({ cwd: folder() }).origins);
  const uncommented = exampleFile().replace(/^# ([a-z0-9_]+ = )/gm, "$1");
  expect(Object.keys(parse(uncommented))).toEqual(SETTING_NAMES.map(tomlKey));
  const defaults = load({ cwd: folder() }).settings;
  const { dataDir: _, databaseUrl: __, ...rest } = load({ cwd: folder(uncommented) }).settings;
  expect(defaults).toMatchObject(rest);
});
