// http-objects.ts: a channel behind a base URL, read only.
//
// in   http(s)://host/path; a path may need a user and password: https://user:password@host/path
// err  ChannelError: unreachable (network, 5xx, 429, a stall of 30 s), denied (401, 403 and other refusals)

import { messageOf } from "../error-message.ts";
import { ChannelError } from "./channel-error.ts";
import type { ObjectBody, ObjectReader } from "./object-store.ts";

/** Sends one request; a bucket signs it first. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

export const STALL_MS = 30_000;

export class HttpObjects implements ObjectReader {
  readonly location: string;
  private readonly send: Send;

  constructor(location: string, send: Send) {
    this.location = location;
    this.send = send;
  }

  /** @param base with or without user and password */
  static open(base: string): HttpObjects {
    const url = new URL(base);
    const { username, password } = url;
    url.username = url.password = url.search = url.hash = "";
    const root = url.href.replace(/\/+$/, "");
    const authorization =
      username === ""
        ? {}
        : {
            Authorization: `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64")}`,
          };
    return new HttpObjects(root, (path, init) =>
      fetch(`${root}/${path}`, { ...init, headers: { ...init.headers, ...authorization } }),
    );
  }

  async read(path: string, offset: number, signal: AbortSignal): Promise<ObjectBody | undefined> {
    const stall = new Stall(signal);
    const headers: Record<string, string> = { "Accept-Encoding": "identity" };
    if (offset > 0) headers.Range = `bytes=${offset}-`;
    try {
      const response = await this.request(path, { headers, signal: stall.signal });
      if (response.status === 404) return undefined;
      if (response.status === 416) return { chunks: [], offset: 0 }; // what is here is longer than the object
      if (!response.ok) throw await refusal(this.location, path, response);
      const isPart = response.status === 206;
      return { chunks: stall.watch(response.body, path), offset: isPart ? offset : 0 };
    } catch (error) {
      stall.end();
      throw error;
    }
  }

  /** One request whose answer may be any status. */
  async request(path: string, init: RequestInit): Promise<Response> {
    try {
      // A redirect is refused, not followed: it could lead to another host, with what is meant for this one.
      return await this.send(path, { ...init, redirect: "manual" });
    } catch (error) {
      throw unreachable(this.location, error);
    }
  }
}

export function unreachable(location: string, error: unknown): ChannelError {
  return new ChannelError("unreachable", `${location} cannot be reached: ${messageOf(error)}`, undefined, {
    cause: error,
  });
}

/** What an answer means that is neither success nor "not there". */
export async function refusal(location: string, path: string, response: Response): Promise<ChannelError> {
  const text = (await response.text().catch(() => "")).slice(0, 4096);
  // Of an S3 store; the rest of what it sends is not shown.
  const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1];
  const what = `${location} answers ${response.status}${code === undefined ? "" : ` ${code}`} for ${path}`;
  if (response.status >= 500 || response.status === 429 || response.status === 408) {
    return new ChannelError("unreachable", what);
  }
  return new ChannelError("denied", what, HINTS[code ?? ""] ?? STATUS_HINTS[response.status]);
}

const REGION = "AWS_REGION is the region of the bucket";
const SECRET = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
const HINTS: Readonly<Record<string, string>> = {
  NoSuchBucket: "check the name of the bucket, and AWS_ENDPOINT_URL_S3 where it is not Amazon's",
  PermanentRedirect: REGION,
  AuthorizationHeaderMalformed: REGION,
  InvalidAccessKeyId: SECRET,
  SignatureDoesNotMatch: SECRET,
  InvalidToken: "check AWS_SESSION_TOKEN",
  ExpiredToken: "AWS_SESSION_TOKEN has expired",
  RequestTimeTooSkewed: "the clock of this host is wrong",
  AccessDenied:
    "the credentials need s3:GetObject; a publisher also s3:PutObject, s3:ListBucket and s3:DeleteObject",
};
const REDIRECT = "redirects are not followed: set INKLING_CHANNEL to where it leads";
const STATUS_HINTS: Readonly<Record<number, string>> = {
  301: REDIRECT,
  302: REDIRECT,
  307: REDIRECT,
  308: REDIRECT,
  401: "put user and password into the URL: https://user:password@host/path",
  403: "check what the credentials may do",
};

/** Ends a request that delivers nothing for 30 seconds. */
class Stall {
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  readonly signal: AbortSignal;

  constructor(outer: AbortSignal) {
    this.signal = AbortSignal.any([outer, this.controller.signal]);
    this.restart();
  }

  async *watch(body: ReadableStream<Uint8Array> | null, path: string): AsyncGenerator<Uint8Array> {
    try {
      if (body === null) return;
      for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
        this.restart();
        yield chunk;
        this.restart(); // who reads may take its time
      }
    } catch (error) {
      throw error instanceof ChannelError ? error : unreachable(path, error);
    } finally {
      this.end();
    }
  }

  end(): void {
    clearTimeout(this.timer);
  }

  private restart(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => this.controller.abort(new Error(`nothing arrived for ${STALL_MS / 1000} seconds`)),
      STALL_MS,
    );
  }
}
