// Tests `inkling backup` and `inkling restore`: round trips of both databases, bad archives, and running servers.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { NewOverride } from "@inkling/engine";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import { startServer } from "../../../packages/server/src/server.ts";
import type { DumpedRow } from "../../../packages/store/src/dump.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { hashToken } from "../../../packages/store/src/keys/token.ts";
import { openStore, type Store } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { Postgres } from "../../harness/postgres.ts";
import { GEOLOCATE, smallRelease, temporaryFolder } from "../../harness/release.ts";
import { testServerOptions } from "../../harness/server-options.ts";
import { until } from "../../harness/until.ts";

let postgres: Postgres;
beforeAll(async () => {
  postgres = await Postgres.create();
});
afterAll(() => postgres?.close());

interface Host {
  readonly dataDir: string;
  readonly database: string;
}
const FRESH = {
  sqlite: async (): Promise<Host> => {
    const dataDir = temporaryFolder();
    return { dataDir, database: `sqlite://${join(dataDir, "inkling.db")}` };
  },
  postgres: async (): Promise<Host> => ({
    dataDir: temporaryFolder(),
    database: await postgres.freshDatabase(),
  }),
};
type Kind = keyof typeof FRESH;
const KINDS = Object.keys(FRESH) as Kind[];

const inkling = ({ dataDir, database }: Host, ...args: string[]) =>
  runHere(args, {
    cwd: dataDir,
    env: { INKLING_DATA_DIR: dataDir, INKLING_DATABASE_URL: database },
  });

