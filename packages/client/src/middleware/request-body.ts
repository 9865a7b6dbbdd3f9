// request-body.ts: reads the body of a fetch-style request once, for the gate and for the handler behind it.
//
// Text that is both JSON and a form has a different email address for each reader. So the content type decides how the
// gate reads the body, and it must be JSON or a form. The handler can only get what the gate has read: each
// middleware replaces the request's methods for JSON and forms, and all other reads fail, because the body is used up.

import type { Refusal, Refused } from "./protect.ts";

/** The parts of FormData that are read. */
export interface Form {
  keys(): Iterable<string>;
  getAll(name: string): readonly unknown[];
}

/** The parts of a Request that are read. */
export interface WithBody<F extends Form> {
  json(): Promise<unknown>;
  formData(): Promise<F>;
}

/** `value` is undefined if the body cannot be read, which is the visitor's fault. A form is passed on as a form, because it may contain files. */
export type ReadBody<F extends Form> =
  | { readonly value: unknown; readonly form?: F }
  | { readonly refusal: Refusal };

const NOT_ACCEPTED = { status: 415, body: { error: "Send a form or JSON." } } as const;

export async function readBody<F extends Form>(
  request: WithBody<F>,
  contentType: string | null | undefined,
): Promise<ReadBody<F>> {
  const type = (contentType ?? "").split(";", 1)[0]!.trim();
  const isJson = /^application\/(?:[\w.-]+\+)?json$/i.test(type);
  if (!isJson && !/^(?:application\/x-www-form-urlencoded|multipart\/form-data)$/i.test(type))
    return { refusal: NOT_ACCEPTED };
  try {
    if (isJson) return { value: await request.json() };
    const form = await request.formData();
    const one = (all: readonly unknown[]) => (all.length === 1 ? all[0] : all);
    return {
      form,
      value: Object.fromEntries([...form.keys()].map((name) => [name, one(form.getAll(name))])),
    };
  } catch {
    return { value: undefined };
  }
}

/** Returns the answer of the application's hook, or the refusal as JSON. */
export const respond = ({ refusal, answer }: Refused<Response>): Response =>
  answer?.value ?? Response.json(refusal.body, { status: refusal.status });
