// object-store.ts: defines a channel's store: a folder, a base URL, or a bucket in an S3-compatible store.

import { sha256Hex } from "../fingerprints.ts";
import { ChannelError } from "./channel-error.ts";

export interface ObjectBody {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The offset of the body's first byte; 0 if the store cannot start in the middle. */
  readonly offset: number;
  /** The store's ETag, which changes with the content; absent if the store has none. */
  readonly tag?: string | undefined;
}

/** Maximum size of an object that is replaced, in bytes. */
export const REPLACED_LIMIT = 64 << 10;

export interface ObjectReader {
  /** The store's location for messages, without credentials. */
  readonly location: string;
  /** Time limit in milliseconds for reading one object; by default 10 minutes. */
  readonly totalMs?: number;
  /** @returns undefined if the object does not exist */
  read(path: string, offset: number, signal: AbortSignal): Promise<ObjectBody | undefined>;
}

export interface ObjectStore extends ObjectReader {
  /** Returns the size of an object in bytes; undefined if the object does not exist. */
  size(path: string, signal: AbortSignal): Promise<number | undefined>;
  /** Writes a whole object or nothing. */
  write(path: string, content: string | OwnFile, signal: AbortSignal): Promise<void>;
  /**
   * Writes an object if its text is still `before`, or if it still does not exist.
   * @returns false if nothing was written, because another publisher has changed the object
   */
  replace(path: string, text: string, before: string | undefined, signal: AbortSignal): Promise<boolean>;
  /** Lists the paths that begin with `prefix`. */
  list(prefix: string, signal: AbortSignal): Promise<string[]>;
  remove(path: string, signal: AbortSignal): Promise<void>;
}

/** A file on this machine and its SHA-256. */
export interface OwnFile {
  readonly file: string;
  readonly sha256: string;
}

/** If a segment takes longer, the next attempt resumes where this one ended. */
const TOTAL_MS = 600_000;

/**
 * Reads an object like the store's own `read`, but limits the total time, because a trickle of bytes never reaches the
 * store's own limit.
 */
export async function readInTime(
  store: ObjectReader,
  path: string,
  offset: number,
  signal: AbortSignal,
): Promise<ObjectBody | undefined> {
  const { location, totalMs = TOTAL_MS } = store;
  const end = performance.now() + totalMs;
  async function* inTime(chunks: ObjectBody["chunks"]) {
    for await (const chunk of chunks) {
      if (performance.now() > end)
        throw new ChannelError("slow", `${location}: ${path} took longer than ${totalMs} ms`);
      yield chunk;
    }
  }
  const body = await store.read(path, offset, signal);
  return body && { ...body, chunks: inTime(body.chunks) };
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
): Promise<string | undefined> {
  return (await findText(store, path, limit, signal))?.text;
}

/** Does the same as {@link readText}, and also returns the object's tag. */
export async function findText(
  store: ObjectReader,
  path: string,
  limit: number,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly tag: string | undefined } | undefined> {
  const body = await readInTime(store, path, 0, signal);
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

/**
 * Reads an object whose SHA-256 is signed.
 * @param what the kind of object, for the message
 * @throws ChannelError also if the object is missing or different
 */
export async function readSigned(
  store: ObjectReader,
  { path, sha256, what }: { readonly path: string; readonly sha256: string; readonly what: string },
  limit: number,
  signal: AbortSignal,
): Promise<string> {
  const text = await readText(store, path, limit, signal);
  if (text === undefined) throw missing(store, path);
  if (sha256Hex(text) === sha256) return text;
  throw new ChannelError("wrong-object", `${path} is not the signed ${what}`);
}

export function missing({ location }: ObjectReader, path: string): ChannelError {
  return new ChannelError("missing-object", `${path} is not in ${location}`);
}
