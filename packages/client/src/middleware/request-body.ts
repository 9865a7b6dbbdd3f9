// request-body.ts: reads the body of a fetch-style request once, for the gate and for the handler behind it.
//
// Text that is both JSON and a form has a different email address for each reader. So the content type decides how the
// gate reads the body, and it must be JSON or a form. The handler can only get what the gate has read: each
// middleware replaces the request's methods for JSON and forms, and all other reads fail, because the body is used up.
// Fetch-style servers have no limit for a body, or one of many megabytes, so the gate has its own.

import { readNumber } from "../options.ts";
import type { Refusal, Refused } from "./protect.ts";

export interface BodyOptions {
  /** Bodies with more bytes are refused with 413. The default is 1 MiB. */
  readonly maxBodyBytes?: number | undefined;
}

/** The parts of FormData that are read. Each runtime and framework has its own type for it. */
export interface Form {
  keys(): Iterable<string>;
  getAll(name: string): readonly unknown[];
}

/** What can read a body that something else in the application may have read before. */
export interface WithBody {
  json(): Promise<unknown>;
  formData(): Promise<Form>;
}

/**
 * `value` is undefined if the body cannot be read, which is the visitor's fault. A form is passed on as a form, because
 * it may contain files.
 */
export type ReadBody = { readonly value: unknown; readonly form?: Form } | { readonly refusal: Refusal };

const NOT_ACCEPTED = { status: 415, body: { error: "Send a form or JSON." } } as const;
const TOO_LARGE = { status: 413, body: { error: "The request is too large." } } as const;

/** @throws TypeError if the limit is not a number of bytes */
export function bodyReader(maxBodyBytes = 1_048_576) {
  const limit = readNumber("maxBodyBytes", maxBodyBytes, 1, Number.MAX_SAFE_INTEGER);
  return (request: Request, earlier: WithBody = request) => readBody(request, limit, earlier);
}

async function readBody(request: Request, limit: number, earlier: WithBody): Promise<ReadBody> {
  const contentType = request.headers.get("content-type") ?? "";
  const type = contentType.split(";", 1)[0]!.trim();
  const isJson = /^application\/(?:[\w.-]+\+)?json$/i.test(type);
  if (!isJson && !/^(?:application\/x-www-form-urlencoded|multipart\/form-data)$/i.test(type))
    return { refusal: NOT_ACCEPTED };
  if (Number(request.headers.get("content-length")) > limit) return { refusal: TOO_LARGE };
  try {
    const bytes = request.bodyUsed ? undefined : await bytesOf(request, limit);
    if (bytes === "too large") return { refusal: TOO_LARGE };
    const source: WithBody =
      bytes === undefined ? earlier : new Response(bytes, { headers: { "Content-Type": contentType } });
    if (isJson) return { value: await source.json() };
    const form = await source.formData();
    const one = (all: readonly unknown[]) => (all.length === 1 ? all[0] : all);
    return {
      form,
      value: Object.fromEntries([...form.keys()].map((name) => [name, one(form.getAll(name))])),
    };
  } catch {
    return { value: undefined };
  }
}

/** Reads a body of unknown length, but stops when it turns out to be too large. */
async function bytesOf({ body }: Request, limit: number): Promise<Blob | "too large"> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const part of body ?? []) {
    size += part.length;
    if (size > limit) return "too large"; // leaving the loop cancels the stream
    parts.push(part);
  }
  return new Blob(parts);
}

/** Returns the answer of the application's hook, or the refusal as JSON. */
export const respond = ({ refusal, answer }: Refused<Response>): Response =>
  answer?.value ?? Response.json(refusal.body, { status: refusal.status });
