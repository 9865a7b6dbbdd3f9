// replay-text.ts: describes, as text for people, how a ruleset would have changed past decisions.

import type { ReplayExample, ReplayReport, Share } from "@inkling/engine/assess";
import { counted, formatCount, printable, type Style, table } from "./terminal.ts";

export function replayText(report: ReplayReport, style: Style): string {
  const { decisions, changed, from, to, outcomes, actions, rules, reasons } = report;
  if (decisions === 0) return "There are no decisions to replay.";
  const labelled = outcomes.fraud + outcomes.legitimate;
  const percent = ((100 * changed) / decisions).toFixed(changed > 0 && changed / decisions < 0.01 ? 2 : 1);
  const parts = [
    `${counted(decisions, "decision")} from ${day(from)} to ${day(to)}; ${style.bold(`${formatCount(changed)} would change`)} (${percent}%)`,
    labelled === 0
      ? "there are no outcomes, so the precision of rules is unknown"
      : `outcomes: ${formatCount(outcomes.fraud)} fraud, ${formatCount(outcomes.legitimate)} legitimate`,
    ...report.unknown_facts.map(({ fact, decisions: count }) =>
      style.yellow(
        `${fact} is unknown in ${counted(count, "decision")}: rules that read this fact do not match these decisions`,
      ),
    ),
    "",
    table(
      [
        ["BEFORE", "AFTER", "DECISIONS"],
        ...actions.map(({ before, after, count }) => [before, after, formatCount(count)]),
      ],
      [2],
    ),
    ...changeExamples(actions),
  ];
  if (rules.length > 0) parts.push("", rulesText(rules), ...ruleExamples(rules));
  parts.push("", reasonsText(reasons));
  return printable(parts.join("\n"));
}

const day = (at: string | null) => (at ?? "").slice(0, 10);

/** Returns the examples of each changed action, with an empty line before each. */
export const changeExamples = (actions: ReplayReport["actions"]) =>
  actions.flatMap(({ before, after, examples }) => {
    const by = ({ rule_before: old, rule_after: now }: ReplayExample) =>
      `${old ?? "score"} -> ${now ?? "score"}`;
    return examples.length === 0 ? [] : ["", `${before} to ${after}:`, examplesText(examples, by)];
  });

const examplesText = (examples: readonly ReplayExample[], changeOf: (example: ReplayExample) => string) =>
  table(
    examples.map((example) => {
      const { id, at, event, ref, outcome } = example;
      return [`  ${id}`, at, event, ref ?? "-", changeOf(example), outcome ?? ""];
    }),
  );

const rulesText = (rules: ReplayReport["rules"]) =>
  table(
    [
      ["RULE", "MODE", "THEN", "MATCHES", "DECIDES", "CHANGES", "PRECISION", "RECALL"],
      ...rules.map(({ rule, mode, action, matches, decides, changes, precision, recall }) => [
        rule,
        mode,
        action,
        formatCount(matches),
        mode === "live" ? formatCount(decides) : "-",
        formatCount(changes),
        shareText(precision),
        shareText(recall),
      ]),
    ],
    [3, 4, 5],
  );

const ruleExamples = (rules: ReplayReport["rules"]) =>
  rules.flatMap(({ rule, mode, examples }) =>
    examples.length === 0
      ? []
      : [
          "",
          mode === "live" ? `rule ${rule} changes:` : `rule ${rule} would change if it were live:`,
          examplesText(examples, ({ before, after }) => `${before} -> ${after}`),
        ],
  );

const reasonsText = (reasons: ReplayReport["reasons"]) =>
  table(
    [
      ["REASON", "WEIGHT", "MATCHES", "PRECISION", "RECALL"],
      ...reasons
        .filter(({ matches }) => matches > 0)
        .map(({ reason, weight, matches, precision, recall }) => [
          reason,
          String(weight),
          formatCount(matches),
          shareText(precision),
          shareText(recall),
        ]),
    ],
    [1, 2],
  );

/** Returns a text such as "67% (35-88) of 12". */
function shareText(share: Share | null): string {
  if (share === null) return "-";
  const percent = (value: number) => String(Math.round(100 * value));
  return `${percent(share.share)}% (${percent(share.low)}-${percent(share.high)}) of ${formatCount(share.of)}`;
}
