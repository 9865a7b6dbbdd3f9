// fetch.ts: downloads one feed file with one GET.
//
// It throws LateError at the deadline. Messages never quote the response. This file makes one attempt; next-state.ts
// decides when the next one follows.

import { lookup } from "node:dns/promises";
import { STATUS_CODES } from "node:http";
import { parseIp, specialUse } from "@inkling/engine";
import manifest from "../../package.json" with { type: "json" };
import { FeedError } from "../catalog/feed.ts";
import { isLoopback } from "../catalog/own-feed.ts";
import { requireSize, unpack } from "./unpack.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const PERMANENT = new Set([301, 308]);

export interface FetchTimes {
  /** Milliseconds within which the response must begin, including redirects, and each further part must arrive. */
  readonly responseMs: number;
  readonly totalMs: number;
}
/** The largest file (DB-IP's) is 60 MB when packed. Ten minutes are enough at 1 Mbit/s. */
export const FETCH_TIMES: FetchTimes = { responseMs: 20_000, totalMs: 600_000 };

/** Validators of a copy, for conditional requests. */
export interface Validators {
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
}

/** A response that does not contain a file. */
export class AnswerError extends FeedError {
  readonly status: number;
  /** The Retry-After header, as sent. */
  readonly retryAfter: string | undefined;
  constructor(response: Response) {
    super(`answered ${response.status} ${STATUS_CODES[response.status] ?? ""}`.trimEnd());
    this.status = response.status;
    this.retryAfter = response.headers.get("retry-after") ?? undefined;
  }
}

/** The file had not arrived when the build had to continue. This is not a failure of the publisher. */
export class LateError extends FeedError {
  constructor() {
    super("has not arrived yet: the download continues after this release");
  }
}

/** No response was received. */
export class UnreachedError extends FeedError {
  readonly why: string;
  constructor(why: string) {
    super(`could not be reached: ${why}`);
    this.why = why;
  }
}

export interface Download {
  readonly url: string;
  /** Credentials. They are sent only to the origin of this URL, wherever it redirects. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly maxBytes: number;
  readonly times: FetchTimes;
  /**
   * The time at which the build continues without the file, on the clock of performance.now(). Undefined means never.
   */
  readonly deadline?: number | undefined;
  /** Hosts to which redirects may lead, in addition to the URL's own host. */
  readonly redirects?: readonly string[] | undefined;
  /** Returns the addresses of a host; for tests. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /**
   * Whether plain HTTP is allowed. The operator's mirror and own feeds may use it, while built-in feeds must use HTTPS.
   */
  readonly allowHttp: boolean;
  readonly validators?: Validators | undefined;
}

/** A longer URL of a publisher is not shown. */
const MAX_URL = 300;
const shownUrl = ({ origin, pathname }: URL): string | undefined =>
  origin.length + pathname.length <= MAX_URL ? `${origin}${pathname}` : undefined;

interface Downloaded extends Validators {
  /** The unpacked body. */
  readonly bytes: Uint8Array;
  /** The URL that has replaced the requested one for good (301 or 308), without its query. */
  readonly movedTo?: string | undefined;
}

/**
 * @returns undefined if the existing copy is still current
 * @throws FeedError with the reason why there is no usable response
 */
export async function download(request: Download): Promise<Downloaded | undefined> {
  const abort = new AbortController();
  const { responseMs, totalMs } = request.times;
  const leftMs = request.deadline === undefined ? undefined : request.deadline - performance.now();
  if (leftMs !== undefined && leftMs <= 0) throw new LateError();
  const abortAfter = (ms: number, error: FeedError) => setTimeout(() => abort.abort(error), ms);
  const late = leftMs === undefined ? undefined : abortAfter(leftMs, new LateError());
  const total = abortAfter(totalMs, new FeedError(`took longer than ${totalMs} ms`));
  let next = abortAfter(responseMs, new UnreachedError(`no response within ${responseMs} ms`));
  const onPart = () => {
    clearTimeout(next);
    next = abortAfter(responseMs, new FeedError(`sent nothing for ${responseMs} ms`));
  };
  try {
    const { response, movedTo } = await follow(request, abort.signal);
    onPart();
    if (response.status === 304 && hasValidators(request)) return undefined;
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new AnswerError(response);
    }
    const packed = await readBody(response, request.maxBytes, onPart);
    return {
      bytes: await unpack(packed, request.maxBytes),
      etag: response.headers.get("etag") ?? undefined,
      lastModified: response.headers.get("last-modified") ?? undefined,
      movedTo: movedTo && shownUrl(movedTo),
    };
  } catch (error) {
    if (error instanceof FeedError) throw error;
    if (abort.signal.reason instanceof FeedError) throw abort.signal.reason;
    throw networkProblem(error);
  } finally {
    for (const timer of [late, total, next]) clearTimeout(timer);
    abort.abort();
  }
}

