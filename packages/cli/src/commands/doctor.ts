// doctor.ts: `inkling doctor` checks this installation, and prints a fix for each problem.

import { SETTING_NAMES } from "@inkling/contract";
import type { Command } from "commander";
import { type Context, printResult, settingsFor, withSettings } from "../runtime/command.ts";
import { CHECKS, type CheckInput, type Finding, problem } from "../runtime/doctor-checks.ts";
import { EXIT, SettingsError } from "../terminal/errors.ts";
import type { Style } from "../terminal/terminal.ts";

interface Named extends Finding {
  readonly check: string;
}

export function addDoctor(program: Command, context: Context): void {
  const command = program
    .command("doctor")
    .description("check this installation, and print a fix for each problem")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
The exit code is 1 if there is a problem. Problems that \`inkling up\` fixes automatically are only notes. The command
changes nothing.

Examples:
  inkling doctor
  inkling doctor --json`,
    )
    .action(async (flags) => {
      const checks = await examine(context, flags);
      const ok = checks.every(({ state }) => state !== "problem");
      printResult(context, flags, {
        json: { ok, checks },
        text: checks.map((check) => findingText(check, context.terminal.style)).join("\n"),
        exitCode: ok ? EXIT.ok : EXIT.error,
      });
    });
  withSettings(command, SETTING_NAMES);
}

/** Checks the settings first, because every other check needs them. */
async function examine(context: Context, flags: Record<string, unknown>): Promise<Named[]> {
  let checkup: CheckInput;
  try {
    const { settings, origins } = settingsFor(context, flags, SETTING_NAMES);
    const isFolderNamed = origins.dataDir !== "default";
    checkup = { settings, terminal: context.terminal, isFolderNamed, now: new Date() };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return [
      {
        check: "settings",
        state: "problem",
        found: error.problems.join("; "),
        fix: "fix these settings, then run `inkling doctor` again for the other checks",
      },
    ];
  }
  const findings: Named[] = [{ check: "settings", state: "ok", found: "all are valid" }];
  for (const [check, look] of CHECKS) {
    try {
      findings.push({ check, ...(await look(checkup)) });
    } catch (error) {
      const { message, hint = "see the message" } = error as Error & { hint?: string };
      findings.push({ check, ...problem(message, hint) });
    }
  }
  return findings;
}

function findingText({ check, state, found, fix }: Named, style: Style): string {
  const mark = { ok: style.green("ok     "), note: style.yellow("note   "), problem: style.red("problem") }[
    state
  ];
  return `${mark}  ${check}: ${found}${fix === undefined ? "" : `\n         -> ${fix}`}`;
}
