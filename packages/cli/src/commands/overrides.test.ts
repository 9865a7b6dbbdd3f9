// Tests `inkling overrides …` and `inkling admin-tokens rotate` as users run them, with both streams and the exit code.

import { beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { isAdminToken } from "@inkling/store";
import { smallRelease } from "../../../../test/harness/release.ts";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { userName } from "../config/environment.ts";
import { runHere } from "../program.testing.ts";

const temp = temporaryFolder();
let cwd: string;
beforeEach(() => {
  cwd = temporaryFolder();
});

const inkling = (...args: string[]) => inklingWith({}, ...args);

const inklingWith = (env: Record<string, string>, ...args: string[]) => runHere(args, { env, cwd });

const add = (...args: string[]) => inkling("overrides", "add", ...args);
const OFF = ["81.2.69.142", "--flag", "is_tor_exit=false", "--note", "our office"];

test("add, list, remove, audit", async () => {
  const added = await add(...OFF, "--expires", "30d", "--author", "ada");
  expect(added).toMatchObject({
    code: 0,
    err: expect.stringMatching(/^warning: creating a new database at .*data\/inkling\.db; .*\n$/),
  });
  expect(added.out).toMatch(/^Added ovr_\w{16}: 81\.2\.69\.142 is_tor_exit=false, until 20.*Z\.\n$/);
  const [{ id, ...listed }] = JSON.parse((await inkling("overrides", "list", "--json")).out);
  expect(listed).toMatchObject({ value: "81.2.69.142", flag: "is_tor_exit", verdict: false, author: "ada" });
  expect((await inkling("overrides", "list")).out).toContain(
    `${id}  81.2.69.142  is_tor_exit=false  until 20`,
  );
  const removed = await inkling("overrides", "remove", id, "--author", "bob");
  expect(removed.out).toBe(`Removed ${id}: 81.2.69.142 is_tor_exit=false.\n`);
  expect(await inkling("overrides", "list")).toMatchObject({ out: "", code: 0 });
  expect((await inkling("overrides", "list", "--all")).out).toContain(" removed ");
  const audit = (await inkling("audit")).out;
  expect(audit).toMatch(
    /bob +cli +override-removed +ovr_\w+ +81\.2\.69\.142 is_tor_exit=false\n.*ada +cli +override-added/,
  );
  const [last] = JSON.parse((await inkling("audit", "--json", "--limit", "1")).out);
  expect(last).toMatchObject({ author: "bob", before: { removed_at: null } });
});

test("adding it again changes its note, and reports that", async () => {
  const first = await add(...OFF);
  const id = /ovr_\w{16}/.exec(first.out)![0];
  expect((await add(...OFF)).out).toStartWith(`There already: ${id}`);
  expect((await add(...OFF.slice(0, 3), "--note", "new")).out).toStartWith(`Changed ${id}`);
});

test("an override is removed by its value, unless several overrides have the value", async () => {
  await add(...OFF);
  await add("81.2.69.142", "--flag", "is_proxy=true", "--note", "x");
  const refused = await inkling("overrides", "remove", "81.2.69.142");
  expect(refused.err).toMatch(
    /^inkling: 2 overrides have the value 81\.2\.69\.142\nhint: choose flags with --flag, or remove one by its id: ovr_\w{16} \(is_\w+=\w+\), ovr_\w{16} /,
  );
  const id = /(ovr_\w{16}) \(is_proxy=true\)/.exec(refused.err)![1]!;
  expect((await inkling("overrides", "remove", id)).code).toBe(0);
  expect((await inkling("overrides", "remove", "::ffff:81.2.69.142")).out).toMatch(
    /^Removed ovr_\w{16}: 81\.2\.69\.142 is_tor_exit=false\.\n$/,
  );
  expect((await inkling("overrides", "remove", "81.2.69.142")).err).toStartWith(
    "inkling: there is no override 81.2.69.142\n",
  );
  await add("Jane.Doe@gmail.com", "--flag", "disposable=true", "--note", "x");
  expect((await inkling("overrides", "remove", "jane.doe+a@gmail.com")).code).toBe(0);
});

test("several overrides are removed together, or none if one does not exist", async () => {
  await add("81.2.69.142", "--flag", "is_proxy=true", "--note", "x");
  await add("example-shop.com", "--flag", "disposable=true", "--note", "x");
  const values = ["81.2.69.142", "example-shop.com"];
  const refused = await inkling("overrides", "remove", ...values, "203.0.113.9");
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringMatching(/there is no override 203\.0\.113\.9\n/),
  });
  expect(JSON.parse((await inkling("overrides", "list", "--json")).out)).toHaveLength(2);
  await add("81.2.69.142", "--flag", "is_abuser=true", "--note", "x");
  const byFlag = ["overrides", "remove", values[0]!, "--flag", "is_abuser"];
  expect((await inkling(...byFlag)).out).toMatch(/^Removed ovr_\w+: 81\.2\.69\.142 is_abuser=true\.\n$/);
  expect((await inkling(...byFlag)).err).toStartWith(
    "inkling: there is no override 81.2.69.142 of is_abuser\n",
  );
  const typo = await inkling("overrides", "remove", values[0]!, "--flag", "is_prox");
  expect(typo).toMatchObject({ code: 2, err: expect.stringContaining("Allowed choices are is_abuser") });
  const { code, out } = await inkling("overrides", "remove", ...values, values[0]!, "--json");
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject(values.map((value) => ({ value, removed_at: expect.any(String) })));
  expect(JSON.parse((await inkling("overrides", "list", "--json")).out)).toEqual([]);
});

