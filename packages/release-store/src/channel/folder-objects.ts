// folder-objects.ts: a channel in a folder, on a disk that servers share or that a web server publishes.

import { closeSync, openSync, readdirSync, readSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { AtomicFile, PUBLIC_FILE } from "../atomic-file.ts";
import { messageOf } from "../error-message.ts";
import { makeFolder } from "../layout.ts";
import { ChannelError } from "./channel-error.ts";
import type { ObjectBody, ObjectStore, OwnFile } from "./object-store.ts";

const BLOCK = 1 << 20;

export class FolderObjects implements ObjectStore {
  readonly location: string;
  readonly settleMs = 100;

  constructor(folder: string) {
    this.location = folder;
  }

  read(path: string, offset: number): Promise<ObjectBody | undefined> {
    return this.guarded(() => {
      const file = join(this.location, path);
      const size = sizeOf(file);
      if (size === undefined) return undefined;
      return { chunks: blocks(file, offset), offset };
    });
  }

  size(path: string): Promise<number | undefined> {
    return this.guarded(() => sizeOf(join(this.location, path)));
  }

  write(path: string, content: string | OwnFile): Promise<void> {
    return this.guarded(() => {
      const target = join(this.location, path);
      makeFolder(dirname(target));
      const file = new AtomicFile(target, PUBLIC_FILE);
      try {
        if (typeof content === "string") file.write(content);
        else for (const block of blocks(content.file, 0)) file.write(block);
        file.commit();
      } finally {
        file.discard();
      }
    });
  }

  list(prefix: string): Promise<string[]> {
    return this.guarded(() => {
      const folder = dirname(`${prefix}x`);
      const path = join(this.location, folder);
      if (sizeOf(path) === undefined) return [];
      return readdirSync(path)
        .map((name) => `${folder}/${name}`)
        .filter((name) => name.startsWith(prefix));
    });
  }

  remove(path: string): Promise<void> {
    return this.guarded(() => rmSync(join(this.location, path), { force: true }));
  }

  private async guarded<T>(act: () => T): Promise<T> {
    try {
      return act();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const fault = code === "EACCES" || code === "EPERM" || code === "EROFS" ? "denied" : "unreachable";
      throw new ChannelError(fault, messageOf(error), undefined, { cause: error });
    }
  }
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

function* blocks(path: string, offset: number): Generator<Uint8Array> {
  const file = openSync(path, "r");
  try {
    for (let at = offset; ; ) {
      const block = new Uint8Array(BLOCK);
      const read = readSync(file, block, 0, BLOCK, at);
      if (read === 0) return;
      at += read;
      yield block.subarray(0, read);
    }
  } finally {
    closeSync(file);
  }
}
