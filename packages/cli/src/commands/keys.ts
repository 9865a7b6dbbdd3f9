// keys.ts: formats the texts of `inkling keys create | list | update | revoke | rotate | usage`, and implements `list`
// and `revoke` for the time while the database is unreachable.

import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER, messageOf } from "@inkling/data";
import { type Input, KEYS, type Output } from "@inkling/operations";
import { keyJson, RevokedFile, SCOPES, StoreError } from "@inkling/store";
import { DAY_MS } from "@inkling/store/keys/day";
import type { Command } from "commander";
import { cliAuthor } from "../config/environment.ts";
import type { Context, Result } from "../runtime/command.ts";
import { addResource } from "../runtime/operation-command.ts";
import { copiedKeys } from "../runtime/store.ts";
import { CliError } from "../terminal/errors.ts";
import { formatCount, table, warn } from "../terminal/terminal.ts";

const SHOWN_ONCE = "It is shown only once: Inkling keeps only its hash.";
const ACCEPTED = "A running server accepts it within a second, and returns 401 until then.";

export const addKeys = (program: Command, context: Context) =>
  addResource(program, context, KEYS, {
    create_key: {
      text: ({ token }) => token,
      remark: (key, _, isFirst) => `Created ${describe(key)}. ${SHOWN_ONCE}${isFirst ? "" : ` ${ACCEPTED}`}`,
    },
    list_keys: {
      empty: "There are no keys yet; `inkling keys create` creates one.",
      text: ({ keys }) => listText(keys),
      unreachable: listCopy,
    },
    change_key: {
      text: (key, { rate, burst, traced_until }) =>
        [
          `Updated ${describe(key)}. A running server applies it within a second.`,
          rate !== undefined && burst === undefined && burstNote(key),
          traced_until && `Until ${key.traced_until}, each server logs "key-traced" with the networks.`,
        ]
          .filter(Boolean)
          .join("\n"),
    },
    revoke_key: {
      text: (key) => `Revoked ${describe(key)} at ${key.revoked_at}.`,
      here: {
        help: "while the database is unreachable: make only the servers on this data folder refuse it",
        run: (settings, { id }) => revokeHere(settings, id),
      },
      unreachable: ({ code, message, hint, isReadOnly }, { id }) => {
        const here = `Until then, \`inkling keys revoke ${id} --here\` makes this host refuse the key; repeat it on each host`;
        throw new StoreError(code, message, `${hint}. ${here}`, isReadOnly);
      },
    },
    rotate_key: {
      text: ({ token }) => token,
      remark: (key, { overlap_seconds }) =>
        `New token for ${describe(key)}. ${SHOWN_ONCE} ${ACCEPTED} The old token expires ${overlap_seconds === 0 ? "now" : `at ${key.old_token_valid_until}`}.`,
    },
    key_usage: {
      text: ({ from, to, usage }) =>
        usage.length === 0 ? `No lookup or refusal from ${from} to ${to}.` : usageText(usage),
    },
  });

type Key = Output<typeof KEYS.operations.change_key>;
type ListedKey = Output<typeof KEYS.operations.list_keys>["keys"][number];
/** A key in a list. The counts are null while the database is unreachable. */
type Row = Key & { [Name in "last_used_at" | "lookups_today" | "refused_today"]: ListedKey[Name] | null };

const describe = ({ id, name, mode }: Pick<Key, "id" | "name" | "mode">) =>
  `${mode === "test" ? "sandbox" : "live"} key ${id} "${name}"`;

/** Returns a note that the burst size does not change, if it is above the default of twice the new rate. */
const burstNote = ({ rate, burst }: Key) =>
  rate !== null &&
  rate > 0 &&
  burst !== null &&
  burst > 2 * rate &&
  `Its burst size is still ${formatCount(burst)}; \`--burst default\` makes it twice the rate.`;

