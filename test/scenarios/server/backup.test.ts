// Tests `inkling backup`, `inkling restore` and `inkling database copy`: round trips, bad archives, and running
// servers.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  copyFileSync,
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
import { gzipSync } from "node:zlib";
import type { NewOverride } from "@inkling/engine";
import { runHere } from "../../../packages/cli/src/program.testing.ts";
import { tarOf } from "../../../packages/cli/src/runtime/backup-archive.ts";
import { startServer } from "../../../packages/server/src/run/server.ts";
import { Database as StoreDatabase } from "../../../packages/store/src/database.ts";
import { parseNewKey } from "../../../packages/store/src/keys/key-input.ts";
import { hashToken } from "../../../packages/store/src/keys/token.ts";
import { MIGRATIONS } from "../../../packages/store/src/migrations.ts";
import { openStore, type Store } from "../../../packages/store/src/store.ts";
import { fetch } from "../../harness/checked-fetch.ts";
import { tokensOf } from "../../harness/key-updates.ts";
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
  sqlite: (): Host => {
    const dataDir = temporaryFolder();
    return { dataDir, database: `sqlite://${join(dataDir, "inkling.db")}` };
  },
  postgres: async (): Promise<Host> => ({
    dataDir: temporaryFolder(),
    database: await postgres.freshDatabase(),
  }),
};

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

/** What a backup contains, and what it does not. */
const CONTENT = [
  "keys",
  "tokens",
  "overrides",
  "rulesets",
  "webhooks",
  "admin_tokens",
  "named_admin_tokens",
  "audit",
  "usage",
] as const;
const BIG_NUMBER = /^\d+$/; // PostgreSQL returns large numbers as text

type Row = Record<string, unknown>;

/** Reads tables, with rows in a fixed order and in the same form for both databases. */
const rowsOf = <Name extends string>(host: Host, names: readonly Name[]): Promise<Record<Name, Row[]>> =>
  withStore(host, async (store) => {
    const found: [string, Row[]][] = [];
    for (const name of names) {
      const rows: Row[] = await store.database.run((sql) => sql.unsafe(`SELECT * FROM inkling_${name}`));
      const plain = rows.map((row) =>
        Object.fromEntries(
          Object.entries(row)
            .map(([key, value]) => [key, BIG_NUMBER.test(String(value)) ? Number(value) : value])
            .sort(),
        ),
      );
      found.push([name, plain.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))]);
    }
    return Object.fromEntries(found) as Record<Name, Row[]>;
  });
const content = (host: Host) => rowsOf(host, CONTENT);

const decide = (host: Host, count: number, prefix = "asm") =>
  withStore(host, (store) =>
    store.database.write(async (tx) => {
      const rows = Array.from({ length: count }, (_, i) => ({
        id: `${prefix}_${String(i).padStart(16, "0")}`,
        created_at: Date.now() - i,
        event: "sign_up",
        ruleset: 0,
        data_version: "x",
        action: "deny",
        review: 0,
        score: 0.25 + i / 1e6,
        reasons: "[]",
        shadow: "[]",
        degraded: "[]",
        facts: JSON.stringify({ "facts.plan": "free\u0000", "facts.city": "東京" }),
        outcome: i % 2 === 0 ? "fraud" : null,
      }));
      await tx`INSERT INTO inkling_decisions ${tx(rows)}`;
    }, true),
  );

/**
 * Fills the store with more rows than a page has, and every kind of value.
 * @returns tokens
 */
async function fill(host: Host): Promise<Record<"plain" | "limited" | "revoked" | "root" | "named", string>> {
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
    const root = (await store.adminToken.create({ author: "ada", source: "cli" }))!;
    const wanted = { name: "bob", role: "read", expiresAt: undefined } as const;
    const named = await store.adminToken.add(wanted, { author: "ada", source: "cli" });
    await store.overrides.put([flagged("81.2.69.142"), flagged("2a02:8010::1", "a second\nline")], {
      author: "ada",
      source: "cli",
    });
    const days = Array.from({ length: 1_203 }, (_, i) => new Date(i * 86_400_000).toISOString().slice(0, 10));
    await store.usage.add({
      recorder: "test",
      sequence: 1,
      entries: days.map((day, i) => ({ keyId: plain.key.id, day, lookup: "geolocate", count: i + 1 })),
    });
    return {
      plain: plain.token,
      limited: limited.token,
      revoked: revoked.token,
      root,
      named: named.token,
    };
  });
}

