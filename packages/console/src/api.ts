// api.ts: sends requests to the admin API with the session's cookie and secret.
//
// When a session has ended, `window` receives the LOGGED_OUT event.
//
// Browsers also send the cookie to other ports of this host. The secret therefore proves that a page of this origin
// sent the request. It is kept in localStorage, which is bound to the port and which other tabs can read. The secret is
// useless without the cookie, which no script can read.

import type { Api } from "@inkling/operations";
import type { AdminSession } from "./answers.ts";

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

/** An error whose message is written for users. */
export class UserError extends Error {}

/** A problem document (RFC 9457). `problems` contains a line for each mistake. */
interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly request_id?: string;
  readonly problems?: readonly string[];
}

/**
 * An error response from the server, in the server's words. The title and the detail are omitted if the response has a
 * line for each mistake. The status is 0 if there was no response.
 */
export class ApiError extends UserError {
  readonly status: number;
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  readonly problems: readonly string[];
  constructor(status: number, { title, detail, problems = [], code, request_id }: Problem) {
    const text = [title, detail].filter(Boolean).join(". ") || `The server responded with status ${status}.`;
    super(problems.join("; ") || text);
    this.problems = problems;
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

const NOT_OURS =
  "The answer did not come from Inkling or was cut short. Check the proxy in front of the server.";

/**
 * @param path the path below /admin/v1/
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
      : new ApiError(0, { detail: "The server is unreachable. Check that it is running." });
  });
  const document = await response.json().catch((error: unknown) => {
    if (isAbort(error)) throw error;
    return response.ok ? undefined : {};
  });
  // Otherwise, a proxy's login page would be taken for a list without rows.
  if (document === undefined) throw new ApiError(response.status, { detail: NOT_OURS });
  if (response.ok) return document;
  // without the secret, the code is "CSRF_REJECTED"
  const isOut = response.status === 401 || document.code === "CSRF_REJECTED";
  if (isOut && path !== "session") dispatchEvent(new Event(LOGGED_OUT));
  throw new ApiError(response.status, document);
}

/**
 * Sends the request of a route, such as "GET keys/{id}". Fields of the input that are in the path go there; the others
 * go into the query (GET, DELETE) or the body.
 * @throws {ApiError}
 */
export function call<Route extends keyof Api>(
  route: Route,
  input: Api[Route]["input"],
  signal: AbortSignal | null = null,
): Promise<Api[Route]["output"]> {
  const [method, template] = route.split(" ") as [NonNullable<RequestOptions["method"]>, string];
  const rest = new Map<string, unknown>(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest.get(name));
    rest.delete(name);
    return encodeURIComponent(value);
  });
  const hasQuery = (method === "GET" || method === "DELETE") && rest.size > 0;
  if (!hasQuery)
    return api(path, { method, signal, ...(rest.size > 0 && { body: Object.fromEntries(rest) }) });
  const query = new URLSearchParams([...rest].map(([name, value]) => [name, String(value)]));
  return api(`${path}?${query}`, { method, signal });
}
