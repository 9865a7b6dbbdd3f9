// doctor-database.ts: the checks of `inkling doctor` on the database, one row each. doctor-checks.ts has the other
// checks.

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Settings } from "@inkling/contract";
import { type ListedHost, listHosts } from "@inkling/server";
import type { StoreError } from "@inkling/store";
import { isSharedDatabase } from "@inkling/store/store";
import { processEnvironment } from "../config/environment.ts";
import { databaseFile } from "../config/settings.ts";
import { formatAge, formatBytes } from "../terminal/terminal.ts";
import {
  type Checkup,
  type Finding,
  freeBytes,
  isInkling,
  note,
  ok,
  problem,
  type Row,
} from "./doctor-checks.ts";
import { countKeys } from "./keys.ts";
import {
  databaseState,
  databaseTroubles,
  knowsKeys,
  leftoverTexts,
  lostDatabase,
  withStore,
} from "./store.ts";

/** Seconds by which this machine's clock may differ from the database's. */
const MAX_CLOCK_SECONDS = 60;
/** Minimum free space for a SQLite database, in bytes. Its write-ahead log normally has about 4 MB. */
const MIN_FREE_BYTES = 10_000_000;
const OWN_HOST = /^(localhost|127(\.\d+){3}|\[::1\])$/;
/** Maximum number of hosts that a finding lists. */
const MAX_HOSTS = 5;

export const DATABASE_CHECKS: readonly Row[] = [
  ["database", database],
  ["database history", databaseHistory],
  ["overrides", droppedOverrides],
  ["encryption", encryption],
  ["notices", notices],
  ["database clock", databaseClock],
  ["hosts", hosts],
];

