// partial-file.ts: a file that is there whole or not at all.
//
// in   where it is to be, then its bytes
// out  the file, once it is finished
// err  those of node:fs; discard removes what was written, and what stood under the name before is still there

import { closeSync, existsSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CliError } from "../terminal/errors.ts";

/** Those that are neither finished nor discarded: a process that is stopped at once takes them along. */
const open = new Set<PartialFile>();
let isWatching = false;
function watchExit(): void {
  if (isWatching) return;
  isWatching = true;
  process.once("exit", () => {
    for (const file of open) file.discard();
  });
}

/** What remains where somebody stopped us. */
export const notWritten = (path: string): string =>
  `${path} was not written${existsSync(path) ? ", and is what it was before" : ""}`;

export class PartialFile {
  readonly path: string;
  bytes = 0;
  private readonly partial: string;
  private descriptor: number | undefined;

  /** @throws CliError when the name is that of a folder */
  constructor(path: string) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw new CliError(`${path} is a folder`, "name the file that is to be written");
    }
    this.path = path;
    this.partial = join(dirname(path), `.${basename(path)}.${process.pid}.part`);
    // In a folder that others write to, a link may wait under that name: it is never followed.
    rmSync(this.partial, { force: true });
    this.descriptor = openSync(this.partial, "wx");
    open.add(this);
    watchExit();
  }

  write(data: string | Uint8Array): void {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let at = 0; at < bytes.length; ) at += writeSync(this.descriptor!, bytes, at);
    this.bytes += bytes.length;
  }

  /** Puts it under its name. */
  finish(): void {
    this.close();
    renameSync(this.partial, this.path);
  }

  /** Removes what was written; without effect after {@link finish}. */
  discard(): void {
    this.close();
    rmSync(this.partial, { force: true });
  }

  private close(): void {
    if (this.descriptor !== undefined) closeSync(this.descriptor);
    this.descriptor = undefined;
    open.delete(this);
  }
}
