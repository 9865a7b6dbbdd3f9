// override-audit.ts: `inkling override audit`: who changed what.

import { auditJson, MAX_PAGE, type OverrideJson } from "@inkling/server";
import type { Command } from "commander";
import { addAction } from "../runtime/command.ts";
import type { Context } from "../runtime/context.ts";
import { withExistingStore } from "../runtime/keys.ts";
import { usage } from "../runtime/put-overrides.ts";
import { table } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir"] as const;

export function addAudit(overrides: Command, context: Context): void {
  const command = overrides
    .command("audit")
    .description("who changed what, newest first: overrides, keys, data and the admin token")
    .option("--limit <number>", "how many entries", "50")
    .option("--json", "print JSON, with before and after")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling override audit\n  inkling override audit --limit 1000 --json",
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const limit = Number(flags.limit);
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
      throw usage(`--limit must be a whole number from 1 to ${MAX_PAGE}`, "for example --limit 100");
    }
    const { items } = await withExistingStore(settings, (store) => store.overrides.audit({ limit }));
    if (items.length === 0 && !flags.json) return context.terminal.err("Nothing was changed yet.\n");
    const rows = items.map(({ at, actor, action, subject, before, after }) => {
      return [new Date(at).toISOString(), actor, action, subject, aboutText(after ?? before)];
    });
    return { json: items.map(auditJson), text: table([["WHEN", "WHO", "WHAT", "ID", "ABOUT"], ...rows]) };
  });
}

const shortEffect = ({ kind, value, flag, verdict, mute }: OverrideJson) =>
  `${shortValue({ kind, value })} ${flag === null ? `mute ${mute}` : `${flag}=${verdict}`}`;

/** The subject of an audit entry: an override, a key by its name, the release in use. */
function aboutText(about: unknown): string {
  if (typeof about !== "object" || about === null) return "";
  if ("value" in about) return shortEffect(about as OverrideJson);
  const { name, current } = about as { readonly name?: unknown; readonly current?: unknown };
  return String(name ?? current ?? "");
}

/** A hash has 64 characters: the first 12 identify it. */
export const shortValue = ({ kind, value }: Pick<OverrideJson, "kind" | "value">) =>
  kind === "email_hash" ? `email ${value.slice(0, 12)}…` : value;
