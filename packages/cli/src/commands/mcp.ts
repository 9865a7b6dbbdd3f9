// mcp.ts: `inkling mcp` offers operations as tools to an agent that starts the command, by the Model Context Protocol
// over standard input and output. Operations run in this process, so no server needs to run.

import { ADMIN_ROLE_TEXTS, ADMIN_ROLES, type AdminRole, type Settings } from "@inkling/contract";
import { LOOKUPS } from "@inkling/engine";
import { AdminProblem, type Lookups } from "@inkling/operations";
import type { ToolRunner } from "@inkling/server/mcp";
import { type Command, Option } from "commander";
import { openAnswerData } from "../runtime/answer.ts";
import { addAction, type Context } from "../runtime/command.ts";
import { AUTHOR, authorOf, withContext } from "../runtime/operation-command.ts";
import { newestRuleset } from "../runtime/rulesets.ts";
import { printable } from "../terminal/terminal.ts";

const ROLE_HELP = ADMIN_ROLES.map((role) => `${role}: ${ADMIN_ROLE_TEXTS[role]}`).join("; ");

export function addMcp(program: Command, context: Context): void {
  const command = program
    .command("mcp")
    .description("offer lookups, decisions and other operations as tools to an agent (MCP)")
    .addOption(
      new Option("--role <role>", `what the agent may do (${ROLE_HELP})`)
        .choices(ADMIN_ROLES)
        .default("read"),
    )
    .option(...AUTHOR)
    .addHelpText(
      "after",
      `
An agent's program starts this command and talks to it over standard input and output. A running server offers the same
tools at /admin/v1/mcp of its admin API, to programs that send an admin token.

Examples:
  inkling mcp
  inkling mcp --role analyst --author "ada's agent"`,
    );
  addAction(command, context, ["dataDir"], async ({ settings, flags }) => {
    const { problemLines, serveTools } = await import("@inkling/server/mcp");
    const { terminal, stopper, version } = context;
    const by = { ...authorOf(flags), source: "mcp" } as const;
    const call = { context, settings, flags, by };
    const lookups = await lookupsOf(settings, stopper.signal);
    const report = (error: Error) => terminal.err(`${printable(error.message)}\n`);
    const runner: ToolRunner = {
      version,
      role: flags.role as AdminRole, // one of the option's choices
      isServer: false,
      run: (_, operation, input) =>
        withContext(operation, call, (here) => operation.run({ ...here, lookups }, input)),
      explain: (error) => {
        if (error instanceof AdminProblem) return problemLines(error);
        if (!(error instanceof Error)) return [String(error)];
        report(error);
        return "hint" in error && error.hint ? [error.message, String(error.hint)] : [error.message];
      },
    };
    await serveTools(runner, stopper.signal, report);
  });
}

/** Looks up like a server, but opens the data folder and the database for each call. */
async function lookupsOf(settings: Settings, signal: AbortSignal): Promise<Lookups> {
  const { lookUp, lookUpHistory, assessForOperator } = await import("@inkling/server/operator-lookups");
  const caller = { owner: "", signal };
  const source = async () => {
    const { release, overrides } = await openAnswerData(settings, LOOKUPS);
    return {
      releases: { current: release, open: () => release, feeds: release.manifest.feeds },
      overrides: { current: overrides },
      rulesets: { current: (await newestRuleset(settings)).value },
      settings,
      now: Date.now,
    };
  };
  return {
    lookUp: async (values, parts) => lookUp(await source(), values, parts, caller),
    lookUpHistory: async (value) => lookUpHistory(await source(), value, caller),
    assess: async (visitor, draft) => assessForOperator(await source(), visitor, draft, caller),
  };
}
