// export.ts: writes the pieces of a format into files. No file gets its name before all files are complete. After an
// error, the partial files are removed. Previous files remain, unless moving the new files to their names has begun.
//
// The event loop runs between pieces, for progress and signals.

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { extname, join } from "node:path";
import { BulkError, Interrupted } from "../errors.ts";
import { notWritten, PartialFile } from "../partial-file.ts";
import { clickhouse, csv } from "./csv.ts";
import { haproxy, ipset, nftables, nginx } from "./filters.ts";
import type { ExportFormat, Piece, Request } from "./format.ts";
import { mmdb } from "./mmdb.ts";
import { parquet } from "./parquet.ts";

/** The formats that the command line offers. */
export const FORMATS: readonly ExportFormat[] = [
  mmdb,
  csv,
  parquet,
  nginx,
  ipset,
  nftables,
  haproxy,
  clickhouse,
];

export interface Written {
  readonly path: string;
  readonly bytes: number;
}

/** Milliseconds between two turns of the event loop. */
const TURN_MS = 50;

/**
 * Writes all files of a format.
 * @param onTurn called about every 50 ms with the number of bytes written so far
 * @throws BulkError
 */
export async function writeExport(
  format: ExportFormat,
  request: Request,
  target: string,
  signal: AbortSignal,
  onTurn: (bytes: number) => void = () => {},
): Promise<Written[]> {
  if (format.isCompressed && /\.(gz|zst)$/i.test(target))
    throw new BulkError(
      `${target}: ${format.name} files are already compressed, and cannot be read as ${extname(target)} files`,
      `use a name that ends in .${format.name}`,
      true,
    );
  const files = new PartialFiles(target, format.isFolder);
  try {
    const pieces = interruptible(format.pieces(request), signal, () => onTurn(files.bytes));
    for await (const piece of pieces) files.append(piece);
    return files.finish();
  } catch (error) {
    files.discard();
    if (!(error instanceof Interrupted)) throw error;
    throw new Interrupted(format.isFolder ? `nothing was written to ${target}` : notWritten(target));
  }
}

/** Yields the content of a format that has one file. @throws Interrupted */
export async function* textOf(
  format: ExportFormat,
  request: Request,
  signal: AbortSignal,
): AsyncGenerator<string | Uint8Array> {
  for await (const { file, data } of interruptible(format.pieces(request), signal))
    if (file === "" && data.length > 0) yield data;
}

/** Yields the same pieces, with turns of the event loop between them. @throws Interrupted */
async function* interruptible(
  pieces: Iterable<Piece>,
  signal: AbortSignal,
  onTurn: () => void = () => {},
): AsyncGenerator<Piece> {
  let turnedAt = performance.now();
  for (const piece of pieces) {
    yield piece;
    if (performance.now() - turnedAt < TURN_MS) continue;
    onTurn();
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) throw new Interrupted("the export is incomplete");
    turnedAt = performance.now();
  }
}

/** The files of a format. No file gets its final name until all files are complete. */
class PartialFiles {
  private readonly target: string;
  private readonly isFolder: boolean;
  private readonly files = new Map<string, PartialFile>();
  private readonly madeFolder: boolean;

  constructor(target: string, isFolder: boolean) {
    this.target = target;
    this.isFolder = isFolder;
    this.madeFolder = isFolder && mkdirSync(target, { recursive: true }) !== undefined;
  }

  get bytes(): number {
    let bytes = 0;
    for (const file of this.files.values()) bytes += file.bytes;
    return bytes;
  }

  append({ file, data }: Piece): void {
    let into = this.files.get(file);
    if (into === undefined) {
      into = this.isFolder
        ? new PartialFile(join(this.target, file), false)
        : new PartialFile(`${this.target}${file}`);
      this.files.set(file, into);
    }
    into.write(data);
  }

  finish(): Written[] {
    for (const file of this.files.values()) file.flush();
    for (const file of this.files.values()) file.finish();
    return Array.from(this.files.values(), ({ path, bytes }) => ({ path, bytes }));
  }

  discard(): void {
    for (const file of this.files.values()) file.discard();
    if (this.madeFolder && readdirSync(this.target).length === 0) rmSync(this.target, { recursive: true });
  }
}
