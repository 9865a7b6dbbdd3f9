// export.ts: pieces of a form -> files, of which none is there before all of it is.
//
// in   a form, a request, where to write
// out  the files and their sizes
// err  CliError: a target that is in the way, a disk that is full, an interruption; what was written is removed then,
//      and what stood under the name before is still there
// cost the terminal is told, and an interruption heard, between two pieces

import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { CliError, explainFileError } from "../errors.ts";
import type { ExportFormat, Piece, Request } from "./format.ts";

export interface Written {
  readonly path: string;
  readonly bytes: number;
}

export interface ExportHooks {
  readonly signal: AbortSignal;
  /** Told after each piece how many bytes there are. */
  onProgress(bytes: number): void;
}

/** How long pieces are made without anybody being heard. */
const BREATH_MS = 50;

/** Writes all files of a form. @throws CliError */
export async function writeExport(
  format: ExportFormat,
  request: Request,
  target: string,
  hooks: ExportHooks,
): Promise<Written[]> {
  const files = new PartialFiles(target, format.isFolder);
  try {
    let heardAt = performance.now();
    for (const piece of format.pieces(request)) {
      files.append(piece);
      if (performance.now() - heardAt < BREATH_MS) continue;
      hooks.onProgress(files.bytes);
      await new Promise((resolve) => setImmediate(resolve));
      if (hooks.signal.aborted) throw new CliError("interrupted: nothing was written");
      heardAt = performance.now();
    }
    return files.finish();
  } catch (error) {
    files.discard();
    throw explainFileError(error, target);
  }
}

/** Writes a form of one file to a stream instead. */
export function* textOf(format: ExportFormat, request: Request): Generator<string | Uint8Array> {
  for (const { file, data } of format.pieces(request)) if (file === "" && data.length > 0) yield data;
}

interface Open {
  readonly descriptor: number;
  readonly partial: string;
  readonly path: string;
  bytes: number;
}

/** Files under names that end in `.part`, until all of them are complete. */
class PartialFiles {
  private readonly target: string;
  private readonly isFolder: boolean;
  private readonly open = new Map<string, Open>();
  private madeFolder = false;

  constructor(target: string, isFolder: boolean) {
    this.target = target;
    this.isFolder = isFolder;
    if (isFolder) {
      this.madeFolder = mkdirSync(target, { recursive: true }) !== undefined;
      return;
    }
    if (isDirectory(target)) {
      throw new CliError(`${target} is a folder`, "name the file that is to be written");
    }
  }

  get bytes(): number {
    let bytes = 0;
    for (const file of this.open.values()) bytes += file.bytes;
    return bytes;
  }

  append({ file, data }: Piece): void {
    const out = this.open.get(file) ?? this.start(file);
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let at = 0; at < bytes.length; ) at += writeSync(out.descriptor, bytes, at);
    out.bytes += bytes.length;
  }

  private start(file: string): Open {
    const path = this.isFolder ? join(this.target, file) : `${this.target}${file}`;
    const partial = join(dirname(path), `.${basename(path)}.${process.pid}.part`);
    const started = { descriptor: openSync(partial, "w"), partial, path, bytes: 0 };
    this.open.set(file, started);
    return started;
  }

  finish(): Written[] {
    for (const { descriptor } of this.open.values()) closeSync(descriptor);
    return Array.from(this.open.values(), ({ partial, path, bytes }) => {
      renameSync(partial, path);
      return { path, bytes };
    });
  }

  discard(): void {
    for (const { descriptor, partial } of this.open.values()) {
      try {
        closeSync(descriptor);
      } catch {
        // closed before: the error came from renaming
      }
      rmSync(partial, { force: true });
    }
    if (this.madeFolder && readdirSync(this.target).length === 0) rmSync(this.target, { recursive: true });
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
