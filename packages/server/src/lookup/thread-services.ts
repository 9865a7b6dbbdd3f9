// thread-services.ts: defines what a thread answers requests with. Such a thread is the primary, or one of its workers.

import type { SettingsOf } from "@inkling/contract";
import type { LoadedRelease, Overrides, Prefix } from "@inkling/engine";
import type { Precisions } from "@inkling/engine/assess";
import type { Decisions } from "@inkling/store/decisions/record";
import type { Keyring } from "@inkling/store/keys/keyring";
import type { PublishedRuleset } from "@inkling/store/rulesets/record";
import type { Effects } from "../http/effects.ts";
import type { UsageCounter } from "../limits/key-cells.ts";
import type { BatchMemory } from "../limits/memory.ts";
import type { Buckets } from "../limits/token-bucket.ts";
import type { VisitorCounts } from "../limits/visitor-counts.ts";
import type { Counts } from "../telemetry/counts.ts";
import type { Log } from "../telemetry/log.ts";
import type { Tracer } from "../telemetry/tracer.ts";
import type { Pipeline } from "./pipeline.ts";
import type { ServerState } from "./status.ts";

export interface ThreadServices extends ServerState, Effects {
  readonly settings: SettingsOf<"worker">;
  readonly trustedProxies: readonly Prefix[];
  readonly releases: ServerState["releases"] & { readonly current: LoadedRelease | undefined };
  readonly keyring: Pick<Keyring, "authenticate" | "state">;
  readonly overrides: { readonly current: Overrides };
  readonly rulesets: { readonly current: PublishedRuleset };
  /** How often each reason was right, as of a few minutes ago. */
  readonly precisions: { readonly current: Precisions };
  readonly pipeline: Pipeline;
  readonly buckets: Pick<Buckets, "limitsOf" | "take" | "takeUpTo">;
  readonly usage: UsageCounter;
  readonly memory: BatchMemory;
  readonly visits: Pick<VisitorCounts, "add">;
  readonly decisions: Decisions;
  /** See run/memory-keys.ts. Without keys, the server remembers no visitors. */
  readonly memoryKeys: readonly string[];
  readonly counts: Counts;
  readonly log: Log;
  /** Undefined if requests are not traced. */
  readonly tracer: Tracer | undefined;
}
