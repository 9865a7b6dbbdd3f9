// host-entry.ts: records a change that belongs to one host, such as a rollback of its data, before the change is made.

import { hostname } from "node:os";
import { messageOf } from "@inkling/data";
import type { NewAuditEntry } from "./audit.ts";
import type { OverrideStore } from "./overrides.ts";

/** An entry about something that belongs to a single host. The host's name is added to `after`. */
export type HostEntry = NewAuditEntry & { readonly after: object };

/**
 * Records `entry`, then makes the change that it describes. If the change fails, a second entry records the failure.
 * @throws StoreError if the entry cannot be recorded, in which case nothing changes; also the errors of `change`
 */
export async function withEntry<T>(
  trail: Pick<OverrideStore, "record">,
  { after, ...entry }: HostEntry,
  change: () => T | Promise<T>,
): Promise<T> {
  const host = hostname();
  await trail.record({ ...entry, after: { ...after, host } });
  try {
    return await change();
  } catch (error) {
    const failed = { action: entry.action, reason: messageOf(error), host };
    // If the database has become unreachable, the caller still receives the error of the change.
    await trail.record({ ...entry, action: "change-failed", after: failed }).catch(() => {});
    throw error;
  }
}
