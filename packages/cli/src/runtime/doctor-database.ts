// doctor-database.ts: implements the checks of `inkling doctor` on the database, one row each. doctor-checks.ts has the
// other checks.

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Settings } from "@inkling/contract";
import type { StoreError } from "@inkling/store";
import type { Store } from "@inkling/store/store";
import { processEnvironment } from "../config/environment.ts";
import { databaseFile } from "../config/settings.ts";
import { formatBytes } from "../terminal/terminal.ts";
import {
  type CheckInput,
  type Finding,
  freeBytes,
  isInkling,
  note,
  ok,
  problem,
  type Row,
} from "./doctor-checks.ts";
import { countKeys } from "./keys.ts";
import { lostDatabase, withStore } from "./store.ts";

/** Seconds by which this machine's clock may differ from the database's. */
const MAX_CLOCK_SECONDS = 60;
/** Minimum free space for a SQLite database, in bytes. Its write-ahead log normally has about 4 MB. */
const MIN_FREE_BYTES = 10_000_000;
const OWN_HOST = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export const DATABASE_CHECKS: readonly Row[] = [["database", database]];

async function database({ settings, now }: CheckInput): Promise<Finding> {
  // Opening a missing database would create the file.
  const file = databaseFile(settings);
  const lost = lostDatabase(settings);
  if (lost !== undefined) return problem(lost.message, lost.hint);
  if (file !== undefined && !existsSync(file)) {
    return note(`${file} does not exist yet`, "`inkling keys create` creates it, and a key");
  }
  const full = fullDisk(settings);
  if (full !== undefined) return full;
  return withStore(settings, async (store) => {
    const keys = await countKeys(store, now.getTime());
    const found = `${store.label}; active keys: ${keys.live} live, ${keys.sandbox} sandbox`;
    try {
      await store.checkWritable();
    } catch (error) {
      const { message, hint } = error as StoreError;
      const holders = file === undefined ? "" : `; \`fuser -v ${file}\` lists the programs that have it open`;
      return problem(`${found}; it is not writable: ${message}`, `${hint}${holders}`);
    }
    const clock = await wrongClock(store);
    if (clock !== undefined) return clock;
    if (keys.live > 0 || settings.apiKey !== undefined) return exposed(settings) ?? ok(found);
    const create = "create a key: `inkling keys create --name NAME`";
    if (await isInkling(settings.host, settings.port)) return problem(found, create);
    return note(found, `before \`inkling serve\`, ${create}; other commands need no key`);
  });
}

/** Returns a finding if the disk of an existing SQLite database is full. */
function fullDisk(settings: Settings): Finding | undefined {
  const file = databaseFile(settings);
  if (file === undefined) return undefined;
  const free = freeBytes(file);
  if (free >= MIN_FREE_BYTES) return undefined;
  return problem(
    `${file}: its disk has only ${formatBytes(free)} free`,
    `free space on ${dirname(file)}; the server then stores what waits`,
  );
}

/**
 * Returns a note if the connection to another machine is not encrypted, or the server's identity is not checked. By
 * default, Bun does neither.
 */
export function exposed(settings: Settings): Finding | undefined {
  if (databaseFile(settings) !== undefined) return undefined;
  const { hostname, searchParams } = new URL(settings.databaseUrl);
  const mode = searchParams.get("sslmode") ?? processEnvironment.PGSSLMODE ?? "disable";
  if (OWN_HOST.test(hostname) || /^verify-(ca|full)$/.test(mode)) return undefined;
  return note(
    `sslmode=${mode} to ${hostname}: ${mode === "require" ? "the server's identity is not checked" : "key hashes and overrides are sent unencrypted"}`,
    "unless only you use that network, add ?sslmode=verify-full&sslrootcert=FILE to INKLING_DATABASE_URL",
  );
}

/** Quotas follow the database's clock; usage and expiries follow this machine's clock. */
async function wrongClock(store: Store): Promise<Finding | undefined> {
  await store.ping(); // the first query also connects
  const before = Date.now();
  const clock = await store.readClock();
  const here = (before + Date.now()) / 2;
  return clockProblem(here - (clock ?? here));
}

/** @param aheadMs milliseconds by which this machine's clock is ahead of the database's */
export function clockProblem(aheadMs: number): Finding | undefined {
  const seconds = Math.round(aheadMs / 1_000);
  if (Math.abs(seconds) <= MAX_CLOCK_SECONDS) return undefined;
  const found = `this machine's clock is ${Math.abs(seconds)} s ${seconds < 0 ? "behind" : "ahead of"} the database's`;
  return problem(found, "synchronize both clocks with NTP");
}
