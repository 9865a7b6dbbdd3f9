// pool-metrics.ts: what several workers have to say for /metrics, as one server would.
//
// Counters come from the shared memory and from the workers' reports; those of workers that have ended stay in the sum,
// so no counter goes back when a worker is replaced.

import { API_COUNTS, makeCounts } from "../api/counts.ts";
import type { StatusSource } from "../lookup/status.ts";
import type { ServerOptions } from "../server.ts";
import { Counts } from "../telemetry/counts.ts";
import type { MetricsSource } from "../telemetry/metric-definitions.ts";
import type { Backstage } from "./services.ts";
import type { SharedView } from "./shared-memory.ts";
import type { Crew } from "./worker-pool.ts";

export class CrewMetrics implements MetricsSource, StatusSource {
  readonly version: string;
  readonly mode: MetricsSource["mode"];
  readonly releases: StatusSource["releases"];
  readonly keyring: StatusSource["keyring"];
  readonly overrides: MetricsSource["overrides"];
  readonly usage: MetricsSource["usage"];
  readonly now = Date.now;
  readonly startedAt: number;
  counts = makeCounts();
  private totals: Crew["totals"];
  private readonly crew: Crew;
  private readonly view: SharedView;
  private readonly size: number;
  private readonly mostConnections: number;

  /** @param startedAt epoch ms */
  constructor(options: ServerOptions, backstage: Backstage, crew: Crew, view: SharedView, startedAt: number) {
    this.version = options.version;
    this.mode = options.mode;
    this.size = options.workers ?? 1;
    this.mostConnections = options.maxConnections;
    this.releases = backstage.releases;
    this.keyring = backstage.keyring;
    this.overrides = backstage.overrides;
    this.usage = backstage.usage;
    this.crew = crew;
    this.view = view;
    this.startedAt = startedAt;
    this.totals = crew.totals;
  }

  /** Takes all numbers anew, so that those of one scrape belong together. */
  async refresh(): Promise<void> {
    await this.crew.refresh();
    this.totals = this.crew.totals;
    const counts = Array.from({ length: this.size }, (_, worker) => this.view.countsOf(worker));
    this.counts = Counts.sum(API_COUNTS, counts);
  }

  get mx(): MetricsSource["mx"] {
    return this.totals.mx;
  }

  get connections(): MetricsSource["connections"] {
    const { most = this.mostConnections, ...numbers } = this.totals.connections;
    return { ...numbers, most };
  }

  get workers(): NonNullable<MetricsSource["workers"]> {
    const { states, restarts } = this.crew;
    return { states, restarts };
  }

  get processes(): NonNullable<MetricsSource["processes"]> {
    const { cpuSeconds, residentBytes } = this.totals;
    return { cpuSeconds, residentBytes };
  }
}
