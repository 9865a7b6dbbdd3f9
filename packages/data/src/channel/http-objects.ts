// http-objects.ts: a read-only channel behind a base URL.

import { messageOf } from "../errors.ts";
import { ChannelError } from "./channel-error.ts";
import { splitCredentials } from "./location.ts";
import type { ObjectBody, ObjectReader } from "./object-store.ts";

/** Sends one request. For a bucket, the request is also signed. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

/** Time limit for one step, for every type of store. */
export const STALL_MS = 30_000;
/** Time limit for uploading a whole segment. The response comes only after the last byte. */
export const UPLOAD_MS = 600_000;

export class HttpObjects implements ObjectReader {
  readonly location: string;
  private readonly send: Send;
  private readonly stallMs: number;

  constructor(location: string, send: Send, stallMs = STALL_MS) {
    this.location = location;
    this.stallMs = stallMs;
    // Redirects are refused, because following one could send this host's credentials to another host.
    this.send = (path, init) => send(path, { ...init, redirect: "manual" });
  }

  /** @param base a URL, with or without user and password */
  static open(base: string): HttpObjects {
    const { base: root, headers } = splitCredentials(base);
    return new HttpObjects(root, (path, init) =>
      fetch(`${root}/${path}`, { ...init, headers: { ...init.headers, ...headers } }),
    );
  }

  async read(path: string, offset: number, signal: AbortSignal): Promise<ObjectBody | undefined> {
    const stall = new Stall(signal, this.stallMs);
    const headers: Record<string, string> = { "Accept-Encoding": "identity" };
    if (offset > 0) headers.Range = `bytes=${offset}-`;
    let isRead = false;
    try {
      const response = await this.send(path, { headers, signal: stall.signal });
      if (response.status === 404) {
        const error = await refusal(this.location, path, response);
        if (error.hint !== undefined) throw error; // the bucket does not exist
        return undefined;
      }
      // 416: the partial file is longer than the object in the store.
      if (!response.ok && response.status !== 416) throw await refusal(this.location, path, response);
      if (!response.ok) await response.body?.cancel();
      isRead = true;
      return {
        chunks: stall.watch(response.ok ? response.body : null, path),
        offset: response.status === 206 ? offset : 0,
        tag: response.headers.get("etag") ?? undefined,
      };
    } catch (error) {
      throw unreachable(this.location, error);
    } finally {
      if (!isRead) stall.end();
    }
  }

  /** Sends one request. `take` receives the response, whatever its status, and reads its body. */
  async request<T>(
    path: string,
    init: RequestInit,
    take: (response: Response) => Promise<T> | T,
  ): Promise<T> {
    const stall = new Stall(
      init.signal ?? undefined,
      typeof init.body === "object" ? UPLOAD_MS : this.stallMs,
    );
    try {
      return await take(await this.send(path, { ...init, signal: stall.signal }));
    } catch (error) {
      throw unreachable(this.location, error);
    } finally {
      stall.end();
    }
  }
}

/** Returns the error of a store that gave no response. */
export function unreachable(location: string, error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  return new ChannelError("unreachable", `${location} cannot be reached: ${messageOf(error)}`, undefined, {
    cause: error,
  });
}

/** Creates the error for a response that is neither a success nor "not found". */
export async function refusal(location: string, path: string, response: Response): Promise<ChannelError> {
  // An S3 store sends an error code. The rest of the response, which may be endless, is neither read nor shown.
  const reader = response.body?.getReader();
  const first = await reader?.read().catch(() => undefined);
  await reader?.cancel().catch(() => {});
  const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(Buffer.from(first?.value ?? []).toString())?.[1];
  const what = `${location} returned ${response.status}${code === undefined ? "" : ` ${code}`} for ${path}`;
  if (response.status >= 500 || response.status === 429 || response.status === 408) {
    return new ChannelError("unreachable", what);
  }
  // The response to HEAD contains no error code, so only the status is known. Buckets redirect requests to their
  // region.
  const isMoved = response.status >= 300 && response.status < 400;
  const hint = isMoved ? (location.startsWith("s3:") ? REGION : REDIRECT) : STATUS_HINTS[response.status];
  return new ChannelError("denied", what, HINTS[code ?? ""] ?? hint);
}

const REGION = "set AWS_REGION to the bucket's region";
const SECRET = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
const HINTS: Readonly<Record<string, string>> = {
  NoSuchBucket: "check the bucket name, and AWS_ENDPOINT_URL_S3 if the bucket is not at Amazon",
  PermanentRedirect: REGION,
  AuthorizationHeaderMalformed: REGION,
  InvalidAccessKeyId: SECRET,
  SignatureDoesNotMatch: SECRET,
  InvalidToken: "check AWS_SESSION_TOKEN",
  ExpiredToken: "AWS_SESSION_TOKEN has expired",
  RequestTimeTooSkewed: "the clock of this host is wrong",
  AccessDenied:
    "the credentials need s3:GetObject; a publisher also needs s3:PutObject, s3:ListBucket and s3:DeleteObject",
};
const REDIRECT = "redirects are not followed: set INKLING_CHANNEL to the redirect's target";
const STATUS_HINTS: Readonly<Record<number, string>> = {
  401: "put user and password into the URL: https://user:password@host/path",
  403: "check the permissions of the credentials",
};

/** Aborts a request if nothing arrives within the time limit. */
export class Stall {
  private readonly controller = new AbortController();
  readonly signal = this.controller.signal;
  private readonly outer: AbortSignal | undefined;
  private readonly limitMs: number;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal | undefined, limitMs: number) {
    this.outer = outer;
    this.limitMs = limitMs;
    // This does not use AbortSignal.any, because a combined signal with listeners lives as long as the outer signal,
    // and costs 2 KB per call.
    outer?.addEventListener("abort", this.stop);
    if (outer?.aborted) this.stop();
    this.restart();
  }

  private readonly stop = () => this.controller.abort(this.outer?.reason);

  async *watch(body: ReadableStream<Uint8Array> | null, path: string): AsyncGenerator<Uint8Array> {
    try {
      if (body === null) return;
      for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
        this.restart();
        yield chunk;
        this.restart(); // the wait for the next chunk begins now, after the reader has processed this one
      }
    } catch (error) {
      throw unreachable(path, error);
    } finally {
      this.end();
    }
  }

  end(): void {
    clearTimeout(this.timer);
    this.outer?.removeEventListener("abort", this.stop);
  }

  private restart(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => this.controller.abort(new Error(`nothing arrived for ${this.limitMs / 1000} seconds`)),
      this.limitMs,
    );
  }
}
