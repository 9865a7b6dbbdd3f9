// partial-file.ts: an output file that the user named: there whole or not at all, however the process ends.
//
// err  those of node:fs; what stood under the name before is still there then

import { existsSync, statSync } from "node:fs";
import { AtomicFile, PUBLIC_FILE } from "@inkling/release-store";
import { BulkError } from "./errors.ts";

/** The state of a file after an interruption. */
export const notWritten = (path: string): string =>
  `${path} was not written${existsSync(path) ? ", and is what it was before" : ""}`;

export class PartialFile {
  readonly path: string;
  bytes = 0;
  private readonly file: AtomicFile;
  /** A process that is stopped at once takes the partial file along. */
  private readonly onExit = () => this.discard();

  /** @throws BulkError when the name is that of a folder */
  constructor(path: string) {
    const before = statSync(path, { throwIfNoEntry: false });
    if (before?.isDirectory()) {
      throw new BulkError(`${path} is a folder`, "name the file that is to be written");
    }
    this.path = path;
    // In place of a file it is readable for no more users than that one: it may hold visitors' addresses.
    this.file = new AtomicFile(path, before?.isFile() ? before.mode & PUBLIC_FILE : PUBLIC_FILE);
    process.once("exit", this.onExit);
  }

  write(data: string | Uint8Array): void {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    this.file.write(bytes);
    this.bytes += bytes.length;
  }

  /** Completes it: what has no room on the disk fails now, not at {@link finish}. */
  flush(): void {
    this.file.flush();
  }

  /** Puts it under its name. */
  finish(): void {
    this.file.commit();
    process.off("exit", this.onExit);
  }

  /** Removes what was written; without effect after {@link finish}. */
  discard(): void {
    this.file.discard();
    process.off("exit", this.onExit);
  }
}
