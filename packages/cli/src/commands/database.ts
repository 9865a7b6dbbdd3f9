// database.ts: `inkling database status | adopt | confirm`: after the database was lost, or replaced by an older one.

import { resolve } from "node:path";
import type { Settings } from "@inkling/contract";
import { adoptCopies, type Copies, onlyInCopies, readCopyFiles, type Store } from "@inkling/server";
import type { Command } from "commander";
import { cliActor } from "../config/user.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { counts, databaseState, databaseTroubles, withExistingStore, withStore } from "../runtime/store.ts";
import { CliError } from "../terminal/errors.ts";

const SETTINGS = ["dataDir"] as const;

export function addDatabase(program: Command, context: Context): void {
  const database = program
    .command("database")
    .description("find and repair a database that was lost or went back to an earlier state");
  addStatus(database, context);
  addAdopt(database, context);
  addConfirm(database, context);
}

function addStatus(database: Command, context: Context): void {
  const command = database
    .command("status")
    .description("compare the database with the data folder's copies")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling database status\n  inkling database status --json");
  addAction(command, context, SETTINGS, async ({ settings }) => {
    const state = await withExistingStore(settings, (store) => databaseState(store, settings));
    const troubles = databaseTroubles(state);
    return {
      json: state,
      text:
        troubles.length === 0
          ? `${state.database} is as the servers of this data folder know it.`
          : troubles.join("\n"),
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
For a database that was lost. Without FILES it takes keys.json and overrides.json of the data folder, if the database
is empty. FILES are copies that were moved aside, such as keys.before.json. Keys keep their ids, limits and tokens.
What the database holds stays as it is, and keys that were revoked are not taken. Each change is in the audit trail.

Examples:
  inkling database adopt
  inkling database adopt /var/lib/inkling/keys.before.json`,
    );
  addAction(command, context, SETTINGS, async ({ settings }, ...args) => {
    const files = args.flat().map((file) => resolve(context.cwd, file ?? ""));
    const adopted = await withStore(settings, async (store) =>
      adoptCopies(store, await copiesOf(store, settings, files), cliActor()),
    );
    return {
      json: adopted,
      text: `Wrote ${counts(adopted.keys, adopted.overrides)} into the database. Running servers use it within a second.`,
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
      ? "these copies hold no key and no override that can be adopted"
      : `${store.label} is not empty, or ${dataDir} has no copies: there is nothing to adopt`,
    "`inkling database status` shows the state; `inkling database adopt FILE` takes a copy that was moved aside",
  );
}

function addConfirm(database: Command, context: Context): void {
  const command = database
    .command("confirm")
    .description("accept the database as it is, so that servers drop keys and overrides that it lacks")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
After an older backup was restored on purpose, or a lost database is to begin empty. Keys that the database holds work
again, also those that were revoked since. Look at \`inkling database status\` first.

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
