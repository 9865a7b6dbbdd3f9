// decisions.ts: `inkling decisions list | show | outcome | delete | export` manages what a server stored about its
// decisions.
//
// The command reads and writes the database directly, so no server needs to run. The admin API does the same over HTTP.

import { ACTIONS, OUTCOMES, REASON_CODES } from "@inkling/contract";
import { visitorNetworkOf } from "@inkling/engine";
import {
  type DecisionFilter,
  type DecisionJson,
  type Deletion,
  decisionJson,
  MAX_PAGE,
} from "@inkling/store";
import { type Command, Option } from "commander";
import { cliAuthor } from "../config/user.ts";
import { addAction, type Context, type Flags } from "../runtime/command.ts";
import { pastTime } from "../runtime/durations.ts";
import { AUTHOR, authorOf, usage } from "../runtime/put-overrides.ts";
import { withExistingStore } from "../runtime/store.ts";
import { CliError } from "../terminal/errors.ts";
import { formatCount, printable, table } from "../terminal/terminal.ts";

const SETTINGS = ["dataDir"] as const;

export function addDecisions(program: Command, context: Context): void {
  const decisions = program
    .command("decisions")
    .description("list, label, export and delete stored decisions of POST /v1/assess");
  addList(decisions, context);
  addShow(decisions, context);
  addOutcome(decisions, context);
  addDelete(decisions, context);
  addExport(decisions, context);
}

function addList(decisions: Command, context: Context): void {
  const command = withTimes(decisions.command("list"))
    .description("list stored decisions, newest first")
    .addOption(new Option("--action <action>", "only this action").choices(ACTIONS))
    .option("--event <name>", "only this event")
    .option("--rule <name>", "only decisions that this rule made, or would have made if it were live")
    .addOption(new Option("--reason <code>", "only with this reason").choices(REASON_CODES))
    .addOption(new Option("--outcome <outcome>", "only with this outcome").choices([...OUTCOMES, "none"]))
    .option("--ref <ref>", "only decisions about this ref")
    .option(
      "--network <network>",
      "only decisions about this /24 (IPv4) or /48 (IPv6), or about the network of this address",
    )
    .option("--domain <domain>", "only decisions about email addresses at this domain")
    .option("--limit <number>", "how many decisions", "50")
    .option("--json", "print JSON, with facts")
    .addHelpText(
      "after",
      `
Examples:
  inkling decisions list --action deny --since 7d
  inkling decisions list --rule no-hosting-sign-ups
  inkling decisions list --reason proxy --outcome legitimate
  inkling decisions list --network 81.2.69.142 --since 1d
  inkling decisions list --ref user-81 --json`,
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const limit = Number(flags.limit);
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE)
      throw usage(`--limit must be a whole number from 1 to ${MAX_PAGE}`, "for example --limit 100");
    const { action, event, rule, reason, outcome, ref, domain } = flags;
    const network = networkOf(flags);
    const filter = { action, event, rule, reason, outcome, ref, network, domain, ...timesOf(flags) };
    const found = await withExistingStore(settings, async ({ decisions }) => {
      const items: DecisionJson[] = [];
      // A search that takes long returns pages with fewer decisions.
      for (let cursor: string | undefined; ; ) {
        const page = await decisions.list({ limit: limit - items.length, cursor }, filter);
        items.push(...page.items.map(decisionJson));
        cursor = page.next;
        if (cursor === undefined || items.length === limit) return items;
      }
    });
    if (found.length === 0 && !flags.json) {
      const isFiltered = Object.values(filter).some((value) => value !== undefined);
      return context.terminal.err(
        isFiltered
          ? "No decision matches.\n"
          : "No decision is stored. A server with INKLING_DECISIONS=1 stores the decisions of POST /v1/assess.\n",
      );
    }
    const head = ["WHEN", "ID", "EVENT", "REF", "ACTION", "SCORE", "BY", "SHADOW", "OUTCOME"];
    return { json: found, text: () => printable(table([head, ...found.map(rowOf)], [5])) };
  });
}

function networkOf({ network }: Flags): string | undefined {
  if (network === undefined) return undefined;
  const decided = visitorNetworkOf(network);
  if (decided !== undefined) return decided;
  throw usage(
    `--network must be an address, or a /24 (IPv4) or /48 (IPv6): it is ${JSON.stringify(String(network).slice(0, 60))}`,
    "decisions store no wider network, so use --domain, --ref or several calls",
  );
}

