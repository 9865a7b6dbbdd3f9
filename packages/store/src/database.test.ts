import { beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { lockSqlite } from "../../../test/harness/sqlite-lock.ts";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { parseAddress } from "./address.ts";
import { Database } from "./database.ts";
import { StoreError, storeErrorFrom } from "./error.ts";
import { parseNewKey } from "./keys/key-input.ts";
import { openStore } from "./store.ts";

let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
});

async function failure(promise: Promise<unknown>): Promise<StoreError> {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  return error;
}

describe("addresses", () => {
  const understood: [string, string, string][] = [
    ["sqlite:// and a relative path", "sqlite://data/a.db", `sqlite://${resolve("data/a.db")}`],
    ["sqlite:// and an absolute path", "sqlite:///var/lib/a.db", "sqlite:///var/lib/a.db"],
    ["sqlite: and a path", "sqlite:./a.db", `sqlite://${resolve("a.db")}`],
    ["a plain path", "/var/lib/a b.db", "sqlite:///var/lib/a b.db"],
    ["in memory", "sqlite://:memory:", "sqlite://:memory:"],
    ["postgres, password left out", "postgres://u:p%40ss@db:5433/inkling", "postgres://u@db:5433/inkling"],
    ["postgresql, no user", "postgresql://db/inkling", "postgres://db/inkling"],
    [
      "settings after the ? are not shown",
      "postgres://u:secret@db/inkling?sslmode=require&password=secret",
      "postgres://u@db/inkling",
    ],
  ];
  for (const [name, address, label] of understood) {
    test(name, () => expect(parseAddress(address).label).toBe(label));
  }

  const refused: [string, string][] = [
    ["empty", ""],
    ["only a scheme", "sqlite://"],
    ["another database", "mysql://u:secret@db/inkling"],
    ["postgres without a host", "postgres:///inkling"],
    ["postgres with a port that is none", "postgres://u:secret@db:port/inkling"],
    ["a password with a stray percent sign", "postgres://u:secret%@db/inkling"],
    ["a password with a slash", "postgres://u:sec/secret@db/inkling"],
    ["a path with a question mark", "data/a.db?mode=ro"],
  ];
  for (const [name, address] of refused) {
    test(`refused without its password: ${name}`, () => {
      let error: unknown;
      try {
        parseAddress(address);
      } catch (reason) {
        error = reason;
      }
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toMatchObject({ code: "ADDRESS" });
      expect(String(error) + (error as StoreError).stack).not.toContain("secret");
    });
  }
});

describe("errors", () => {
  test("hide passwords of the query, too", () => {
    const database = new Database("postgres://u:p1@db/x?password=p%402&sslpassword=p3&sslmode=require");
    expect(database.errorFrom(new Error("p1 p@2 p3 require")).message).toContain(": *** *** *** require");
  });

  const postgres = (errno: string) => ({ code: "ERR_POSTGRES_SERVER_ERROR", errno });
  const rows: [name: string, fields: object, code: string, isReadOnly?: true][] = [
    ["wrong password", postgres("28P01"), "REFUSED"],
    ["no such database", postgres("3D000"), "REFUSED"],
    ["no rights", postgres("42501"), "REFUSED"],
    ["shutting down", postgres("57P01"), "UNREACHABLE"],
    ["too many connections", postgres("53300"), "UNREACHABLE"],
    ["deadlock", postgres("40P01"), "UNREACHABLE"],
    ["a standby that cannot be written", postgres("25006"), "UNREACHABLE", true],
    ["disk full in PostgreSQL", postgres("53100"), "UNREACHABLE", true],
    ["duplicate", postgres("23505"), "CONFLICT"],
    ["syntax", { code: "ERR_POSTGRES_SYNTAX_ERROR", errno: "42601" }, "BROKEN"],
    ["connection closed", { code: "ERR_POSTGRES_CONNECTION_CLOSED" }, "UNREACHABLE"],
    ["file locked", { code: "SQLITE_BUSY_SNAPSHOT", errno: 517 }, "UNREACHABLE"],
    ["disk full", { code: "SQLITE_FULL", errno: 13 }, "UNREACHABLE", true],
    ["corrupt file", { code: "SQLITE_CORRUPT", errno: 11 }, "DAMAGED"],
    ["read-only file", { code: "SQLITE_READONLY", errno: 8 }, "REFUSED", true],
    ["duplicate in SQLite", { code: "SQLITE_CONSTRAINT_PRIMARYKEY", errno: 1555 }, "CONFLICT"],
    ["anything else", {}, "BROKEN"],
  ];
  for (const [name, fields, code, isReadOnly = false] of rows) {
    test(`${name}: ${code}, with a hint, without secrets`, () => {
      const cause = Object.assign(new Error("no entry for s3cret"), fields);
      const error = storeErrorFrom(cause, "postgres://db/x", ["s3cret"]);
      expect(error).toMatchObject({ code, isReadOnly, message: "postgres://db/x: no entry for ***" });
      expect(error.hint).not.toBe("");
    });
  }
});

