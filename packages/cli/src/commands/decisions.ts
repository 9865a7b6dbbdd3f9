// decisions.ts: implements `inkling decisions export`, which prints decisions while it reads them, and formats the
// texts of the commands that derive from rows.

import { DECISIONS, type Output } from "@inkling/operations";
import { MAX_LINES } from "@inkling/operations/outcome-file";
import { decisionJson } from "@inkling/store";
import type { Command } from "commander";
import { addAction, addResultAction, type Context } from "../runtime/command.ts";
import { pastTime } from "../runtime/durations.ts";
import { numberedLinesOf } from "../runtime/input.ts";
import { AUTHOR, addResource, plainText, withContext } from "../runtime/operation-command.ts";
import { withExistingStore } from "../runtime/store.ts";
import { EXIT } from "../terminal/errors.ts";
import { counted, formatCount, printable, table } from "../terminal/terminal.ts";

const formatPercent = (share: number) => `${(100 * share).toFixed(1)}%`;
const NONE_STORED =
  "No decision is stored. A server with INKLING_DECISIONS=1 stores the decisions of POST /v1/assess.";
const HEAD = ["WHEN", "ID", "EVENT", "REF", "ACTION", "SCORE", "BY", "SHADOW", "OUTCOME"];

export function addDecisions(program: Command, context: Context): void {
  const decisions = addResource(program, context, DECISIONS, {
    list_decisions: {
      empty: NONE_STORED,
      noMatch: "No decision matches.",
      text: ({ decisions }) => listText(decisions),
    },
    get_decision: {
      text: ({ facts, ...fields }) => {
        const others = Object.entries(facts).filter(([name]) => !Object.hasOwn(fields, name));
        return plainText({ ...fields, ...Object.fromEntries(others) });
      },
    },
    calibrate_decisions: { text: calibrationText },
    review_decisions: {
      text: ({ decisions, waiting }) =>
        waiting === 0 ? "No decisions are waiting for review." : listText(decisions),
    },
    set_decision_outcome: {
      text: ({ id, outcome }) =>
        outcome === null ? `${id} has no outcome.` : `${id} is labelled ${outcome}.`,
    },
    delete_decisions: {
      text: ({ deleted }) => `Deleted ${counted(deleted, "decision")}.`,
    },
  });
  addImport(decisions, context);
  addExport(decisions, context);
}

type Calibration = Output<typeof DECISIONS.operations.calibrate_decisions>;

const precisionText = (share: Calibration["reasons"][number]["precision"]) =>
  share === null
    ? "-"
    : `${formatPercent(share.share)} (${formatPercent(share.low)} to ${formatPercent(share.high)})`;

function calibrationText({ from, decisions, fraud, legitimate, reasons, rules }: Calibration): string {
  const counts = ({ fraud, legitimate }: Pick<Calibration, "fraud" | "legitimate">) => [
    formatCount(fraud),
    formatCount(legitimate),
  ];
  return printable(
    [
      `${counted(decisions, "decision")} since ${from}: ${formatCount(fraud)} fraud, ${formatCount(legitimate)} legitimate`,
      "",
      table(
        [
          ["REASON", "DECISIONS", "FRAUD", "LEGITIMATE", "PRECISION (95% INTERVAL)", "WEIGHT", "SUGGESTED"],
          ...reasons.map(({ reason, weight, suggested_weight, ...row }) => [
            reason,
            formatCount(row.decisions),
            ...counts(row),
            precisionText(row.precision),
            String(weight),
            String(suggested_weight ?? "-"),
          ]),
        ],
        [1, 2, 3, 5, 6],
      ),
      "",
      table(
        [
          ["RULE", "MODE", "THEN", "LIVE", "SHADOW", "FRAUD", "LEGITIMATE", "PRECISION (95% INTERVAL)"],
          ...rules.map(({ rule, mode, action, live, shadow, ...row }) => [
            rule,
            mode,
            action,
            formatCount(live),
            formatCount(shadow),
            ...counts(row),
            precisionText(row.precision),
          ]),
        ],
        [3, 4, 5, 6],
      ),
    ].join("\n"),
  );
}

/** Maximum problems that the command prints one by one. */
const MAX_SHOWN = 1_000;

function addImport(decisions: Command, context: Context): void {
  const command = decisions
    .command("import-outcomes <file>")
    .description("label decisions from a file: ref,outcome,at as CSV, or one JSON object per line")
    .option("--replace", "replace outcomes that differ; the outcome `none` removes them")
    .option(...AUTHOR)
    .addHelpText(
      "after",
      `
Each line labels the decisions that have this ref, up to the time \`at\`, which may be missing. A ref may also be a
decision's id. Lines that are wrong, unknown or already labelled are reported, and all other lines apply. The exit code
is 1 if a line is wrong.

Examples:
  inkling decisions import-outcomes outcomes.csv
  inkling decisions import-outcomes - --replace < outcomes.ndjson`,
    );
  addResultAction(command, context, ["dataDir"], async ({ settings, flags }, file: string) => {
    const { import_outcomes } = DECISIONS.operations;
    const problems: (Output<typeof import_outcomes>["problems"][number] & { line: number })[] = [];
    const counts = { labelled: 0, wrong: 0, unknown: 0, already_labelled: 0 };
    let hasNone = false;
    await withContext(import_outcomes, { context, settings, flags }, async (here) => {
      const label = async (some: readonly { readonly line: string; readonly number: number }[]) => {
        const lines = some.map(({ line }) => line);
        const found = await import_outcomes.run(here, { lines, replace: flags.replace === true });
        counts.labelled += found.labelled;
        for (const { line, ...one } of found.problems) {
          counts[one.problem]++;
          if (problems.length < MAX_SHOWN) problems.push({ ...one, line: some[line - 1]!.number });
        }
      };
      let waiting: { readonly line: string; readonly number: number }[] = [];
      for await (const line of numberedLinesOf(file, context.stopper.signal)) {
        waiting.push(line);
        if (waiting.length < MAX_LINES) continue;
        await label(waiting);
        waiting = [];
      }
      await label(waiting);
      hasNone = (await here.store.decisions.list({ limit: 1 })).items.length === 0;
    });
    const { labelled, wrong, unknown, already_labelled } = counts;
    const more = wrong + unknown + already_labelled - problems.length;
    return {
      json: { ...counts, problems },
      text: printable(
        [
          ...problems.map(({ line, message }) => `line ${line}: ${message}`),
          ...(more > 0 ? [`and ${formatCount(more)} more lines that were not applied`] : []),
          `Labelled ${counted(labelled, "decision")}. Lines: ${formatCount(wrong)} wrong, ${formatCount(unknown)} unknown, ${formatCount(already_labelled)} already labelled.`,
          ...(hasNone ? [NONE_STORED] : []),
        ].join("\n"),
      ),
      exitCode: wrong > 0 ? EXIT.error : EXIT.ok,
    };
  });
}

type Decision = Output<typeof DECISIONS.operations.list_decisions>["decisions"][number];

const listText = (decisions: readonly Decision[]) =>
  printable(table([HEAD, ...decisions.map(rowOf)], [HEAD.indexOf("SCORE")]));

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
    await withExistingStore(settings, context.terminal, async (store) => {
      for await (const rows of store.decisions.read({ since, until }))
        context.terminal.out(rows.map((row) => JSON.stringify(decisionJson(row))).join("\n"));
    });
  });
}
