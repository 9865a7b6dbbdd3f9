// request-server.ts: what a process that answers requests has: the API on a port, limits, DNS checks, a bound on connections.
// The same in a server of one process and in each worker of several.

import type { SettingsOf } from "@inkling/contract";
import type { Overrides, Prefix } from "@inkling/engine";
import { App } from "../api/app.ts";
import type { AppOptions } from "../api/request-context.ts";
import { BatchMemory } from "../batch/memory.ts";
import { ConnectionLimit, type ConnectionLimitOptions } from "../http/connections.ts";
import { drained, listen } from "../http/listener.ts";
import { loadOnce } from "../http/load-once.ts";
import { requestIds } from "../http/request-id.ts";
import type { KeyId } from "../keys/key.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { CellIndex, LimitCells } from "../limits/cells.ts";
import { KeyCells } from "../limits/key-cells.ts";
import { SteadyClock } from "../limits/steady-clock.ts";
import { Buckets } from "../limits/token-bucket.ts";
import { EmailChecks } from "../lookup/mx.ts";
import { MxLookups } from "../mx/check.ts";
import { MxCounts } from "../mx/counts.ts";
import { makeResolver } from "../mx/dns-client.ts";
import { dnsServersOf } from "../mx/dns-servers.ts";
import type { Counts } from "../telemetry/counts.ts";
import type { Log } from "../telemetry/log.ts";
import type { MetricsSource } from "../telemetry/metric-readers.ts";
import { networksOf } from "./options.ts";

type WorkerSettings = SettingsOf<"worker">;

/** Enough to accept the connections in the queue of a listener: closing it resets those that are left there. */
const QUEUE_MS = 20;

/** What it answers from: of this process, or kept up to date by messages. */
interface AnsweringParts extends Pick<AppOptions, "mode" | "version"> {
  readonly releases: AppOptions["releases"];
  /** See {@link SteadyClock}. */
  readonly clockAheadMs?: number;
  /** In a worker. */
  readonly primary?: NonNullable<AppOptions["primary"]>;
  readonly keyring: Keyring;
  readonly overrides: { readonly current: Overrides };
  readonly rulesets: AppOptions["rulesets"];
  readonly visits: AppOptions["visits"];
  readonly decisions: AppOptions["decisions"];
  readonly cells: LimitCells;
  readonly counts: Counts;
  readonly log: Log;
  /** Among several workers: which one logs, and how they share the port and the bound on connections. */
  readonly worker?: { readonly slot: number } & Required<Pick<ConnectionLimitOptions, "share" | "workers">>;
}

export class RequestServer {
  readonly mxCounts = new MxCounts();
  private settings: WorkerSettings;
  private readonly parts: AnsweringParts;
  private trustedProxies: readonly Prefix[];
  private readonly keyCells: KeyCells;
  private readonly buckets: Buckets;
  private readonly memory: BatchMemory;
  private mx: MxLookups;
  private app: App;
  private server: Bun.Server<undefined> | undefined;
  private limit: ConnectionLimit | undefined;
  private isDraining = false;
  /** Does each answer end its connection? */
  private endsConnections = false;
  /** With the first request for a document: the start does not wait for it. */
  private readonly documents = loadOnce(async () => {
    const { PublicDocuments } = await import("../openapi/documents.ts");
    return new PublicDocuments(this.parts.version);
  });

  constructor(settings: WorkerSettings, parts: AnsweringParts) {
    this.settings = settings;
    this.parts = parts;
    this.trustedProxies = networksOf(settings.trustedProxies);
    this.keyCells = new KeyCells(parts.cells, new SteadyClock({ aheadMs: parts.clockAheadMs ?? 0 }));
    this.buckets = new Buckets(settings, this.keyCells);
    this.memory = new BatchMemory(parts.worker?.workers);
    this.mx = this.makeMx();
    this.app = this.makeApp();
  }

  private makeMx(): MxLookups {
    const dns = makeResolver(dnsServersOf(this.settings.dnsServers));
    return new MxLookups({ dns, counts: this.mxCounts, elapsed: () => performance.now() });
  }

  private makeApp(): App {
    return new App({
      ...this.parts,
      trustedProxies: this.trustedProxies,
      hookSecrets: this.settings.supabaseHookSecret,
      isDraining: this.isDraining,
      buckets: this.buckets,
      memory: this.memory,
      storesDecisions: this.settings.decisions,
      usage: this.keyCells,
      documents: this.documents,
      checks: new EmailChecks(this.mx, this.mxCounts, this.settings.dnsExclude),
      now: Date.now,
      elapsed: () => performance.now(),
      newRequestId: requestIds((bytes) => crypto.getRandomValues(bytes)),
      randomBytes: (n) => crypto.getRandomValues(new Uint8Array(n)),
    });
  }

  /** Requests under way end as they began; DNS lookups of theirs take 3 s at most. */
  reload(settings: WorkerSettings): void {
    this.settings = settings;
    this.trustedProxies = networksOf(settings.trustedProxies);
    this.buckets.setDefaults(settings);
    this.limit?.change({ most: settings.maxConnections, trustedProxies: this.trustedProxies });
    this.mx = this.makeMx();
    this.app = this.makeApp();
  }

  /** Uses these cells from now on. Call it before the keys are active: a key without a cell gets nothing. */
  replaceCells(cells: LimitCells, byKey: ReadonlyMap<KeyId, CellIndex>): void {
    this.keyCells.replace(cells, byKey);
    this.buckets.dropGone();
  }

  /** @returns the port. @throws StartError */
  listen(): number {
    const { host, port, maxConnections } = this.settings;
    const { worker, log } = this.parts;
    this.server = listen({
      what: "port",
      hostname: host,
      port,
      fetch: (request, server) => {
        const response = this.app.handle(request, server);
        return this.endsConnections ? endConnection(response) : response;
      },
      isShared: worker !== undefined,
    });
    const fields = worker === undefined ? {} : { worker: worker.slot };
    this.limit = new ConnectionLimit({
      port: this.server.port!, // a TCP listener has one
      most: maxConnections,
      trustedProxies: this.trustedProxies,
      onExcess: (closed, most) => log.error("too-many-connections", { ...fields, closed, most }),
      ...worker,
    });
    return this.server.port!;
  }

  get connections(): MetricsSource["connections"] {
    const { limit, settings } = this;
    return { open: limit?.open, refused: limit?.refused ?? 0, most: limit?.most ?? settings.maxConnections };
  }

  /** Answers every request as before, but `/readyz` is 503 and each answer ends its connection. */
  drain(): void {
    this.isDraining = true;
    this.endsConnections = true;
    this.app = this.makeApp();
  }

  /** Accepts the connections that wait in the queue; each answer ends its connection. Then the listener may be closed. */
  async acceptLast(): Promise<void> {
    this.endsConnections = true;
    await Bun.sleep(QUEUE_MS);
  }

  /** Finishes requests under way. @param finishMs longest wait for them */
  async stop(finishMs?: number): Promise<void> {
    this.limit?.stop();
    if (this.server !== undefined) await drained(this.server, finishMs);
    this.mx.stop();
  }

  /** Ends at once. */
  async kill(): Promise<void> {
    this.limit?.stop();
    this.mx.stop();
    await this.server?.stop(true);
  }
}

function endConnection(response: Response | Promise<Response>): Response | Promise<Response> {
  if (response instanceof Promise) return response.then(endConnection);
  response.headers.set("Connection", "close");
  return response;
}