test("a database on a read-only file system is explained as such, without advice about the user", () => {
  const cause = Object.assign(new Error("EROFS: read-only file system, open '/x.db'"), { code: "EROFS" });
  expect(storeErrorFrom(cause, "sqlite:///x.db", [])).toMatchObject({
    code: "REFUSED",
    isReadOnly: true,
    message: "sqlite:///x.db is on a read-only file system",
    hint: "make it writable, or put the database elsewhere: INKLING_DATABASE_URL=sqlite://FILE or postgres://…",
  });
});

describe("an SQLite file", () => {
  test("is made for this user only, folder included, and so are its side files", async () => {
    const file = join(folder, "new/folder/inkling.db");
    const store = await openStore(file);
    await store.createKey(parseNewKey({ name: "x" }, 0));
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(file + suffix).mode & 0o777).toBe(0o600);
    await store.close();
  });

  test("that is no database is called damaged, with a hint", async () => {
    const file = join(folder, "text.db");
    writeFileSync(file, "this is a text, and long enough to be taken for a header of SQLite's".repeat(50));
    const error = await failure(openStore(file));
    expect(error).toMatchObject({ code: "DAMAGED" });
    expect(error.message).toContain("text.db");
  });

  test("that is a folder is refused", async () => {
    expect((await failure(openStore(folder))).code).toBe("REFUSED");
  });

  test("that cannot be written is refused", async () => {
    const file = join(folder, "read-only.db");
    await (await openStore(file)).close();
    chmodSync(file, 0o400);
    if (process.getuid?.() === 0) return; // root may write to any file
    expect((await failure(openStore(file))).code).toBe("REFUSED");
  });

  test.if(process.geteuid?.() === 0)("that root creates belongs to the owner of its folder", async () => {
    const users = join(folder, "a-users");
    mkdirSync(users);
    chownSync(users, 65_534, 65_534);
    const file = join(users, "new.db");
    const store = await openStore(file);
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(file + suffix).uid).toBe(65_534);
    await store.close();

    const other = join(folder, "of-root");
    writeFileSync(other, "");
    symlinkSync(other, join(users, "link.db"));
    await (await openStore(join(users, "link.db"))).close();
    expect(statSync(other).uid).toBe(0);
  });

  test("locked by another program: waits without stopping this process, then fails with UNREACHABLE", async () => {
    const file = join(folder, "locked.db");
    await (await openStore(file)).close();
    const release = await lockSqlite(file);
    const store = await openStore(file, { timeoutMs: 2_000 });
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const error = await failure(store.createKey(parseNewKey({ name: "x" }, 0)));
    expect(error.code).toBe("UNREACHABLE");
    expect(ticks).toBeGreaterThan(5); // a wait inside SQLite would not let the timer run
    const waiting = store.createKey(parseNewKey({ name: "y" }, 0));
    await Bun.sleep(20);
    await release();
    clearInterval(timer);
    expect((await waiting).key.name).toBe("y");
    await store.close();
  });

  test("a query sent while a transaction awaits does not become part of it", async () => {
    const database = new Database(join(folder, "queue.db"));
    await database.run((sql) => sql`CREATE TABLE t (a INTEGER)`);
    const undone = database.write(async (tx) => {
      await tx`INSERT INTO t VALUES (1)`;
      await Bun.sleep(5);
      throw new Error("undo");
    }, false);
    const kept = database.run((sql) => sql`INSERT INTO t VALUES (2)`);
    await failure(undone);
    await kept;
    expect([...(await database.run((sql) => sql`SELECT a FROM t`))]).toEqual([{ a: 2 }]);
    await database.close();
  });

  test("query does not wait for a transaction, sees what was committed, and follows a file that is replaced", async () => {
    const file = join(folder, "reader.db");
    const database = new Database(file);
    await database.run((sql) => sql`CREATE TABLE t (a TEXT)`);
    const count = () =>
      database.query<{ n: number }>("SELECT COUNT(*) AS n FROM t WHERE a = CAST($1 AS TEXT)", ["x"]);
    const { promise: counted, resolve } = Promise.withResolvers<void>();
    const written = database.write(async (tx) => {
      await tx`INSERT INTO t VALUES ('x')`;
      await counted;
    }, false);
    expect(await count()).toEqual([{ n: 0 }]);
    resolve();
    await written;
    expect(await count()).toEqual([{ n: 1 }]);

    const other = new Database(join(folder, "other-reader.db"));
    await other.run((sql) => sql`CREATE TABLE t (a TEXT)`);
    await other.close();
    renameSync(join(folder, "other-reader.db"), file);
    expect((await failure(count())).code).toBe("UNREACHABLE");
    for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
    expect(await count()).toEqual([{ n: 0 }]);
    await database.close();
    expect(existsSync(`${file}-wal`)).toBe(false);
  });

  test("is synced fully for keys only", async () => {
    const database = new Database(join(folder, "sync.db"));
    const level = async (durable: boolean) => {
      const rows = await database.write((tx) => tx`PRAGMA synchronous`, durable);
      return rows[0].synchronous;
    };
    expect([await level(true), await level(false)]).toEqual([2, 1]);
    await database.close();
  });
});
