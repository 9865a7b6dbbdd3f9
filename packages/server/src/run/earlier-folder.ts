// earlier-folder.ts: takes over what an earlier version left in the data folder: revocations that its database lacks,
// and audit entries that wait for the database.
//
// It then deletes these files.

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf, TEMPORARY } from "@inkling/data";
import type { AuditStore } from "@inkling/store/audit";
import type { Revocation, RevokedFile } from "@inkling/store/keys/revoked-file";
import { StartError } from "../http/start-error.ts";
import type { Log } from "../telemetry/log.ts";

const FILES = { revocations: "revocations", history: "database-history.json", waiting: "audit-waiting" };

/** @throws StartError */
export function takeEarlierRevocations(
  dataDir: string,
  file: RevokedFile,
  log: Pick<Log, "info" | "error">,
): void {
  const paths = [FILES.revocations, FILES.history].map((name) => join(dataDir, name)).filter(existsSync);
  if (paths.length === 0) return;
  try {
    const found = paths.flatMap((path) => {
      const text = readFileSync(path, "utf8");
      return path.endsWith(FILES.history) ? fromHistory(text, log) : fromSlots(text);
    });
    file.add(found);
    for (const path of paths) rmSync(path);
    if (found.length > 0) log.info("earlier-revocations-taken", { keys: found.map(({ id }) => id) });
  } catch (error) {
    const message = `cannot take over the revocations of ${paths.join(" and ")}: ${messageOf(error)}`;
    const hint = `write their keys into ${file.path} by hand as described in docs/backup.md, then delete the files`;
    throw new StartError("REVOKED", message, hint, error);
  }
}

function fromSlots(text: string): Revocation[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const { id, at, actor } = JSON.parse(line) as { id: string; at: number; actor: string };
      return { id, at, author: actor };
    });
}

function fromHistory(text: string, log: Pick<Log, "error">): Revocation[] {
  const { revoked, ended, wentBack } = JSON.parse(text) as {
    revoked: { id: string; at: number }[];
    ended: unknown[];
    wentBack: object | null;
  };
  if (wentBack !== null && ended.length > 0)
    log.error("earlier-tokens-valid", { tokens: ended.length, hint: "rotate these keys again" });
  return revoked.map(({ id, at }) => ({ id, at, author: "unknown" }));
}

/** Stores the waiting entries, oldest first, each with the time of its change. */
export async function storeEarlierEntries(
  trail: Pick<AuditStore, "record">,
  dataDir: string,
  log: Pick<Log, "info" | "error">,
): Promise<void> {
  const folder = join(dataDir, FILES.waiting);
  if (!existsSync(folder)) return;
  const files = readdirSync(folder).filter((name) => !name.startsWith(TEMPORARY));
  let file = "";
  try {
    for (const name of files.sort()) {
      file = join(folder, name);
      const { at, actor, way, before, after, ...entry } = JSON.parse(readFileSync(file, "utf8"));
      await trail.record(
        { ...entry, author: actor, source: way, before: before ?? undefined, after: after ?? undefined },
        at,
      );
      rmSync(file);
    }
    rmSync(folder, { recursive: true });
    log.info("earlier-entries-stored", { entries: files.length });
  } catch (error) {
    const hint = "restart when the database is reachable; if the file is damaged, read and delete it first";
    log.error("earlier-entries-wait", { file, reason: messageOf(error), hint });
  }
}
