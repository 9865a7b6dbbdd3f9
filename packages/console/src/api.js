// api.js: requests to the admin API.
//
// A session cookie goes along by itself; Inkling-Console tells the server that a page of its own asks, which another
// site's page cannot say.

/** What the server refused, in its own words. */
export class ApiError extends Error {
  constructor(status, problem) {
    const more = Array.isArray(problem.problems) ? ` ${problem.problems.join("; ")}` : "";
    const said = [problem.title, problem.detail].filter(Boolean).join(". ");
    super(`${said || `The server answered ${status}.`}${more}`);
    this.status = status;
    this.code = problem.code;
    this.requestId = problem.request_id;
  }
}

let onLoggedOut = () => {};
/** @param {() => void} then called when the session has ended */
export function whenLoggedOut(then) {
  onLoggedOut = then;
}

/**
 * @param {string} path below /admin/v1/
 * @param {{method?: string, body?: unknown, signal?: AbortSignal}} [options]
 * @throws {ApiError}
 */
export async function api(path, { method = "GET", body, signal } = {}) {
  let response;
  try {
    response = await fetch(`/admin/v1/${path}`, {
      method,
      signal,
      headers: {
        "Inkling-Console": "1",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(method === "POST" ? { "Idempotency-Key": crypto.randomUUID() } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { detail: "The server cannot be reached. Is it running?" });
  }
  const document = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error; // the page is being left: not an answer without content
    return {};
  });
  if (response.ok) return document;
  if (response.status === 401 && path !== "session") onLoggedOut();
  throw new ApiError(response.status, document);
}

/** All pages of a list, up to a number of items. */
export async function all(path, member, most = 1000) {
  const items = [];
  let cursor;
  do {
    const query = `${path.includes("?") ? "&" : "?"}limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`;
    const page = await api(`${path}${query}`);
    items.push(...page[member]);
    cursor = page.next_cursor;
  } while (cursor && items.length < most);
  return items;
}
