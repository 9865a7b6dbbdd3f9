// request-server.ts: sets up everything that a thread needs to answer requests: the API on a port, limits and DNS
// checks. A server runs this code in its main thread, or in each of its workers.

import { OPERATIONS, type SettingsOf } from "@inkling/contract";
import { dnsServersOf, makeResolver } from "@inkling/data/dns";
import type { Keyring } from "@inkling/store/keys/keyring";
import { App } from "../api/app.ts";
import { hasValue } from "../api/routes.ts";
import { networksOf } from "../http/client-address.ts";
import { EFFECTS } from "../http/effects.ts";
import { drained, listen } from "../http/listener.ts";
import type { LimitCells } from "../limits/cells.ts";
import { KeyCells, QuotaClock } from "../limits/key-cells.ts";
import { BatchMemory, type Bodies } from "../limits/memory.ts";
import { Buckets } from "../limits/token-bucket.ts";
import { EmailChecks } from "../lookup/mx.ts";
import { Pipeline } from "../lookup/pipeline.ts";
import type { ThreadServices } from "../lookup/thread-services.ts";
import { MxLookups } from "../mx/check.ts";
import { Tracer } from "../telemetry/tracer.ts";

/** Milliseconds for accepting the connections in a listener's queue. Closing the listener resets any that remain. */
const QUEUE_MS = 20;

/** The services that a thread owns, or that messages keep up to date. The server creates the others. */
type OwnServices = Pick<
  ThreadServices,
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
> & {
  readonly keyring: Keyring;
  readonly cells: LimitCells;
  /** Set if another listener of this thread reads bodies too. */
  readonly bodies?: Bodies;
};

export class RequestServer {
  private readonly settings: SettingsOf<"worker">;
  /** Decides the day of quotas and usage. */
  readonly clock = new QuotaClock();
  private readonly buckets: Buckets;
  private readonly mx: MxLookups;
  private readonly tracer: Tracer | undefined;
  private readonly app: App;
  private server: Bun.Server<undefined> | undefined;
  /** Does each answer close its connection? */
  private endsConnections = false;

  constructor(settings: SettingsOf<"worker">, own: OwnServices) {
    this.settings = settings;
    const { counts } = own;
    const usage = new KeyCells(own.cells, own.keyring.cells, this.clock);
    this.buckets = new Buckets(settings, usage);
    const dns = makeResolver(dnsServersOf(settings.dnsServers));
    this.mx = new MxLookups({ dns, counts, elapsed: EFFECTS.elapsed });
    const { otlpUrl: url } = settings;
    if (url !== undefined) this.tracer = new Tracer({ ...own, ...EFFECTS, url });
    this.app = new App({
      ...own,
      ...EFFECTS,
      settings,
      trustedProxies: networksOf(settings.trustedProxies),
      pipeline: new Pipeline(new EmailChecks(this.mx, counts, settings.dnsExclude), counts, usage),
      buckets: this.buckets,
      usage,
      memory: new BatchMemory(settings.workers, own.bodies),
      tracer: this.tracer,
    });
  }

  /** Call this when the keys have changed. */
  forgetKeys(): void {
    this.buckets.clear();
  }

  /** @returns the port. @throws StartError */
  listen(): number {
    const { host, port } = this.settings;
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
      isShared: this.settings.workers > 1,
    });
    return this.server.port!; // a TCP listener always has a port
  }

  /** Keeps answering every request, but `/readyz` returns 503 and each answer closes its connection. */
  drain(): void {
    this.endsConnections = true;
    this.app.drain();
  }

  /**
   * Accepts the connections that wait in the queue, and finishes the requests in progress. Each answer closes its
   * connection, so the listener may be closed afterwards.
   */
  async stop(): Promise<void> {
    this.endsConnections = true;
    await Bun.sleep(QUEUE_MS);
    if (this.server !== undefined) await drained(this.server);
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
