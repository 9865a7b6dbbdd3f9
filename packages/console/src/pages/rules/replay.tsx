// replay.tsx: shows how a draft would have changed stored decisions, by action and by rule.

import { useState } from "preact/hooks";
import type { Replayed } from "../../answers.ts";
import { call } from "../../api.ts";
import { Badge, Button, Card, Notice, RelativeTime, State } from "../../components/basics.tsx";
import { Field, Select } from "../../components/form.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Table, TwoLines } from "../../components/table.tsx";
import { countOf, formatCount, formatPercent, timeIn } from "../../format.ts";
import { useLoad } from "../../hooks.ts";

type Rule = Replayed["rules"][number];
type Share = Rule["precision"];
type Examples = Rule["examples"];

const PERIODS = [7, 30, 90, 180, 365].map((days) => [String(days), `the last ${days} days`] as const);

interface Asked {
  readonly text: string;
  readonly days: string;
}

export function ReplayCard({ text }: { text: string }) {
  const [days, setDays] = useState("30");
  const [asked, setAsked] = useState<Asked>();
  const isOld = asked && (asked.text !== text || asked.days !== days);
  return (
    <Card title="Replay">
      <Field label="Decisions of" note="How the draft would have changed these stored decisions.">
        <Select options={PERIODS} value={days} onChoose={setDays} />
      </Field>
      <p class="actions">
        <Button text="Replay the draft" onClick={() => setAsked({ text, days })} />
        {isOld && <span class="faint">This result is from an earlier draft or another period.</span>}
      </p>
      <div aria-live="polite">{asked && <Report asked={asked} />}</div>
    </Card>
  );
}

function Report({ asked }: { asked: Asked }) {
  const { text, days } = asked;
  const loading = useLoad(
    (signal) => {
      const since = timeIn(-Number(days));
      return call("POST rulesets/replay", { text, since }, signal);
    },
    [asked],
  );
  return (
    <Loaded from={loading} waiting="Replaying …">
      {(report) => (report.decisions === 0 ? <Nothing /> : <Changed report={report} />)}
    </Loaded>
  );
}

const Nothing = () => (
  <p class="empty faint">
    No decisions are stored. The page <a href="#/decisions">Decisions</a> explains how to store them.
  </p>
);

function Changed({ report }: { report: Replayed }) {
  const { decisions, changed, from, stopped, actions, rules, reasons, unknown_facts } = report;
  return (
    <>
      <p>
        <strong>{`${formatCount(changed)} of ${countOf(decisions, "decision")} would change`}</strong>
        {from && [" (since ", <RelativeTime key="from" iso={from} />, ")"]}.
      </p>
      {stopped && (
        <Notice kind="warn">
          Older decisions were left out. The command <code>inkling rules replay</code> includes all of them.
        </Notice>
      )}
      {unknown_facts.map(({ fact, decisions: n }) => (
        <Notice key={fact} kind="warn">
          The fact <code>{fact}</code> is unknown in {countOf(n, "decision")}, so the replay cannot tell how
          rules that read this fact would decide.
        </Notice>
      ))}
      <ChangedActions actions={actions} />
      <Table
        caption="Rules in the draft"
        rows={rules}
        rowKey={({ rule }) => rule}
        columns={[
          ["Rule", ruleOf],
          ["Matches", ({ matches }) => formatCount(matches), "number"],
          ["Changes", changesOf, "number"],
          ["Precision", ({ precision }) => shareOf(precision)],
          ["Recall", ({ recall }) => shareOf(recall)],
          [
            "Sample decisions",
            ({ examples }) =>
              examples.length > 0 && (
                <details>
                  <summary>{formatCount(examples.length)}</summary>
                  <ExampleLinks examples={examples} />
                </details>
              ),
          ],
        ]}
        empty="The draft has no rules."
      />
      <Table
        caption="Reasons with the draft"
        rows={reasons.filter(({ matches }) => matches > 0)}
        rowKey={({ reason }) => reason}
        columns={[
          ["Reason", ({ reason, weight }) => <TwoLines below={`weight ${weight}`}>{reason}</TwoLines>],
          ["Matches", ({ matches }) => formatCount(matches), "number"],
          ["Precision", ({ precision }) => shareOf(precision)],
          ["Recall", ({ recall }) => shareOf(recall)],
        ]}
        empty="No reasons matched."
      />
      <p class="faint">
        Precision: of the labelled decisions that match, the share labelled fraud. Recall: of all decisions
        labelled fraud, the share that match. For a rule that allows, read legitimate instead of fraud.
      </p>
    </>
  );
}

/** Each change of actions with its number of decisions, and with examples when it is opened. */
export const ChangedActions = ({ actions }: Pick<Replayed, "actions">) => (
  <>
    {actions
      .filter(({ before, after }) => before !== after)
      .map(({ before, after, count, legitimate, examples }) => (
        <details key={`${before} ${after}`}>
          <summary>
            {formatCount(count)} <State of={before} />→ <State of={after} />
            {legitimate > 0 && `${formatCount(legitimate)} labelled legitimate`}
          </summary>
          <ExampleLinks examples={examples} />
        </details>
      ))}
  </>
);

export const ruleOf = ({ rule, mode, action }: Pick<Rule, "rule" | "mode" | "action">) => (
  <>
    <code>{rule}</code> <State of={action} />
    {mode === "shadow" && <Badge kind="faint">shadow</Badge>}
  </>
);

/** A rule in shadow mode does not change anything yet. */
const changesOf = ({ changes, mode }: Rule) => (
  <TwoLines below={mode === "shadow" && "if it were live"}>{formatCount(changes)}</TwoLines>
);

/** A share with its 95% confidence interval. */
export const shareOf = (share: Share) =>
  share ? (
    <TwoLines below={`${formatPercent(share.low)} to ${formatPercent(share.high)}`}>
      {`${formatPercent(share.share)} of ${formatCount(share.of)}`}
    </TwoLines>
  ) : (
    <span class="faint">no outcomes</span>
  );

const ExampleLinks = ({ examples }: { examples: Examples }) => (
  <>
    {examples.map(({ id, ref, event, before, after, outcome }) => (
      <small key={id}>
        <a href={`#/decisions/${id}`}>{ref ?? id}</a> {`${event}: ${before} → ${after} `}
        {outcome && <State of={outcome} />}
      </small>
    ))}
  </>
);
