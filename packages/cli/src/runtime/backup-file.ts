// backup-file.ts: writes and reads the archive of `inkling backup`, which consists of JSON lines compressed with gzip.
// An archive from SQLite can be restored to PostgreSQL, and vice versa.
//
// in   the store and files of the data folder; or an archive
// out  the complete archive under its name, readable only by its owner, or no file at all; or an archive's content
// err  CliError if the file is not a backup, is from a newer version, is damaged, or was cut short
// cost a page of rows in memory
//
//   {"format":"inkling-backup","version":1,"made_at":…,"program":…,"tables":{"inkling_keys":["id",…],…}}
//   {"table":"inkling_keys","rows":[[…],…]}      one line for each page of rows
//   {"file":"feeds.json","text":"…"}
//   {"end":{"rows":{"inkling_keys":3,…},"sha256":…}}      hash of all bytes before this line

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createGunzip, gzipSync } from "node:zlib";
import { AtomicFile, type Owner } from "@inkling/release-store";
import { DUMPED, type DumpedRow, type DumpedRows, fits, type Store } from "@inkling/store";
import { z } from "zod";
import { CliError, explainFileError, explainTargetError } from "../terminal/errors.ts";
import { linesIn } from "./lines.ts";

const FORMAT = "inkling-backup";
const VERSION = 1;
const OWNER_ONLY = 0o600;
/** Number of bytes that are compressed together. */
const PART_BYTES = 1 << 20;
/** Maximum length of a line, far more than a page of rows with the longest notes needs. */
const MAX_LINE = 1 << 26;

const header = z.object({
  format: z.literal(FORMAT),
  version: z.number(),
  made_at: z.iso.datetime(),
  program: z.string(),
  tables: z.record(z.string(), z.array(z.string())),
});
const file = z.object({ file: z.string(), text: z.string() });
const page = z.object({
  table: z.string(),
  rows: z.array(z.array(z.union([z.string(), z.number(), z.null()]))),
});
const end = z.object({ end: z.object({ rows: z.record(z.string(), z.number()), sha256: z.string() }) });

export interface BackupFile {
  readonly name: string;
  readonly text: string;
}

/** The contents of an archive. */
export interface Backup {
  readonly madeAt: string;
  readonly program: string;
  /** The number of rows in each table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly files: readonly BackupFile[];
  readonly sha256: string;
}

/**
 * Writes an archive.
 * @throws CliError, StoreError; in both cases, an existing file remains unchanged
 */
export async function writeBackup(
  path: string,
  store: Store,
  files: readonly BackupFile[],
  { program, owner }: { readonly program: string; readonly owner: Owner },
): Promise<Backup> {
  // The store would report an error thrown in this callback as a database error, so the callback returns it.
  const made = await store.dump.read(async (pages) => {
    const madeAt = new Date().toISOString();
    let archive: ArchiveWriter | undefined;
    try {
      archive = new ArchiveWriter(path, owner);
      const tables = Object.fromEntries(
        Object.entries(DUMPED).map(([name, { columns }]) => [name, Object.keys(columns)]),
      );
      archive.line({ format: FORMAT, version: VERSION, made_at: madeAt, program, tables });
      const rows: Record<string, number> = {};
      for await (const { table, rows: some } of pages) {
        archive.line({ table, rows: some.map((row) => Object.values(row)) });
        rows[table] = (rows[table] ?? 0) + some.length;
      }
      for (const { name, text } of files) archive.line({ file: name, text });
      return { madeAt, program, rows, files, sha256: archive.end(rows) };
    } catch (error) {
      archive?.discard();
      const explained = explainTargetError(error, path);
      if (explained instanceof CliError) return explained;
      throw error;
    }
  });
  if (made instanceof CliError) throw made;
  return made;
}

class ArchiveWriter {
  private readonly file: AtomicFile;
  private readonly hash = createHash("sha256");
  private held: Buffer[] = [];
  private heldBytes = 0;

  constructor(path: string, owner: Owner) {
    this.file = new AtomicFile(path, OWNER_ONLY, owner);
  }

  line(value: unknown): void {
    const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
    this.hash.update(bytes);
    this.hold(bytes);
  }

  /** @returns the SHA-256 hash */
  end(rows: Readonly<Record<string, number>>): string {
    const sha256 = this.hash.digest("hex");
    this.hold(Buffer.from(`${JSON.stringify({ end: { rows, sha256 } })}\n`));
    this.flush();
    this.file.commit();
    return sha256;
  }

  discard(): void {
    this.file.discard();
  }

  private hold(bytes: Buffer): void {
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    if (this.heldBytes >= PART_BYTES) this.flush();
  }

