// database.ts: `inkling database copy` moves a database.

import type { Command } from "commander";
import type { Context } from "../runtime/command.ts";
import { addDatabaseCopy } from "./database-copy.ts";

export function addDatabase(program: Command, context: Context): void {
  const database = program.command("database").description("copy the database to another one");
  addDatabaseCopy(database, context);
}
