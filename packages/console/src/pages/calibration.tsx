// calibration.tsx: shows the precision of each reason and rule in the last 90 days. A button publishes a ruleset with
// the weights that outcomes suggest.

import { useState } from "preact/hooks";
import type { Calibration } from "../answers.ts";
import { call } from "../api.ts";
import { Button, Card, Marked } from "../components/basics.tsx";
import { Loaded } from "../components/loaded.tsx";
import { type Column, TableCard, TwoLines } from "../components/table.tsx";
import { countOf, formatCount } from "../format.ts";
import { useLoad } from "../hooks.ts";
import { useRefusal } from "../session.ts";
import { meaningOf } from "./assess/decision.tsx";
import { unixText } from "./rules/draft.ts";
import { Publish } from "./rules/publish.tsx";
import { ruleOf, shareOf } from "./rules/replay.tsx";

type Reason = Calibration["reasons"][number];
type Rule = Calibration["rules"][number];

export function CalibrationPage() {
  const loading = useLoad((signal) => call("GET decisions/calibration", {}, signal), []);
  const [isAsked, setAsked] = useState(false);
  const refusal = useRefusal("admin"); // weights decide
  const published = () => {
    setAsked(false);
    loading.reload();
  };
  return (
    <Loaded from={loading}>
      {({ decisions, fraud, legitimate, reasons, rules }) => (
        <>
          <Card title="The last 90 days">
            <p>{`${countOf(decisions, "decision")}: ${formatCount(fraud)} labelled fraud, ${formatCount(legitimate)} labelled legitimate.`}</p>
            <p class="faint">
              Precision: of the labelled decisions, the share labelled fraud; for a rule that allows,
              legitimate. A reason needs 20 labelled decisions for a suggested weight. Label legitimate
              visitors too: otherwise, every precision is 100%. Applying weights does not change the
              thresholds, so read the effect before you publish.
            </p>
            <p>
              <Button
                text="Apply the suggested weights"
                class=""
                refusal={refusal ?? (reasons.some(isOff) ? undefined : "No suggested weight differs.")}
                onClick={() => setAsked(true)}
              />
            </p>
          </Card>
          <div aria-live="polite">{isAsked && <Apply onPublished={published} />}</div>
          <TableCard
            caption="Reasons"
            rows={reasons}
            rowKey={({ reason }) => reason}
            columns={REASON_COLUMNS}
            empty="No reason applied."
          />
          <TableCard
            caption="Rules"
            rows={rules}
            rowKey={({ rule }) => rule}
            columns={RULE_COLUMNS}
            empty="The newest ruleset has no rules."
          />
        </>
      )}
    </Loaded>
  );
}

const isOff = ({ weight, suggested_weight: suggested }: Reason) => suggested !== null && suggested !== weight;

const LABELS = [
  ["Fraud", ({ fraud }: Reason | Rule) => formatCount(fraud), "number"],
  ["Legitimate", ({ legitimate }: Reason | Rule) => formatCount(legitimate), "number"],
  ["Precision", ({ precision }: Reason | Rule) => shareOf(precision)],
] as const;

const REASON_COLUMNS: readonly Column<Reason>[] = [
  [
    "Reason",
    ({ reason }) => (
      <TwoLines below={<Marked text={meaningOf(reason)} />}>
        <code>{reason}</code>
      </TwoLines>
    ),
  ],
  ["Decisions", ({ decisions }) => formatCount(decisions), "number"],
  ...LABELS,
  ["Default weight", ({ default_weight }) => default_weight.toFixed(2), "number"],
  ["Weight", ({ weight }) => weight.toFixed(2), "number"],
  [
    "Suggested",
    (row) => {
      if (row.suggested_weight === null) return <span class="faint">too few labels</span>;
      const text = row.suggested_weight.toFixed(2);
      return isOff(row) ? <strong>{text}</strong> : text;
    },
    "number",
  ],
];

const RULE_COLUMNS: readonly Column<Rule>[] = [
  ["Rule", ruleOf],
  ["Live", ({ live }) => formatCount(live), "number"],
  ["In shadow", ({ shadow }) => formatCount(shadow), "number"],
  ...LABELS,
];

/** Shows and publishes the newest ruleset with the suggested weights. Does not change a draft in the editor. */
function Apply({ onPublished }: { onPublished: () => void }) {
  const loading = useLoad(async (signal) => {
    const { current, text, weights } = await call("GET rulesets/suggested", {}, signal);
    const newest =
      current === 0 ? undefined : await call("GET rulesets/{id}", { id: String(current) }, signal);
    return { newest, draft: { text: unixText(text), base: current, isChanged: weights.length > 0 } };
  }, []);
  return (
    <Loaded from={loading} waiting="Calculating weights …">
      {({ newest, draft }) => (
        <Publish newest={newest} draft={{ ...draft, publishedAs: onPublished }} reload={loading.reload} />
      )}
    </Loaded>
  );
}
