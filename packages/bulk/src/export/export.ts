// export.ts: pieces of a format -> files, none under its name before all of them are complete.
//
// in   a format, a request, a target
// out  the files and their sizes
// err  BulkError: a target that is in the way, a disk that is full, an interruption; what was written is removed then,
//      and what stood under the name before is still there
// cost between two pieces there is time for progress and signals

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Interrupted } from "../errors.ts";
import { notWritten, PartialFile } from "../partial-file.ts";
import type { ExportFormat, Piece, Request } from "./format.ts";

export interface Written {
  readonly path: string;
  readonly bytes: number;
}

interface ExportHooks {
  readonly signal: AbortSignal;
  /** Bytes so far; called about every 50 ms. */
  onProgress(bytes: number): void;
}

/** Time between two turns of the event loop. */
const TURN_MS = 50;

/** Writes all files of a format. @throws BulkError */
export async function writeExport(
  format: ExportFormat,
  request: Request,
  target: string,
  hooks: ExportHooks,
): Promise<Written[]> {
  const files = new PartialFiles(target, format.isFolder);
  try {
    const pieces = interruptible(format.pieces(request), hooks.signal, () => hooks.onProgress(files.bytes));
    for await (const piece of pieces) files.append(piece);
    return files.finish();
  } catch (error) {
    files.discard();
    if (!(error instanceof Interrupted)) throw error;
    throw new Interrupted(format.isFolder ? `nothing was written to ${target}` : notWritten(target));
  }
}

/** The text of a format of one file. @throws Interrupted */
export async function* textOf(
  format: ExportFormat,
  request: Request,
  signal: AbortSignal,
): AsyncGenerator<string | Uint8Array> {
  for await (const { file, data } of interruptible(format.pieces(request), signal))
    if (file === "" && data.length > 0) yield data;
}

/** The same pieces, with turns of the event loop between them. @throws Interrupted */
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
    if (signal.aborted) throw new Interrupted("not all was made");
    turnedAt = performance.now();
  }
}

/** The files of a format, none under its name until all of them are complete. */
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
      into = new PartialFile(this.isFolder ? join(this.target, file) : `${this.target}${file}`);
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
