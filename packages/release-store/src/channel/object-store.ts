// object-store.ts: where a channel lies: a folder, a base URL, or a bucket of an S3-compatible store.
//
// in   paths relative to the base: segments/…, releases/…, channels/…
// err  ChannelError: unreachable (another try may end differently), denied, disk
// note no conditional writes: some stores refuse them

import { ChannelError } from "./channel-error.ts";

export interface ObjectBody {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Where it begins: 0 when the store cannot begin elsewhere. */
  readonly offset: number;
}

export interface ObjectReader {
  /** For messages: without credentials. */
  readonly location: string;
  /** @returns undefined when there is no such object */
  read(path: string, offset: number, signal: AbortSignal): Promise<ObjectBody | undefined>;
}

export interface ObjectStore extends ObjectReader {
  /** Bytes of an object; undefined when there is none. */
  size(path: string, signal: AbortSignal): Promise<number | undefined>;
  /** Puts a whole object, or nothing. */
  write(path: string, content: string | OwnFile, signal: AbortSignal): Promise<void>;
  /** Paths that begin with `prefix`. */
  list(prefix: string, signal: AbortSignal): Promise<string[]>;
  remove(path: string, signal: AbortSignal): Promise<void>;
  /** What two writers may differ by until both see the same. */
  readonly settleMs: number;
}

/** A file on this machine, and its SHA-256. */
export interface OwnFile {
  readonly file: string;
  readonly sha256: string;
}

/** A whole object as text. @param limit bytes */
export async function readText(
  store: ObjectReader,
  path: string,
  limit: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const body = await store.read(path, 0, signal);
  if (body === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body.chunks) {
    bytes += chunk.length;
    if (bytes > limit) throw new ChannelError("wrong-object", `${path} has more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