async function withStore<T>({ database }: Host, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(database);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const flagged = (value: string, note = "our office 東京"): NewOverride => ({
  kind: "address",
  value,
  flag: "is_tor_exit",
  verdict: false,
  note,
  author: "ada",
  expiresAt: undefined,
});

const content = (host: Host) =>
  withStore(host, (store) =>
    store.dump.read(async (pages) => {
      const tables: Record<string, DumpedRow[]> = {};
      for await (const { table, rows } of pages) tables[table] = [...(tables[table] ?? []), ...rows];
      return tables;
    }),
  );

/**
 * Fills the store with more rows than a page has, and every kind of value.
 * @returns tokens
 */
async function fill(host: Host): Promise<{ plain: string; limited: string; revoked: string }> {
  writeFileSync(join(host.dataDir, "feeds.json"), '{ "enabled": ["ip2proxy-lite"], "disabled": [] }\n');
  return withStore(host, async (store) => {
    const make = async (wanted: object) =>
      store.createKey(parseNewKey({ name: "shop", ...wanted }, Date.now()));
    const plain = await make({});
    const limited = await make({
      rate: 2.5,
      burst: 7,
      quota: 1e12,
      networks: ["10.0.0.0/8"],
      expires_at: "2999-01-01T00:00:00Z",
    });
    const revoked = await make({ name: "old" });
    await store.revokeKey(revoked.key.id);
    await store.rotateKey(limited.key.id, Date.now() + 60_000);
    await store.adminToken.create({ actor: "ada", way: "cli" });
    const named = { name: "bob", role: "read", expiresAt: undefined } as const;
    await store.adminToken.add(named, { actor: "ada", way: "cli" });
    await store.overrides.put([flagged("81.2.69.142"), flagged("2a02:8010::1", "a second\nline")], {
      actor: "ada",
      way: "cli",
    });
    const days = Array.from({ length: 1_203 }, (_, i) => new Date(i * 86_400_000).toISOString().slice(0, 10));
    await store.usage.add({
      recorder: "test",
      sequence: 1,
      entries: days.map((day, i) => ({ keyId: plain.key.id, day, lookup: "geolocate", count: i + 1 })),
    });
    return { plain: plain.token, limited: limited.token, revoked: revoked.token };
  });
}

const hashes = (host: Host) =>
  withStore(host, async (store) => (await store.loadKeys()).tokens.map(({ hash }) => hash));

describe.each(KINDS)("a backup of %s", (from) => {
  let source: Host;
  let archive: string;
  let tokens: Awaited<ReturnType<typeof fill>>;
  beforeAll(async () => {
    source = await FRESH[from]();
    tokens = await fill(source);
    writeFileSync(join(source.dataDir, "inkling.toml"), "burst = 17\n");
    archive = join(temporaryFolder(), "inkling.backup");
    expect(await inkling(source, "backup", archive)).toMatchObject({ code: 0, err: "" });
  });

  test("is for its owner alone, and has hashes of keys, not the keys", () => {
    expect(statSync(archive).mode & 0o777).toBe(0o600);
    const text = gunzipSync(readFileSync(archive)).toString();
    expect(text).toContain(hashToken(tokens.plain));
    for (const token of Object.values(tokens)) expect(text).not.toContain(token);
  });

  test.each(KINDS)("is restored to %s as it was, and goes on from there", async (to) => {
    const target = await FRESH[to]();
    const ran = await inkling(target, "restore", archive, "--json", "--settings", "restored.toml");
    expect(ran).toMatchObject({ code: 0, err: "" });
    const [was, is] = [await content(source), await content(target)];
    expect(was.inkling_usage).toHaveLength(1_203);
    const restored = is.inkling_audit!.pop();
    expect(restored).toMatchObject({ action: "database-restored", subject: "database" });
    expect(JSON.parse(String(restored!.became))).toMatchObject({
      sha256: JSON.parse(ran.out).sha256,
      rows: { inkling_keys: 3 },
    });
    expect(is).toEqual(was);
    for (const [name, of] of [
      ["feeds.json", "feeds.json"],
      ["inkling.toml", "restored.toml"],
    ] as const)
      expect(readFileSync(join(target.dataDir, of), "utf8")).toBe(
        readFileSync(join(source.dataDir, name), "utf8"),
      );
    expect((await hashes(target)).sort()).toEqual((await hashes(source)).sort());
    await withStore(target, async (store) => {
      await store.createKey(parseNewKey({ name: "next" }, Date.now()));
      await store.overrides.put([flagged("81.2.69.143")], { actor: "ada", way: "cli" });
      expect((await store.overrides.audit({ limit: 2 })).items.map(({ sequence }) => sequence)).toEqual([
        is.inkling_audit!.length + 3,
        is.inkling_audit!.length + 2,
      ]);
    });
  });
});

describe.each(KINDS)("a restore to %s", (to) => {
  test("of an archive whose audit entries have no way", async () => {
    const source = await FRESH[to]();
    await fill(source);
    const archive = join(temporaryFolder(), "inkling.backup");
    expect((await inkling(source, "backup", archive)).code).toBe(0);
    // The archive as the previous version wrote it.
    const [header, ...lines] = gunzipSync(readFileSync(archive)).toString().trimEnd().split("\n");
    const { tables, ...rest } = JSON.parse(header!);
    const at = tables.inkling_audit.indexOf("way");
    tables.inkling_audit.splice(at, 1);
    const older = lines.slice(0, -1).map((line) => {
      const page = JSON.parse(line);
      if (page.table === "inkling_audit") for (const row of page.rows) row.splice(at, 1);
      return JSON.stringify(page);
    });
    const text = `${[JSON.stringify({ ...rest, tables }), ...older].join("\n")}\n`;
    const { end } = JSON.parse(lines.at(-1)!);
    const sha256 = createHash("sha256").update(text).digest("hex");
    const last = `${JSON.stringify({ end: { ...end, sha256 } })}\n`;
    writeFileSync(archive, gzipSync(text + last));
    const target = await FRESH[to]();
    expect(await inkling(target, "restore", archive)).toMatchObject({ code: 0 });
    const ways = (await content(target)).inkling_audit!.map(({ way }) => way);
    expect(ways.length).toBeGreaterThan(5);
    expect(new Set(ways.slice(0, -1))).toEqual(new Set([null]));
    expect(ways.at(-1)).toBe("cli");
  });

  test("where there is an audit trail alone needs no --force, and keeps it", async () => {
    const [source, target] = [await FRESH[to](), await FRESH[to]()];
    await fill(source);
    const archive = join(temporaryFolder(), "inkling.backup");
    expect((await inkling(source, "backup", archive)).code).toBe(0);
    const entry = {
      action: "feed-disabled",
      subject: "ipsum-3",
      before: undefined,
      after: undefined,
    } as const;
    await withStore(target, (store) => store.overrides.record({ ...entry, actor: "ada", way: "cli" }));
    const ran = await inkling(target, "restore", archive, "--json");
    expect(ran).toMatchObject({ code: 0 });
    expect(existsSync(JSON.parse(ran.out).before)).toBe(true);
  });

  let archive: string;
  let token: string;
  beforeAll(async () => {
    const source = await FRESH.sqlite();
    token = (await fill(source)).plain;
    archive = join(temporaryFolder(), "inkling.backup");
    await inkling(source, "backup", archive);
  });

  test("makes the data folder of a new host", async () => {
    const fresh = await FRESH[to]();
    const host = { ...fresh, dataDir: join(fresh.dataDir, "of/host") };
    const ran = await inkling(host, "restore", archive);
    expect(ran).toMatchObject({ code: 0, err: "", out: expect.stringContaining("contains no releases: ") });
    expect(readFileSync(join(host.dataDir, "feeds.json"), "utf8")).toContain("ip2proxy-lite");
    expect(await hashes(fresh)).toContain(hashToken(token));
  });

  test("replaces what is there only with --force, and keeps it", async () => {
    const target = await FRESH[to]();
    const [mine] = Object.values(await fill(target));
    writeFileSync(join(target.dataDir, "feeds.json"), "{}\n");
    const before = await content(target);
    expect(await inkling(target, "restore", archive)).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^inkling: the target is not empty: .*\nhint: use `--force` to replace it; .*\.before\n$/,
      ),
    });
    expect(await content(target)).toEqual(before);

    expect(await inkling(target, "restore", archive, "--force")).toMatchObject({
      code: 0,
      err: "",
      out: expect.stringContaining("\nKeys revoked after the backup are valid again. "),
    });
    expect(await hashes(target)).toContain(hashToken(token));
    expect(await hashes(target)).not.toContain(hashToken(mine!));
    const kept = join(target.dataDir, "inkling.backup.before");
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    smallRelease(target.dataDir, 1);
    const back = await inkling(target, "restore", kept, "--force");
    expect([back.code, back.out]).toEqual([0, expect.not.stringContaining("contains no releases")]);
    expect({ ...(await content(target)), inkling_audit: [] }).toEqual({ ...before, inkling_audit: [] });
    expect(readFileSync(join(target.dataDir, "feeds.json"), "utf8")).toBe("{}\n");
    expect(existsSync(`${kept}.before`)).toBe(true);
  });

  test("that ends half-way changes nothing", async () => {
    const target = await FRESH[to]();
    await fill(target);
    const before = await content(target);
    const half = (async function* () {
      yield { table: "inkling_admin_tokens", rows: [{ hash: "0".repeat(64), created_at: 1 }] };
      throw new Error("made up");
    })();
    await expect(
      withStore(target, (store) => store.dump.replace(half, { actor: "ada", way: "cli" }, {})),
    ).rejects.toThrow("made up");
    expect(await content(target)).toEqual(before);
  });

  test("of an archive that is not good is refused, and changes nothing", async () => {
    const target = await FRESH[to]();
    const good = readFileSync(archive);
    const text = gunzipSync(good).toString();
    const lines = text.trimEnd().split("\n");
    const bad = (name: string, bytes: Uint8Array): [string, Uint8Array] => [name, bytes];
    const flipped = (at: number) => {
      const bytes = Buffer.from(good);
      bytes[at]! ^= 0x40;
      return bytes;
    };
    const packed = (changed: string | readonly string[]) =>
      gzipSync(typeof changed === "string" ? changed : `${changed.join("\n")}\n`);
    const header = JSON.parse(lines[0]!);
    const cases: (readonly [name: string, bytes: Uint8Array, message: RegExp])[] = [
      ...[0, 1].map((at) => [...bad(`byte ${at}`, flipped(at)), /is not an Inkling backup/] as const),
      ...[40, 500, good.length >> 1, good.length - 3].map(
        (at) => [...bad(`byte ${at}`, flipped(at)), /is damaged|is not an Inkling backup/] as const,
      ),
      ...[30, good.length >> 1, good.length - 1].map(
        (length) =>
          [
            ...bad(`${length} bytes`, good.subarray(0, length)),
            /is damaged|is not an Inkling backup/,
          ] as const,
      ),
      [...bad("nothing", new Uint8Array()), /is not an Inkling backup|is damaged/],
      [...bad("text", Buffer.from("keys\n")), /is not an Inkling backup/],
      [...bad("gzip of another program", packed('{"format":"other"}\n')), /is not an Inkling backup/],
      [...bad("no end", packed(lines.slice(0, -1))), /is damaged: it ends too early/],
      [...bad("a line left out", packed(lines.toSpliced(2, 1))), /is damaged: its content/],
      [...bad("another note", packed(text.replace("our office", "my office"))), /is damaged: its content/],
      [
        ...bad("a line after the end", packed([...lines, lines[1]!])),
        /is damaged: there is data after its end/,
      ],
      [
        ...bad("a bad value", packed(text.replace(/"rows":\[\["key_/, '"rows":[[5,"key_'))),
        /is damaged: a row/,
      ],
      [
        ...bad("a newer format", packed([JSON.stringify({ ...header, version: 2 }), ...lines.slice(1)])),
        /created by another version/,
      ],
      [
        ...bad(
          "a column more",
          packed([JSON.stringify({ ...header, tables: { inkling_keys: ["soul"] } }), ...lines.slice(1)]),
        ),
        /created by another version/,
      ],
    ];
    for (const [name, bytes, message] of cases) {
      const path = join(target.dataDir, "bad.backup");
      writeFileSync(path, bytes);
      const { code, err, out } = await inkling(target, "restore", path, "--force");
      expect({ name, code, err, out }).toEqual({
        name,
        code: 1,
        err: expect.stringMatching(message),
        out: "",
      });
      expect([name, err]).toEqual([name, expect.stringMatching(/^inkling: .+\nhint: .+\n$/)]);
    }
    const folder = join(target.dataDir, "folder");
    mkdirSync(folder);
    for (const [path, message] of [
      [folder, /is a folder/],
      [join(folder, "none"), /does not exist/],
    ] as const)
      expect(await inkling(target, "restore", path)).toMatchObject({
        code: 1,
        err: expect.stringMatching(message),
      });
    expect(await content(target)).toEqual({});
    expect(await inkling(target, "restore", archive)).toMatchObject({ code: 0 });
  });

  test("and a backup of a running server fail no request, and take effect", async () => {
    const target = await FRESH[to]();
    const { plain } = await fill(target);
    smallRelease(target.dataDir, 1);
    const server = await startServer({
      ...testServerOptions(target.dataDir),
      databaseUrl: target.database,
      checkMs: 50,
      writeLog: () => {},
    });
    const status = async (key: string) =>
      (
        await fetch(`http://127.0.0.1:${server.port}${GEOLOCATE}`, {
          headers: { Authorization: `Bearer ${key}` },
        })
      ).status;
    const seen = new Map<number, number>();
    let isOver = false;
    const load = (async () => {
      while (!isOver) {
        const code = await status(plain);
        seen.set(code, (seen.get(code) ?? 0) + 1);
      }
    })();
    try {
      const own = join(target.dataDir, "own.backup");
      expect(await inkling(target, "backup", own)).toMatchObject({ code: 0, err: "" });
      const late = await withStore(target, (store) =>
        store.createKey(parseNewKey({ name: "late" }, Date.now())),
      );
      await until(async () => (await status(late.token)) === 200);
      expect(await inkling(target, "restore", own, "--force")).toMatchObject({ code: 0, err: "" });
      await until(async () => (await status(late.token)) === 401);
      isOver = true;
      await load;
      expect([...seen.keys()]).toEqual([200]);
      // Usage continues from the backup's values.
      const { inkling_keys: keys = [] } = await content(target);
      const id = String(keys.find(({ rate, revoked_at }) => rate === null && revoked_at === null)?.id);
      const today = new Date().toISOString().slice(0, 10);
      await until(() =>
        withStore(target, async (store) => (await store.usage.readByDay(id, today, today)).length > 0),
      );
    } finally {
      isOver = true;
      await load;
      await server.stop();
    }
  });
});

test("a backup is never written over a file, nor made of a database that is not there", async () => {
  const host = await FRESH.sqlite();
  expect(await inkling(host, "backup", "x.backup")).toMatchObject({
    code: 1,
    err: expect.stringContaining("there is no database yet"),
  });
  await fill(host);
  const before = await content(host);
  expect(await inkling(host, "backup", "inkling.db")).toMatchObject({
    code: 1,
    err: expect.stringContaining("already exists"),
  });
  expect(await content(host)).toEqual(before);
  expect(await inkling(host, "backup", "none/x.backup")).toMatchObject({
    code: 1,
    err: expect.stringContaining("the folder"),
  });
  const [fifo, link] = [join(host.dataDir, "fifo"), join(host.dataDir, "link")];
  Bun.spawnSync(["mkfifo", fifo]);
  expect(await inkling(host, "backup", fifo)).toMatchObject({
    code: 1,
    err: expect.stringContaining("already exists"),
  });
  symlinkSync("linked.backup", link); // to no file yet
  expect(await inkling(host, "backup", link)).toMatchObject({ code: 0, err: "" });
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(statSync(join(host.dataDir, "linked.backup")).isFile()).toBe(true);
});

/** Returns an archive with other files, and a valid hash of them. */
function withFiles(archive: string, files: readonly (readonly [name: string, text: string])[]): Buffer {
  const lines = gunzipSync(readFileSync(archive)).toString().trimEnd().split("\n");
  const { end } = JSON.parse(lines.pop()!);
  const kept = lines.filter((line) => !line.startsWith('{"file"'));
  const all = [...kept, ...files.map(([file, text]) => JSON.stringify({ file, text }))];
  const text = all.map((line) => `${line}\n`).join("");
  const sha256 = createHash("sha256").update(text).digest("hex");
  return gzipSync(`${text}${JSON.stringify({ end: { ...end, sha256 } })}\n`);
}

test("files that are broken or unknown are named, and not put in place; the rest is restored", async () => {
  const source = await FRESH.sqlite();
  const { plain } = await fill(source);
  const good = join(source.dataDir, "good.backup");
  await inkling(source, "backup", good);
  const changed = join(source.dataDir, "changed.backup");
  const restoreWith = async (files: readonly (readonly [string, string])[], ...flags: string[]) => {
    writeFileSync(changed, withFiles(good, files));
    const target = await FRESH.sqlite();
    const dataDir = join(target.dataDir, "of/host");
    return { dataDir, target, ...(await inkling({ ...target, dataDir }, "restore", changed, ...flags)) };
  };
  const evil = ["../../evil", "/etc/evil", "a\u001b[2Jb\u202e\n", "current", "__proto__"];
  const found = await restoreWith([
    ...evil.map((name) => [name, "x"] as const),
    ["feeds.json", '{"enabled":["NO SUCH"]'],
    ["channel.json", '{"version":"7"}'],
  ]);
  expect(found.code).toBe(0);
  for (const name of [
    "../../evil",
    "/etc/evil",
    "a\\u001b[2Jb\\u202e\\n",
    "current",
    "feeds.json",
    "channel.json",
  ]) {
    expect(found.err).toContain(`"${name}" was not restored from the backup: `);
    expect(found.out).not.toContain(name.slice(0, 6));
  }
  expect(found.err).toContain("it is not JSON");
  expect(`${found.out}${found.err}`).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  expect(readdirSync(found.dataDir)).toEqual([]);
  expect(existsSync(join(found.dataDir, "../../evil"))).toBe(false);
  expect(await hashes(found.target)).toContain(hashToken(plain));

  const json = await restoreWith(
    [
      ["../evil", "x"],
      ["feeds.json", "{}"],
    ],
    "--json",
  );
  expect(JSON.parse(json.out)).toMatchObject({
    files: ["feeds.json"],
    ignored: [{ name: "../evil", why: "this version of Inkling does not support it" }],
  });
  expect(readFileSync(join(json.dataDir, "feeds.json"), "utf8")).toBe("{}");

  expect(
    await restoreWith([
      ["feeds.json", "{}"],
      ["feeds.json", '{"disabled":[]}'],
    ]),
  ).toMatchObject({
    code: 1,
    err: expect.stringContaining('is damaged: it has "feeds.json" twice'),
  });
  const toml = join(source.dataDir, "restored.toml");
  expect(await restoreWith([["inkling.toml", "port = = 1"]], "--settings", toml)).toMatchObject({ code: 1 });
  expect(existsSync(toml)).toBe(false);
});

test("the version of a channel that a host has taken is kept, and restored to a new one", async () => {
  const host = await FRESH.sqlite();
  await fill(host);
  const trust = (version: number) =>
    JSON.stringify({ channel: "stable", version, sha256: "0".repeat(64), release: "x" });
  const file = join(host.dataDir, "channel.json");
  writeFileSync(file, trust(7));
  expect(await inkling(host, "backup", "x.backup")).toMatchObject({ code: 0 });
  writeFileSync(file, trust(9));
  expect(await inkling(host, "restore", "x.backup", "--force")).toMatchObject({
    code: 0,
    out: expect.stringContaining("This host's channel.json was not replaced"),
  });
  expect(readFileSync(file, "utf8")).toBe(trust(9));
  const other = await FRESH.sqlite();
  expect(await inkling(other, "restore", join(host.dataDir, "x.backup"))).toMatchObject({ code: 0 });
  expect(readFileSync(join(other.dataDir, "channel.json"), "utf8")).toBe(trust(7));
});
