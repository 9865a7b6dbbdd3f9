// s3-server.ts: a strict S3-compatible store in memory. It checks every signature and every body hash with
// its own implementation of Signature Version 4, and misbehaves on request.

import { createHash, createHmac } from "node:crypto";

export const S3_KEYS = {
  AWS_ACCESS_KEY_ID: "AKIDTEST",
  AWS_SECRET_ACCESS_KEY: "a secret of the tests/+",
  AWS_REGION: "eu-test-1",
} as const;

export interface S3Faults {
  /** Cuts the bodies of segments after this many bytes. */
  cutAfter?: number | undefined;
  /** Returns 503 for this many requests. */
  unavailable?: number;
  /** Number of requests that are answered before the first 503. */
  answersBefore?: number;
  /** Refuses writes, as a full store does. */
  isFull?: boolean;
  /** Returns the same page of a list for ever. */
  isEndless?: boolean;
  /** Leaves paths that contain this text out of lists. */
  unlisted?: string;
  /**
   * What a write with If-Match or If-None-Match does: `checked` (the default) returns 412 if the condition is not met,
   * as Amazon, MinIO, R2 and Ceph do; `conflict` returns 409, as Amazon does while another write is under way;
   * `ignored` overwrites; `unknown` returns 501; `untagged` ignores the condition and sends no ETag.
   */
  conditions?: "checked" | "conflict" | "ignored" | "unknown" | "untagged";
}

export interface S3Server {
  readonly env: Readonly<Record<string, string>>;
  readonly objects: Map<string, Uint8Array>;
  readonly faults: S3Faults;
  /** `GET key`, with the range if there is one. */
  readonly requests: string[];
  stop(): void;
}

const sha256 = (text: string | Uint8Array) => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text).digest();
const PAGE = 3;

