// request.ts: the parts of a request to the admin API, checked.
//
// err  AdminProblem

import { issueLines } from "@inkling/engine";
import { z } from "zod";
import { MAX_AUTHOR } from "../overrides/override.ts";
import { oneLine } from "../text/fields.ts";
import type { BodyFormat } from "./operation.ts";
import { AdminProblem, bodyProblem } from "./problems.ts";
import type { Session } from "./sessions.ts";

/** The actor where a request names none. */
export const DEFAULT_ACTOR = "admin API";

/** @param search the query, as sent, without its "?" */
export function readQuery(search: string, query: z.ZodRawShape): Record<string, unknown> {
  const parameters = new URLSearchParams(search);
  const names = [...parameters.keys()];
  const allowed = Object.keys(query);
  const isKnown = names.every((name, i) => allowed.includes(name) && names.indexOf(name) === i);
  const read = z.object(query).safeParse(Object.fromEntries(parameters));
  if (isKnown && read.success) return read.data;
  const detail =
    allowed.length === 0
      ? undefined
      : `Allowed here, each at most once: ${allowed.map((name) => `\`${name}\``).join(", ")}.`;
  throw new AdminProblem("QUERY_INVALID", detail, read.success ? [] : issueLines(read.error, "body"));
}

const author = oneLine(MAX_AUTHOR);

/** The name in `Inkling-Author`, or the one given at the login. */
export function readActor(request: Request, session: Session | undefined): string {
  const header = request.headers.get("inkling-author");
  if (header === null) return session?.author ?? DEFAULT_ACTOR;
  const parsed = author.safeParse(header);
  if (!parsed.success) throw new AdminProblem("AUTHOR_INVALID");
  return parsed.data;
}

/**
 * Reads a whole body.
 * @throws AdminProblem where it has more bytes, announced or not, or ends before its end
 */
export async function readBytes({ body, headers }: Request, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new AdminProblem("BODY_TOO_LARGE", `The body may have ${most} bytes.`);
  if (Number(headers.get("content-length")) > most) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.length;
      if (size > most) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof AdminProblem) throw error;
    throw new AdminProblem("BODY_INVALID", "The connection ended before the body did.");
  }
  return Buffer.concat(chunks);
}

export function readBody<T>(bytes: Uint8Array, { schema, isRaw = false }: BodyFormat<T>): unknown {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new AdminProblem("BODY_INVALID");
  }
  if (isRaw) return json;
  const read = schema.safeParse(json);
  if (read.success) return read.data;
  throw bodyProblem(issueLines(read.error, "body"));
}
