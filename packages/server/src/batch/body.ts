// body.ts: reads the body of a batch request: its format, its encoding and, for JSON, its values.
//
// in   the request's headers, and its unread body
// out  "json" or "ndjson"; the body as a stream of decoded bytes; the values of a JSON body
// err  problems as values; a stream with damaged gzip fails while it is read
// src  RFC 9110 8.3 (Content-Type), 8.4 (Content-Encoding), 12.5.3 (Accept-Encoding), RFC 1952 (gzip, consecutive
//      members)
// note gzip is inflated piece by piece, only as the reader asks for it: inflating 1 MB to 1 GB took 20 MB of memory

import { z } from "zod";
import { type Problem, problem } from "../http/problems.ts";
import type { KeyId } from "../keys/key.ts";
import type { FairShares } from "../limits/fair-shares.ts";
import { type ByteReader, type ByteStream, gunzipped } from "./gunzip.ts";

/** Maximum size of a JSON body in bytes, decoded. */
export const MAX_JSON_BYTES = 1024 * 1024;
/** Maximum number of values in a JSON body. */
const MAX_JSON_VALUES = 1_000;

type BatchForm = "json" | "ndjson";

const UNLIMITED = "With `Content-Type: application/x-ndjson` there is no limit.";
const TOO_LARGE = problem(
  "CONTENT_TOO_LARGE",
  `A JSON body may be at most 1 MiB after decoding. ${UNLIMITED}`,
);
const TOO_MANY = problem("CONTENT_TOO_LARGE", `A JSON body may have at most 1,000 values. ${UNLIMITED}`);
const TOO_MUCH_AT_ONCE = problem(
  "RATE_LIMITED",
  "Too many JSON bodies are arriving at the same time. Together, a key's bodies may take up 32 MiB, or less while other keys send many bodies. Send fewer bodies at the same time.",
);
const UNKNOWN_TYPE = problem("CONTENT_TYPE_INVALID");
const UNKNOWN_CODING = problem(
  "CONTENT_TYPE_INVALID",
  "Send the body uncompressed, or with `Content-Encoding: gzip`.",
  { "Accept-Encoding": "gzip" },
);
const UNREADABLE = problem("BATCH_INVALID", "The body is not JSON in UTF-8.");
export const CUT_SHORT = problem("BATCH_INVALID", "The body was cut short, or its gzip is damaged.");
const NO_BATCH = problem("BATCH_INVALID");

export function formOf(contentType: string | null): BatchForm | Problem {
  if (contentType === "application/json") return "json"; // nearly every request
  const [type = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith("charset="));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (isUtf8 && type.trim() === "application/json") return "json";
  return isUtf8 && type.trim() === "application/x-ndjson" ? "ndjson" : UNKNOWN_TYPE;
}

export function isGzipped(contentEncoding: string | null): boolean | Problem {
  const coding = (contentEncoding ?? "").trim().toLowerCase();
  if (coding === "" || coding === "identity") return false;
  return coding === "gzip" || coding === "x-gzip" ? true : UNKNOWN_CODING;
}

/** True if the request lists gzip, so that the response may use it. */
export function acceptsGzip(acceptEncoding: string | null): boolean {
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

export function decoded(body: ByteStream | null, isGzip: boolean): ByteStream {
  const source = body ?? new Blob([]).stream();
  return isGzip ? gunzipped(source) : source;
}

/** Returns a problem if the declared length exceeds the limit for JSON. */
export function declaresTooMuch(contentLength: string | null): Problem | undefined {
  return Number(contentLength ?? 0) > MAX_JSON_BYTES ? TOO_LARGE : undefined;
}

type Arriving = Pick<FairShares, "take" | "giveBack">;

const batchSchema = z.strictObject({ values: z.array(z.unknown()) });
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads a JSON body of at most MAX_JSON_BYTES. @param arriving counts the bytes of unfinished bodies */
export async function readValues(
  stream: ByteStream,
  arriving: Arriving,
  keyId: KeyId,
): Promise<readonly unknown[] | Problem> {
  const bytes = await readAll(stream, arriving, keyId);
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

/** Reads a body of at most MAX_JSON_BYTES. @param arriving counts the bytes of unfinished bodies */
export async function readAll(
  stream: ByteStream,
  arriving: Arriving,
  keyId: KeyId,
): Promise<Uint8Array | Problem> {
  const reader: ByteReader = stream.getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  let held = 0;
  try {
    for (;;) {
      const { value } = await reader.read();
      if (value === undefined) return Buffer.concat(pieces, length);
      length += value.length;
      const isTooMuch = !arriving.take(keyId, value.length);
      if (!isTooMuch) held += value.length;
      if (isTooMuch || length > MAX_JSON_BYTES) {
        void reader.cancel().catch(() => {}); // the rest is not needed
        return isTooMuch ? TOO_MUCH_AT_ONCE : TOO_LARGE;
      }
      pieces.push(value);
    }
  } catch {
    return CUT_SHORT; // also if the client has disconnected; it then receives no response
  } finally {
    arriving.giveBack(keyId, held);
  }
}
