// serving.ts: defines how the primary controls the threads that answer requests, which are the primary itself or its
// workers.

import type { EpochMs } from "@inkling/store/keys/key";
import { readiness, type StatusSource } from "../lookup/status.ts";
import type { MetricsSource } from "../telemetry/metric-readers.ts";
import type { Change, ServerOptions, Services } from "./options.ts";
import { BYTES_PER_MB } from "./start-retention.ts";

/** Numbers for metrics, added up over all threads that answer requests. */
type ServingNumbers = Pick<MetricsSource, "counts" | "mx" | "workers">;

export interface Serving extends ServingNumbers {
  /** Starts answering requests from the services' state. @returns the port. @throws StartError */
  listen(services: Services): Promise<number>;
  /** Tells the threads that the services have changed. Does nothing before `listen`. */
  publish(change: Change): void;
  /** Adds the numbers up again. */
  refresh(): void;
  /** Makes `/readyz` return 503. Requests are still answered until `stop`. */
  drain(): void;
  readonly isDraining: boolean;
  /** Answers the connections in the queue and finishes requests in progress, within 10 s. */
  stop(): Promise<void>;
  /** Writes the log lines that other threads have buffered. It blocks this thread, because the server is about to exit. */
  flushLogs(): void;
  /** Stops immediately, after a failed start. */
  kill(): unknown;
}

interface MetricsParts extends Pick<MetricsSource, "adminProblems" | "webhooks"> {
  readonly serving: Serving;
}

/** Returns the reasons why this server should not receive requests; none if it is ready. */
export function serverReadiness(source: StatusSource & Pick<MetricsSource, "workers">): string[] {
  const reasons = readiness(source);
  if (!source.workers.states.get("serving")) reasons.push("no thread answers requests");
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
    get storage() {
      const decisionsLimitBytes = decisionsMaxMb * BYTES_PER_MB;
      return { decisionsBytes: store.retention.decisions.bytes, decisionsLimitBytes };
    },
  };
}
