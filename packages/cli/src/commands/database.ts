// database.ts: `inkling database copy` moves an installation from SQLite to PostgreSQL.

import { join, resolve } from "node:path";
import { DATA_FOLDER } from "@inkling/data";
import type { Command } from "commander";
import { cliAuthor } from "../config/user.ts";
import { copyDatabase } from "../runtime/backup.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { LiveLine } from "../terminal/progress.ts";
import { formatCount } from "../terminal/terminal.ts";
import { listing } from "./backup.ts";

const SETTINGS = ["dataDir"] as const;
/** Minimum number of rows of a table whose progress is shown. */
const LONG_TABLE = 10_000;

export function addDatabase(program: Command, context: Context): void {
  const command = program
    .command("database")
    .description("copy the database to another one")
    .command("copy")
    .description("copy all tables of the SQLite database to an empty PostgreSQL database")
    .option("--from <file>", "SQLite database (default: inkling.db in the data folder)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Stop the server first, because later changes are not copied. Set INKLING_DATABASE_URL to the PostgreSQL database, copy, and
start the server. The copy is one transaction, and includes stored decisions, usage and the hashes of all tokens, so keys and
admin tokens remain valid. The SQLite database does not change.

Examples:
  inkling database copy`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const line = new LiveLine(context.terminal);
    const showRows = (table: string, done: number, total: number) => {
      if (total >= LONG_TABLE) line.show(`${table}: ${formatCount(done)} of ${formatCount(total)} rows`);
    };
    const file = resolve(flags.from ?? join(settings.dataDir, DATA_FOLDER.database));
    const copying = copyDatabase(settings, file, cliAuthor(), showRows);
    const { from, to, rows } = await copying.finally(() => line.clear());
    return {
      json: { from, to, rows },
      text: `Copied ${listing(rows, [])} from ${from} to ${to}. Start the server.`,
    };
  });
}