  /** Compresses and writes the held bytes. A gzip file may consist of several parts. */
  private flush(): void {
    this.file.write(gzipSync(Buffer.concat(this.held)));
    this.held = [];
    this.heldBytes = 0;
  }
}

/**
 * Reads a whole archive and checks every line.
 * @throws CliError
 */
export async function checkBackup(path: string): Promise<Backup> {
  const files: BackupFile[] = [];
  const reader = readBackup(path, (found) => files.push(found));
  for (;;) {
    const { value, done } = await reader.next();
    if (done) return { ...value, files };
  }
}

/**
 * Yields the rows of an archive while checking it again. An error after the last row means that the whole archive is
 * invalid.
 */
export async function* readBackup(
  path: string,
  onFile: (file: BackupFile) => void = () => {},
): AsyncGenerator<DumpedRows, Omit<Backup, "files">> {
  const hash = createHash("sha256");
  let first: z.infer<typeof header> | undefined;
  let result: Omit<Backup, "files"> | undefined;
  const rows: Record<string, number> = {};
  const lines = linesOf(path);
  for await (const line of lines) {
    const value = jsonOf(line);
    if (first === undefined) first = await readHeader(path, value, lines);
    else {
      if (result !== undefined) throw damaged(path, "there is data after its end");
      const last = end.safeParse(value).data?.end;
      if (last !== undefined) {
        const sha256 = hash.digest("hex");
        if (last.sha256 !== sha256 || !Bun.deepEquals(last.rows, rows))
          throw damaged(path, "its content has changed since it was written");
        result = { madeAt: first.made_at, program: first.program, rows, sha256 };
        continue;
      }
      const found = file.safeParse(value).data;
      const some = page.safeParse(value).data;
      if (found !== undefined) onFile({ name: found.file, text: found.text });
      else if (some !== undefined) {
        rows[some.table] = (rows[some.table] ?? 0) + some.rows.length;
        yield { table: some.table, rows: checkedRows(path, first.tables, some) };
      } else throw damaged(path, "it has an unknown line");
    }
    hash.update(`${line}\n`);
  }
  if (result === undefined) throw first === undefined ? foreign(path) : damaged(path, "it ends too early");
  return result;
}

/**
 * @param rest the other lines. They are read before a version mismatch is reported, so that a damaged file is not
 *   mistaken for one from another version
 */
async function readHeader(
  path: string,
  value: unknown,
  rest: AsyncGenerator<string>,
): Promise<z.infer<typeof header>> {
  const { data } = header.safeParse(value);
  if (data === undefined) throw foreign(path);
  const isKnown = Object.entries(data.tables).every(([table, columns]) =>
    columns.every((column) => DUMPED[table]?.columns[column] !== undefined),
  );
  if (data.version === VERSION && isKnown) return data;
  while (!(await rest.next()).done);
  throw new CliError(
    `${path} was created by another version of Inkling (${data.program}), and has data that this version does not support`,
    "restore it with that version",
  );
}

function checkedRows(
  path: string,
  tables: Readonly<Record<string, readonly string[]>>,
  { table, rows }: z.infer<typeof page>,
): DumpedRow[] {
  const names = tables[table];
  const kinds = DUMPED[table]?.columns;
  if (names === undefined || kinds === undefined) throw damaged(path, "it has rows of an unknown table");
  return rows.map((values) => {
    if (values.length !== names.length || !names.every((name, i) => fits(kinds[name]!, values[i])))
      throw damaged(path, `a row of ${table} is invalid`);
    return Object.fromEntries(names.map((name, i) => [name, values[i]!]));
  });
}

/** Yields the lines of a gzip file. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const source = createReadStream(path);
  const unpacked = createGunzip();
  source.on("error", (error) => unpacked.destroy(error));
  source.pipe(unpacked);
  try {
    for await (const lines of linesIn(unpacked, MAX_LINE)) {
      if (lines.some((line) => line.length > MAX_LINE)) throw foreign(path);
      yield* lines;
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!code.startsWith("Z_")) throw explainFileError(error, path);
    throw isForeign(error) ? foreign(path) : damaged(path, (error as Error).message);
  } finally {
    source.destroy();
  }
}

/** True if the file is not a gzip file at all. */
const isForeign = (error: unknown) => (error as Error).message.includes("incorrect header");

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const foreign = (path: string) =>
  new CliError(`${path} is not an Inkling backup`, "`inkling backup FILE` creates one");
const damaged = (path: string, why: string) =>
  new CliError(`${path} is damaged: ${why}`, "nothing was restored; use another copy or an older backup");
