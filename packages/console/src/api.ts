// api.ts: requests to the admin API with the session's cookie and secret.
//
// err  ApiError; an aborted request remains an AbortError
// note a session that has ended is announced by the event LOGGED_OUT on `window`
//
// The secret proves that a page of this origin sent the request: the cookie alone also goes to other ports of this host.
// It is in localStorage, bound to the port, so that further tabs have it; of no use without the cookie, which no script reads.

import type { AdminSession } from "@inkling/server/admin-answers";

export const LOGGED_OUT = "inkling:logged-out";

const SECRET = "inkling-console-secret";

export const hasSession = () => localStorage.getItem(SECRET) !== null;
export const endSession = () => localStorage.removeItem(SECRET);

/** @throws {ApiError} */
export async function logIn(body: {
  readonly token: string;
  readonly author?: string;
}): Promise<AdminSession> {
  const { secret, ...session } = await api<AdminSession & { secret: string }>("session", {
    method: "POST",
    body,
  });
  localStorage.setItem(SECRET, secret);
  return session;
}

/** An error whose message is written for the user. */
export class UserError extends Error {}

/** RFC 9457; `problems` has a line for each thing that is wrong. */
interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly request_id?: string;
  readonly problems?: readonly string[];
}

/** An error answer of the server, in its words; status 0 when there was no answer. */
export class ApiError extends UserError {
  readonly status: number;
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  constructor(status: number, { title, detail, problems = [], code, request_id }: Problem) {
    const text = [title, detail].filter(Boolean).join(". ") || `The server responded with status ${status}.`;
    super([text, problems.join("; ")].join(" ").trim());
    this.status = status;
    this.code = code;
    this.requestId = request_id;
  }
}

export const isAbort = (error: unknown) => error instanceof Error && error.name === "AbortError";

interface RequestOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly signal?: AbortSignal | null;
}

const NOT_OURS = "The answer is not Inkling's, or cut short: look at the proxy in front of the server.";

/**
 * @param path below /admin/v1/
 * @throws {ApiError}
 */
export async function api<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const { method = "GET", body, signal = null } = options;
  const headers = new Headers({ "Inkling-Console": localStorage.getItem(SECRET) ?? "" });
  if (body !== undefined) headers.set("Content-Type", "application/json");
  if (method === "POST") headers.set("Idempotency-Key", crypto.randomUUID());
  const request = { method, headers, signal, body: body === undefined ? null : JSON.stringify(body) };
  const response = await fetch(`/admin/v1/${path}`, request).catch((error: unknown) => {
    throw isAbort(error)
      ? error
      : new ApiError(0, { detail: "The server cannot be reached. Is it running?" });
  });
  const document = await response.json().catch((error: unknown) => {
    if (isAbort(error)) throw error;
    return response.ok ? undefined : {};
  });
  // a proxy's login page, which would pass for a list without rows
  if (document === undefined) throw new ApiError(response.status, { detail: NOT_OURS });
  if (response.ok) return document;
  const isOut = response.status === 401 || document.code === "CSRF_REJECTED"; // without the secret it is "CSRF_REJECTED"
  if (isOut && path !== "session") dispatchEvent(new Event(LOGGED_OUT));
  throw new ApiError(response.status, document);
}

/** All pages of a list, up to about `max` items. */
export async function listAll<T>(
  path: string,
  member: string,
  signal: AbortSignal,
  max = 1000,
): Promise<T[]> {
  const items: T[] = [];
  let cursor = "";
  do {
    const query = `limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
    const page = await api<Record<string, T[]> & { next_cursor: string | null }>(`${path}?${query}`, {
      signal,
    });
    items.push(...(page[member] ?? []));
    cursor = page.next_cursor ?? "";
  } while (cursor && items.length < max);
  return items;
}
