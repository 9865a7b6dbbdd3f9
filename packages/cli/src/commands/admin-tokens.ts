// admin-tokens.ts: formats `inkling admin-tokens create | list | revoke`, and implements `inkling admin-tokens rotate`.

import { ADMIN_TOKENS } from "@inkling/operations";
import type { Command } from "commander";
import { cliAuthor } from "../config/environment.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { addResource } from "../runtime/operation-command.ts";
import { withStore } from "../runtime/store.ts";
import { formatAgo, printable, table } from "../terminal/terminal.ts";

const HEAD = ["NAME", "ROLE", "STATE", "TOKEN", "AUTHOR", "CREATED", "LAST USED", "EXPIRES"];

export function addAdminTokens(program: Command, context: Context): void {
  const group = addResource(program, context, ADMIN_TOKENS, {
    create_admin_token: {
      text: ({ token }) => token,
      remark: ({ name, role }) =>
        `Created the admin token ${name} with the role ${role}. The token is shown only once: Inkling keeps only its hash.`,
    },
    list_admin_tokens: {
      empty: "There are no named admin tokens yet; `inkling admin-tokens create` creates one.",
      text: ({ admin_tokens }) => {
        const rows = admin_tokens.map(({ name, role, state, hint, author, created_at, ...token }) => {
          const created = formatAgo(Date.now() - Date.parse(created_at));
          const { last_used_at, expires_at } = token;
          return [name, role, state, hint, author, created, last_used_at ?? "never", expires_at ?? "never"];
        });
        return printable(table([HEAD, ...rows]));
      },
    },
    revoke_admin_token: {
      text: ({ name, also_revoked: created }) => {
        const also = created.length === 0 ? "" : ` Also revoked what it created: ${created.join(", ")}.`;
        return `Revoked the admin token ${name}, and ended its console sessions.${also}`;
      },
    },
  });
  addRotate(group, context);
}

// Not an operation, because nobody may replace the root token over HTTP.
function addRotate(group: Command, context: Context): void {
  const command = group
    .command("rotate")
    .description("create and print a new root token; the previous root token stops working immediately")
    .addHelpText(
      "after",
      `
\`inkling up\` creates and shows the first root token; before \`inkling serve\`, create it with this command. Inkling keeps
only its hash. Named tokens remain valid until \`inkling admin-tokens revoke\` revokes them.

Examples:
  inkling admin-tokens create trial --role read    a token for trying the admin API; other tokens stay valid`,
    );
  addAction(command, context, ["dataDir"], async ({ settings }) => {
    const token = await withStore(settings, context.terminal, (store) =>
      store.adminToken.rotate(cliAuthor()),
    );
    context.terminal.err("Created a new root token. It is shown only once: Inkling keeps only its hash.\n");
    context.terminal.out(token);
  });
}
