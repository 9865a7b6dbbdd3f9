// key-list.ts: implements `inkling keys list`.

import { recordOf } from "@inkling/contract";
import { formatPrefix } from "@inkling/engine";
import {
  dayOf,
  type Key,
  keyJson,
  keyState,
  onlyInCopies,
  SCOPES,
  type Scope,
  type Store,
} from "@inkling/server";
import type { Command } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { ONLY_IN_COPIES, withExistingStore } from "../runtime/store.ts";
import { formatCount, table, warn } from "../terminal/terminal.ts";

export function addKeyList(keys: Command, context: Context): void {
  const command = keys
    .command("list")
    .description("list all keys with today's lookups (UTC), without their tokens")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling keys list\n  inkling keys list --json");
  addAction(command, context, ["dataDir"], async ({ settings, flags }) => {
    const now = Date.now();
    const { copied, all } = await withExistingStore(settings, async (store) => {
      const { tokens } = await onlyInCopies(store, settings.dataDir);
      const known = new Map(tokens.map(({ key }) => [key.id, key]));
      return { copied: known, all: await keysWithUsage(store, [...known.values()], now) };
    });
    if (copied.size > 0) warn(context.terminal, ONLY_IN_COPIES);
    if (all.length === 0 && !flags.json) {
      return context.terminal.err("There are no keys yet; `inkling keys create` creates one.\n");
    }
    const rows = all.map((entry) => listRow(entry, now));
    return {
      json: all.map(({ key, today, lastDay }) => ({
        ...keyJson(key, now),
        last_used_at: lastDay ?? null,
        lookups_today: today,
        origin: copied.has(key.id) ? "copy" : "database",
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
  readonly today: Readonly<Record<Scope, number>>;
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
    formatCount(SCOPES.reduce((sum, lookup) => sum + today[lookup], 0)),
    key.quota === undefined ? "none" : `${formatCount(key.quota)}/day`,
    lastDay ?? "never",
    key.expiresAt === undefined ? "never" : new Date(key.expiresAt).toISOString(),
  ];
}

const isTraced = ({ tracedUntil = 0 }: Key, now: number) => tracedUntil > now;

function rateOf({ rate }: Key): string {
  if (rate === undefined) return "server's";
  return rate === 0 ? "none" : `${formatCount(rate)}/s`;
}

/** Lists all keys, each with the number of its lookups today (UTC). */
async function keysWithUsage(store: Store, copied: readonly Key[], now: number): Promise<KeyUsage[]> {
  const [keys, usage, lastDays] = await Promise.all([
    store.listKeys(),
    store.usage.readDay(dayOf(now)),
    store.usage.readLastDays(),
  ]);
  return [...keys, ...copied].map((key) => {
    const counts = usage.get(key.id);
    const today = recordOf(SCOPES, (scope) => counts?.[scope] ?? 0);
    return { key, today, lastDay: lastDays.get(key.id) };
  });
}