/**
 * Sends the request and follows redirects, but only to the same host or to the feed's `redirects`, and never from HTTPS
 * to another protocol.
 */
async function follow(
  request: Download,
  signal: AbortSignal,
): Promise<{ readonly response: Response; readonly movedTo: URL | undefined }> {
  const first = new URL(request.url);
  // Publishers of tests are on this machine. No built-in publisher is.
  if (first.protocol !== "https:" && !(request.allowHttp || isLoopback(first)))
    throw new FeedError(`is at ${first.protocol}//${first.host}, which is not HTTPS`);
  let url = first;
  let movedTo: URL | undefined;
  for (let hops = 0; ; hops++) {
    const response = await fetch(url.href, {
      headers: requestHeaders(request, url),
      redirect: "manual",
      decompress: false, // unpack.ts decompresses the body, within limits
      signal,
    });
    const location = response.headers.get("location");
    if (!REDIRECTS.has(response.status) || location === null) return { response, movedTo };
    await response.body?.cancel();
    if (hops === MAX_REDIRECTS) throw new FeedError(`redirects more than ${MAX_REDIRECTS} times`);
    if (!URL.canParse(location, url.href)) throw new FeedError("redirects to an invalid URL");
    const next = new URL(location, url);
    if (next.protocol !== "https:" && next.protocol !== url.protocol)
      throw new FeedError("redirects to a URL that is not HTTPS");
    if (next.host !== first.host) await requireNamed(next, request, signal);
    // After a temporary redirect, a permanent one says nothing about the requested URL.
    if (PERMANENT.has(response.status) && url === (movedTo ?? first)) movedTo = next;
    url = next;
  }
}

/**
 * Requires that redirects may lead to this host and that all its addresses are public. The connection resolves the name
 * again. If the addresses have changed by then, the certificate must still match the host.
 * @throws FeedError
 */
async function requireNamed(
  { host, hostname }: URL,
  { redirects = [], resolve = addressesOf }: Download,
  signal: AbortSignal,
): Promise<void> {
  if (!redirects.includes(host)) throw new FeedError("redirects to a host that is not allowed");
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );
  for (const text of await Promise.race([resolve(hostname), aborted])) {
    const address = parseIp(text);
    if (address === undefined || specialUse(address) !== undefined)
      throw new FeedError("redirects to an address that is not public");
  }
}

/**
 * Returns no addresses if the name cannot be resolved here. In that case, either a proxy resolves the name, or the
 * connection fails and reports why.
 */
const addressesOf = (host: string): Promise<string[]> =>
  lookup(host, { all: true }).then(
    (rows) => rows.map(({ address }) => address),
    () => [],
  );

const USER_AGENT = `Inkling/${manifest.version}`;

function requestHeaders({ url, validators, ...request }: Download, to: URL): Headers {
  const own = to.origin === new URL(url).origin ? request.headers : undefined;
  const headers = new Headers({ ...own, "user-agent": USER_AGENT, "accept-encoding": "gzip" });
  if (validators?.etag) headers.set("if-none-match", validators.etag);
  if (validators?.lastModified) headers.set("if-modified-since", validators.lastModified);
  return headers;
}

const hasValidators = ({ validators }: Download) => Boolean(validators?.etag || validators?.lastModified);

/** fetch itself reports a body that is shorter than announced or lacks part of a chunk. */
async function readBody(response: Response, maxBytes: number, onPart: () => void): Promise<Uint8Array> {
  if (response.body === null) throw new FeedError("is empty");
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body) {
    onPart();
    bytes += part.length;
    requireSize(bytes, maxBytes);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Messages for the error codes of failed connections. */
const UNREACHED: Readonly<Record<string, string>> = {
  ENOTFOUND: "host not found",
  EAI_AGAIN: "host not found: the name server did not respond",
  ECONNREFUSED: "connection refused",
  ENETUNREACH: "its network is unreachable",
  EHOSTUNREACH: "its host is unreachable",
  ETIMEDOUT: "no response",
  ERR_PROXY_TUNNEL: "the proxy refused the connection",
};

function networkProblem(error: unknown): FeedError {
  const { code = "" } = error as { code?: string };
  const why = UNREACHED[code];
  if (why !== undefined) return new UnreachedError(why);
  return new FeedError(`could not be fetched: the connection failed${code ? ` (${code})` : ""}`);
}
