// table-sender.ts: hands all keys over to workers. Workers map a file, so that they share the memory of keys that do not
// change. Later changes are small, and are in messages.
//
// The file is deleted as soon as all workers have mapped it. A primary that is killed in this moment leaves the file.
// Cost: with 100,000 keys, a worker takes a few MB; a message with the bytes costs it 52 MB.

import { appendFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf, TEMPORARY } from "@inkling/data";
import { type KeyImage, KeyTable } from "@inkling/store/keys/key-table";

/** Folders for files that processes share, best first. */
export const FOLDERS: readonly string[] = ["/dev/shm", tmpdir()];
/** A table with fewer bytes is sent in the message. */
const MIN_FILE_BYTES = 1 << 20;

export interface SentTable {
  readonly image: KeyImage;
  /** The bytes, or the path of a file that has them. */
  readonly bytes: Uint8Array<ArrayBuffer> | string;
}

export class TableSender {
  private readonly folders: readonly string[];
  /** By the change that made the table. */
  private readonly sent = new Map<number, SentTable>();

  /** @param dataDir a fallback if the system's folders have no room for the file */
  constructor(dataDir: string) {
    this.folders = [...FOLDERS, dataDir];
  }

  /** @param change increases whenever the table changes */
  send(table: KeyTable, change: number): SentTable {
    const known = this.sent.get(change);
    if (known !== undefined) return known;
    const { image, parts } = table.image;
    const inMessage = () => ({ image, bytes: new Uint8Array(Buffer.concat(parts)) });
    if (parts.reduce((sum, { length }) => sum + length, 0) < MIN_FILE_BYTES) return inMessage();
    try {
      const sent = { image, bytes: inFolder(this.folders, (folder) => write(folder, parts)) };
      this.sent.set(change, sent);
      return sent;
    } catch {
      return inMessage(); // no folder has room
    }
  }

  /** Deletes the files that no worker needs any more, because all have applied this change. */
  settle(change: number): void {
    for (const [made, { bytes }] of this.sent) {
      if (made > change) continue;
      if (typeof bytes === "string") rmSync(bytes, { force: true });
      this.sent.delete(made);
    }
  }
}

/** Reads a table in a worker. The system copies a mapped page when this process changes it. */
export function receivedTable({ image, bytes }: SentTable): KeyTable {
  const own = typeof bytes === "string" ? Bun.mmap(bytes, { shared: false }) : bytes;
  return KeyTable.from(image, own as Uint8Array<ArrayBuffer>);
}

function write(folder: string, parts: readonly Uint8Array[]): string {
  const path = join(folder, `${TEMPORARY}${process.pid}-keys-${crypto.randomUUID()}`);
  try {
    for (const part of parts) appendFileSync(path, part, { mode: 0o600 });
    return path;
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

/** Returns the result of `work` for the first folder for which it succeeds. @throws Error with all reasons */
export function inFolder<T>(folders: readonly string[], work: (folder: string) => T): T {
  const reasons: string[] = [];
  for (const folder of folders) {
    try {
      return work(folder);
    } catch (error) {
      reasons.push(messageOf(error));
    }
  }
  throw new Error(reasons.join("; "));
}
