// request-server.ts: sets up everything that a thread needs to answer requests: the API on a port, limits and DNS
// checks. A server runs this code in its main thread, or in each of its workers.

import { OPERATIONS, type SettingsOf } from "@inkling/contract";
import { dnsServersOf, makeResolver } from "@inkling/data/dns";
import type { Prefix } from "@inkling/engine";
import type { Keyring } from "@inkling/store/keys/keyring";
import { App } from "../api/app.ts";
import type { AppOptions } from "../api/request-context.ts";
import { hasValue } from "../api/routes.ts";
import { drained, listen } from "../http/listener.ts";
import { loadOnce } from "../http/load-once.ts";
import { requestIds } from "../http/request-id.ts";
import type { LimitCells } from "../limits/cells.ts";
import { KeyCells, QuotaClock } from "../limits/key-cells.ts";
import { BatchMemory, type Bodies } from "../limits/memory.ts";
import { Buckets } from "../limits/token-bucket.ts";
import { EmailChecks } from "../lookup/mx.ts";
import { MxLookups } from "../mx/check.ts";
import { Tracer } from "../telemetry/tracer.ts";
import { networksOf } from "./options.ts";

type WorkerSettings = SettingsOf<"worker">;

/** Milliseconds for accepting the connections in a listener's queue. Closing the listener resets any that remain. */
const QUEUE_MS = 20;

const SOURCES = {
  elapsed: () => performance.now(),
  randomBytes: (n: number) => crypto.getRandomValues(new Uint8Array(n)),
};

/** The parts of {@link AppOptions} that a thread owns, or that messages keep up to date. */
type OwnedOptions = Pick<
  AppOptions,
  | "version"
  | "releases"
  | "overrides"
  | "rulesets"
  | "precisions"
  | "visits"
  | "decisions"
  | "memoryKeys"
  | "counts"
  | "log"
>;

/** The data that answers come from. */
interface AnsweringParts extends OwnedOptions {
  readonly keyring: Keyring;
  readonly cells: LimitCells;
  /** Set if another listener of this thread reads bodies too. */
  readonly bodies?: Bodies;
  /** Set only if there are several workers, which share the port. */
  readonly worker?: { readonly slot: number; readonly workers: number };
}

export class RequestServer {
  private readonly settings: WorkerSettings;
  private readonly parts: AnsweringParts;
  private readonly trustedProxies: readonly Prefix[];
  /** Decides the day of quotas and usage. */
  readonly clock = new QuotaClock();
  private readonly keyCells: KeyCells;
  private readonly buckets: Buckets;
  private readonly memory: BatchMemory;
  private readonly mx: MxLookups;
  private readonly tracer: Tracer | undefined;
  private app: App;
  private server: Bun.Server<undefined> | undefined;
  isDraining = false;
  /** Does each answer close its connection? */
  private endsConnections = false;
  /** Loaded when a document is first requested, so that startup does not wait for it. */
  private readonly documents = loadOnce(async () => {
    const { PublicDocuments } = await import("../api/documents.ts");
    return new PublicDocuments(this.parts.version);
  });

  constructor(settings: WorkerSettings, parts: AnsweringParts) {
    this.settings = settings;
    this.parts = parts;
    this.trustedProxies = networksOf(settings.trustedProxies);
    this.keyCells = new KeyCells(parts.cells, parts.keyring.cells, this.clock);
    this.buckets = new Buckets(settings, this.keyCells);
    this.memory = new BatchMemory(parts.worker?.workers, parts.bodies);
    const dns = makeResolver(dnsServersOf(settings.dnsServers));
    this.mx = new MxLookups({ dns, counts: parts.counts, elapsed: () => performance.now() });
    const { otlpUrl } = settings;
    if (otlpUrl !== undefined) this.tracer = new Tracer({ ...parts, ...SOURCES, url: otlpUrl });
    this.app = this.makeApp();
  }

  private makeApp(): App {
    return new App({
      ...this.parts,
      settings: this.settings,
      allowMissing: this.settings.allowMissing,
      trustedProxies: this.trustedProxies,
      isDraining: this.isDraining,
      buckets: this.buckets,
      memory: this.memory,
      usage: this.keyCells,
      documents: this.documents,
      checks: new EmailChecks(this.mx, this.parts.counts, this.settings.dnsExclude),
      now: Date.now,
      ...SOURCES,
      tracer: this.tracer,
      newRequestId: requestIds((bytes) => crypto.getRandomValues(bytes)),
    });
  }

  /** Call this when the keys have changed. */
  forgetKeys(): void {
    this.buckets.clear();
  }

  /** @returns the port. @throws StartError */
  listen(): number {
    const { host, port } = this.settings;
    const { worker } = this.parts;
    this.server = listen({
      what: "port",
      hostname: host,
      port,
      paths: Object.values(OPERATIONS).map(({ path }) => path),
      mayEncodeSeparators: hasValue,
      fetch: (request, server, isUnclear) => {
        const response = this.app.handle(request, server, isUnclear);
        return this.endsConnections ? endConnection(response) : response;
      },
      isShared: worker !== undefined,
    });
    return this.server.port!; // a TCP listener always has a port
  }

  /** Keeps answering every request, but `/readyz` returns 503 and each answer closes its connection. */
  drain(): void {
    this.isDraining = true;
    this.endsConnections = true;
    this.app = this.makeApp();
  }

  /**
   * Accepts the connections that wait in the queue. Each answer closes its connection, so the listener may be closed
   * afterwards.
   */
  async acceptLast(): Promise<void> {
    this.endsConnections = true;
    await Bun.sleep(QUEUE_MS);
  }

  /** Finishes the requests in progress. @param finishMs maximum wait, in milliseconds */
  async stop(finishMs?: number): Promise<void> {
    if (this.server !== undefined) await drained(this.server, finishMs);
    this.mx.stop();
    await this.tracer?.stop();
  }

  /** Stops immediately, without finishing requests. */
  async kill(): Promise<void> {
    this.mx.stop();
    await this.server?.stop(true);
  }
}

function endConnection(response: Response | Promise<Response>): Response | Promise<Response> {
  if (response instanceof Promise) return response.then(endConnection);
  response.headers.set("Connection", "close");
  return response;
}
