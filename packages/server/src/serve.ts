// serve.ts: everything put together and listening: the API on one port, the admin listener on another.
//
// in   ServerOptions, composed from the settings by the command line
// out  RunningServer
// err  StartError with a hint, one line: a port in use, a folder that cannot be written, a key that cannot be adopted;
//      StoreError
//
// Limits, and what enforces them: 8 KiB of request line and headers (Bun's parser: 431); 10 s to send them, also
// byte by byte (Bun allows a first request 10 s, and a later one idleTimeout; what arrives in part does not renew
// either; it looks every 4 s, so 12 s were measured); connections (connections.ts). Bodies have no limit here: a stream
// of a batch may be of any length (batch.ts), and Bun passes over a body that nobody reads.
// serve.test.ts asks over real sockets.

import { mkdirSync } from "node:fs";
import http from "node:http";
import type { Prefix } from "@inkling/engine";
import type { Registry } from "prom-client";
import { ADMIN_PATH, AdminApp, MAX_IMPORT_BYTES } from "./admin-app.ts";
import { adoptKey } from "./adopt-key.ts";
import { App } from "./app.ts";
import { Buckets } from "./bucket.ts";
import { ConnectionLimit } from "./connections.ts";
import { Counts } from "./counts.ts";
import type { DnsServer } from "./dns-client.ts";
import { makeAsker } from "./dns-servers.ts";
import { EmailChecks } from "./email-checks.ts";
import { KeyInputError } from "./key.ts";
import { Keyring } from "./keyring.ts";
import { Log, type LogLevel } from "./log.ts";
import type { Mode } from "./lookups.ts";
import type { MetricsSource } from "./metrics.ts";
import { MxLookups } from "./mx.ts";
import { MxCounts } from "./mx-counts.ts";
import type { LoadedRelease } from "./open-release.ts";
import { OverrideBook, type OverrideEvent } from "./override-book.ts";
import { type ReleaseEvent, Releases, verifyInWorker } from "./releases.ts";
import { requestIds } from "./request-id.ts";
import { pathEnd, targetOf } from "./request-target.ts";
import { openStore, type Store } from "./store.ts";
import { UsageRecorder } from "./usage.ts";

export interface ServerOptions {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  readonly dataDir: string;
  readonly mode: Mode;
  /** `sqlite://PATH` or `postgres://…`. */
  readonly databaseUrl: string;
  /** Look-ups per second and key; 0 = no limit. */
  readonly rate: number;
  readonly burst: number;
  readonly trustedProxies: readonly Prefix[];
  readonly maxConnections: number;
  /** Asked by `?checks=mx`; none = the system's. */
  readonly dnsServers?: readonly DnsServer[];
  readonly logLevel: LogLevel;
  /** A key of the operator's choosing. */
  readonly adoptKey?: string;
  readonly version: string;
  /** Where log lines go; standard error by default. */
  readonly writeLog?: (lines: string) => void;
}

export interface RunningServer {
  readonly port: number;
  readonly adminPort: number;
  /** For what the process around the server has to say. */
  readonly log: Pick<Log, "info" | "error">;
  /** Accepts nothing more, finishes requests under way (at most 10 s), stores usage. Safe to call twice. */
  stop(): Promise<void>;
}

/** The server cannot start as asked; `hint` says what to do about it. */
export class StartError extends Error {
  readonly code: string;
  readonly hint: string;
  constructor(code: string, message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.name = "StartError";
    this.code = code;
    this.hint = hint;
  }
}

const MAX_HEADER_BYTES = 8 * 1024;
const MAX_BODY_BYTES = 64 * 1024;
const SEND_SECONDS = 10;
const DRAIN_MS = 10_000;

/** @throws StartError, StoreError */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const closers: (() => unknown)[] = [];
  try {
    return await start(options, closers);
  } catch (error) {
    for (const close of closers.reverse()) await close();
    throw error;
  }
}