async function database({ settings, now }: Checkup): Promise<Finding> {
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
    const found = `${store.label}: ${keys.live} active live and ${keys.sandbox} active sandbox keys`;
    if (keys.live + keys.sandbox === 0 && knowsKeys(settings.dataDir)) {
      const adopt = "if the database was lost, `inkling database adopt` writes them into it";
      return problem(
        found,
        `keys.json has keys: check INKLING_DATABASE_URL and whether the volume is mounted; ${adopt}`,
      );
    }
    try {
      await store.checkWritable();
    } catch (error) {
      const { message, hint } = error as StoreError;
      const holders = file === undefined ? "" : `; \`fuser -v ${file}\` lists the programs that have it open`;
      return problem(`${found}; it is not writable: ${message}`, `${hint}${holders}`);
    }
    if (keys.live > 0 || settings.apiKey !== undefined) return ok(found);
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
 * Returns a finding if there is no database.
 * @returns undefined if there is a database
 */
function withoutDatabase(settings: Settings): Finding | undefined {
  const file = databaseFile(settings);
  if (file === undefined || existsSync(file)) return undefined;
  const lost = lostDatabase(settings);
  return lost === undefined ? ok("no database yet") : note("unknown: the database was lost", lost.hint);
}

/** Was the database replaced by an older one, or an empty one? */
async function databaseHistory({ settings }: Checkup): Promise<Finding> {
  const without = withoutDatabase(settings);
  if (without !== undefined) return without;
  const state = await withStore(settings, (store) => databaseState(store, settings));
  const troubles = databaseTroubles(state);
  const leftovers = leftoverTexts(state);
  if (troubles.length === 0) {
    const matches = "matches the data folder's copies";
    return leftovers.length === 0
      ? ok(matches)
      : note(`${matches}; ${leftovers.join(" ")}`, "adopt or delete each of these files");
  }
  const isOnlyUnstored = troubles.length === state.unstored_revocations.length;
  const full = isOnlyUnstored ? fullDisk(settings) : undefined;
  return problem(
    [...troubles, ...leftovers].join(" "),
    full?.fix ??
      'docs/troubleshooting.md has the steps under "Database lost or replaced"; then check with `inkling database status`',
  );
}

/** Does the database contain overrides that muted a feed? Earlier versions had them, and this version ignores them. */
async function droppedOverrides({ settings }: Checkup): Promise<Finding> {
  const without = withoutDatabase(settings);
  if (without !== undefined) return without;
  const dropped = await withStore(settings, (store) => store.overrides.countDropped());
  if (dropped === 0) return ok("all set a flag");
  return note(
    `${dropped} muted a feed, which is no longer supported: these overrides no longer apply`,
    "`inkling audit --actor inkling` lists the overrides that applied before the upgrade; set flags instead with `inkling override add`",
  );
}

/**
 * Is the database connection encrypted, and is the server's identity checked? By default, Bun does neither.
 */
function encryption({ settings }: Checkup): Finding {
  if (databaseFile(settings) !== undefined) return ok("not needed with SQLite");
  const { hostname, searchParams } = new URL(settings.databaseUrl);
  if (OWN_HOST.test(hostname)) return ok("not needed: the database is on this machine");
  const mode = searchParams.get("sslmode") ?? processEnvironment.PGSSLMODE ?? "disable";
  const found = `sslmode=${mode} to ${hostname}`;
  if (/^verify-(ca|full)$/.test(mode)) return ok(found);
  return note(
    `${found}: ${mode === "require" ? "the server's identity is not checked" : "key hashes and overrides are sent unencrypted"}`,
    "unless only you use that network, add ?sslmode=verify-full&sslrootcert=FILE to INKLING_DATABASE_URL",
  );
}

/** Do change notices reach this machine? */
async function notices({ settings }: Checkup): Promise<Finding> {
  if (!isSharedDatabase(settings.databaseUrl)) return ok("not needed with SQLite");
  return withStore(settings, async (store) => {
    let why: string | undefined;
    const listener = store.listen({ onNotice: () => {}, onState: (_state, reason) => (why = reason) });
    await listener.start();
    const isListening = listener.state === "listening";
    listener.stop();
    if (isListening) return ok("changes to keys and overrides on other hosts arrive immediately");
    return note(
      `${why}; this host checks for changes to keys and overrides once a second`,
      "point INKLING_DATABASE_URL directly at PostgreSQL, or at PgBouncer in session mode",
    );
  });
}

/** Quotas follow the database's clock; usage and expiries follow this machine's clock. */
async function databaseClock({ settings }: Checkup): Promise<Finding> {
  if (!isSharedDatabase(settings.databaseUrl)) return ok("not needed with SQLite");
  return withStore(settings, async (store) => {
    await store.ping(); // the first query also connects
    const before = Date.now();
    const clock = await store.readClock();
    const here = (before + Date.now()) / 2;
    return clockFinding(here - (clock ?? here));
  });
}

/** @param aheadMs milliseconds by which this machine's clock is ahead of the database's */
export function clockFinding(aheadMs: number): Finding {
  const seconds = Math.round(aheadMs / 1_000);
  const found = `this machine's clock is ${Math.abs(seconds)} s ${seconds < 0 ? "behind" : "ahead of"} the database's`;
  if (Math.abs(seconds) <= MAX_CLOCK_SECONDS) return ok(found);
  return problem(found, "synchronize both clocks with NTP");
}

/** Returns the hosts in the group, according to their own reports. */
async function hosts({ settings }: Checkup): Promise<Finding> {
  if (!isSharedDatabase(settings.databaseUrl)) return ok("one, with SQLite");
  const all = await withStore(settings, (store) => listHosts(store.tables));
  const troubled = all.flatMap((host) => {
    const why = [...troublesOf(host), ...warningsOf(host)].join(", ");
    return why === "" ? [] : [`${host.report?.name ?? host.id}: ${why}`];
  });
  const versions = new Set(all.flatMap(({ report }) => report?.version ?? []));
  const found = `${all.length} use the database${versions.size > 1 ? `, of versions ${[...versions].sort().join(", ")}` : ""}`;
  if (troubled.length === 0) return ok(found);
  const more = troubled.length - MAX_HOSTS;
  const named = [...troubled.slice(0, MAX_HOSTS), ...(more > 0 ? [`and ${more} more`] : [])];
  const finding = all.some((host) => troublesOf(host).length > 0) ? problem : note;
  return finding(`${found}; ${named.join("; ")}`, "`inkling hosts` shows all; `inkling doctor` there");
}

/** A host with warnings still answers. The report of a silent host is out of date. */
const warningsOf = ({ state, report }: ListedHost) => (state === "silent" ? [] : (report?.warnings ?? []));

function troublesOf({ state, ageMs, report }: ListedHost): string[] {
  const offset = report?.clock_offset_seconds ?? 0;
  return [
    state === "silent" ? `silent for ${formatAge(ageMs)}` : "",
    state === "not-ready" ? `not ready (${report!.reasons.join(", ")})` : "",
    Math.abs(offset) > MAX_CLOCK_SECONDS
      ? `its clock is ${Math.round(Math.abs(offset))} s ${offset < 0 ? "behind" : "ahead of"} the database's`
      : "",
  ].filter((text) => text !== "");
}