const hashes = (host: Host) =>
  withStore(host, async (store) => tokensOf(await store.loadKeys()).map(({ hash }) => hash));

interface Member {
  readonly name: string;
  readonly content: Buffer;
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const tarFile = (members: readonly Member[]) => Buffer.concat([...tarOf(members, new Date(0))]);

/** Unpacks an archive with tar, as an operator would. */
function unpacked(archive: string): { readonly folder: string; readonly manifest: Record<string, unknown> } {
  const folder = temporaryFolder();
  expect(Bun.spawnSync(["tar", "-xf", archive, "-C", folder]).exitCode).toBe(0);
  return { folder, manifest: JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")) };
}

/** Returns an archive whose manifest lists these files. */
function archiveOf(files: readonly Member[], changes: object, from: string): Buffer {
  const listed = files.map(({ name, content }) => ({
    name,
    bytes: content.length,
    sha256: sha256(content),
  }));
  const manifest = { ...unpacked(from).manifest, files: listed, ...changes };
  return tarFile([{ name: "manifest.json", content: Buffer.from(JSON.stringify(manifest)) }, ...files]);
}

describe("a backup", () => {
  let source: Host;
  let archive: string;
  let tokens: Awaited<ReturnType<typeof fill>>;
  beforeAll(async () => {
    source = FRESH.sqlite();
    tokens = await fill(source);
    await decide(source, 3);
    writeFileSync(join(source.dataDir, "inkling.toml"), "burst = 17\n");
    archive = join(temporaryFolder(), "inkling.backup");
    expect(await inkling(source, "backup", archive)).toMatchObject({ code: 0, err: "" });
  });

  test("is a tar file for its owner alone, with hashes of tokens and without decisions", () => {
    expect(statSync(archive).mode & 0o777).toBe(0o600);
    const listed = Bun.spawnSync(["tar", "-tvf", archive]).stdout.toString();
    expect(listed.trimEnd().split("\n")).toEqual(
      ["manifest.json", "inkling.db", "feeds.json", "inkling.toml"].map((name) =>
        expect.stringMatching(new RegExp(`^-rw-------.* ${name}$`)),
      ),
    );
    const bytes = readFileSync(archive).toString("latin1");
    for (const token of Object.values(tokens)) {
      expect(bytes).toContain(hashToken(token));
      expect(bytes).not.toContain(token);
    }
    const database = new Database(join(unpacked(archive).folder, "inkling.db"), { readonly: true });
    expect(database.query("SELECT COUNT(*) AS n FROM inkling_decisions").get()).toEqual({ n: 0 });
    expect(database.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    database.close();
    expect(bytes).not.toContain("facts.plan");
    expect(readdirSync(join(archive, ".."))).toEqual(["inkling.backup"]);
  });

  test("is restored as it was, and the database goes on from there", async () => {
    const target = FRESH.sqlite();
    const ran = await inkling(target, "restore", archive, "--json");
    expect(ran).toMatchObject({ code: 0, err: "" });
    const [was, is] = [await content(source), await content(target)];
    expect([was.usage.length, was.tokens.length]).toEqual([1_203, 4]);
    const isRestore = ({ action }: Row) => action === "database-restored";
    expect(is.audit.filter(isRestore)).toMatchObject([{ subject: "database", way: "cli" }]);
    expect(JSON.parse(String(is.audit.find(isRestore)!.became))).toMatchObject({
      created_at: JSON.parse(ran.out).created_at,
      rows: { inkling_keys: 3 },
    });
    expect({ ...is, audit: is.audit.filter((row) => !isRestore(row)) }).toEqual(was);
    const [fromFolder, toFolder] = [source, target].map(({ dataDir }) => dataDir) as [string, string];
    expect(readFileSync(join(toFolder, "feeds.json"), "utf8")).toBe(
      readFileSync(join(fromFolder, "feeds.json"), "utf8"),
    );
    expect(readFileSync(join(unpacked(archive).folder, "inkling.toml"), "utf8")).toBe(
      readFileSync(join(fromFolder, "inkling.toml"), "utf8"),
    );
    await withStore(target, async (store) => {
      await store.createKey(parseNewKey({ name: "next" }, Date.now()));
      const { items } = await store.audit.list({ limit: 1 });
      expect(items).toMatchObject([{ action: "key-created", sequence: is.audit.length + 1 }]);
    });
  });

  test("contains decisions if asked; a restore replaces decisions only then", async () => {
    const whole = join(temporaryFolder(), "whole.backup");
    expect((await inkling(source, "backup", whole, "--decisions")).out).toContain(", 3 decisions, ");
    const target = FRESH.sqlite();
    await decide(target, 5, "late");
    expect((await inkling(target, "restore", archive, "--force")).code).toBe(0);
    expect((await rowsOf(target, ["decisions"])).decisions).toHaveLength(5);
    const ran = await inkling(target, "restore", whole, "--force", "--json");
    expect(ran.code).toBe(0);
    expect(await rowsOf(target, ["decisions"])).toEqual(await rowsOf(source, ["decisions"]));
    expect((await inkling(target, "restore", JSON.parse(ran.out).before, "--force")).code).toBe(0);
    expect((await rowsOf(target, ["decisions"])).decisions).toHaveLength(5);
  });

  test("with --rotate-tokens, no admin token of the backup works, and the new root token does", async () => {
    const target = FRESH.sqlite();
    expect((await inkling(target, "restore", archive)).out).toContain(
      "\nAdmin tokens that were replaced or revoked after the backup are valid again. ",
    );
    const ran = await inkling(target, "restore", archive, "--force", "--rotate-tokens");
    expect([ran.code, ran.err]).toEqual([0, ""]);
    expect(ran.out).toContain("\n  inkling admin-tokens create bob --role read\n");
    const [root] = /ink_admin_\w+/.exec(ran.out)!;
    await withStore(target, async (store) => {
      const found = async (token: string) => (await store.adminToken.find(hashToken(token)))?.role;
      expect([await found(tokens.root), await found(tokens.named), await found(root)]).toEqual([
        undefined,
        undefined,
        "admin",
      ]);
      const { items } = await store.audit.list({ limit: 3 });
      expect(items.map(({ action, subject }) => [action, subject])).toEqual([
        ["database-restored", "database"],
        ["admin-token-created", "admin token"],
        ["admin-token-revoked", "bob"],
      ]);
    });
  });

  test("from an earlier version is migrated while it is restored", async () => {
    const { folder } = unpacked(archive);
    const file = join(folder, "older.db");
    const tables = new StoreDatabase(file, {}, { migrations: MIGRATIONS.slice(0, 1) });
    await tables.ready();
    await tables.close();
    const database = new Database(file);
    database.run("ATTACH ? AS newer", [join(folder, "inkling.db")]);
    for (const table of ["inkling_keys", "inkling_tokens"])
      database.run(`INSERT INTO ${table} SELECT * FROM newer.${table}`);
    database.close();
    const older = join(folder, "older.backup");
    writeFileSync(older, archiveOf([{ name: "inkling.db", content: readFileSync(file) }], {}, archive));
    const target = FRESH.sqlite();
    expect(await inkling(target, "restore", older)).toMatchObject({ code: 0 });
    expect((await content(target)).keys).toEqual((await content(source)).keys);
  });

  test("on a host with PostgreSQL has everything but the database, and says so", async () => {
    const host = await FRESH.postgres();
    writeFileSync(join(host.dataDir, "feeds.json"), '{"enabled":["ip2proxy-lite"]}');
    const file = join(host.dataDir, "files.backup");
    const ran = await inkling(host, "backup", file, "--json");
    expect(ran.err).toMatch(/^warning: the file does not contain the database postgres:.*pg_dump\n$/);
    expect(JSON.parse(ran.out).files).toMatchObject([{ name: "feeds.json" }]);
    const target = FRESH.sqlite();
    expect(await inkling(target, "restore", file, "--rotate-tokens")).toMatchObject({
      code: 1,
      err: expect.stringContaining("the backup has no database"),
    });
    expect(await inkling(target, "restore", file)).toMatchObject({
      code: 0,
      out: expect.stringContaining("The backup has no database: restore the database with pg_restore."),
    });
    expect(readFileSync(join(target.dataDir, "feeds.json"), "utf8")).toContain("ip2proxy-lite");
    expect(existsSync(join(target.dataDir, "inkling.db"))).toBe(false);
  });

  test("is never written over a file, nor made of a database that is not there", async () => {
    const host = FRESH.sqlite();
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
    expect(await inkling(host, "backup", "-")).toMatchObject({
      code: 2,
      err: "inkling: a backup cannot be written to standard output\nhint: name a file, such as inkling.backup\n",
    });
    expect(existsSync(join(host.dataDir, "-"))).toBe(false);
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
});

describe("a restore", () => {
  let source: Host;
  let archive: string;
  let token: string;
  beforeAll(async () => {
    source = FRESH.sqlite();
    token = (await fill(source)).plain;
    archive = join(temporaryFolder(), "inkling.backup");
    await inkling(source, "backup", archive);
  });

  test("where there is an audit trail alone needs no --force, and keeps it", async () => {
    const target = FRESH.sqlite();
    const entry = {
      action: "feed-disabled",
      subject: "ipsum-3",
      before: undefined,
      after: undefined,
    } as const;
    await withStore(target, (store) => store.audit.record({ ...entry, author: "ada", source: "cli" }));
    const ran = await inkling(target, "restore", archive, "--json");
    expect(ran).toMatchObject({ code: 0 });
    expect(existsSync(JSON.parse(ran.out).before)).toBe(true);
  });

  test("makes the data folder of a new host", async () => {
    const fresh = FRESH.sqlite();
    const host = { ...fresh, dataDir: join(fresh.dataDir, "of/host") };
    const ran = await inkling(host, "restore", archive);
    expect(ran).toMatchObject({ code: 0, err: "", out: expect.stringContaining("contains no releases: ") });
    expect(readFileSync(join(host.dataDir, "feeds.json"), "utf8")).toContain("ip2proxy-lite");
    expect(await hashes(fresh)).toContain(hashToken(token));
  });

  test("replaces what is there only with --force, and keeps it", async () => {
    const target = FRESH.sqlite();
    const { plain } = await fill(target);
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
      out: expect.stringContaining("\nKeys that were revoked after the backup are valid again, except"),
    });
    expect(await hashes(target)).toContain(hashToken(token));
    expect(await hashes(target)).not.toContain(hashToken(plain));
    const kept = join(target.dataDir, "inkling.backup.before");
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    smallRelease(target.dataDir, 1);
    const back = await inkling(target, "restore", kept, "--force");
    expect([back.code, back.out]).toEqual([0, expect.not.stringContaining("contains no releases")]);
    expect({ ...(await content(target)), audit: [] }).toEqual({ ...before, audit: [] });
    expect(readFileSync(join(target.dataDir, "feeds.json"), "utf8")).toBe("{}\n");
    expect(existsSync(`${kept}.before`)).toBe(true);
  });

  test("is refused for PostgreSQL, with the commands that lead there", async () => {
    const target = await FRESH.postgres();
    const ran = await inkling(target, "restore", archive, "--force");
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(
      /cannot be restored into postgres:.*\nhint: .*`INKLING_DATABASE_URL=sqlite:\/\/NEW\.db .*`, then `inkling database copy --from NEW\.db`\n$/,
    );
    expect((await content(target)).keys).toEqual([]);
    expect(readdirSync(target.dataDir)).toEqual([]);
    const viaSqlite = { ...target, database: "sqlite://NEW.db" };
    expect(await inkling(viaSqlite, "restore", archive)).toMatchObject({ code: 0, err: "" });
    const copied = await inkling(target, "database", "copy", "--from", join(target.dataDir, "NEW.db"));
    expect(copied).toMatchObject({ code: 0 });
    expect((await content(target)).keys).toEqual((await content(source)).keys);
  });

  test("that fails half-way changes nothing, and leaves no files", async () => {
    const target = FRESH.sqlite();
    await fill(target);
    writeFileSync(join(target.dataDir, "feeds.json"), "{}\n");
    const before = await content(target);
    const { folder } = unpacked(archive);
    const file = join(folder, "inkling.db");
    const database = new Database(file);
    // A key without a token's key: the last check of the transaction fails.
    database.run("PRAGMA foreign_keys = OFF");
    database.run("UPDATE inkling_tokens SET key_id = 'key_none'");
    database.close();
    const bad = join(folder, "bad.backup");
    const files = ["inkling.db", "feeds.json"].map((name) => ({
      name,
      content: readFileSync(join(folder, name)),
    }));
    writeFileSync(bad, archiveOf(files, {}, archive));
    const had = readdirSync(target.dataDir).sort();
    const ran = await inkling(target, "restore", bad, "--force");
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining("FOREIGN KEY constraint failed") });
    expect(await content(target)).toEqual(before);
    expect(readFileSync(join(target.dataDir, "feeds.json"), "utf8")).toBe("{}\n");
    const left = readdirSync(target.dataDir).filter((name) => !had.includes(name));
    expect(left).toEqual(["bad.backup.before"]);
    const fresh = FRESH.sqlite();
    expect(await inkling(fresh, "restore", bad)).toMatchObject({ code: 1 });
    expect(readdirSync(fresh.dataDir)).toEqual([]);
  });

  test.each(["damaged", "newer"])(
    "replaces a %s database with --force, and keeps its file",
    async (state) => {
      const target = FRESH.sqlite();
      await fill(target);
      const file = join(target.dataDir, "inkling.db");
      if (state === "newer") {
        const database = new Database(file);
        database.run("INSERT INTO inkling_migrations (id, name, applied_at) VALUES (1000, 'future', 0)");
        database.close();
      } else {
        const bytes = readFileSync(file);
        writeFileSync(file, bytes.fill(0xff, 4_096, bytes.length - 4_096)); // its first page remains
      }
      const was = readFileSync(file);
      const refused = await inkling(target, "restore", archive);
      expect(refused).toMatchObject({
        code: 1,
        err: expect.stringMatching(
          /(malformed|written by a newer version).*\nhint: use `--force` to replace it; the file is kept as .*\/inkling\.db\.before\n$/,
        ),
      });
      expect(readFileSync(file).equals(was)).toBe(true);
      const restored = await inkling(target, "restore", archive, "--force");
      expect(restored).toMatchObject({
        code: 0,
        out: expect.stringContaining(`The old data is kept in ${file}.before.`),
      });
      expect(readFileSync(`${file}.before`).equals(was)).toBe(true);
      expect(await hashes(target)).toContain(hashToken(token));
    },
  );

  test("of an archive that is not good is refused, and changes nothing", async () => {
    const target = FRESH.sqlite();
    const good = readFileSync(archive);
    const { folder } = unpacked(archive);
    const member = (name: string): Member => ({ name, content: readFileSync(join(folder, name)) });
    const database = member("inkling.db");
    /** The database, with another step of its tables as the last one. */
    const atStep = (step: number): Member => {
      const path = join(folder, "other.db");
      copyFileSync(join(folder, "inkling.db"), path);
      const other = new Database(path);
      other.run("UPDATE inkling_migrations SET id = ? WHERE id = ?", [step, MIGRATIONS.at(-1)!.id]);
      other.close();
      return { name: "inkling.db", content: readFileSync(path) };
    };
    const flipped = (at: number) => {
      const bytes = Buffer.from(good);
      bytes[at]! ^= 0x40;
      return bytes;
    };
    const listing = (files: readonly Member[], changes = {}) => archiveOf(files, changes, archive);
    const symbolic = join(folder, "symbolic.tar");
    symlinkSync("/etc/passwd", join(folder, "evil"));
    Bun.spawnSync(["tar", "--format=ustar", "-C", folder, "-cf", symbolic, "manifest.json", "evil"]);
    const atDatabase = good.indexOf("SQLite format 3");
    const cases: (readonly [name: string, bytes: Uint8Array, message: RegExp])[] = [
      ["a byte of the first header", flipped(3), /is not an Inkling backup/],
      ["a byte of the database", flipped(atDatabase + 5_000), /content of inkling.db does not match/],
      ["a byte of a file", flipped(good.indexOf('"ip2proxy-lite"')), /content of feeds.json does not match/],
      ["a byte of another header", flipped(atDatabase - 512), /not those of its manifest/],
      ["100 bytes", good.subarray(0, 100), /is not an Inkling backup/],
      ["half of it", good.subarray(0, good.length >> 1), /is damaged: it ends too early/],
      ["without its end", good.subarray(0, -1_024), /is damaged: it ends too early/],
      ["nothing", new Uint8Array(), /is not an Inkling backup/],
      ["text", Buffer.from("keys\n"), /is not an Inkling backup/],
      ["compressed", gzipSync(good), /is not an Inkling backup\nhint: .*decompress/],
      ["a tar file of another program", tarFile([database]), /is not an Inkling backup/],
      [
        "a manifest of another program",
        tarFile([{ name: "manifest.json", content: Buffer.from('{"format":"other"}') }]),
        /is not an Inkling backup/,
      ],
      ["a symbolic link", readFileSync(symbolic), /is not an Inkling backup/],
      [
        "a file too many",
        tarFile([member("manifest.json"), database, database]),
        /not those of its manifest/,
      ],
      ["a file twice", listing([database, database]), /two entries of the same name/],
      ["no rows", listing([database], { rows: undefined }), /its manifest is invalid/],
      [
        "no database in the database",
        listing([{ name: "inkling.db", content: Buffer.from("x".repeat(10_000)) }]),
        /inkling.db is invalid/,
      ],
      [
        "a newer format",
        listing([database], { version: 2, program: "9.9" }),
        /newer version of Inkling \(9.9\)/,
      ],
      ...[20, 1_000].map(
        (step) =>
          [
            `a database at step ${step}`,
            listing([atStep(step)], { program: "9.8" }),
            /by Inkling 9.8, and this version cannot read its database\nhint: .*the version that created it/,
          ] as const,
      ),
    ];
    for (const [name, bytes, message] of cases) {
      const path = join(folder, "bad.backup");
      writeFileSync(path, bytes);
      const { code, err, out } = await inkling(target, "restore", path, "--force");
      expect({ name, code, err, out }).toEqual({
        name,
        code: 1,
        err: expect.stringMatching(message),
        out: "",
      });
      expect([name, err]).toEqual([name, expect.stringMatching(/^inkling: .+\nhint: .+\n$/)]);
      expect([name, readdirSync(target.dataDir)]).toEqual([name, []]);
    }
    mkdirSync(join(folder, "folder"));
    for (const [path, message] of [
      [join(folder, "folder"), /is a folder/],
      [join(folder, "none"), /does not exist/],
    ] as const)
      expect(await inkling(target, "restore", path)).toMatchObject({
        code: 1,
        err: expect.stringMatching(message),
      });
    expect(readdirSync(target.dataDir)).toEqual([]);
    expect(await inkling(target, "restore", archive)).toMatchObject({ code: 0 });
  });

  test("names files that are broken or unknown, and does not put them in place", async () => {
    const changed = join(source.dataDir, "changed.backup");
    const { folder } = unpacked(archive);
    const database: Member = { name: "inkling.db", content: readFileSync(join(folder, "inkling.db")) };
    const restoreWith = async (files: readonly (readonly [string, string])[], ...flags: string[]) => {
      const members = files.map(([name, text]) => ({ name, content: Buffer.from(text) }));
      writeFileSync(changed, archiveOf([database, ...members], {}, archive));
      const target = FRESH.sqlite();
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
      "a\\u001b[2Jb\ufffd\\n",
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
    expect(await hashes(found.target)).toContain(hashToken(token));

    const json = await restoreWith(
      [
        ["../evil", "x"],
        ["feeds.json", "{}"],
      ],
      "--json",
    );
    expect(JSON.parse(json.out)).toMatchObject({
      files: ["inkling.db", "feeds.json"],
      ignored: [{ name: "../evil", why: "this version of Inkling does not support it" }],
    });
    expect(readFileSync(join(json.dataDir, "feeds.json"), "utf8")).toBe("{}");
  });

  test("and a backup of a running server fail no request, and take effect", async () => {
    const target = FRESH.sqlite();
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
      const { keys } = await content(target);
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

  test("keeps the version of a channel that a host has taken, and restores it to a new one", async () => {
    const host = FRESH.sqlite();
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
    const other = FRESH.sqlite();
    expect(await inkling(other, "restore", join(host.dataDir, "x.backup"))).toMatchObject({ code: 0 });
    expect(readFileSync(join(other.dataDir, "channel.json"), "utf8")).toBe(trust(7));
  });
});

describe("database copy", () => {
  const ALL = [...CONTENT, "decisions", "deliveries", "domain_verdicts", "retention", "key_changes"] as const;
  const copy = (source: Host, database: string, ...args: string[]) =>
    inkling({ ...source, database }, "database", "copy", ...args);

  test("copies all tables to an empty PostgreSQL database once, decisions included", async () => {
    const source = FRESH.sqlite();
    const { plain, root } = await fill(source);
    await decide(source, 1_200);
    const target = { ...source, database: await postgres.freshDatabase() };
    const was = await rowsOf(source, ALL);
    const ran = await copy(source, target.database);
    expect([ran.code, ran.err]).toEqual([0, ""]);
    expect(ran.out).toContain(", 1,200 decisions from ");
    expect(ran.out).not.toContain(new URL(target.database).password);
    expect(await rowsOf(source, ALL)).toEqual(was);
    const is = await rowsOf(target, ALL);
    const isCopy = ({ action }: Row) => action === "database-copied";
    expect(is.audit.filter(isCopy)).toMatchObject([{ subject: "database", way: "cli" }]);
    expect({ ...is, audit: is.audit.filter((row) => !isCopy(row)) }).toEqual(was);
    expect(await hashes(target)).toContain(hashToken(plain));
    await withStore(target, async (store) =>
      expect((await store.adminToken.find(hashToken(root)))?.role).toBe("admin"),
    );

    const again = await copy(source, target.database);
    expect(again).toMatchObject({
      code: 1,
      err: expect.stringMatching(/the target is not empty: .*inkling_keys.*\nhint: use an empty database\n$/),
    });
    expect(await rowsOf(target, ALL)).toEqual(is);
  });

  test("that fails leaves the target empty", async () => {
    const source = FRESH.sqlite();
    await fill(source);
    await withStore(source, (store) =>
      store.database.write((tx) => tx`UPDATE inkling_audit SET subject = 'a' || char(0) || 'b'`, true),
    );
    const database = await postgres.freshDatabase();
    expect(await copy(source, database)).toMatchObject({ code: 1, out: "" });
    const { audit, keys } = await content({ ...source, database });
    expect([audit, keys]).toEqual([[], []]);
  });

  test("needs SQLite here and PostgreSQL there", async () => {
    const source = FRESH.sqlite();
    await fill(source);
    expect(await inkling(source, "database", "copy")).toMatchObject({
      code: 2,
      err: expect.stringContaining("the database of the settings is not a PostgreSQL database"),
    });
    const empty = await postgres.freshDatabase();
    expect(await copy(FRESH.sqlite(), empty)).toMatchObject({
      code: 1,
      err: expect.stringContaining("there is no database yet"),
    });
    const file = join(source.dataDir, "inkling.db");
    expect(await copy(FRESH.sqlite(), empty, "--from", file)).toMatchObject({ code: 0 });
  });
});
