// admin-tokens.ts: the texts of `inkling admin-tokens create | list | revoke`.

import { ADMIN_TOKENS } from "@inkling/operations";
import type { Command } from "commander";
import type { Context } from "../runtime/command.ts";
import { addResource } from "../runtime/operation-command.ts";
import { formatAgo, printable, table } from "../terminal/terminal.ts";

const HEAD = ["NAME", "ROLE", "STATE", "TOKEN", "AUTHOR", "CREATED", "LAST USED", "EXPIRES"];

export const addAdminTokens = (program: Command, context: Context) =>
  addResource(program, context, ADMIN_TOKENS, {
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
