// admin-tokens.ts: `inkling admin-tokens create | list | revoke` manages named tokens for the admin API and the
// console.
//
// The command writes directly to the database, as `inkling keys` does. Running servers read the database for each admin
// request.

import { ADMIN_ROLE_TEXTS, ADMIN_ROLES } from "@inkling/contract";
import { type AdminToken, adminTokenJson, parseNewAdminToken } from "@inkling/store";
import { type Command, Option } from "commander";
import { cliActor } from "../config/user.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { expiryOf } from "../runtime/durations.ts";
import { warnOfNewDatabase, withExistingStore, withStore } from "../runtime/store.ts";
import { CliError } from "../terminal/errors.ts";
import { formatAgo, printable, table } from "../terminal/terminal.ts";
import { checkedInput } from "./keys.ts";

const SETTINGS = ["dataDir"] as const;

export function addAdminTokens(program: Command, context: Context): void {
  const tokens = program
    .command("admin-tokens")
    .description("create, list and revoke named tokens of the admin API and the console");
  addCreate(tokens, context);
  addList(tokens, context);
  addRevoke(tokens, context);
}

function addCreate(tokens: Command, context: Context): void {
  const command = tokens
    .command("create <name>")
    .description("create a named admin token; standard output has only the token")
    .addOption(
      new Option("--role <role>", ADMIN_ROLES.map((role) => `${role}: ${ADMIN_ROLE_TEXTS[role]}`).join("; "))
        .choices(ADMIN_ROLES)
        .makeOptionMandatory(),
    )
    .option("--expires <time>", "when it expires: 90d, 2027-01-31 or 2027-01-31T12:00:00Z (default: never)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The audit trail names the token as the author of each change. Give each person and each program a separate token.

Examples:
  inkling admin-tokens create ada --role admin
  inkling admin-tokens create bea --role analyst
  TOKEN=$(inkling admin-tokens create support --role read --expires 90d)`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, name: string) => {
    const now = Date.now();
    const asked = { name, role: flags.role, expires_at: expiryOf(flags.expires, now) };
    const wanted = checkedInput(
      "Cannot create this admin token:",
      "admin-tokens create",
      flags,
      () => parseNewAdminToken(asked, now),
      "name",
    );
    warnOfNewDatabase(settings, context.terminal);
    const { adminToken, token } = await withStore(settings, (store) =>
      store.adminToken.add(wanted, cliActor()),
    );
    const remark = `Created the admin token ${name} with the role ${wanted.role}. The token is shown only once: Inkling keeps only its hash.`;
    if (!flags.json) context.terminal.err(`${remark}\n`);
    return { json: { ...adminTokenJson(adminToken, now), token }, text: token };
  });
}

function addList(tokens: Command, context: Context): void {
  const command = tokens
    .command("list")
    .description("list named admin tokens, oldest first, without the tokens themselves")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling admin-tokens list");
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const now = Date.now();
    const all = await withExistingStore(settings, (store) => store.adminToken.list());
    if (all.length === 0 && !flags.json) {
      return context.terminal.err(
        "There are no named admin tokens yet; `inkling admin-tokens create` creates one.\n",
      );
    }
    return { json: all.map((token) => adminTokenJson(token, now)), text: () => listText(all, now) };
  });
}

function listText(all: readonly AdminToken[], now: number): string {
  const rows = all.map((token) => {
    const { state, last_used_at, expires_at } = adminTokenJson(token, now);
    const { name, role, hint, author, createdAt } = token;
    const created = formatAgo(now - createdAt);
    return [name, role, state, hint, author, created, last_used_at ?? "never", expires_at ?? "never"];
  });
  const head = ["NAME", "ROLE", "STATE", "TOKEN", "AUTHOR", "CREATED", "LAST USED", "EXPIRES"];
  return printable(table([head, ...rows]));
}

function addRevoke(tokens: Command, context: Context): void {
  const command = tokens
    .command("revoke <name>")
    .description(
      "permanently revoke a named admin token and the tokens that it created, and end their console sessions",
    )
    .option("--keep-created", "keep the tokens that it created")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling admin-tokens revoke NAME\n  inkling admin-tokens revoke NAME --keep-created",
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }, name: string) => {
    const revoked = await withExistingStore(settings, (store) =>
      store.adminToken.revoke(name, cliActor(), flags.keepCreated === true),
    );
    if (revoked === undefined) {
      throw new CliError(
        `there is no admin token ${JSON.stringify(name.slice(0, 63))}`,
        "`inkling admin-tokens list` lists all names",
      );
    }
    const created = revoked.created.map((token) => token.name);
    const also = created.length === 0 ? "" : ` Also revoked what it created: ${created.join(", ")}.`;
    return {
      json: { ...adminTokenJson(revoked.token, Date.now()), also_revoked: created },
      text: `Revoked the admin token ${name}, and ended its console sessions.${also}`,
    };
  });
}
