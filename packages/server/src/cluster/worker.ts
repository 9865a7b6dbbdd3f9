// worker.ts: one of several processes that answer on one port.
//
// in   messages of the supervisor (worker-messages.ts); the shared memory, as an inherited descriptor
// out  answers on the port; reports to the supervisor
// err  told to the supervisor where another try would not help; otherwise this process ends, and is replaced
//
// A worker opens no database: keys, overrides and the name of the release come from the supervisor, usage and limits
// lie in the shared memory. It ends when it is asked to, and when the supervisor is gone: nobody else would end it.

import { Overrides } from "@inkling/engine";
import { App } from "../api/app.ts";
import { ConnectionLimit } from "../http/connections.ts";
import { drained, listen } from "../http/listener.ts";
import { requestIds } from "../http/request-id.ts";
import { StartError } from "../http/start-error.ts";
import { Keyring, type LoadedKeys } from "../keys/keyring.ts";
import { SharedCells } from "../limits/cell-index.ts";
import { SharedUsage } from "../limits/shared-usage.ts";
import { Buckets } from "../limits/token-bucket.ts";
import { EmailChecks } from "../lookup/mx.ts";
import { MxLookups } from "../mx/check.ts";
import { MxCounts } from "../mx/counts.ts";
import { makeResolver } from "../mx/dns-client.ts";
import { overridesOf } from "../overrides/override.ts";
import { Log } from "../telemetry/log.ts";
import {
  type FromWorker,
  type KeysNews,
  keysFromWire,
  prefixesFromWire,
  type ToWorker,
  type WorkerOptions,
  type WorkerReport,
} from "./messages.ts";
import { FollowedRelease } from "./release-follower.ts";
import { LAYOUT, SharedView, WORKER_DESCRIPTOR } from "./shared-memory.ts";

/** How this process talks to the supervisor, and ends. */
export interface WorkerHost {
  send(message: FromWorker): void;
  /** Takes whole lines. */
  write(lines: string): void;
  exit(code: number): void;
}

const REPORT_MS = 1_000;
/** Without a supervisor nobody waits for a slow request: a new one may be about to listen. */
const ORPHAN_DRAIN_MS = 1_000;

export class Worker {
  private readonly options: WorkerOptions;
  private readonly host: WorkerHost;
  private readonly log: Log;
  private readonly release: FollowedRelease;
  private readonly cells: SharedCells;
  private readonly keys = new ToldKeys();
  /** Looks for changes when it is told of them. */
  private readonly keyring = new Keyring({
    store: this.keys,
    onRemoved: (keyId) => this.buckets.drop(keyId),
  });
  private readonly buckets: Buckets;
  private readonly overrides = { current: Overrides.NONE };
  private readonly mxCounts = new MxCounts();
  private readonly mx: MxLookups;
  private readonly app: App;
  private view: SharedView;
  private api: Bun.Server<undefined> | undefined;
  private connections: ConnectionLimit | undefined;
  private readonly timer: ReturnType<typeof setInterval>;
  private stopping = false;

  /** @throws StartError */
  constructor(options: WorkerOptions, host: WorkerHost) {
    if (options.layout !== LAYOUT) {
      const hint = "the program was replaced while it ran: start it again";
      throw new StartError("LAYOUT", "this worker is of another version than its supervisor", hint);
    }
    this.options = options;
    this.host = host;
    const now = Date.now;
    this.log = new Log({ level: options.logLevel, write: host.write, now });
    this.view = new SharedView(WORKER_DESCRIPTOR, options.workers, options.base);
    this.cells = new SharedCells(this.view.cells);
    this.buckets = new Buckets(options, this.cells);
    this.release = new FollowedRelease(options.dataDir, (name, reason) =>
      this.log.error("release-not-opened", { worker: options.worker, name, reason }),
    );
    const elapsed = () => performance.now();
    this.mx = new MxLookups({ dns: makeResolver(options.dnsServers), counts: this.mxCounts, elapsed });
    this.app = new App({
      version: options.version,
      mode: options.mode,
      releases: this.release,
      keyring: this.keyring,
      buckets: this.buckets,
      usage: new SharedUsage(this.cells),
      overrides: this.overrides,
      documents: () => import("../openapi/documents.ts"),
      checks: new EmailChecks(this.mx, this.mxCounts),
      trustedProxies: prefixesFromWire(options.trustedProxies),
      counts: this.view.countsOf(options.worker),
      log: this.log,
      now,
      elapsed,
      newRequestId: requestIds((bytes) => crypto.getRandomValues(bytes)),
    });
    this.timer = setInterval(() => this.report(), REPORT_MS);
    this.release.expect();
  }

