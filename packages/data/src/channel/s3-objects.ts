// s3-objects.ts: a channel in a bucket in an S3-compatible store: AWS, MinIO, Ceph, R2, Swift …
//
// If an endpoint is set, the bucket is part of the path (endpoint/bucket/key). Otherwise, at Amazon, the bucket is part
// of the host name (bucket.s3.region…).
//
// An object is replaced with If-Match or If-None-Match. Amazon (since November 2024), MinIO, R2 and Ceph then refuse
// with 412 if another publisher was faster, and Amazon refuses with 409 while another write is under way. Some stores
// answer 501, and some ignore the header and overwrite. So each process first tests the store with a condition that
// cannot be met.

import { openAsBlob } from "node:fs";
import { AwsClient } from "aws4fetch";
import { sha256Hex } from "../fingerprints.ts";
import { ChannelError } from "./channel-error.ts";
import { beginning, HttpObjects, refusal } from "./http-objects.ts";
import {
  type FoundText,
  findText,
  type ObjectBody,
  type ObjectStore,
  type OwnFile,
  REPLACED_LIMIT,
  type Replaced,
} from "./object-store.ts";

export type S3Environment = Readonly<Record<string, string | undefined>>;

export const S3_VARIABLES = [
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_REGION",
  "AWS_ENDPOINT_URL_S3",
  "AWS_ENDPOINT_URL",
] as const;

/** Limits of a listing: the number of pages, each with 1,000 objects, and the size of a page in bytes. */
const MAX_PAGES = 1_000;
const MAX_LIST_BYTES = 4 << 20;

/** An object that is written only to learn whether the store checks conditions, and a tag that it never has. */
const PROBE = "conditional-writes";
const NO_TAG = '"00000000000000000000000000000000"';
/** Statuses of stores that do not support conditional writes. */
const LACKS_CONDITIONS = new Set([400, 501]);

/** @param isMatch whether the condition was If-Match, which Amazon answers with 404 if there is no object */
const isUnmet = (status: number, isMatch: boolean) =>
  status === 412 || status === 409 || (isMatch && status === 404);

export class S3Objects implements ObjectStore {
  readonly location: string;
  private readonly objects: HttpObjects;
  private readonly prefix: string;
  private isConditional: boolean | undefined;

