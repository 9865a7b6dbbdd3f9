// start-retention.ts: regularly deletes stored rows that are too old or too many, in the primary, and logs what it
// deletes.

import type { ServerSettings } from "@inkling/contract";
import { messageOf, Poller } from "@inkling/data";
import { StoreError } from "@inkling/store/error";
import type { Store } from "@inkling/store/store";
import { BYTES_PER_MB } from "../admin/services.ts";
import type { Log } from "../telemetry/log.ts";

const EXPIRE_MS = 60_000;

export function startRetention(
  { decisionsDays, decisionsMaxMb }: Pick<ServerSettings, "decisionsDays" | "decisionsMaxMb">,
  { retention }: Pick<Store, "retention">,
  log: Log,
): Poller {
  let isHeld = false;
  let lastFailure: string | undefined;
  const check = async () => {
    try {
      const expired = await retention.expire(decisionsDays);
      if (Object.keys(expired).length > 0) log.info("rows-expired", expired);
      const deleted = await retention.limitDecisions(decisionsMaxMb * BYTES_PER_MB);
      if (deleted > 0) log.error("decisions-over-limit", { deleted, limit_mb: decisionsMaxMb });
      lastFailure = undefined;
      const { aheadMs } = retention;
      if (aheadMs > 0 && !isHeld) log.error("expiry-held", { ahead_seconds: Math.round(aheadMs / 1_000) });
      if (aheadMs === 0 && isHeld) log.info("expiry-resumed");
      isHeld = aheadMs > 0;
    } catch (error) {
      if (error instanceof StoreError && error.code === "UNREACHABLE") return; // `database-unreachable` has already been logged
      const reason = messageOf(error);
      if (reason !== lastFailure) log.error("rows-not-expired", { reason });
      lastFailure = reason;
    }
  };
  const poller = new Poller({ check, waitMs: () => EXPIRE_MS });
  void poller.now().then(() => poller.schedule()); // not awaited: answers do not depend on it
  return poller;
}
