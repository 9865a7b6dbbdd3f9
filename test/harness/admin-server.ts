// admin-server.ts: the admin API as a function of a request, backed by a real store, for tests.

import type { HostReport } from "@inkling/data";
import { Overrides } from "@inkling/engine";
import { AdminApp } from "../../packages/server/src/admin/app.ts";
import type { AdminContext } from "../../packages/server/src/admin/handler.ts";
import { AdminSessions } from "../../packages/server/src/admin/sessions.ts";
import { HostNames } from "../../packages/server/src/http/host-names.ts";
import { Bodies } from "../../packages/server/src/limits/memory.ts";
import { Log } from "../../packages/server/src/telemetry/log.ts";
import { NO_RULESET } from "../../packages/store/src/rulesets/record.ts";
import { openStore, type Store } from "../../packages/store/src/store.ts";
import { checkResponse } from "./checked-fetch.ts";
import { testSettings } from "./server-options.ts";
import { randomBytes } from "./tokens.ts";

export const ADMIN_NOW = Date.parse("2026-06-01T12:00:00Z");
const stores: Store[] = [];
const HOST_REPORT: HostReport = {
  name: "web-1:8080",
  version: "0.0.0",
  at: "2026-06-01T12:00:00.000Z",
  ready: true,
  reasons: [],
  warnings: [],
  release: null,
  pinned: false,
  refused: null,
  channel: null,
  requests_per_second: 0,
  clock_offset_seconds: null,
};

/** Closes the stores that {@link adminServer} has opened. */
export const closeAdminServers = () => Promise.all(stores.splice(0).map((store) => store.close()));

/** @param over what replaces the defaults. `adminToken` replaces the store's. */
export async function adminServer(
  over: { readonly [Name in keyof AdminContext | "adminToken"]?: unknown } = {},
) {
  const clock = { now: ADMIN_NOW };
  const store = await openStore("sqlite://:memory:", { now: () => clock.now });
  stores.push(store);
  const token = (await store.adminToken.create({ author: "test", source: "cli" }))!;
  const lines: string[] = [];
  const seen = { refreshes: 0, keyRefreshes: 0 };
  const options = {
    version: "0.0.0",
    store: over.adminToken ? Object.create(store, { adminToken: { value: over.adminToken } }) : store,
    keyLoader: {
      refresh: async () => void seen.keyRefreshes++,
      state: { version: undefined, from: undefined, checkedAt: undefined, failures: 0, error: undefined },
    },
    randomBytes,
    overrides: { refresh: async () => void seen.refreshes++, current: Overrides.NONE },
    releases: {
      current: undefined,
      feeds: [],
      refused: undefined,
      since: undefined,
      open: () => undefined,
      check: async () => {},
    },
    verify: async () => {},
    decisions: {
      flush: async () => true,
      label: async (...label: Parameters<Store["decisions"]["label"]>) =>
        (await store.decisions.label(...label)) === undefined ? "unknown" : "labelled",
    },
    serving: { publish: () => {} },
    settings: testSettings({ decisions: true }),
    rulesets: { current: NO_RULESET, refresh: async () => {} },
    keyring: { state: { loaded: true, keys: 0, checkedAt: 0, failures: 0, lastError: undefined } },
    reporter: { current: HOST_REPORT },
    bodies: new Bodies(),
    actions: undefined,
    hostNames: new HostNames([]),
    adminProblems: new Map<string, number>(),
    traffic: { minutes: [] },
    sessions: new AdminSessions(randomBytes),
    log: new Log({ level: "info", write: (text) => lines.push(text), now: () => clock.now }),
    now: () => clock.now,
    elapsed: () => performance.now(),
    newRequestId: () => "abc123",
    ...over,
  };
  const app = new AdminApp(options as unknown as AdminContext);
  /** @param headers additional headers; an empty Authorization sends none */
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = new Headers({ Authorization: `Bearer ${token}`, ...headers });
    if (all.get("authorization") === "") all.delete("authorization");
    const init: RequestInit = { method, headers: all };
    if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
    const response = await app.handle(new Request(`http://t/admin/v1/${path}`, init));
    // Without a socket, the response to HEAD still has its body.
    if (method !== "HEAD") await checkResponse(method, `/admin/v1/${path.split("?")[0]}`, response);
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: whatever a row of a table looks for
    const document: any = text === "" ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, document, code: document?.code as string };
  };
  return { app, ask: send, store, token, clock, seen, lines, options };
}

export type AdminTest = Awaited<ReturnType<typeof adminServer>>;