  /** @throws ChannelError if credentials are missing, or if the endpoint is not a URL */
  constructor(location: string, env: S3Environment) {
    const { host: bucket, pathname } = new URL(location);
    const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
    if (!accessKeyId || !secretAccessKey) {
      const hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
      throw new ChannelError("denied", `${location} needs credentials`, hint);
    }
    this.location = location;
    this.prefix = decodeURIComponent(pathname).replace(/^\/+|\/+$/g, "");
    if (this.prefix !== "") this.prefix += "/";
    const region = env.AWS_REGION || "us-east-1";
    const endpoint = env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL;
    if (endpoint && !(URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol))) {
      const variable = env.AWS_ENDPOINT_URL_S3 ? "AWS_ENDPOINT_URL_S3" : "AWS_ENDPOINT_URL";
      const hint = "for example http://127.0.0.1:9000";
      throw new ChannelError("unreachable", `${variable} must be an http or https URL`, hint);
    }
    const root = endpoint
      ? `${endpoint.replace(/\/+$/, "")}/${bucket}`
      : `https://${bucket}.s3.${region}.amazonaws.com`;
    const client = new AwsClient({
      accessKeyId,
      secretAccessKey,
      ...(env.AWS_SESSION_TOKEN ? { sessionToken: env.AWS_SESSION_TOKEN } : {}),
      service: "s3",
      region,
      retries: 0,
    });
    this.objects = new HttpObjects(location, async (path, { body, ...init }) => {
      // The signature covers the body's hash if the caller has set it, but never the body itself.
      const signed = await client.sign(`${root}${path}`, init);
      return fetch(signed.url, { ...init, headers: signed.headers, ...(body ? { body } : {}) });
    });
  }

  read(path: string, offset: number, signal: AbortSignal): Promise<ObjectBody | undefined> {
    return this.objects.read(this.key(path), offset, signal);
  }

  size(path: string, signal: AbortSignal): Promise<number | undefined> {
    return this.objects.request(this.key(path), { method: "HEAD", signal }, async (response) => {
      if (response.status === 404) return undefined;
      if (!response.ok) throw await refusal(this.location, path, response);
      const size = response.headers.get("content-length");
      return size === null ? undefined : Number(size);
    });
  }

  async write(path: string, content: string | OwnFile, signal: AbortSignal): Promise<void> {
    await this.put(path, content, {}, signal, async (response) => {
      if (!response.ok) throw await refusal(this.location, path, response);
    });
  }

  async replace(
    path: string,
    text: string,
    before: FoundText | undefined,
    signal: AbortSignal,
  ): Promise<Replaced> {
    const condition =
      before === undefined ? { "If-None-Match": "*" } : before.tag && { "If-Match": before.tag };
    if (!condition || !(await this.checksConditions(signal))) {
      const now = await findText(this, path, REPLACED_LIMIT, signal);
      if (now?.text !== before?.text) return "changed";
      await this.write(path, text, signal);
      return "unchecked";
    }
    return this.put(path, text, condition, signal, async (response): Promise<Replaced> => {
      if (isUnmet(response.status, before !== undefined)) return "changed";
      if (!response.ok) throw await refusal(this.location, path, response);
      return "done";
    });
  }

  /** Returns whether the store refuses a write whose condition is not met. */
  private async checksConditions(signal: AbortSignal): Promise<boolean> {
    if (this.isConditional !== undefined) return this.isConditional;
    const note = "written by Inkling to test whether this store checks If-Match; it may be deleted";
    const status = await this.put(PROBE, note, { "If-Match": NO_TAG }, signal, async (response) => {
      if (response.ok || isUnmet(response.status, true) || LACKS_CONDITIONS.has(response.status))
        return response.status;
      throw await refusal(this.location, PROBE, response);
    });
    this.isConditional = isUnmet(status, true);
    if (status < 300) await this.remove(PROBE, signal);
    return this.isConditional;
  }

  private async put<T>(
    path: string,
    content: string | OwnFile,
    condition: Readonly<Record<string, string>>,
    signal: AbortSignal,
    take: (response: Response) => Promise<T>,
  ): Promise<T> {
    const isText = typeof content === "string";
    const sha256 = isText ? sha256Hex(content) : content.sha256;
    const body = isText ? content : await openAsBlob(content.file);
    const headers = {
      "Content-Type": isText ? "application/json" : "application/octet-stream",
      "X-Amz-Content-Sha256": sha256,
      ...condition,
    };
    return this.objects.request(
      this.key(path),
      { method: "PUT", headers, body, signal },
      async (response) => {
        const taken = await take(response);
        if (!response.bodyUsed) await response.body?.cancel();
        return taken;
      },
    );
  }

  async list(prefix: string, signal: AbortSignal): Promise<string[]> {
    const found: string[] = [];
    let token: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = new URLSearchParams({ "list-type": "2", prefix: this.prefix + prefix });
      if (token !== undefined) query.set("continuation-token", token);
      const text = await this.objects.request(`/?${query}`, { signal }, async (response) => {
        if (!response.ok) throw await refusal(this.location, "its list of objects", response);
        return beginning(response, MAX_LIST_BYTES);
      });
      for (const [, key = ""] of text.matchAll(/<Key>([^<]*)<\/Key>/g)) {
        const name = unescaped(key);
        if (name.startsWith(this.prefix + prefix)) found.push(name.slice(this.prefix.length));
      }
      const next = /<NextContinuationToken>([^<]*)</.exec(text)?.[1];
      if (next === undefined) return found;
      token = unescaped(next);
    }
    throw new ChannelError(
      "wrong-object",
      `${this.location} returns an endless list of objects`,
      "check the store and the proxies in front of it",
    );
  }

  async remove(path: string, signal: AbortSignal): Promise<void> {
    await this.objects.request(this.key(path), { method: "DELETE", signal }, async (response) => {
      if (!response.ok && response.status !== 404) throw await refusal(this.location, path, response);
    });
  }

  private key(path: string): string {
    return `/${(this.prefix + path).split("/").map(encodeURIComponent).join("/")}`;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
};

const unescaped = (text: string) => text.replace(/&(?:amp|lt|gt|quot|apos);/g, (entity) => ENTITIES[entity]!);
