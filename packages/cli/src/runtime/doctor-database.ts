// doctor-database.ts: the checks of `inkling doctor` on the database, one row each (doctor-checks.ts).

import { existsSync } from "node:fs";
import { type ListedHost, listHosts } from "@inkling/server";
import { isSharedDatabase } from "@inkling/server/store";
import { processEnvironment } from "../config/environment.ts";
import { databaseFile } from "../config/settings.ts";
import { formatAge } from "../terminal/terminal.ts";
import { type Checkup, type Finding, note, ok, problem, type Row } from "./doctor-checks.ts";
import { countKeys, knowsKeys } from "./keys.ts";
import { databaseState, databaseTroubles, withStore } from "./store.ts";

/** The checks before this one take a while. */
const MAX_CLOCK_SECONDS = 60;
const OWN_HOST = /^(localhost|127(\.\d+){3}|\[::1\])$/;
/** Hosts that a finding names. */
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
  // Opening would make the file.
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) {
    return note(`${file} does not exist yet`, "`npx @inkling/cli keys create` makes it, and a key");
  }
  return withStore(settings, async (store) => {
    const keys = await countKeys(store, now.getTime());
    const found = `${store.label}: ${keys.live} live and ${keys.sandbox} sandbox keys in force`;
    if (keys.live + keys.sandbox === 0 && knowsKeys(settings.dataDir)) {
      const adopt = "if the database was lost, `npx @inkling/cli database adopt` writes them into it";
      return problem(
        found,
        `keys.json has some: is INKLING_DATABASE_URL right, the volume mounted? ${adopt}`,
      );
    }
    if (keys.live > 0 || settings.apiKey !== undefined) return ok(found);
    return problem(found, "make a key: `npx @inkling/cli keys create --name NAME`");
  });
}

/** Was the database lost, or replaced by an older one? */
async function databaseHistory({ settings }: Checkup): Promise<Finding> {
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return ok("no database yet");
  const troubles = await withStore(settings, async (store) =>
    databaseTroubles(await databaseState(store, settings)),
  );
  if (troubles.length === 0) return ok("as the servers of this data folder know it");
  return problem(troubles.join(" "), "`npx @inkling/cli database status` lists it; see the commands above");
}

/** Older versions had overrides that muted a feed, which this one ignores. */
async function droppedOverrides({ settings }: Checkup): Promise<Finding> {
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return ok("no database yet");
  const dropped = await withStore(settings, (store) => store.overrides.countDropped());
  if (dropped === 0) return ok("all force a flag");
  return note(
    `${dropped} muted a feed, which is no longer possible: they do not apply any more`,
    "`npx @inkling/cli audit --actor inkling` lists those that applied before the upgrade; force flags instead with `npx @inkling/cli override add`",
  );
}

/** Is the database's connection encrypted, and is it the right server's? Bun's own default is neither. */
function encryption({ settings }: Checkup): Finding {
  if (databaseFile(settings) !== undefined) return ok("not needed with SQLite");
  const { hostname, searchParams } = new URL(settings.databaseUrl);
  if (OWN_HOST.test(hostname)) return ok("not needed: the database is on this machine");
  const mode = searchParams.get("sslmode") ?? processEnvironment.PGSSLMODE ?? "disable";
  const found = `sslmode=${mode} to ${hostname}`;
  if (/^verify-(ca|full)$/.test(mode)) return ok(found);
  return note(
    `${found}: ${mode === "require" ? "any server is trusted" : "keys' hashes and overrides are sent as they are"}`,
    "unless that network is yours alone, end INKLING_DATABASE_URL with ?sslmode=verify-full&sslrootcert=FILE",
  );
}

/** Do notices of changes arrive here? */
async function notices({ settings }: Checkup): Promise<Finding> {
  if (!isSharedDatabase(settings.databaseUrl)) return ok("not needed with SQLite");
  return withStore(settings, async (store) => {
    let why: string | undefined;
    const listener = store.listen({ onNotice: () => {}, onState: (_state, reason) => (why = reason) });
    await listener.start();
    const isListening = listener.state === "listening";
    listener.stop();
    if (isListening) return ok("changes of keys and overrides by other hosts arrive at once");
    return note(
      `${why}; changes of keys and overrides are found once a second`,
      "give INKLING_DATABASE_URL an address that reaches PostgreSQL directly, or PgBouncer in session mode",
    );
  });
}

/** Quotas follow the database's clock, usage and expiries this machine's. */
async function databaseClock({ settings, now }: Checkup): Promise<Finding> {
  if (!isSharedDatabase(settings.databaseUrl)) return ok("not needed with SQLite");
  return withStore(settings, async (store) => {
    const clock = await store.readClock();
    const seconds = Math.round((now.getTime() - (clock ?? now.getTime())) / 1_000);
    const found = `this machine's clock is ${Math.abs(seconds)} s ${seconds < 0 ? "behind" : "ahead of"} the database's`;
    if (Math.abs(seconds) <= MAX_CLOCK_SECONDS) return ok(found);
    return problem(found, "let NTP keep both clocks");
  });
}

/** The other hosts of the group, as they report themselves. */
async function hosts({ settings }: Checkup): Promise<Finding> {
  if (!isSharedDatabase(settings.databaseUrl)) return ok("one, with SQLite");
  const all = await withStore(settings, (store) => listHosts(store.tables));
  const troubled = all.flatMap((host) => {
    const why = troubleOf(host);
    return why === "" ? [] : [`${host.report?.name ?? host.id}: ${why}`];
  });
  const versions = new Set(all.flatMap(({ report }) => report?.version ?? []));
  const found = `${all.length} use the database${versions.size > 1 ? `, of versions ${[...versions].sort().join(", ")}` : ""}`;
  if (troubled.length === 0) return ok(found);
  const more = troubled.length - MAX_HOSTS;
  const named = [...troubled.slice(0, MAX_HOSTS), ...(more > 0 ? [`and ${more} more`] : [])];
  return problem(
    `${found}; ${named.join("; ")}`,
    "`npx @inkling/cli hosts` shows all; `npx @inkling/cli doctor` there",
  );
}

function troubleOf({ state, ageMs, report }: ListedHost): string {
  const offset = report?.clock_offset_seconds ?? 0;
  return [
    state === "silent" ? `silent for ${formatAge(ageMs)}` : "",
    state === "not-ready" ? `not ready (${report!.reasons.join(", ")})` : "",
    Math.abs(offset) > MAX_CLOCK_SECONDS
      ? `its clock is ${Math.round(Math.abs(offset))} s ${offset < 0 ? "behind" : "ahead of"} the database's`
      : "",
  ]
    .filter((text) => text !== "")
    .join(", ");
}
