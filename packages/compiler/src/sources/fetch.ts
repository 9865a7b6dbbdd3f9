// fetch.ts: one GET of one feed file, written to a file of ours.
//
// in   a URL of the feed table or of the operator's mirror; validators of the copy that is at hand
// out  the unpacked body in `into`, or "not modified"
// err  FeedError: the status, the time or size limit, a redirect that is not followed, a body cut short
// note retries, Retry-After and budgets belong to the caller: this asks once

import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { FeedError } from "../feed.ts";
import { unpacked } from "./unpack.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface FetchTimes {
  /** Until the head of the answer is there, redirects included. */
  readonly responseMs: number;
  /** Until its last byte is. */
  readonly totalMs: number;
}
/** The largest file (DB-IP's) has 60 MB packed: ten minutes are enough at 1 Mbit/s. */
export const FETCH_TIMES: FetchTimes = { responseMs: 20_000, totalMs: 600_000 };

/** What a publisher said of a copy, sent back to ask whether there is a newer one. */
export interface Validators {
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
}

export interface Download {
  readonly url: string;
  readonly into: string;
  readonly maxBytes: number;
  readonly userAgent: string;
  readonly times: FetchTimes;
  /** Plain HTTP is for a mirror in the operator's own network; publishers are asked over HTTPS alone. */
  readonly allowHttp: boolean;
  readonly validators?: Validators | undefined;
}

/** @returns undefined when the copy at hand is still the newest one
 * @throws FeedError saying why there is no usable answer */
export async function download(request: Download): Promise<Validators | undefined> {
  const abort = new AbortController();
  const { responseMs, totalMs } = request.times;
  const total = setTimeout(() => abort.abort(new FeedError(`took longer than ${totalMs} ms`)), totalMs);
  const head = setTimeout(
    () => abort.abort(new FeedError(`gave no answer within ${responseMs} ms`)),
    responseMs,
  );
  try {
    const response = await follow(request, abort.signal);
    clearTimeout(head);
    if (response.status === 304 && hasValidators(request)) return undefined;
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new FeedError(`answered ${response.status} ${response.statusText}`.trimEnd());
    }
    await save(response, request, abort.signal);
    return {
      etag: response.headers.get("etag") ?? undefined,
      lastModified: response.headers.get("last-modified") ?? undefined,
    };
  } catch (error) {
    if (error instanceof FeedError) throw error;
    if (abort.signal.reason instanceof FeedError) throw abort.signal.reason;
    throw new FeedError(networkProblem(error));
  } finally {
    clearTimeout(head);
    clearTimeout(total);
    abort.abort();
  }
}

/** Asks, and follows redirects, but never from HTTPS to anything else. */
async function follow(request: Download, signal: AbortSignal): Promise<Response> {
  let url = new URL(request.url);
  const scheme = new Set(request.allowHttp || isLoopback(url) ? ["https:", "http:"] : ["https:"]);
  for (let hops = 0; ; hops++) {
    if (!scheme.has(url.protocol)) throw new FeedError(`is at ${url.origin}, which is not HTTPS`);
    if (url.protocol === "https:") scheme.delete("http:");
    const response = await fetch(url.href, {
      headers: requestHeaders(request),
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

function requestHeaders({ userAgent, validators }: Download): Headers {
  const headers = new Headers({ "user-agent": userAgent, "accept-encoding": "gzip" });
  if (validators?.etag) headers.set("if-none-match", validators.etag);
  if (validators?.lastModified) headers.set("if-modified-since", validators.lastModified);
  return headers;
}

const hasValidators = ({ validators }: Download) => Boolean(validators?.etag || validators?.lastModified);

/** A body shorter than announced, or with a chunk cut off, is an error of fetch itself. */
async function save(response: Response, request: Download, signal: AbortSignal): Promise<void> {
  if (response.body === null) throw new FeedError("is empty");
  const chunks = Readable.from(unpacked(response.body, request.maxBytes), { objectMode: false });
  await pipeline(chunks, createWriteStream(request.into), { signal });
}

/** Tests run a publisher here; no publisher of the feed table does. */
function isLoopback(url: URL): boolean {
  return url.hostname === "127.0.0.1" || url.hostname === "[::1]" || url.hostname === "localhost";
}

function networkProblem(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return `could not be fetched: ${message ?? String(error)}${code ? ` (${code})` : ""}`;
}
