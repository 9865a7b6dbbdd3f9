// decisions.ts: `inkling decisions export`, which prints decisions while it reads them, and the texts of the commands that
// derive from rows.

import { DECISIONS, type Output } from "@inkling/operations";
import { decisionJson } from "@inkling/store";
import type { Command } from "commander";
import { addAction, type Context } from "../runtime/command.ts";
import { pastTime } from "../runtime/durations.ts";
import { addResource, plainText } from "../runtime/operation-command.ts";
import { withExistingStore } from "../runtime/store.ts";
import { formatCount, printable, table } from "../terminal/terminal.ts";

const HEAD = ["WHEN", "ID", "EVENT", "REF", "ACTION", "SCORE", "BY", "SHADOW", "OUTCOME"];

export function addDecisions(program: Command, context: Context): void {
  const decisions = addResource(program, context, DECISIONS, {
    list_decisions: {
      empty:
        "No decision is stored. A server with INKLING_DECISIONS=1 stores the decisions of POST /v1/assess.",
      noMatch: "No decision matches.",
      text: ({ decisions }) => printable(table([HEAD, ...decisions.map(rowOf)], [HEAD.indexOf("SCORE")])),
    },
    get_decision: {
      text: ({ facts, ...members }) => {
        const others = Object.entries(facts).filter(([name]) => !Object.hasOwn(members, name));
        return plainText({ ...members, ...Object.fromEntries(others) });
      },
    },
    set_decision_outcome: { text: ({ id, outcome }) => `${id} is labelled ${outcome}.` },
    delete_decisions: {
      text: ({ deleted }) => `Deleted ${formatCount(deleted)} ${deleted === 1 ? "decision" : "decisions"}.`,
    },
  });
  addExport(decisions, context);
}

type Decision = Output<typeof DECISIONS.operations.get_decision>;

const rowOf = ({ at, id, event, ref, action, score, rule, reasons, shadow, outcome }: Decision) => [
  at,
  id,
  event,
  ref ?? "-",
  action,
  score.toFixed(2),
  rule ?? (reasons.map(({ code }) => code).join(" ") || "-"),
  shadow.map(({ rule, action }) => `${rule}=${action}`).join(" ") || "-",
  outcome ?? "-",
];

function addExport(decisions: Command, context: Context): void {
  const command = decisions
    .command("export")
    .description("print stored decisions, oldest first, as one JSON object per line")
    .option("--since <time>", "only decisions since 7d ago, 2027-01-31 or a time")
    .option("--until <time>", "only decisions before 1d ago, 2027-01-31 or a time")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling decisions export --since 30d > decisions.ndjson\n  inkling rules replay rules.toml --input decisions.ndjson",
    );
  addAction(command, context, ["dataDir"], async ({ settings, flags }) => {
    const now = Date.now();
    const since = pastTime(flags.since, "--since", now);
    const until = pastTime(flags.until, "--until", now);
    await withExistingStore(settings, async (store) => {
      for await (const rows of store.decisions.read({ since, until }))
        context.terminal.out(rows.map((row) => JSON.stringify(decisionJson(row))).join("\n"));
    });
  });
}
