// admin.ts: `inkling admin token rotate`: the root token of the admin API. Named tokens: admin-tokens.ts.

import type { Command } from "commander";
import { cliActor } from "../config/user.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { warnOfNewDatabase, withStore } from "../runtime/store.ts";

export function addAdmin(program: Command, context: Context): void {
  const admin = program.command("admin").description("manage access to the admin API");
  const token = admin.command("token").description("manage the root token of the admin API");
  const command = token
    .command("rotate")
    .description("create and print a new admin token; the previous one expires at once")
    .addHelpText(
      "after",
      `
\`inkling up\` makes the first one and shows it; for \`inkling serve\` this makes it. Only its hash is kept.
Named tokens remain valid: \`inkling admin-tokens revoke\` ends them.

Examples:
  TOKEN=$(inkling admin token rotate)
  curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8081/admin/v1/overrides`,
    );
  addAction(command, context, ["dataDir"], async ({ settings }) => {
    warnOfNewDatabase(settings, context.terminal);
    const made = await withStore(settings, (store) => store.adminToken.rotate(cliActor()));
    context.terminal.err("Created a new admin token. It is shown this once: only its hash is kept.\n");
    context.terminal.out(made);
  });
}
