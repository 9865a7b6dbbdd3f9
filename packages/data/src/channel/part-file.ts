// part-file.ts: a segment that is being downloaded. Arriving bytes are hashed and kept in <name>.part, and the file is
// renamed when it is complete.

import { createHash, type Hash } from "node:crypto";
import {
  closeSync,
  constants,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { PRIVATE_FILE } from "../atomic-file.ts";
import { giveToFolderOwner } from "../layout.ts";

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;
/** Flags that prevent following a link that another user may have placed under this name. */
const APPEND = O_RDWR | O_APPEND | O_NOFOLLOW;

/** Only a new file is given to the folder's owner, because an existing one may be a renamed file of root's. */
function openOrCreate(path: string): number {
  try {
    return openSync(path, APPEND);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const descriptor = openSync(path, APPEND | O_CREAT | O_EXCL, PRIVATE_FILE);
  giveToFolderOwner(descriptor, path);
  return descriptor;
}

/** A partly downloaded segment. */
export class PartFile {
  bytes = 0;
  private readonly path: string;
  private descriptor: number | undefined;
  private hash: Hash;

  private constructor(path: string, descriptor: number) {
    this.path = path;
    this.descriptor = descriptor;
    this.hash = createHash("sha256");
  }

  /** Opens the file and hashes the bytes that it already contains. */
  static async open(path: string): Promise<PartFile> {
    const part = new PartFile(path, openOrCreate(path));
    try {
      const block = new Uint8Array(1 << 20);
      for (let read = 1; read > 0; part.bytes += read) {
        read = readSync(part.descriptor!, block, 0, block.length, part.bytes);
        part.hash.update(block.subarray(0, read));
        await new Promise((resolve) => setImmediate(resolve)); // yields, so that a server continues to answer
      }
      return part;
    } catch (error) {
      part.close();
      throw error;
    }
  }

  write(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) at += writeSync(this.descriptor!, chunk, at);
    this.hash.update(chunk);
    this.bytes += chunk.length;
  }

  restart(): void {
    ftruncateSync(this.descriptor!, 0);
    this.hash = createHash("sha256");
    this.bytes = 0;
  }

  digest(): string {
    return this.hash.copy().digest("hex");
  }

  commit(path: string): void {
    fsyncSync(this.descriptor!);
    this.close();
    renameSync(this.path, path);
  }

  drop(): void {
    this.close();
    rmSync(this.path, { force: true });
  }

  close(): void {
    if (this.descriptor !== undefined) closeSync(this.descriptor);
    this.descriptor = undefined;
  }
}
