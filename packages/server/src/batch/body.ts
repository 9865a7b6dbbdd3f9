// body.ts: the body of a batch request: its form, its coding, and for JSON its values.
//
// in   a request with an unread body
// out  "json" or "ndjson", the body as a stream of decoded bytes; the values of a JSON body
// err  problems as values; a stream of damaged gzip fails while it is read
// src  RFC 9110 8.3 (Content-Type), 8.4 (Content-Encoding), 12.5.3 (Accept-Encoding), RFC 1952 (gzip, members in a row)
// note gzip is inflated piece by piece, only as it is read: 1 GB from 1 MB took 20 MB of memory

import { z } from "zod";
import { type Problem, problem } from "../http/problems.ts";
import type { KeyId } from "../keys/key.ts";
import type { FairShares } from "../limits/fair-shares.ts";
import { type ByteReader, type ByteStream, gunzipped } from "./gunzip.ts";

/** Largest JSON body, decoded. */
export const MAX_JSON_BYTES = 1024 * 1024;
/** Most values in a JSON body. */
const MAX_JSON_VALUES = 1_000;

type BatchForm = "json" | "ndjson";

const UNLIMITED = "With `Content-Type: application/x-ndjson` there is no limit.";
const TOO_LARGE = problem("CONTENT_TOO_LARGE", `A JSON body holds at most 1 MiB, decoded. ${UNLIMITED}`);
const TOO_MANY = problem("CONTENT_TOO_LARGE", `A JSON body holds at most 1,000 values. ${UNLIMITED}`);
const TOO_MUCH_AT_ONCE = problem(
  "RATE_LIMITED",
  "Too many JSON bodies are arriving at the same time: those of a key may take 32 MiB together, less while other keys send many. Send fewer at once.",
);
const UNKNOWN_TYPE = problem("CONTENT_TYPE_INVALID");
const UNKNOWN_CODING = problem(
  "CONTENT_TYPE_INVALID",
  "A body is sent as it is, or with `Content-Encoding: gzip`.",
  { "Accept-Encoding": "gzip" },
);
const UNREADABLE = problem("BATCH_INVALID", "The body is not JSON in UTF-8.");
export const CUT_SHORT = problem("BATCH_INVALID", "The body ends early, or its gzip is damaged.");
const NO_BATCH = problem("BATCH_INVALID");

export function formOf(contentType: string | null): BatchForm | Problem {
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

/** May the answer be gzip? Only where the request names it. */
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

/** Is the declared length more than JSON may have? */
export function declaresTooMuch(contentLength: string | null): Problem | undefined {
  return Number(contentLength ?? 0) > MAX_JSON_BYTES ? TOO_LARGE : undefined;
}

type Arriving = Pick<FairShares, "take" | "giveBack">;

const batchSchema = z.strictObject({ values: z.array(z.unknown()) });
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads a JSON body, at most MAX_JSON_BYTES of it. @param arriving bytes of unfinished bodies */
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

/** @returns undefined for bytes that are not JSON in UTF-8 */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}

/** Reads a body, at most MAX_JSON_BYTES of it. @param arriving bytes of unfinished bodies */
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
        void reader.cancel().catch(() => {}); // the rest does not matter
        return isTooMuch ? TOO_MUCH_AT_ONCE : TOO_LARGE;
      }
      pieces.push(value);
    }
  } catch {
    return CUT_SHORT; // also after the client left, which gets no answer then
  } finally {
    arriving.giveBack(keyId, held);
  }
}
