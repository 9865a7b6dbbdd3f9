// body.ts: reads the body of a batch request: its format, its encoding and, for JSON, its values.
//
// Source: RFC 9110 8.3 (Content-Type), 8.4 (Content-Encoding), 12.5.3 (Accept-Encoding).

import { z } from "zod";
import { type Problem, problem } from "../http/problems.ts";
import type { Bodies } from "../limits/memory.ts";
import type { LineCall } from "./call.ts";
import { gunzipped } from "./gzip.ts";

/** Maximum size of a JSON body in bytes, decoded. */
export const MAX_JSON_BYTES = 1024 * 1024;
/** Maximum number of values in a JSON body. */
const MAX_JSON_VALUES = 1_000;

const UNLIMITED = "With `Content-Type: application/x-ndjson` there is no limit.";
const TOO_LARGE = problem(
  "CONTENT_TOO_LARGE",
  `A JSON body may be at most 1 MiB after decoding. ${UNLIMITED}`,
);
const TOO_MANY = problem("CONTENT_TOO_LARGE", `A JSON body may have at most 1,000 values. ${UNLIMITED}`);
const TOO_MANY_AT_ONCE = problem(
  "RATE_LIMITED",
  "Too many request bodies are arriving at the same time. Together, a key's bodies may take up 32 MiB, or less while others send many bodies. Send fewer bodies at the same time.",
);
const UNKNOWN_TYPE = problem("CONTENT_TYPE_INVALID");
const UNKNOWN_CODING = problem(
  "CONTENT_TYPE_INVALID",
  "Send the body uncompressed, or with `Content-Encoding: gzip`.",
  { "Accept-Encoding": "gzip" },
);
const UNREADABLE = problem("BATCH_INVALID", "The body is not JSON in UTF-8.");
const CUT_SHORT = problem("BATCH_INVALID", "The body was cut short, or its gzip is damaged.");
const NO_BATCH = problem("BATCH_INVALID");

/** How a request's body is encoded. */
export interface BodyEncoding {
  readonly format: "json" | "ndjson";
  readonly isGzip: boolean;
  /** Whether the response may use gzip. */
  readonly mayZip: boolean;
}

export function encodingOf(headers: Headers): BodyEncoding | Problem {
  const format = formatOf(headers.get("content-type"));
  if (format === undefined) return UNKNOWN_TYPE;
  const isGzip = isGzipped(headers.get("content-encoding"));
  if (isGzip === undefined) return UNKNOWN_CODING;
  return { format, isGzip, mayZip: acceptsGzip(headers.get("accept-encoding")) };
}

function formatOf(contentType: string | null): BodyEncoding["format"] | undefined {
  if (contentType === "application/json") return "json"; // nearly every request
  const [type = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) return undefined;
  if (type.trim() === "application/json") return "json";
  return type.trim() === "application/x-ndjson" ? "ndjson" : undefined;
}

function isGzipped(contentEncoding: string | null): boolean | undefined {
  const coding = (contentEncoding ?? "").trim().toLowerCase();
  if (coding === "" || coding === "identity") return false;
  return coding === "gzip" || coding === "x-gzip" ? true : undefined;
}

/** True if the request lists gzip. */
function acceptsGzip(acceptEncoding: string | null): boolean {
  if (acceptEncoding === null) return false;
  return acceptEncoding
    .toLowerCase()
    .split(",")
    .some((item) => {
      const [coding, ...parameters] = item.split(";").map((text) => text.trim());
      if (coding !== "gzip" && coding !== "x-gzip") return false;
      return !parameters.some((text) => /^q=0(\.0*)?$/.test(text));
    });
}

const batchSchema = z.strictObject({ values: z.array(z.unknown()) });
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a whole JSON body.
 * @param tooLarge the problem with a body of more than `maxBytes`, decoded
 * @param cutShort the problem with a body that is incomplete, or whose gzip is damaged
 */
export async function readJsonBytes(
  bodies: Bodies,
  { request, key }: LineCall,
  isGzip: boolean,
  maxBytes: number,
  tooLarge: Problem,
  cutShort: Problem,
): Promise<Uint8Array | Problem> {
  const decode = isGzip ? gunzipped : undefined;
  const bytes = await bodies.read(request, { holder: key.id, maxBytes, decode });
  if (bytes !== "too-large" && (await isCutOff(request))) return cutShort;
  if (bytes instanceof Uint8Array) return bytes;
  return { "too-large": tooLarge, "cut-short": cutShort, "too-many": TOO_MANY_AT_ONCE }[bytes];
}

/**
 * Returns true if the parser refused data after a chunked body, such as trailers. The parser continues after the body
 * has ended, and a response sent before it finishes would precede the refusal.
 */
async function isCutOff({ headers, signal }: Request): Promise<boolean> {
  if (!headers.has("transfer-encoding")) return false;
  await new Promise((resolve) => setImmediate(resolve));
  return signal.aborted;
}

/** Reads the values of a JSON batch. */
export async function readValues(
  bodies: Bodies,
  call: LineCall,
  isGzip: boolean,
): Promise<readonly unknown[] | Problem> {
  const bytes = await readJsonBytes(bodies, call, isGzip, MAX_JSON_BYTES, TOO_LARGE, CUT_SHORT);
  if (!(bytes instanceof Uint8Array)) return bytes;
  const document = parseJson(bytes);
  if (document === undefined) return UNREADABLE;
  const batch = batchSchema.safeParse(document);
  if (!batch.success) return NO_BATCH;
  return batch.data.values.length > MAX_JSON_VALUES ? TOO_MANY : batch.data.values;
}

/** Parses JSON. @returns undefined if the bytes are not JSON in UTF-8 */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}