  /** Takes one message after the other. @throws StartError when the port cannot be had */
  async take(message: ToWorker): Promise<void> {
    switch (message.type) {
      case "release":
        return this.release.follow(message);
      case "overrides":
        this.overrides.current = overridesOf(message.overrides);
        return;
      case "keys":
        return this.takeKeys(message);
      case "listen":
        return this.listen();
      case "report":
        return this.report();
      case "stop":
        return this.stop();
    }
  }

  /** Finishes what is under way, and ends. */
  async stop(isOrphan = false): Promise<void> {
    if (this.stopping) return;
    this.stopping = true;
    clearInterval(this.timer);
    this.connections?.stop();
    if (this.api !== undefined) await drained(this.api, isOrphan ? ORPHAN_DRAIN_MS : undefined);
    this.mx.stop();
    this.release.stop();
    await this.keyring.stop();
    this.view.putConnections(this.options.worker, 0);
    this.log.flush();
    if (!isOrphan) this.report();
    this.host.exit(isOrphan ? 1 : 0);
  }

  private async takeKeys({ change, keys, cells, away }: KeysNews): Promise<void> {
    const { worker, workers, base } = this.options;
    const size = Math.max(-1, ...cells.map(([, cell]) => cell)) + 1;
    if (size > this.view.cells.size) {
      this.view = new SharedView(WORKER_DESCRIPTOR, workers, base);
      if (size > this.view.cells.size) throw new Error(`worker ${worker}: the shared memory is too small`);
    }
    this.cells.replace(this.view.cells, new Map(cells));
    this.keys.told = keys === undefined ? undefined : keysFromWire(keys);
    this.keys.away = away;
    await this.keyring.refresh();
    this.host.send({ type: "keys", change });
  }

  private listen(): void {
    if (this.api !== undefined || this.stopping) return;
    const { host, port, worker, workers, maxConnections } = this.options;
    this.api = listen({
      what: "port",
      hostname: host,
      port,
      fetch: (request, server) => this.app.handle(request, server),
      mostBody: Number.MAX_SAFE_INTEGER,
      isShared: true,
    });
    this.connections = new ConnectionLimit({
      port,
      most: maxConnections,
      workers,
      share: (open) => this.view.putConnections(worker, open),
      onExcess: (closed, most) => this.log.error("too-many-connections", { worker, closed, most }),
    });
    this.host.send({ type: "listening" });
  }

  private report(): void {
    const { connections } = this;
    const { user, system } = process.cpuUsage();
    const report: WorkerReport = {
      mx: this.mxCounts.report,
      connections: {
        open: connections?.open,
        refused: connections?.refused ?? 0,
        most: connections?.most ?? this.options.maxConnections,
      },
      cpuSeconds: (user + system) / 1e6,
      residentBytes: process.memoryUsage.rss(),
      release: this.release.current?.name,
    };
    this.host.send({ type: "report", report });
  }
}

/** The keys as the supervisor told them last. */
class ToldKeys {
  told: LoadedKeys | undefined;
  away: string | undefined;

  async keyStamp(): Promise<string> {
    return this.loaded().stamp;
  }

  async loadKeys(): Promise<LoadedKeys> {
    return this.loaded();
  }

  private loaded(): LoadedKeys {
    if (this.away !== undefined || this.told === undefined)
      throw new Error(this.away ?? "keys were never read");
    return this.told;
  }
}
