// metrics-source.ts: creates the object from which metrics, readiness and status are read.

import type { EpochMs } from "@inkling/store/keys/key";
import { readiness, type StatusSource } from "../lookup/status.ts";
import type { MetricsSource } from "../telemetry/metric-readers.ts";
import type { ServerOptions, Services } from "./options.ts";
import { BYTES_PER_MB } from "./start-retention.ts";

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
  webhooks: MetricsSource["webhooks"],
  startedAt: EpochMs,
): MetricsSource & StatusSource {
  const { serving, store } = services;
  return {
    ...services,
    version,
    allowMissing,
    unreadable: store.tables.unreadable,
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
    get workers() {
      return serving.workers;
    },
    get storage() {
      const decisionsLimitBytes = decisionsMaxMb * BYTES_PER_MB;
      return { decisionsBytes: store.retention.decisions.bytes, decisionsLimitBytes };
    },
  };
}
