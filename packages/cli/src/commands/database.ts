// database.ts: `inkling database status | adopt | confirm` handles a database that was lost or replaced by an older
// one.

import { resolve } from "node:path";
import type { Settings } from "@inkling/contract";
import { adoptCopies, type Copies, onlyInCopies, readCopyFiles, type Store } from "@inkling/store";
import type { Command } from "commander";
import { cliActor } from "../config/user.ts";
import { addAction, type Context, printResult } from "../runtime/command.ts";
import {
  counts,
  databaseState,
  databaseTroubles,
  isLostOrReplaced,
  leftoverTexts,
  lostDatabase,
  lostDatabaseState,
  withExistingStore,
  withNewStore,
} from "../runtime/store.ts";
import { CliError, EXIT } from "../terminal/errors.ts";
import { addDatabaseCopy } from "./database-copy.ts";

const SETTINGS = ["dataDir"] as const;

/** What an adopted database lacks. */
const ONLY_IN_BACKUPS = `The copies hold only keys and overrides. Only a backup restores admin tokens, usage, the audit trail, rulesets and
webhooks. Stored decisions are in neither. Without a backup, create admin tokens with \`inkling admin-tokens create\`. Until
you publish a ruleset, servers apply the newest one from ruleset.json, if that file exists.`;

export function addDatabase(program: Command, context: Context): void {
  const database = program
    .command("database")
    .description("check for a database that was lost or reverted to an earlier state, and repair it");
  addStatus(database, context);
  addAdopt(database, context);
  addConfirm(database, context);
  addDatabaseCopy(database, context);
}

function addStatus(database: Command, context: Context): void {
  const command = database
    .command("status")
    .description("compare the database with the data folder's copies")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The exit code is 1 if the database is missing or empty, or went back to an earlier state.

Examples:
  inkling database status
  inkling database status --json`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const lost = lostDatabase(settings);
    if (lost !== undefined) {
      const state = lostDatabaseState(settings);
      const lines = databaseTroubles(state).join("\n");
      printResult(context, flags, { json: state, text: lines });
      throw lost;
    }
    const state = await withExistingStore(settings, (store) => databaseState(store, settings));
    const troubles = databaseTroubles(state);
    const matches = `${state.database} matches the data folder's copies.`;
    return {
      json: state,
      text: [...(troubles.length === 0 ? [matches] : troubles), ...leftoverTexts(state)].join("\n"),
      exitCode: isLostOrReplaced(state) ? EXIT.error : EXIT.ok,
    };
  });
}

function addAdopt(database: Command, context: Context): void {
  const command = database
    .command("adopt [files...]")
    .description("write keys and overrides from the data folder's copies to the database")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Use this after a database was lost. Without FILES, it reads keys.json and overrides.json in the data folder, and the
database must be empty. FILES are copies that were moved aside, such as keys.before.json. Keys keep their ids, limits
and tokens. Existing rows do not change, and revoked keys are skipped. The audit trail records each change.

${ONLY_IN_BACKUPS}

Examples:
  inkling database adopt
  inkling database adopt /var/lib/inkling/keys.before.json`,
    );
  addAction(command, context, SETTINGS, async ({ settings }, ...args) => {
    const files = args.flat().map((file) => resolve(context.cwd, file ?? ""));
    const adopted = await withNewStore(settings, async (store) =>
      adoptCopies(store, await copiesOf(store, settings, files), cliActor()),
    );
    return {
      json: adopted,
      text: `Wrote ${counts(adopted.keys, adopted.overrides)} into the database. Running servers use them within a second.\n\n${ONLY_IN_BACKUPS}`,
    };
  });
}

async function copiesOf(store: Store, { dataDir }: Settings, files: readonly string[]): Promise<Copies> {
  let copies: Copies;
  try {
    copies = files.length > 0 ? readCopyFiles(dataDir, files) : await onlyInCopies(store, dataDir);
  } catch (error) {
    throw new CliError((error as Error).message, "name a copy such as keys.json or overrides.json");
  }
  if (copies.tokens.length + copies.overrides.length > 0) return copies;
  throw new CliError(
    files.length > 0
      ? "these copies have no keys or overrides to adopt"
      : `${store.label} is not empty, or ${dataDir} has no copies: there is nothing to adopt`,
    "`inkling database status` shows the state; `inkling database adopt FILE` reads a copy that was moved aside",
  );
}

function addConfirm(database: Command, context: Context): void {
  const command = database
    .command("confirm")
    .description("accept the database as it is; servers drop keys and overrides that it does not have")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Use this after you restored an older backup on purpose, or to start with an empty database. All keys in the database
work again, including keys revoked after the backup. Run \`inkling database status\` first.

Examples:
  inkling database confirm`,
    );
  addAction(command, context, SETTINGS, async ({ settings }) => {
    await withExistingStore(settings, (store) => store.confirmHistory(cliActor()));
    return {
      json: { confirmed: true },
      text: "Confirmed. Running servers follow the database within a second.",
    };
  });
}
