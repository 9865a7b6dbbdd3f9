// fetch.ts: one GET of one feed file into a local file.
//
// in   a URL of the feed table or of the operator's mirror; validators of the copy that is at hand
// out  the unpack body in `into`, or "not modified"
// err  FeedError: the status, the time, speed or size limit, a redirect that is not followed, a body cut short; LateError
//      at the deadline; what node:fs throws when `into` cannot be written. No text quotes what came back
// note one attempt; schedule.ts decides when

import { lookup } from "node:dns/promises";
import { createWriteStream } from "node:fs";
import { STATUS_CODES } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parseUnwrapped, specialUse } from "@inkling/engine";
import { PRIVATE_FILE, TRANSFER_MS, TransferLimit, type TransferTimes } from "@inkling/release-store";
import { FeedError } from "../catalog/feed.ts";
import { unpack } from "./unpack.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface FetchTimes extends TransferTimes {
  /** Until the response's headers, redirects included. */
  readonly responseMs: number;
}
/** The largest file (DB-IP's) has 60 MB packed: ten minutes are enough at 1 Mbit/s. */
export const FETCH_TIMES: FetchTimes = { responseMs: 20_000, totalMs: TRANSFER_MS };

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
    super(`answered ${response.status} ${STATUS_CODES[response.status] ?? ""}`.trimEnd());
    this.status = response.status;
    this.retryAfter = response.headers.get("retry-after") ?? undefined;
  }
}

/** Not arrived when the build has to continue: no failure of the publisher. */
export class LateError extends FeedError {
  constructor() {
    super("has not arrived yet: it is fetched further after this release");
  }
}

/** No response. */
export class UnreachedError extends FeedError {
  readonly why: string;
  constructor(why: string) {
    super(`could not be reached: ${why}`);
    this.why = why;
  }
}

export interface Download {
  readonly url: string;
  /** URL of a text whose first word is the SHA-256 of the file as sent. */
  readonly checksumUrl?: string | undefined;
  /** Credentials; sent to this URL's origin only, wherever it redirects to. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly into: string;
  readonly maxBytes: number;
  readonly userAgent: string;
  readonly times: FetchTimes;
  /** When the build continues without it, as performance.now() counts; undefined: never. */
  readonly deadline?: number | undefined;
  /** Hosts that may be redirected to, beside the URL's own. */
  readonly redirects?: readonly string[] | undefined;
  /** The addresses of a host; for tests. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** Plain HTTP is for mirrors in the operator's network; publishers need HTTPS. */
  readonly allowHttp: boolean;
  readonly validators?: Validators | undefined;
}

/**
 * @returns undefined if the copy at hand is still current
 * @throws FeedError with the reason why there is no usable response
 */
export async function download(request: Download): Promise<Validators | undefined> {
  const abort = new AbortController();
  const { responseMs } = request.times;
  const leftMs = request.deadline === undefined ? undefined : request.deadline - performance.now();
  if (leftMs !== undefined && leftMs <= 0) throw new LateError();
  const late = leftMs === undefined ? undefined : setTimeout(() => abort.abort(new LateError()), leftMs);
  const limit = new TransferLimit(request.times, (problem) => abort.abort(new FeedError(problem)));
  const head = setTimeout(
    () => abort.abort(new UnreachedError(`no answer within ${responseMs} ms`)),
    responseMs,
  );
  try {
    const response = await follow(request, abort.signal);
    clearTimeout(head);
    limit.startBody();
    if (response.status === 304 && hasValidators(request)) return undefined;
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new AnswerError(response);
    }
    const sha256 = await save(response, request, limit, abort.signal);
    limit.endBody();
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
    clearTimeout(late);
    limit.end();
    abort.abort();
  }
}

/** Sends the request and follows redirects: to hosts that the feed names, and never from HTTPS to anything else. */
async function follow(request: Download, signal: AbortSignal): Promise<Response> {
  const first = new URL(request.url);
  if (first.protocol !== "https:" && !(request.allowHttp || isLoopback(first)))
    throw new FeedError(`is at ${first.protocol}//${first.host}, which is not HTTPS`);
  let url = first;
  for (let hops = 0; ; hops++) {
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
    const next = new URL(location, url);
    if (next.protocol !== "https:" && next.protocol !== url.protocol)
      throw new FeedError("redirects to something that is not HTTPS");
    if (next.host !== first.host) await requireNamed(next, request, signal);
    url = next;
  }
}

/**
 * Of a named host every address has to be public. Its name is resolved once more for the connection: for what may have
 * changed until then, its certificate has to be the host's.
 * @throws FeedError
 */
async function requireNamed(
  { host, hostname }: URL,
  { redirects = [], resolve = addressesOf }: Download,
  signal: AbortSignal,
): Promise<void> {
  if (!redirects.includes(host)) throw new FeedError("redirects to a host that it may not redirect to");
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );
  for (const text of await Promise.race([resolve(hostname), aborted])) {
    const address = parseUnwrapped(text);
    if (address === undefined || specialUse(address) !== undefined)
      throw new FeedError("redirects to an address that is not public");
  }
}

/** None where the name cannot be resolved here: behind a proxy, or the connection will fail with the reason. */
const addressesOf = (host: string): Promise<string[]> =>
  lookup(host, { all: true }).then(
    (rows) => rows.map(({ address }) => address),
    () => [],
  );

function requestHeaders({ url, userAgent, validators, ...request }: Download, to: URL): Headers {
  const own = to.origin === new URL(url).origin ? request.headers : undefined;
  const headers = new Headers({ ...own, "user-agent": userAgent, "accept-encoding": "gzip" });
  if (validators?.etag) headers.set("if-none-match", validators.etag);
  if (validators?.lastModified) headers.set("if-modified-since", validators.lastModified);
  return headers;
}

const hasValidators = ({ validators }: Download) => Boolean(validators?.etag || validators?.lastModified);

/** A body shorter than announced, or with a chunk cut off, is an error of fetch itself. */
async function save(
  response: Response,
  request: Download,
  limit: TransferLimit,
  signal: AbortSignal,
): Promise<string> {
  if (response.body === null) throw new FeedError("is empty");
  const hash = new Bun.CryptoHasher("sha256");
  const sent = watched(response.body, (chunk) => {
    hash.update(chunk);
    limit.count(chunk.length);
  });
  const chunks = Readable.from(unpack(sent, request.maxBytes), { objectMode: false });
  await pipeline(chunks, createWriteStream(request.into, { mode: PRIVATE_FILE }), { signal });
  return hash.digest("hex");
}

async function* watched(chunks: AsyncIterable<Uint8Array>, see: (chunk: Uint8Array) => void) {
  for await (const chunk of chunks) {
    see(chunk);
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
  const { code = "" } = error as { code?: string };
  const why = UNREACHED[code];
  if (why !== undefined) return new UnreachedError(why);
  return new FeedError(`could not be fetched: the connection failed${code ? ` (${code})` : ""}`);
}
