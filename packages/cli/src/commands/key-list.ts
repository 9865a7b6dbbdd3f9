// key-list.ts: implements `inkling keys list`.

import { recordOf, type Settings } from "@inkling/contract";
import { formatPrefix } from "@inkling/engine";
import {
  dayOf,
  type Key,
  keyJson,
  keyState,
  SCOPES,
  type Scope,
  type Store,
  StoreError,
} from "@inkling/store";
import type { Command } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { copiedKeys, withExistingStore } from "../runtime/store.ts";
import { formatCount, type Terminal, table, warn } from "../terminal/terminal.ts";

export function addKeyList(keys: Command, context: Context): void {
  const command = keys
    .command("list")
    .description("list all keys with today's lookups (UTC), without their tokens")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
While the database is unreachable, the command lists the active keys of this host's copy, without usage.

Examples:
  inkling keys list
  inkling keys list --json`,
    );
  addAction(command, context, ["dataDir"], async ({ settings, flags }) => {
    const now = Date.now();
    const { isCopy, all } = await listKeys(settings, now, context.terminal);
    if (all.length === 0 && !flags.json) {
      return context.terminal.err("There are no keys yet; `inkling keys create` creates one.\n");
    }
    const rows = all.map((entry) => listRow(entry, now));
    return {
      json: all.map(({ key, today, lastDay }) => ({
        ...keyJson(key, now),
        last_used_at: lastDay ?? null,
        lookups_today: today ?? null,
        origin: isCopy ? "copy" : "database",
      })),
      text: table([LIST_HEAD, ...rows], [LIST_HEAD.indexOf("TODAY")]),
    };
  });
}

const LIST_HEAD = [
  "ID",
  "KEY",
  "NAME",
  "STATE",
  "SCOPES",
  "NETWORKS",
  "RATE",
  "TODAY",
  "QUOTA",
  "LAST USED",
  "EXPIRES",
];

interface KeyUsage {
  readonly key: Key;
  /** Undefined while the database is unreachable. */
  readonly today: Readonly<Record<Scope, number>> | undefined;
  /** The UTC day, such as "2026-06-01". */
  readonly lastDay: string | undefined;
}

function listRow({ key, today, lastDay }: KeyUsage, now: number): string[] {
  return [
    key.id,
    key.hint,
    key.name,
    `${keyState(key, now)}${isTraced(key, now) ? ", traced" : ""}`,
    key.scopes.join(","),
    key.networks.map(formatPrefix).join(",") || "any",
    rateOf(key),
    today === undefined ? "?" : formatCount(SCOPES.reduce((sum, lookup) => sum + today[lookup], 0)),
    key.quota === undefined ? "none" : `${formatCount(key.quota)}/day`,
    lastDay ?? (today === undefined ? "?" : "never"),
    key.expiresAt === undefined ? "never" : new Date(key.expiresAt).toISOString(),
  ];
}

const isTraced = ({ tracedUntil = 0 }: Key, now: number) => tracedUntil > now;

function rateOf({ rate }: Key): string {
  if (rate === undefined) return "server's";
  return rate === 0 ? "none" : `${formatCount(rate)}/s`;
}

interface Listed {
  /** Whether the keys come from the data folder's copy. */
  readonly isCopy: boolean;
  readonly all: readonly KeyUsage[];
}

/** Lists the keys of the database, or while it is unreachable, those of the data folder's copy. */
async function listKeys(settings: Settings, now: number, terminal: Terminal): Promise<Listed> {
  try {
    return await withExistingStore(settings, async (store) => ({
      isCopy: false,
      all: await keysWithUsage(store, now),
    }));
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "UNREACHABLE") throw error;
    const keys = new Map(copiedKeys(settings.dataDir)?.tokens.map(({ key }) => [key.id, key]));
    if (keys.size === 0) throw error;
    warn(
      terminal,
      `${error.message}. These are the active keys that this host last read, without usage\nhint: ${error.hint}`,
    );
    const all = [...keys.values()].map((key) => ({ key, today: undefined, lastDay: undefined }));
    return { isCopy: true, all };
  }
}

/** Lists all keys, each with the number of its lookups today (UTC). */
async function keysWithUsage(store: Store, now: number): Promise<KeyUsage[]> {
  const [keys, usage, lastDays] = await Promise.all([
    store.listKeys(),
    store.usage.readDay(dayOf(now)),
    store.usage.readLastDays(),
  ]);
  return keys.map((key) => {
    const counts = usage.get(key.id);
    const today = recordOf(SCOPES, (scope) => counts?.[scope] ?? 0);
    return { key, today, lastDay: lastDays.get(key.id) };
  });
}
