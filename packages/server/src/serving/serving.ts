// serving.ts: what answers requests, from the view of the primary: that process itself, or its workers.

import type { ServerSettings } from "@inkling/contract";
import type { EpochMs } from "../keys/key.ts";
import type { StatusSource } from "../lookup/status.ts";
import type { MetricsSource } from "../telemetry/metric-readers.ts";
import type { Change, ServerOptions } from "./options.ts";
import type { Services } from "./services.ts";

/** Numbers for metrics, of all processes that answer. */
type ServingNumbers = Pick<
  MetricsSource,
  "counts" | "mx" | "connections" | "workers" | "processes" | "lostDecisions"
>;

export interface Serving extends ServingNumbers {
  /** Takes over what the services have, and listens. @returns the port. @throws StartError */
  listen(services: Services): Promise<number>;
  /** The services have something new. Before `listen` there is nothing to do. */
  publish(change: Change): void;
  reload(settings: ServerSettings): void;
  /** Updates all numbers, so that the numbers of one scrape are consistent. */
  refresh(): Promise<void>;
  /** Makes `/readyz` 503. Requests are answered until `stop`. */
  drain(): void;
  /** Answers the connections in the queue, and finishes requests under way, at most 10 s. */
  stop(): Promise<void>;
  /** Ends at once, when a start fails. */
  kill(): unknown;
}

interface MetricsParts extends Pick<MetricsSource, "adminProblems" | "webhooks"> {
  readonly serving: Serving;
}

/** What metrics and status are made of. */
export function metricsSource(
  { version, mode }: ServerOptions,
  { releases, keyring, overrides, guard, usage, decisions, notices, leases }: Services,
  { serving, adminProblems, webhooks }: MetricsParts,
  startedAt: EpochMs,
): MetricsSource & StatusSource {
  return {
    version,
    mode,
    releases,
    keyring,
    overrides,
    guard,
    usage,
    decisions,
    notices,
    leases,
    adminProblems,
    webhooks,
    startedAt,
    now: Date.now,
    get counts() {
      return serving.counts;
    },
    get mx() {
      return serving.mx;
    },
    get connections() {
      return serving.connections;
    },
    get workers() {
      return serving.workers;
    },
    get processes() {
      return serving.processes;
    },
    get lostDecisions() {
      return serving.lostDecisions;
    },
  };
}
