// fetch.ts: one GET of one feed file into a local file.
//
// in   a URL of the feed table or of the operator's mirror; validators of the copy that is at hand
// out  the unpack body in `into`, or "not modified"
// err  FeedError: the status, the time or size limit, a redirect that is not followed, a body cut short;
//      what node:fs throws when `into` cannot be written
// note one attempt; schedule.ts decides when

import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { PRIVATE_FILE } from "@inkling/release-store";
import { FeedError } from "../catalog/feed.ts";
import { unpack } from "./unpack.ts";
import { unreachedWords } from "./unreached.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface FetchTimes {
  /** Until the response's headers, redirects included. */
  readonly responseMs: number;
  /** Until its last byte. */
  readonly totalMs: number;
}
/** The largest file (DB-IP's) has 60 MB packed: ten minutes are enough at 1 Mbit/s. */
export const FETCH_TIMES: FetchTimes = { responseMs: 20_000, totalMs: 600_000 };

/** Validators of a copy, for conditional requests. */
export interface Validators {
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
}

/** A response other than a file. */
export class AnswerError extends FeedError {
  readonly status: number;
  /** As it was sent. */
  readonly retryAfter: string | undefined;
  constructor(response: Response) {
    super(`answered ${response.status} ${response.statusText}`.trimEnd());
    this.status = response.status;
    this.retryAfter = response.headers.get("retry-after") ?? undefined;
  }
}

/** No response. */
export class UnreachedError extends FeedError {
  constructor(why: string) {
    super(unreachedWords(why));
  }
}

export interface Download {
  readonly url: string;
  /** URL of a text whose first word is the SHA-256 of the file as sent. */
  readonly checksumUrl?: string | undefined;
  /** Credentials; sent to this URL's origin alone, wherever it redirects to. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly into: string;
  readonly maxBytes: number;
  readonly userAgent: string;
  readonly times: FetchTimes;
  /** Plain HTTP is for mirrors in the operator's network; publishers need HTTPS. */
  readonly allowHttp: boolean;
  readonly validators?: Validators | undefined;
}

/**
 * @returns undefined when the copy at hand is still current
 * @throws FeedError with the reason why there is no usable response
 */
export async function download(request: Download): Promise<Validators | undefined> {
  const abort = new AbortController();
  const { responseMs, totalMs } = request.times;
  const total = setTimeout(() => abort.abort(new FeedError(`took longer than ${totalMs} ms`)), totalMs);
  const head = setTimeout(
    () => abort.abort(new UnreachedError(`no answer within ${responseMs} ms`)),
    responseMs,
  );
  try {
    const response = await follow(request, abort.signal);
    clearTimeout(head);
    if (response.status === 304 && hasValidators(request)) return undefined;
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new AnswerError(response);
    }
    const sha256 = await save(response, request, abort.signal);
    if (request.checksumUrl !== undefined && sha256 !== (await fetchChecksum(request, abort.signal)))
      throw new FeedError("does not have the checksum that its publisher states");
    return {
      etag: response.headers.get("etag") ?? undefined,
      lastModified: response.headers.get("last-modified") ?? undefined,
    };
  } catch (error) {
    if (error instanceof FeedError || isDiskError(error)) throw error;
    if (abort.signal.reason instanceof FeedError) throw abort.signal.reason;
    throw networkProblem(error);
  } finally {
    clearTimeout(head);
    clearTimeout(total);
    abort.abort();
  }
}

/** Sends the request and follows redirects, but never from HTTPS to anything else. */
async function follow(request: Download, signal: AbortSignal): Promise<Response> {
  let url = new URL(request.url);
  let mayBeHttp = true;
  for (let hops = 0; ; hops++) {
    if (url.protocol === "https:") mayBeHttp = false;
    else if (!mayBeHttp || url.protocol !== "http:" || !(request.allowHttp || isLoopback(url)))
      throw new FeedError(`is at ${url.protocol}//${url.host}, which is not HTTPS`);
    const response = await fetch(url.href, {
      headers: requestHeaders(request, url),
      redirect: "manual",
      decompress: false, // unpack.ts does, within limits
      signal,
    });
    const location = response.headers.get("location");
    if (!REDIRECTS.has(response.status) || location === null) return response;
    await response.body?.cancel();
    if (hops === MAX_REDIRECTS) throw new FeedError(`redirects more than ${MAX_REDIRECTS} times`);
    if (!URL.canParse(location, url.href)) throw new FeedError("redirects to something that is not a URL");
    url = new URL(location, url);
  }
}

function requestHeaders({ url, userAgent, validators, ...request }: Download, to: URL): Headers {
  const own = to.origin === new URL(url).origin ? request.headers : undefined;
  const headers = new Headers({ ...own, "user-agent": userAgent, "accept-encoding": "gzip" });
  if (validators?.etag) headers.set("if-none-match", validators.etag);
  if (validators?.lastModified) headers.set("if-modified-since", validators.lastModified);
  return headers;
}

const hasValidators = ({ validators }: Download) => Boolean(validators?.etag || validators?.lastModified);

/** A body shorter than announced, or with a chunk cut off, is an error of fetch itself. */
async function save(response: Response, request: Download, signal: AbortSignal): Promise<string> {
  if (response.body === null) throw new FeedError("is empty");
  const hash = new Bun.CryptoHasher("sha256");
  const sent = hashed(response.body, hash);
  const chunks = Readable.from(unpack(sent, request.maxBytes), { objectMode: false });
  await pipeline(chunks, createWriteStream(request.into, { mode: PRIVATE_FILE }), { signal });
  return hash.digest("hex");
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: Bun.CryptoHasher) {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

const MAX_CHECKSUM_BYTES = 4_096;

async function fetchChecksum(request: Download, signal: AbortSignal): Promise<string> {
  const response = await follow({ ...request, url: request.checksumUrl!, validators: undefined }, signal);
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel();
    throw new FeedError(`has no checksum: its publisher answered ${response.status}`);
  }
  const text = await Array.fromAsync(unpack(response.body, MAX_CHECKSUM_BYTES));
  return Buffer.concat(text).toString().trim().split(/\s/, 1)[0]!.toLowerCase(); // a split has one part at least
}

const isDiskError = (error: unknown): boolean =>
  /^(ENOSPC|EDQUOT|EROFS|EACCES|EPERM|EIO|EMFILE|ENFILE|EISDIR)$/.test(
    (error as { code?: string }).code ?? "",
  );

/** Publishers of tests run here; none of the feed table does. */
function isLoopback(url: URL): boolean {
  return url.hostname === "127.0.0.1" || url.hostname === "[::1]" || url.hostname === "localhost";
}

/** Error codes of failed connections, as text. */
const UNREACHED: Readonly<Record<string, string>> = {
  ENOTFOUND: "host not found",
  EAI_AGAIN: "host not found: the name server does not answer",
  ECONNREFUSED: "connection refused",
  ENETUNREACH: "no way to its network",
  EHOSTUNREACH: "no way to its host",
  ETIMEDOUT: "no answer",
  ERR_PROXY_TUNNEL: "the proxy refuses to pass it on",
};

function networkProblem(error: unknown): FeedError {
  const { code = "", message } = error as { code?: string; message?: string };
  const why = UNREACHED[code];
  if (why !== undefined) return new UnreachedError(why);
  return new FeedError(`could not be fetched: ${message ?? String(error)}${code ? ` (${code})` : ""}`);
}