export function startS3(bucket: string): S3Server {
  const objects = new Map<string, Uint8Array>();
  const faults: S3Faults = {};
  const requests: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const url = new URL(request.url);
      const body = new Uint8Array(await request.arrayBuffer());
      const key = decodeURIComponent(url.pathname.slice(bucket.length + 2));
      const range = request.headers.get("range");
      requests.push(`${request.method} ${key}${range === null ? "" : ` ${range}`}`);
      if ((faults.answersBefore ?? 0) > 0) faults.answersBefore!--;
      else if ((faults.unavailable ?? 0) > 0) {
        faults.unavailable!--;
        return fault(503, "SlowDown");
      }
      const refused = checkSignature(request, url, body);
      if (refused !== undefined) return fault(403, refused);
      if (!url.pathname.startsWith(`/${bucket}/`)) return fault(404, "NoSuchBucket");
      if (key === "" && request.method === "GET") return list(url, objects, faults);
      const found = objects.get(key);
      switch (request.method) {
        case "PUT":
          if (faults.isFull) return fault(507, "InsufficientStorage");
          return unmet(request, found, faults.conditions ?? "checked") ?? put(objects, key, body);
        case "DELETE":
          objects.delete(key);
          return new Response(null, { status: 204 });
        case "HEAD":
          if (found === undefined) return new Response(null, { status: 404 });
          return new Response(null, { headers: { "Content-Length": String(found.length) } });
        default:
          return found === undefined
            ? fault(404, "NoSuchKey")
            : withTag(part(found, range, key.includes("segments/") ? faults : {}), found, faults);
      }
    },
  });
  return {
    env: { ...S3_KEYS, AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${server.port}` },
    objects,
    faults,
    requests,
    stop: () => void server.stop(true),
  };
}

const tagOf = (content: Uint8Array) => `"${createHash("md5").update(content).digest("hex")}"`;

/** @returns the refusal of a write whose condition is not met */
function unmet(
  { headers }: Request,
  found: Uint8Array | undefined,
  conditions: NonNullable<S3Faults["conditions"]>,
): Response | undefined {
  const [match, none] = [headers.get("if-match"), headers.get("if-none-match")];
  if ((match === null && none === null) || conditions === "ignored" || conditions === "untagged")
    return undefined;
  if (conditions === "unknown") return fault(501, "NotImplemented");
  if (match !== null && found === undefined) return fault(404, "NoSuchKey");
  const isMet = match === null ? found === undefined : match === tagOf(found!);
  if (isMet) return undefined;
  return conditions === "conflict"
    ? fault(409, "ConditionalRequestConflict")
    : fault(412, "PreconditionFailed");
}

function put(objects: Map<string, Uint8Array>, key: string, body: Uint8Array): Response {
  objects.set(key, body);
  return new Response(null, { headers: { ETag: tagOf(body) } });
}

function withTag(response: Response, found: Uint8Array, { conditions }: S3Faults): Response {
  if (conditions !== "untagged") response.headers.set("ETag", tagOf(found));
  return response;
}

function part(found: Uint8Array, range: string | null, faults: S3Faults): Response {
  const from = range === null ? 0 : Number(/^bytes=(\d+)-$/.exec(range)![1]);
  if (from > 0 && from >= found.length) return fault(416, "InvalidRange");
  const rest = found.subarray(from);
  const status = range === null ? 200 : 206;
  const { cutAfter } = faults;
  if (cutAfter === undefined || rest.length <= cutAfter) return new Response(Buffer.from(rest), { status });
  const cut = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(rest.slice(0, cutAfter));
      controller.close();
    },
  });
  return new Response(cut, { status });
}

function list(
  url: URL,
  objects: ReadonlyMap<string, Uint8Array>,
  { isEndless, unlisted }: S3Faults,
): Response {
  const prefix = url.searchParams.get("prefix") ?? "";
  const after = isEndless ? "" : (url.searchParams.get("continuation-token") ?? "");
  const keys = [...objects.keys()]
    .filter((key) => key.startsWith(prefix) && key > after && !(unlisted && key.includes(unlisted)))
    .sort();
  const page = keys.slice(0, PAGE);
  const next = keys.length > PAGE ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
  const contents = page.map((key) => `<Contents><Key>${key.replaceAll("&", "&amp;")}</Key></Contents>`);
  return new Response(`<ListBucketResult>${contents.join("")}${next}</ListBucketResult>`);
}

/** @returns the code of what is wrong with the signature, or undefined */
function checkSignature(request: Request, url: URL, body: Uint8Array): string | undefined {
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      request.headers.get("authorization") ?? "",
    );
  if (found === null) return "AccessDenied";
  const [, id, day, region, signed = "", signature] = found;
  if (id !== S3_KEYS.AWS_ACCESS_KEY_ID) return "InvalidAccessKeyId";
  if (region !== S3_KEYS.AWS_REGION) return "AuthorizationHeaderMalformed";
  const time = request.headers.get("x-amz-date") ?? "";
  const at = Date.parse(time.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (!(Math.abs(at - Date.now()) < 15 * 60_000)) return "RequestTimeTooSkewed";
  const hash = request.headers.get("x-amz-content-sha256") ?? "";
  if (hash !== "UNSIGNED-PAYLOAD" && hash !== sha256(body)) return "XAmzContentSHA256Mismatch";
  if (request.method === "PUT" && hash === "UNSIGNED-PAYLOAD") return "AccessDenied";
  const names = signed.split(";");
  if (!names.includes("host") || !names.includes("x-amz-content-sha256")) return "AccessDenied";
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join("&");
  const path = decodeURIComponent(url.pathname).split("/").map(encode).join("/");
  const headers = names.map((name) => `${name}:${(request.headers.get(name) ?? "").trim()}\n`).join("");
  const canonical = [request.method, path, query, headers, signed, hash].join("\n");
  const text = ["AWS4-HMAC-SHA256", time, `${day}/${region}/s3/aws4_request`, sha256(canonical)].join("\n");
  const date = hmac(`AWS4${S3_KEYS.AWS_SECRET_ACCESS_KEY}`, day!);
  const key = hmac(hmac(hmac(date, region!), "s3"), "aws4_request");
  return createHmac("sha256", key).update(text).digest("hex") === signature
    ? undefined
    : "SignatureDoesNotMatch";
}

const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

function fault(status: number, code: string): Response {
  return new Response(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`, { status });
}
