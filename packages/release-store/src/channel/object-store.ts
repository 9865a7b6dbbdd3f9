// object-store.ts: where a channel lies: a folder, a base URL, or a bucket of an S3-compatible store.
//
// in   paths relative to the base: segments/…, releases/…, channels/…
// err  ChannelError: unreachable (another try may end differently), slow, denied, disk
// note no conditional writes: some stores refuse them

import { TRANSFER_MS, TransferLimit, type TransferTimes } from "../transfer-limit.ts";
import { ChannelError } from "./channel-error.ts";

export interface ObjectBody {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Where it begins: 0 when the store cannot begin elsewhere. */
  readonly offset: number;
}

export interface ObjectReader {
  /** For messages: without credentials. */
  readonly location: string;
  /** @returns undefined if there is no such object */
  read(path: string, offset: number, signal: AbortSignal): Promise<ObjectBody | undefined>;
}

export interface ObjectStore extends ObjectReader {
  /** Bytes of an object; undefined if there is none. */
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

/** For one object; a segment that takes longer continues where it ended. Silence of 30 s ends a transfer before its window. */
const TIMES: TransferTimes = { totalMs: TRANSFER_MS, windowMs: 60_000 };

/**
 * As the store's own `read`, within a total time and above a least speed, which a store that drips would not end.
 * Iterate its chunks, or abort the signal.
 */
export async function readInTime(
  store: ObjectReader,
  path: string,
  offset: number,
  signal: AbortSignal,
  times: TransferTimes = TIMES,
): Promise<ObjectBody | undefined> {
  const own = new AbortController();
  const stop = () => own.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const limit = new TransferLimit(times, (problem) =>
    own.abort(new ChannelError("slow", `${store.location}: ${path} ${problem}`)),
  );
  const end = () => {
    limit.end();
    signal.removeEventListener("abort", stop);
  };
  const explain = (error: unknown) => (own.signal.reason instanceof ChannelError ? own.signal.reason : error);
  async function* chunksOf(body: ObjectBody) {
    try {
      for await (const chunk of body.chunks) {
        limit.count(chunk.length);
        yield chunk;
      }
    } catch (error) {
      throw explain(error);
    } finally {
      end();
    }
  }
  try {
    const body = await store.read(path, offset, own.signal);
    if (body === undefined) end();
    else limit.startBody();
    return body && { offset: body.offset, chunks: chunksOf(body) };
  } catch (error) {
    end();
    throw explain(error);
  }
}

/** A whole object as text. @param limit bytes */
export async function readText(
  store: ObjectReader,
  path: string,
  limit: number,
  signal: AbortSignal,
  times?: TransferTimes,
): Promise<string | undefined> {
  const body = await readInTime(store, path, 0, signal, times);
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
