// folder-objects.ts: a channel in a folder, on a disk that servers share or that a web server publishes.
//
// A network file system may never answer, so no call here waits for it synchronously or without a time limit. The limit
// is 30 s, or 10 minutes for uploading a segment. A call that hangs blocks a thread, and Bun has few threads. So no
// other call into the same folder begins until the hanging call ends.
//
// An object is replaced under a lock file next to it, which a publisher holds for milliseconds. If a publisher was
// killed, its lock remains, and another publisher removes the lock once it has not changed for a minute. This needs no
// clock that hosts agree on, and no process id, which means nothing on another host or in another container.

import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import {
  chmod,
  copyFile,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PUBLIC_FILE, temporaryPath } from "../atomic-file.ts";
import { messageOf } from "../errors.ts";
import { ChannelError } from "./channel-error.ts";
import { STALL_MS, Stall, UPLOAD_MS, unreachable } from "./http-objects.ts";
import { type ObjectBody, type ObjectStore, type OwnFile, REPLACED_LIMIT, readText } from "./object-store.ts";

const BLOCK = 1 << 20;
/** Mode of the folders, which other users and programs read: a web server, or the servers of other hosts. */
const PUBLIC_FOLDER = 0o755;
/** Milliseconds after which an unchanged lock counts as left behind: twice the time limit of a call. */
const LOCK_MS = 2 * STALL_MS;
const LOCK_POLL_MS = 100;

/** For each folder, a promise that resolves when all abandoned calls have ended. */
const givenUp = new Map<string, Promise<unknown>>();

export class FolderObjects implements ObjectStore {
  readonly location: string;
  private readonly lockMs: number;

  /** @param lockMs milliseconds after which an unchanged lock counts as left behind */
  constructor(folder: string, lockMs = LOCK_MS) {
    this.location = folder;
    this.lockMs = lockMs;
  }

  async read(path: string, offset: number, signal: AbortSignal): Promise<ObjectBody | undefined> {
    const open = (until: AbortSignal) => openFile(join(this.location, path), until).catch(absent);
    const file = await this.within(signal, open);
    return file && { chunks: this.blocks(file, offset, signal), offset };
  }

  size(path: string, signal: AbortSignal): Promise<number | undefined> {
    return this.within(signal, async () => (await stat(join(this.location, path)).catch(absent))?.size);
  }

  write(path: string, content: string | OwnFile, signal: AbortSignal): Promise<void> {
    const limitMs = typeof content === "string" ? STALL_MS : UPLOAD_MS;
    return this.within(signal, (until) => replace(join(this.location, path), content, until), limitMs);
  }

  async replace(
    path: string,
    text: string,
    before: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const lock = join(this.location, `${path}.lock`);
    const own = await this.lock(lock, signal);
    try {
      const isSame = (await readText(this, path, REPLACED_LIMIT, signal)) === before;
      if (!isSame || (await this.holder(lock, signal)) !== own) return false;
      await this.write(path, text, signal);
      return true;
    } finally {
      // A lock that cannot be removed is taken over later.
      const late = AbortSignal.timeout(STALL_MS);
      if ((await this.holder(lock, late).catch(() => undefined)) === own)
        await this.within(late, () => rm(lock, { force: true })).catch(() => {});
    }
  }

  /** Creates the lock, or waits until it is free or counts as left behind. @returns its content */
  private async lock(path: string, signal: AbortSignal): Promise<string> {
    const own = randomUUID();
    let seen: string | undefined;
    let since = performance.now();
    while (!(await this.within(signal, () => create(path, own)))) {
      const holder = await this.holder(path, signal);
      if (holder !== seen) [seen, since] = [holder, performance.now()];
      else if (performance.now() - since > this.lockMs)
        await this.within(signal, () => rm(path, { force: true }));
      await sleep(LOCK_POLL_MS);
    }
    return own;
  }

  private holder(path: string, signal: AbortSignal): Promise<string | undefined> {
    return this.within(signal, () => readFile(path, "utf8").catch(absent));
  }

  list(prefix: string, signal: AbortSignal): Promise<string[]> {
    const folder = dirname(`${prefix}x`);
    return this.within(signal, async () => {
      const names = (await readdir(join(this.location, folder)).catch(absent)) ?? [];
      return names.map((name) => `${folder}/${name}`).filter((name) => name.startsWith(prefix));
    });
  }

  remove(path: string, signal: AbortSignal): Promise<void> {
    return this.within(signal, () => rm(join(this.location, path), { force: true }));
  }

  /** Yields to the event loop after each block, so that a server continues to answer. */
  private async *blocks(file: FileHandle, offset: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      for (let at = offset; ; ) {
        const block = new Uint8Array(BLOCK);
        const { bytesRead } = await this.within(signal, () => file.read(block, 0, BLOCK, at));
        if (bytesRead === 0) return;
        at += bytesRead;
        yield block.subarray(0, bytesRead);
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      file.close().catch(() => {}); // not awaited, because close waits for a hanging read
    }
  }

  /**
   * Runs a call with a time limit, after all abandoned calls into this folder have ended.
   * @param act must clean up after itself whenever its signal is aborted
   * @throws ChannelError
   */
  private async within<T>(
    signal: AbortSignal,
    act: (until: AbortSignal) => Promise<T>,
    limitMs = STALL_MS,
  ): Promise<T> {
    const { location } = this;
    const stall = new Stall(signal, limitMs);
    const until = stall.signal;
    const acting = (givenUp.get(location) ?? Promise.resolve()).then(() => {
      until.throwIfAborted();
      return act(until);
    });
    const over = new Promise<never>((_, reject) => {
      until.addEventListener("abort", () => reject(until.reason), { once: true });
    });
    try {
      return await Promise.race([acting, over]);
    } catch (error) {
      if (until.aborted) givenUp.set(location, Promise.allSettled([acting]));
      const { code } = error as NodeJS.ErrnoException;
      const isDenied = code === "EACCES" || code === "EPERM" || code === "EROFS";
      if (!isDenied) throw unreachable(location, error);
      throw new ChannelError("denied", messageOf(error), undefined, { cause: error });
    } finally {
      stall.end();
    }
  }
}

/** @returns false if the file exists */
async function create(path: string, content: string): Promise<boolean> {
  await makeFolder(dirname(path));
  try {
    await writeFile(path, content, { flag: "wx", mode: PUBLIC_FILE });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}

/** Opens a regular file without waiting. Refuses pipes, which may never end, and devices, which may never answer. */
async function openFile(path: string, signal: AbortSignal): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error(`${path} is not a file`);
    signal.throwIfAborted();
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Replaces a file atomically like AtomicFile, but without synchronous calls. */
async function replace(path: string, content: string | OwnFile, signal: AbortSignal): Promise<void> {
  await makeFolder(dirname(path));
  const temporary = temporaryPath(path);
  await rm(temporary, { force: true });
  try {
    if (typeof content === "string") await writeFile(temporary, content, { flag: "wx" });
    else await copyFile(content.file, temporary, constants.COPYFILE_EXCL);
    await chmod(temporary, PUBLIC_FILE); // regardless of the umask
    await sync(temporary);
    signal.throwIfAborted();
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await sync(dirname(path));
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  await file.sync().finally(() => file.close());
}

/**
 * Creates a folder. An existing folder keeps its mode. A new folder also keeps the group bit inherited from its parent.
 */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made))
    await chmod(made, ((await stat(made)).mode & 0o7000) | PUBLIC_FOLDER);
}
