// admin.ts: `inkling admin token rotate` replaces the admin API's root token. For named tokens, see admin-tokens.ts.

import type { Command } from "commander";
import { cliAuthor } from "../config/user.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { warnOfNewDatabase, withStore } from "../runtime/store.ts";

export function addAdmin(program: Command, context: Context): void {
  const admin = program.command("admin").description("manage access to the admin API");
  const token = admin.command("token").description("manage the root token of the admin API");
  const command = token
    .command("rotate")
    .description("create and print a new root token; the previous root token stops working immediately")
    .addHelpText(
      "after",
      `
\`inkling up\` creates and shows the first admin token; before \`inkling serve\`, create it with this command. Inkling keeps
only its hash. Named tokens remain valid until \`inkling admin-tokens revoke\` revokes them.

Examples:
  inkling admin-tokens create trial --role read    to try the admin API: a named token, which replaces no other`,
    );
  addAction(command, context, ["dataDir"], async ({ settings }) => {
    warnOfNewDatabase(settings, context.terminal);
    const made = await withStore(settings, (store) => store.adminToken.rotate(cliAuthor()));
    context.terminal.err("Created a new admin token. It is shown only once: Inkling keeps only its hash.\n");
    context.terminal.out(made);
  });
}