test("an email address is hashed here, and in no file", async () => {
  const { out } = await add("Jane.Doe@gmail.com", "--flag", "disposable=true", "--note", "x", "--json");
  expect(JSON.parse(out)).toMatchObject({
    kind: "email_hash",
    value: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect((await inkling("overrides", "list")).out).toMatch(/ email [0-9a-f]{12}… /);
  expect(readFileSync(join(cwd, "data/inkling.db"), "latin1").toLowerCase()).not.toContain("jane");
});

test("export, then import elsewhere", async () => {
  await add(...OFF);
  await add("mailinator.com", "--flag", "disposable=false", "--note", "a test");
  const file = join(temp, "overrides.json");
  const { out } = await inkling("overrides", "export");
  writeFileSync(file, out);
  const printed = JSON.parse(out);
  expect(printed.overrides).toHaveLength(2);
  cwd = temporaryFolder();
  const imported = await inkling("overrides", "import", file);
  expect(imported.out).toBe(`Imported ${file}: 2 added, 0 changed, 0 unchanged, 0 expired.\n`);
  expect((await inkling("overrides", "import", file)).out).toContain("0 added, 0 changed, 2 unchanged");
  expect(JSON.parse((await inkling("overrides", "export")).out).overrides).toEqual(printed.overrides);
});

const reading: [name: string, args: string[]][] = [
  ["overrides list", ["overrides", "list"]],
  ["overrides export", ["overrides", "export"]],
  ["overrides remove", ["overrides", "remove", "ovr_x"]],
  ["keys list", ["keys", "list"]],
  ["keys revoke", ["keys", "revoke", "key_x"]],
  ["keys rotate", ["keys", "rotate", "key_x"]],
];
test.each(reading)(
  "a command that creates nothing creates no database, and a misspelt folder is an error: %s",
  async (_, args) => {
    const ran = await inkling(...args, "--data-dir", "tpyo");
    expect(ran.err).toMatch(
      /^inkling: there is no database yet: .*tpyo\/inkling\.db does not exist\nhint: .*--data-dir/,
    );
    expect([ran.out, ran.code]).toEqual(["", 1]);
    expect(readdirSync(cwd)).toEqual([]);
  },
);

test("the old token of a rotated key remains valid for 30 days at most", async () => {
  const ran = await inkling("keys", "rotate", "key_x", "--overlap", "99d");
  expect(ran).toMatchObject({ code: 2, err: expect.stringContaining("must be at most 30 days") });
});

test("lookup applies them; while the database is unreachable, those of the data folder's copy", async () => {
  smallRelease(join(cwd, "data"), 0);
  const flagOf = async (env: Record<string, string> = {}) => {
    const { out, err, code } = await inklingWith(env, "lookup", "reputation", "81.2.69.142", "--json");
    if (code !== 0) throw new Error(err);
    return { abuser: JSON.parse(out).is_abuser, err, code };
  };
  expect(await flagOf()).toEqual({ abuser: true, err: "", code: 0 });
  expect(existsSync(join(cwd, "data/inkling.db"))).toBe(false); // reading creates no database
  await add("81.2.69.0/24", "--flag", "is_abuser=false", "--note", "x");
  await add("disposable-0.com", "--flag", "disposable=false", "--note", "x");
  expect(await flagOf()).toEqual({ abuser: false, err: "", code: 0 });
  const mail = await inkling("lookup", "email", "a@mail.disposable-0.com", "--json");
  expect(mail.out).toBe('{"valid":true,"disposable":false,"providers":[]}\n');
  const away = { INKLING_DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };
  const without = await flagOf(away);
  expect(without).toMatchObject({ abuser: true, code: 0 });
  expect(without.err).toMatch(
    /^warning: postgres:\/\/nobody@127\.0\.0\.1:1\/none: .*; answered without overrides\n$/,
  );
  const [override] = JSON.parse((await inkling("overrides", "list", "--json")).out).slice(-1);
  const copy = { format: "inkling-override-snapshot", version: 1, stamp: "x", overrides: [override] };
  writeFileSync(join(cwd, "data/overrides.json"), JSON.stringify(copy));
  const withCopy = await flagOf(away);
  expect(withCopy).toMatchObject({ abuser: false, code: 0 });
  expect(withCopy.err).toContain("overrides come from overrides.json");
});

test("the author is this user, or a number where the name is not known", async () => {
  expect(userName({ username: "ada", uid: 7 }, () => "eve")).toBe("ada");
  expect(userName({ username: "unknown", uid: 7 }, () => "eve")).toBe("eve");
  expect(userName({ username: "unknown", uid: 7 }, () => undefined)).toBe("user 7");
  await add(...OFF);
  const [{ author }] = JSON.parse((await inkling("overrides", "list", "--json")).out);
  expect(author).toBe(userName());
});

const NUMBER = `user ${userInfo().uid}`;
/** Node reads the account database itself, and throws if the user has no entry. */
const nodeName = Bun.spawnSync(["node", "-p", "os.userInfo().username"], { stderr: "ignore" });
/** What `id` does for a user number without an entry. */
writeFileSync(join(temp, "id"), "#!/bin/sh\necho 7\nexit 1\n", { mode: 0o755 });
test.each([
  ["the account database has", [], nodeName.success ? nodeName.stdout.toString().trim() : NUMBER],
  ["the number stands for, without the program `id`", ["PATH=/nowhere"], NUMBER],
  ["the number stands for, where it has no entry", [`PATH=${temp}`], NUMBER],
])("without $USER, the author is who %s", (_, env, expected) => {
  const code = `import { userName } from ${JSON.stringify(join(import.meta.dir, "../config/environment.ts"))}; console.log(userName())`;
  const { stdout } = Bun.spawnSync(["env", "-u", "USER", ...env, process.execPath, "-e", code]);
  expect(stdout.toString()).toBe(`${expected}\n`);
});

const refused: [name: string, args: string[], code: number, err: RegExp][] = [
  ["no note", OFF.slice(0, 3), 2, /^inkling: required option '--note <text>' not specified\n/],
  [
    "no verdict",
    ["1.1.1.1", "--flag", "is_proxy", "--note", "x"],
    2,
    /\n {2}--flag "is_proxy": must be true or false\n/,
  ],
  [
    "a verdict that is none",
    ["1.1.1.1", "--flag", "is_proxy=no", "--note", "x"],
    2,
    /\n {2}--flag "is_proxy=no": must be true or false\n/,
  ],
  [
    "a misspelt flag",
    ["1.1.1.1", "--flag", "is_porxy=true", "--note", "x"],
    2,
    /\n {2}--flag: .*did you mean is_proxy\?\nhint: /,
  ],
  [
    "no value",
    ["1.1.1", "--flag", "is_proxy=true", "--note", "x"],
    2,
    /\n {2}value "1\.1\.1": is not an address or network/,
  ],
  ["no flag", ["1.1.1.1", "--note", "x"], 2, /required option '--flag <flag=verdict>' not specified\n/],
  [
    "an end in the past",
    [...OFF, "--expires", "2001-01-01"],
    2,
    /\n {2}--expires "2001-01-01": is in the past\n/,
  ],
  ...["soon", "-1d", "30x"].map((end): [string, string[], number, RegExp] => [
    `an end that is none: ${end}`,
    [...OFF, "--expires", end],
    2,
    /\n {2}--expires "\S+": must be a duration such as 90d, a date such as .*, or a time such as 2\S+Z\n/,
  ]),
  [
    "too wide",
    ["81.0.0.0/8", ...OFF.slice(1)],
    2,
    /\n {2}value "81\.0\.0\.0\/8": is broader than \/16.*\nhint: Set `--force` to confirm it\.\n$/,
  ],
  [
    "the opposite",
    ["81.2.69.142", "--flag", "is_tor_exit=true", "--note", "x"],
    1,
    /^inkling: .*contradicts.*our office.*\nhint: remove the other override first: /,
  ],
];
test.each(refused)("refused with a reason and a hint: %s", async (_, args, code, err) => {
  await add(...OFF);
  const ran = await add(...args);
  expect(ran.err).toMatch(err);
  expect([ran.out, ran.code]).toEqual(["", code]);
  expect(JSON.parse((await inkling("overrides", "list", "--json")).out)).toHaveLength(1);
});

test("import suggests --force if a row is too wide", async () => {
  const file = join(cwd, "file.json");
  const row = (over: object) => ({ note: "x", ...over });
  const write = (...overrides: object[]) =>
    writeFileSync(file, JSON.stringify({ format: "inkling-overrides", version: 1, overrides }));
  await add(...OFF);
  const wide = row({ value: "81.0.0.0/8", flag: "is_proxy", verdict: false });
  write(wide, row({ value: "x y", flag: "disposable", verdict: true }));
  expect((await inkling("overrides", "import", file)).err).toMatch(
    /\n {2}overrides\.0\.value: is broader than .*\n {2}overrides\.1\.value: .*\nhint: run `inkling overrides import/,
  );
  write(wide);
  expect((await inkling("overrides", "import", file)).err).toMatch(
    /\nhint: Set `--force` to confirm it\.\n$/,
  );
  expect((await inkling("overrides", "import", file, "--force")).out).toContain("1 added");
  write(
    row({ value: "81.2.0.1", flag: "is_proxy", verdict: false }),
    row({ value: "81.2.0.1", flag: "is_proxy", verdict: true }),
  );
  const opposites = await inkling("overrides", "import", file);
  expect(opposites.err).toMatch(
    /^inkling: 81\.2\.0\.1 is_proxy=true contradicts 81\.2\.0\.1 is_proxy=false \(x\)\nhint: .* of two overrides of a file, keep only one\n$/,
  );
});

test("import of a list of values: each flag applies to all of them", async () => {
  const file = join(cwd, "partners.txt");
  const flags = ["--flag", "is_abuser=false", "is_proxy=false", "--note", "our partners"];
  const load = (...more: string[]) => inkling("overrides", "import", file, ...flags, ...more);
  writeFileSync(
    file,
    "\ufeff# partners\n81.2.69.142 # the office\r\n\n  81.2.70.0/24 ; a branch\n2a00:1450::/32\n",
  );
  expect((await load("--expires", "30d")).out).toBe(
    `Imported ${file}: 6 added, 0 changed, 0 unchanged, 0 expired.\n`,
  );
  expect((await load()).out).toContain("0 added, 6 changed, 0 unchanged");
  const list = JSON.parse((await inkling("overrides", "list", "--json")).out);
  expect(list).toHaveLength(6);
  expect(list).toContainEqual(
    expect.objectContaining({
      value: "81.2.70.0/24",
      flag: "is_proxy",
      verdict: false,
      note: "our partners",
      expires_at: null,
    }),
  );
});

test("a list of values with mistakes: their lines are shown, and nothing is imported", async () => {
  const file = join(cwd, "list.txt");
  const load = (...args: string[]) => inkling("overrides", "import", file, ...args);
  const FLAG = ["--flag", "is_abuser=false", "is_proxy=false"];
  const NOTE = ["--note", "x"];
  const refused = async (text: string, args: readonly string[], err: RegExp) => {
    writeFileSync(file, text);
    const ran = await load(...args);
    expect(ran.err).toMatch(err);
    expect([ran.out, ran.code]).toEqual(["", 2]);
  };
  const wrong = "81.2.69.1\n81.2.70.1/24\n# x\na#b@gmail.com\n10.0.0.0/8\n";
  await refused(
    wrong,
    [...FLAG, ...NOTE],
    /imported:\n {2}line 2: 81\.2\.70\.1\/24 has host bits set\. Use 81\.2\.70\.0\/24\n {2}line 4: is_abuser is not a flag of an email address: use disposable\n {2}line 4: is_proxy .*\n {2}line 5: is a private network, .*\nhint: /,
  );
  await refused("81.0.0.0/8\n", [...FLAG, ...NOTE], /line 1: is broader than \/16.*\nhint: Set `--force`/);
  await refused("x.y z\n".repeat(30), [...FLAG, ...NOTE], /line 10: .*\n {2}and 40 more\n/);
  const good = "81.2.69.1\n81.2.69.2\n";
  await refused(good, FLAG, /^inkling: --note is missing/);
  await refused(good, NOTE, /^inkling: --note and --expires need --flag\nhint: /);
  await refused(
    good,
    ["--flag", "is_prox=false", ...NOTE],
    /imported:\n {2}--flag: .*did you mean is_proxy\?\nhint/,
  );
  await refused(wrong, [...FLAG, "--note", "x".repeat(501)], /imported:\n {2}--note: [^\n]*\nhint/);
  await refused(
    "81.2.69.1\n".repeat(10_001),
    [...FLAG, ...NOTE],
    /imported:\n {2}overrides: has more than 10000 /,
  );
  await refused(good, ["--flag", "is_proxy", ...NOTE], /--flag must be a flag, "=" and true or false/);
  await refused(good, ["--flag", "is_proxy=false", "is_proxy=true", ...NOTE], /has a flag twice/);
  await refused(
    good,
    [...FLAG, ...NOTE, "--expires", "2020-01-01"],
    /\n {2}--expires "2020-01-01": is in the past\nhint/,
  );
  await refused("# nothing\n", [...FLAG, ...NOTE], /list\.txt has no values\nhint: write one value per line/);
  expect((await inkling("overrides", "list")).out).toBe("");
});

test("remove and import: what is not there, and what is no such file", async () => {
  expect((await inkling("overrides", "import", join(cwd, "nowhere.json"))).err).toMatch(
    /does not exist\nhint: /,
  );
  await add(...OFF);
  expect((await inkling("overrides", "remove", "ovr_x")).err).toMatch(
    /^inkling: there is no override ovr_x\nhint: /,
  );
  expect((await inkling("overrides", "remove", "192.0.2.0/33")).err).toStartWith(
    "inkling: there is no override 192.",
  );
  const ran = await inkling("overrides", "import", temp);
  expect(ran).toEqual({ out: "", err: `inkling: ${temp} is a folder\nhint: name a file\n`, code: 1 });
  const file = join(cwd, "file.json");
  writeFileSync(file, "{");
  expect((await inkling("overrides", "import", file)).err).toMatch(/is not JSON: .*\nhint: .*export/);
  writeFileSync(
    file,
    '{"format":"inkling-overrides","version":1,"overrides":[{"value":"x y","note":"x","flag":"disposable","verdict":true}]}',
  );
  expect((await inkling("overrides", "import", file)).err).toMatch(
    /cannot be imported:\n {2}overrides\.0\.value: is no/,
  );
});

test("admin-tokens rotate: only the token on standard output, each time a different one", async () => {
  const [first, second] = [await inkling("admin-tokens", "rotate"), await inkling("admin-tokens", "rotate")];
  expect([first, second].map(({ out }) => isAdminToken(out.trim()))).toEqual([true, true]);
  expect(first.out).not.toBe(second.out);
  expect(first.err).toContain("shown only once");
  await inkling("keys", "create", "--name", "the shop");
  const audit = (await inkling("audit")).out;
  expect(audit).toMatch(/admin-token-created +admin token/);
  expect(audit).toMatch(/key-created +key_\w+ +the shop$/m);
  expect(audit).not.toContain("undefined");
  expect(readFileSync(join(cwd, "data/inkling.db"), "latin1")).not.toContain(second.out.slice(10, 40));
});
