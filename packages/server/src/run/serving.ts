// serving.ts: defines how the primary controls the processes that answer requests, which are the primary itself or its
// workers.

import type { EpochMs } from "@inkling/store/keys/key";
import { readiness, type StatusSource } from "../lookup/status.ts";
import type { MetricsSource } from "../telemetry/metric-readers.ts";
import type { Change, ServerOptions } from "./options.ts";
import type { Services } from "./services.ts";
import { BYTES_PER_MB } from "./start-retention.ts";

/** Numbers for metrics, added up over all processes that answer requests. */
type ServingNumbers = Pick<MetricsSource, "counts" | "mx" | "workers" | "processes" | "lostDecisions">;

export interface Serving extends ServingNumbers {
  /** Starts answering requests from the services' state. @returns the port. @throws StartError */
  listen(services: Services): Promise<number>;
  /** Tells the processes that the services have changed. Does nothing before `listen`. */
  publish(change: Change): void;
  /** Updates all numbers, so that the numbers in one scrape are consistent. */
  refresh(): Promise<void>;
  /** Makes `/readyz` return 503. Requests are still answered until `stop`. */
  drain(): void;
  readonly isDraining: boolean;
  /** Answers the connections in the queue and finishes requests in progress, within 10 s. */
  stop(): Promise<void>;
  /** Stops at once, after a failed start. */
  kill(): unknown;
}

interface MetricsParts extends Pick<MetricsSource, "adminProblems" | "webhooks"> {
  readonly serving: Serving;
}

/** Returns the reasons why this server, with all its processes, should not receive requests; none if it is ready. */
export function serverReadiness(source: StatusSource & Pick<MetricsSource, "workers">): string[] {
  const reasons = readiness(source);
  if (!source.workers.states.get("serving")) reasons.push("no process serves requests");
  return reasons;
}

/** Creates the source of metrics and status. */
export function metricsSource(
  { version, allowMissing, decisionsMaxMb }: ServerOptions,
  services: Services,
  { serving, adminProblems, webhooks }: MetricsParts,
  startedAt: EpochMs,
): MetricsSource & StatusSource {
  const { store } = services;
  return {
    ...services,
    version,
    allowMissing,
    unreadable: store.tables.unreadable,
    adminProblems,
    webhooks,
    startedAt,
    now: Date.now,
    get isDraining() {
      return serving.isDraining;
    },
    get isReady() {
      return serverReadiness(this).length === 0;
    },
    get counts() {
      return serving.counts;
    },
    get mx() {
      return serving.mx;
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
    get storage() {
      const decisionsLimitBytes = decisionsMaxMb * BYTES_PER_MB;
      return { decisionsBytes: store.retention.decisions.bytes, decisionsLimitBytes };
    },
  };
}
