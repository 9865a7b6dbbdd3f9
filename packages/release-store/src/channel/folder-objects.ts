// folder-objects.ts: a channel in a folder, on a disk that servers share or that a web server publishes.

import { chmodSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AtomicFile } from "../atomic-file.ts";
import { messageOf } from "../error-message.ts";
import { ChannelError } from "./channel-error.ts";
import type { ObjectBody, ObjectStore, OwnFile } from "./object-store.ts";

const BLOCK = 1 << 20;
/** Other users and programs read it: a web server, the servers of other hosts. */
const PUBLIC_FOLDER = 0o755;

export class FolderObjects implements ObjectStore {
  readonly location: string;
  readonly settleMs = 100;

  constructor(folder: string) {
    this.location = folder;
  }

  read(path: string, offset: number, signal: AbortSignal): Promise<ObjectBody | undefined> {
    return this.guarded(signal, () => {
      const file = join(this.location, path);
      const size = sizeOf(file);
      if (size === undefined) return undefined;
      return { chunks: blocks(file, offset), offset };
    });
  }

  size(path: string, signal: AbortSignal): Promise<number | undefined> {
    return this.guarded(signal, () => sizeOf(join(this.location, path)));
  }

  write(path: string, content: string | OwnFile, signal: AbortSignal): Promise<void> {
    return this.guarded(signal, async () => {
      const target = join(this.location, path);
      makeFolder(dirname(target));
      const file = new AtomicFile(target);
      try {
        file.makePublic();
        if (typeof content === "string") file.write(content);
        else for await (const block of blocks(content.file, 0)) file.write(block);
        file.commit();
      } finally {
        file.discard();
      }
    });
  }

  list(prefix: string, signal: AbortSignal): Promise<string[]> {
    return this.guarded(signal, () => {
      const folder = dirname(`${prefix}x`);
      const path = join(this.location, folder);
      if (sizeOf(path) === undefined) return [];
      return readdirSync(path)
        .map((name) => `${folder}/${name}`)
        .filter((name) => name.startsWith(prefix));
    });
  }

  remove(path: string, signal: AbortSignal): Promise<void> {
    return this.guarded(signal, () => rmSync(join(this.location, path), { force: true }));
  }

  private async guarded<T>(signal: AbortSignal, act: () => T | Promise<T>): Promise<T> {
    try {
      signal.throwIfAborted();
      return await act();
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      const fault = code === "EACCES" || code === "EPERM" || code === "EROFS" ? "denied" : "unreachable";
      throw new ChannelError(fault, messageOf(error), undefined, { cause: error });
    }
  }
}

/** Folders that are there keep the mode that they were given; new ones a group bit that they have from above. */
function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made))
    chmodSync(made, (statSync(made).mode & 0o7000) | PUBLIC_FOLDER);
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** Gives way after each block: who serves goes on answering. */
async function* blocks(path: string, offset: number): AsyncGenerator<Uint8Array> {
  const file = await open(path, "r");
  try {
    for (let at = offset; ; ) {
      const block = new Uint8Array(BLOCK);
      const { bytesRead } = await file.read(block, 0, BLOCK, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield block.subarray(0, bytesRead);
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    await file.close();
  }
}