async function start(options: ServerOptions, closers: (() => unknown)[]): Promise<RunningServer> {
  const now = Date.now;
  const log = new Log({
    level: options.logLevel,
    write: options.writeLog ?? ((lines) => void process.stderr.write(lines)),
    now,
  });
  closers.push(() => log.flush());
  makeDataFolder(options.dataDir);

  const releases = new Releases({
    dataDir: options.dataDir,
    now,
    verify: verifyInWorker,
    onEvent: (event) => {
      logRelease(log, event);
      if (event.type === "serving") logMissing(log, options.mode, releases.current);
    },
  });
  closers.push(() => releases.stop());
  releases.open();

  const store = await openStore(options.databaseUrl, { mayBeAway: true });
  closers.push(() => store.close());
  const buckets = new Buckets({ rate: options.rate, burst: options.burst });
  const keyring = await startKeyring(options, store, buckets, log);
  closers.push(() => keyring.stop());
  const usage = new UsageRecorder({ store });
  closers.push(() => usage.stop());
  const overrides = new OverrideBook({
    store: store.overrides,
    dataDir: options.dataDir,
    onEvent: (event) => logOverrides(log, event),
  });
  closers.push(() => overrides.stop());
  await Promise.all([usage.start(), overrides.start()]);

  const counts = new Counts();
  const elapsed = () => performance.now();
  const mxCounts = new MxCounts();
  const mx = new MxLookups({ dns: makeAsker(options.dnsServers ?? []), counts: mxCounts, elapsed });
  closers.push(() => mx.stop());
  const status = { version: options.version, mode: options.mode, releases, keyring };
  const app = new App({
    ...status,
    buckets,
    usage,
    overrides,
    checks: new EmailChecks(mx, mxCounts),
    trustedProxies: options.trustedProxies,
    counts,
    log,
    now,
    elapsed,
    newRequestId: requestIds((bytes) => crypto.getRandomValues(bytes)),
  });
  const answer: Handler = (request, server) => app.handle(request, server);
  const api = listen("port", options.host, options.port, answer, Number.MAX_SAFE_INTEGER);
  closers.push(() => api.stop(true));
  releases.start(); // only now: verifying would slow the start down
  const connections = new ConnectionLimit({
    port: api.port!,
    most: options.maxConnections,
    onExcess: (closed, most) => log.error("too-many-connections", { closed, most }),
  });
  closers.push(() => connections.stop());
  if (connections.most < options.maxConnections) {
    log.info("fewer-connections", {
      most: connections.most,
      asked: options.maxConnections,
      why: "open files limit",
    });
  }
  const adminApp = new AdminApp({
    overrides: store.overrides,
    adminToken: store.adminToken,
    store,
    book: overrides,
    keyring,
    feeds: () => releases.current?.manifest.feeds,
    log,
    now,
    newRequestId: requestIds((bytes) => crypto.getRandomValues(bytes)),
    randomBytes: (n) => crypto.getRandomValues(new Uint8Array(n)),
  });
  const source: MetricsSource = {
    ...status,
    overrides,
    counts,
    mx: mxCounts,
    usage,
    connections,
    now,
    startedAt: now(),
  };
  let registry: Registry | undefined;
  const answerAdmin = async (request: Request) => {
    const target = targetOf(request.url);
    if (target.startsWith(ADMIN_PATH)) return adminApp.handle(request);
    if (target.slice(0, pathEnd(target)) !== "/metrics") {
      return new Response("404: this listener has /metrics and /admin/v1/\n", { status: 404 });
    }
    // prom-client takes 25 ms to load: the first scrape waits for it, not the start.
    registry ??= (await import("./metrics.ts")).metricsRegistry(source);
    return new Response(await registry.metrics(), { headers: { "Content-Type": registry.contentType } });
  };
  const admin = listen("admin port", options.adminHost, options.adminPort, answerAdmin, MAX_IMPORT_BYTES);
  closers.push(() => admin.stop(true));
  log.info("listening", {
    host: options.host,
    port: api.port,
    admin_port: admin.port,
    version: options.version,
  });

  const shutDown = async () => {
    log.info("stopping");
    connections.stop();
    await drained(api);
    mx.stop();
    await releases.stop();
    const { lost } = await usage.stop();
    if (lost > 0) log.error("usage-lost", { lookups: lost, why: usage.state.lastError });
    await admin.stop(true);
    await keyring.stop();
    await overrides.stop();
    await store.close();
    log.info("stopped");
    log.flush();
  };
  let stopping: Promise<void> | undefined;
  return {
    port: api.port!,
    adminPort: admin.port!,
    log,
    stop: () => {
      stopping ??= shutDown();
      return stopping;
    },
  };
}

function makeDataFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      "DATA_FOLDER",
      `cannot use the data folder ${dataDir}: ${reason}`,
      "set INKLING_DATA_DIR to a folder that this user may write to",
      error,
    );
  }
}

async function startKeyring(
  options: ServerOptions,
  store: Store,
  buckets: Buckets,
  log: Log,
): Promise<Keyring> {
  const { adoptKey: chosen } = options;
  let refused: KeyInputError | undefined;
  const keyring = new Keyring({
    store,
    onRemoved: (keyId) => buckets.drop(keyId),
    onStoreChange: (error) => {
      if (error === undefined) log.info("database-back");
      else log.error("database-away", { reason: error.message });
    },
    ...(chosen === undefined
      ? {}
      : {
          beforeFirstLoad: async () => {
            try {
              await adoptKey(store, chosen);
            } catch (error) {
              if (error instanceof KeyInputError) refused = error;
              throw error;
            }
          },
        }),
  });
  await keyring.start();
  if (refused !== undefined) {
    await keyring.stop();
    throw new StartError("KEY", refused.message, "change or unset INKLING_API_KEY", refused);
  }
  return keyring;
}

type Handler = (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>;

function listen(
  what: string,
  hostname: string,
  port: number,
  fetch: Handler,
  mostBody = MAX_BODY_BYTES,
): Bun.Server<undefined> {
  // Bun's parser reads this once for each listener; its types do not know that it can be set.
  (http as { maxHeaderSize: number }).maxHeaderSize = MAX_HEADER_BYTES;
  try {
    return Bun.serve({
      hostname,
      port,
      fetch,
      development: false,
      reusePort: false, // with `development: false` Bun would share the port with whoever has it
      idleTimeout: SEND_SECONDS,
      maxRequestBodySize: mostBody,
      error: () => new Response(null, { status: 500 }),
    });
  } catch (error) {
    throw listenError(what, hostname, port, error);
  }
}

function listenError(what: string, hostname: string, port: number, error: unknown): StartError {
  const code = (error as { code?: string }).code ?? "LISTEN";
  const where = `${what} ${port} on ${hostname}`;
  const setting = what === "port" ? "INKLING_PORT" : "INKLING_ADMIN_PORT";
  if (code === "EADDRINUSE") {
    const message = `${where} is in use by another program`;
    return new StartError(code, message, `stop that program, or set ${setting} to a free port`, error);
  }
  if (code === "EACCES") {
    const hint = `ports below 1024 need privileges: set ${setting} to a higher one`;
    return new StartError(code, `not allowed to listen on ${where}`, hint, error);
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new StartError(
    code,
    `cannot listen on ${where}: ${reason}`,
    "is this an address of this machine?",
    error,
  );
}

/** Resolves when every request under way was answered, or after DRAIN_MS. */
async function drained(server: Bun.Server<undefined>): Promise<void> {
  const graceful = server.stop();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), DRAIN_MS);
  });
  if ((await Promise.race([graceful, late])) === "late") await server.stop(true);
  clearTimeout(timer);
}

function logRelease(log: Log, event: ReleaseEvent): void {
  const { type, ...fields } = event;
  if (type === "refused") log.error("release-refused", fields);
  else log.info(`release-${type}`, fields);
}

/** In production a look-up without data is refused: that is for the operator to know, not for callers to find out. */
function logMissing(log: Log, mode: ServerOptions["mode"], release: LoadedRelease | undefined): void {
  const missing = release?.manifest.missing ?? [];
  if (mode === "serve" && missing.length > 0) {
    log.error("answers-missing", { missing, effect: "look-ups that need them answer 503 DATA_NOT_LOADED" });
  }
}

function logOverrides(log: Log, event: OverrideEvent): void {
  const { type, ...fields } = event;
  if (type === "copy-failed") log.error("overrides-copy-failed", fields);
  else log.info("overrides-loaded", fields);
}