function listText(keys: readonly Row[]): string {
  const rows = keys.map(({ lookups_today: today, last_used_at, rate, quota, ...key }) => [
    key.id,
    key.hint,
    key.name,
    `${key.state}${Date.parse(key.traced_until ?? "") > Date.now() ? ", traced" : ""}`,
    key.scopes.join(","),
    key.networks.join(",") || "any",
    rate === null ? "server's" : rate === 0 ? "none" : `${formatCount(rate)}/s`,
    today === null ? "?" : formatCount(sumOf(today)),
    quota === null ? "none" : `${formatCount(quota)}/day`,
    last_used_at ?? (today === null ? "?" : "never"),
    key.expires_at ?? "never",
  ]);
  const head = "ID,KEY,NAME,STATE,SCOPES,NETWORKS,RATE,TODAY,QUOTA,LAST USED,EXPIRES".split(",");
  return table([head, ...rows], [head.indexOf("TODAY")]);
}

type Usage = Output<typeof KEYS.operations.key_usage>["usage"];

function usageText(usage: Usage): string {
  const rows = usage.map(({ at, total, batch, refused, flagged, ...lookups }) => [
    at,
    ...[...SCOPES.map((scope) => lookups[scope]), total, sumOf(batch), sumOf(refused), sumOf(flagged)].map(
      formatCount,
    ),
  ]);
  const head = ["DAY", ...SCOPES.map((scope) => scope.toUpperCase()), "TOTAL", "BATCH", "REFUSED", "FLAGGED"];
  return table(
    [head, ...rows],
    head.slice(1).map((_, i) => i + 1),
  );
}

const sumOf = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Lists the keys of the data folder's copy. @throws StoreError if there is no copy */
function listCopy(
  error: StoreError,
  input: Input<typeof KEYS.operations.list_keys>,
  { dataDir }: Settings,
  { terminal }: Context,
): Result {
  const copied = new Map(copiedKeys(dataDir)?.tokens.map(({ key }) => [key.id, key]));
  if (copied.size === 0) throw error;
  warn(
    terminal,
    `${error.message}. These are the active keys that this host last read, without usage\nhint: ${error.hint}`,
  );
  const unknown = { last_used_at: null, lookups_today: null, refused_today: null };
  const { expires_in_days: days } = input;
  const until = days === undefined ? undefined : Date.now() + days * DAY_MS;
  const keys = [...copied.values()]
    .filter(({ expiresAt }) => until === undefined || (expiresAt !== undefined && expiresAt <= until))
    .map((key) => ({ ...keyJson(key, Date.now()), ...unknown }));
  return { json: keys, text: () => listText(keys) };
}

const KEY_ID = /^key_[0-9A-Za-z]{16}$/;

/**
 * Makes this host refuse a key, without the database. If the data folder has no copy of the keys, any id counts.
 * @throws CliError if the copy does not have the key, or if the file cannot be written
 */
function revokeHere({ dataDir }: Settings, id: string): Result {
  const copy = copiedKeys(dataDir);
  const key = copy?.tokens.find((token) => token.key.id === id)?.key;
  if (!KEY_ID.test(id) || (copy !== undefined && key === undefined)) {
    throw new CliError(
      `${join(dataDir, DATA_FOLDER.keys)} has no active key ${JSON.stringify(id.slice(0, 40))}`,
      "run `inkling keys list` to see all key ids, also while the database is unreachable",
    );
  }
  const file = new RevokedFile(join(dataDir, DATA_FOLDER.revoked));
  try {
    file.add([{ id, at: Date.now(), author: cliAuthor().author }]);
  } catch (error) {
    throw new CliError(
      `cannot write ${file.path}: ${messageOf(error)}; the key is still accepted`,
      "free disk space, or run the command as the user of the server",
    );
  }
  const name = key === undefined ? `the key ${id}, which this host has no copy of` : describe(key);
  return {
    json: { id, revoked_here: true },
    text: `Servers on ${dataDir} refuse ${name}, within a second. Other hosts accept it until you repeat this command there. When the database is reachable again, run \`inkling keys revoke ${id}\`.`,
  };
}