const rowOf = ({ at, id, event, ref, action, score, rule, reasons, shadow, outcome }: DecisionJson) => [
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

function withTimes(command: Command): Command {
  return command
    .option("--since <time>", "only decisions since 7d ago, 2027-01-31 or a time")
    .option("--until <time>", "only decisions before 1d ago, 2027-01-31 or a time");
}

function timesOf({ since, until }: Flags): Pick<DecisionFilter, "since" | "until"> {
  const now = Date.now();
  return { since: pastTime(since, "--since", now), until: pastTime(until, "--until", now) };
}

function addShow(decisions: Command, context: Context): void {
  const command = decisions
    .command("show <id>")
    .description("show a stored decision with its facts")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling decisions show asm_4Qw8ZbN2rT6yKd1M");
  addAction(command, context, SETTINGS, async ({ settings }, id: string) => {
    const found = await withExistingStore(settings, (store) => store.decisions.find(id));
    if (found === undefined) throw notFound(id);
    const decision = decisionJson(found);
    const { facts, ...members } = decision;
    const others = Object.entries(facts).filter(([name]) => !Object.hasOwn(members, name));
    const rows = [...Object.entries(members), ...others];
    const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
    return {
      json: decision,
      text: () => printable(table(rows.map(([name, value]) => [name, shown(value)]))),
    };
  });
}

const notFound = (id: string) =>
  new CliError(
    `there is no decision ${JSON.stringify(id.slice(0, 60))}`,
    "`inkling decisions list` lists stored decisions; decisions expire",
  );

function addOutcome(decisions: Command, context: Context): void {
  const command = decisions
    .command("outcome <id> <outcome>")
    .description(
      `record how a visitor turned out: ${OUTCOMES.join(" or ")}; a new outcome replaces the old one`,
    )
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  inkling decisions outcome asm_4Qw8ZbN2rT6yKd1M abuse");
  addAction(command, context, SETTINGS, async ({ settings }, id: string, text: string) => {
    const outcome = OUTCOMES.find((known) => known === text);
    if (outcome === undefined)
      throw usage(
        `an outcome is ${OUTCOMES.join(" or ")}: it is ${JSON.stringify(text.slice(0, 60))}`,
        `for example: inkling decisions outcome ${id.slice(0, 20)} abuse`,
      );
    const found = await withExistingStore(settings, (store) =>
      store.decisions.label(id, outcome, undefined, cliAuthor()),
    );
    if (found === undefined) throw notFound(id);
    return { json: decisionJson(found), text: `${id} is labelled ${outcome}.` };
  });
}

function addDelete(decisions: Command, context: Context): void {
  const command = decisions
    .command("delete")
    .description("delete stored decisions and their outcomes")
    .option("--ref <ref>", "all decisions about this ref")
    .option("--before <time>", "all decisions before 7d ago, 2027-01-31 or a time")
    .option(...AUTHOR)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling decisions delete --ref REF\n  inkling decisions delete --before TIME",
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    const which = deletionOf(flags);
    const deleted = await withExistingStore(settings, (store) =>
      store.decisions.delete(which, cliAuthor(authorOf(flags.author))),
    );
    const noun = deleted === 1 ? "decision" : "decisions";
    return { json: { deleted }, text: `Deleted ${formatCount(deleted)} ${noun}.` };
  });
}

function deletionOf({ ref, before }: Flags): Deletion {
  if (typeof ref === "string" && before === undefined) return { ref };
  const time = pastTime(before, "--before", Date.now());
  if (ref === undefined && time !== undefined) return { before: time };
  throw usage("either --ref or --before is required", "for example --ref user-81, or --before 7d");
}

function addExport(decisions: Command, context: Context): void {
  const command = withTimes(decisions.command("export"))
    .description("print stored decisions, oldest first, as one JSON object per line")
    .addHelpText(
      "after",
      "\nExamples:\n  inkling decisions export --since 30d > decisions.ndjson\n  inkling rules replay rules.toml --input decisions.ndjson",
    );
  addAction(command, context, SETTINGS, async ({ settings, flags }) => {
    await withExistingStore(settings, async (store) => {
      for await (const rows of store.decisions.read(timesOf(flags)))
        context.terminal.out(rows.map((row) => JSON.stringify(decisionJson(row))).join("\n"));
    });
  });
}
