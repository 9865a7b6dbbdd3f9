// object-store.ts: defines a channel's store: a folder, a base URL, or a bucket in an S3-compatible store.

import { ChannelError } from "./channel-error.ts";

export interface ObjectBody {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The offset of the body's first byte; 0 if the store cannot start in the middle. */
  readonly offset: number;
  /** The store's ETag, which changes with the content; absent if the store has none. */
  readonly tag?: string | undefined;
}

/** A whole object as it was read. */
export interface FoundText {
  readonly text: string;
  readonly tag: string | undefined;
}

/** Maximum size of an object that is replaced, in bytes. */
export const REPLACED_LIMIT = 64 << 10;

/**
 * How {@link ObjectStore.replace} ended. `changed`: nothing was written, because the object is not the one that was
 * read. `unchecked`: the object was written, but the store cannot notice that somebody else writes at the same moment.
 */
export type Replaced = "done" | "changed" | "unchecked";

export interface ObjectReader {
  /** The store's location for messages, without credentials. */
  readonly location: string;
  /** @returns undefined if the object does not exist */
  read(path: string, offset: number, signal: AbortSignal): Promise<ObjectBody | undefined>;
}

export interface ObjectStore extends ObjectReader {
  /** Returns the size of an object in bytes; undefined if the object does not exist. */
  size(path: string, signal: AbortSignal): Promise<number | undefined>;
  /** Writes a whole object or nothing. */
  write(path: string, content: string | OwnFile, signal: AbortSignal): Promise<void>;
  /**
   * Writes an object if it is still as it was read.
   * @param before the object as it was read; undefined if it did not exist
   * @param onWait called once if another publisher makes this one wait, with the reason
   */
  replace(
    path: string,
    text: string,
    before: FoundText | undefined,
    signal: AbortSignal,
    onWait?: (reason: string) => void,
  ): Promise<Replaced>;
  /** Lists the paths that begin with `prefix`. */
  list(prefix: string, signal: AbortSignal): Promise<string[]>;
  remove(path: string, signal: AbortSignal): Promise<void>;
}

/** A file on this machine and its SHA-256. */
export interface OwnFile {
  readonly file: string;
  readonly sha256: string;
}

/** Time limit for one object. If a segment takes longer, the next attempt resumes where this one ended. */
const TOTAL_MS = 600_000;

/**
 * Reads an object like the store's own `read`, but with a limit for the total time, because a trickle of bytes never
 * reaches the store's own limit. Callers must iterate over the chunks or abort the signal.
 */
export async function readInTime(
  store: ObjectReader,
  path: string,
  offset: number,
  signal: AbortSignal,
  totalMs = TOTAL_MS,
): Promise<ObjectBody | undefined> {
  const own = new AbortController();
  const stop = () => own.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const slow = () =>
    own.abort(new ChannelError("slow", `${store.location}: ${path} took longer than ${totalMs} ms`));
  const timer = setTimeout(slow, totalMs);
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  };
  const explain = (error: unknown) => (own.signal.reason instanceof ChannelError ? own.signal.reason : error);
  async function* chunksOf(body: ObjectBody) {
    try {
      yield* body.chunks;
    } catch (error) {
      throw explain(error);
    } finally {
      end();
    }
  }
  try {
    const body = await store.read(path, offset, own.signal);
    if (body === undefined) end();
    return body && { ...body, chunks: chunksOf(body) };
  } catch (error) {
    end();
    throw explain(error);
  }
}

/**
 * Reads a whole object as text.
 * @param limit maximum number of bytes
 * @returns undefined if the object does not exist
 */
export async function readText(
  store: ObjectReader,
  path: string,
  limit: number,
  signal: AbortSignal,
  totalMs?: number,
): Promise<string | undefined> {
  return (await findText(store, path, limit, signal, totalMs))?.text;
}

/** Reads a whole object as {@link readText} does, with the tag that {@link ObjectStore.replace} compares. */
export async function findText(
  store: ObjectReader,
  path: string,
  limit: number,
  signal: AbortSignal,
  totalMs?: number,
): Promise<FoundText | undefined> {
  const body = await readInTime(store, path, 0, signal, totalMs);
  if (body === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body.chunks) {
    bytes += chunk.length;
    if (bytes > limit) throw new ChannelError("wrong-object", `${path} has more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return { text: Buffer.concat(chunks).toString(), tag: body.tag };
}
