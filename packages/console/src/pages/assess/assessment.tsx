// assessment.tsx: a decision about a visitor: the action, the score as a bar of its reasons, what would change it, facts
// and evidence.

import {
  ACTIONS,
  type Action,
  FACT_ROWS,
  type FactName,
  REASON_ROWS,
  type ReasonCode,
  type VisitorInput,
} from "@inkling/contract";
import type { AssessedVisitor } from "@inkling/server/admin-answers";
import { Badge, Card, type Kind, Marked, Notice } from "../../components/basics.tsx";
import { Table, TableCard, TwoLines } from "../../components/table.tsx";
import { Copies, EvidenceCard } from "../lookup/evidence.tsx";
import { ScoreBar, Swatch } from "./score-bar.tsx";

type Assessment = AssessedVisitor["assessment"];
type Reason = Assessment["reasons"][number];

const KINDS: Readonly<Record<Action, Kind>> = { allow: "good", challenge: "warn", deny: "bad" };
export const ActionBadge = ({ action }: { action: Action }) => <Badge kind={KINDS[action]}>{action}</Badge>;

const isReason = (code: string): code is ReasonCode => Object.hasOwn(REASON_ROWS, code);
/** Newer servers may have reasons and facts that this page does not know. */
export const reasonMeaning = (code: string) => (isReason(code) ? REASON_ROWS[code].meaning : "");
const isFact = (name: string): name is FactName => Object.hasOwn(FACT_ROWS, name);
const factMeaning = (name: string) => (isFact(name) ? FACT_ROWS[name].meaning : "sent by the caller");

/** The reasons of an assessment, each with its weight and its meaning. */
export const ReasonName = ({ reason, index }: { reason: Reason; index: number }) => (
  <TwoLines below={<Marked text={reasonMeaning(reason.code)} />}>
    <Swatch index={index} /> <code>{reason.code}</code>
  </TwoLines>
);

/** Names of facts with their values, as conditions write them. */
export const FactTable = ({ facts }: { facts: Readonly<Record<string, unknown>> }) => (
  <TableCard
    caption="Facts"
    rows={Object.entries(facts)}
    rowKey={([name]) => name}
    columns={[
      ["Fact", ([name]) => <code>{name}</code>],
      ["Value", ([, value]) => <code>{JSON.stringify(value)}</code>],
      ["Meaning", ([name]) => <Marked text={factMeaning(name)} />],
    ]}
    empty="Nothing is known about this visitor."
  />
);

interface AssessmentResultProps {
  readonly of: AssessedVisitor;
  readonly visitor: VisitorInput;
  readonly isDraft: boolean;
}

export function AssessmentResult({ of, visitor, isDraft }: AssessmentResultProps) {
  const { assessment, alternatives, thresholds } = of;
  const { action, review, score, reasons, rule, shadow, degraded, ruleset, facts = {} } = assessment;
  const name = isDraft ? "draft" : ruleset === 0 ? "no ruleset" : `ruleset ${ruleset}`;
  const withoutRule = alternatives.find(({ without }) => "rule" in without);
  const without = ({ code }: Reason) => {
    const found = alternatives.find((change) => "reason" in change.without && change.without.reason === code);
    if (found === undefined) return null;
    return (
      <TwoLines below={`score ${found.score.toFixed(2)}`}>
        {found.action === action ? "no change" : <ActionBadge action={found.action} />}
      </TwoLines>
    );
  };
  return (
    <>
      <Card title={[<ActionBadge key="action" action={action} />, " ", decidedBy(of, name)]}>
        {review && <Notice kind="warn">The rule asks for a person to look at this visitor.</Notice>}
        {degraded.length > 0 && (
          <Notice kind="warn">
            No data for {degraded.join(", ")}: the visitor may look more innocent than it is.
          </Notice>
        )}
        <ScoreBar score={score} reasons={reasons} thresholds={thresholds} />
        <Table
          caption="Reasons"
          rows={reasons}
          rowKey={({ code }) => code}
          columns={[
            ["Reason", (reason) => <ReasonName reason={reason} index={reasons.indexOf(reason)} />],
            ["Weight", ({ weight }) => weight.toFixed(2), "number"],
            ["Without it", without],
          ]}
          empty="No reason to doubt this visitor."
        />
        {withoutRule && (
          <p>
            Without the rule <code>{rule}</code> it would be <ActionBadge action={withoutRule.action} />
          </p>
        )}
        {shadow.map(({ rule: shadowed, action: wanted, review: wantsReview }) => (
          <p key={shadowed}>
            Rule <code>{shadowed}</code> in shadow would decide <ActionBadge action={wanted} />
            {wantsReview && "and ask for a review"}
          </p>
        ))}
        <Copies json={JSON.stringify(assessment, null, 2)}>
          {[visitor.ip, visitor.email].map(
            (value) =>
              value && (
                <a key={value} href={`#/lookup/${encodeURIComponent(value)}`}>
                  Look up {value}
                </a>
              ),
          )}
        </Copies>
      </Card>
      {assessment.ip?.reputation && (
        <EvidenceCard title="Evidence about the address" from={assessment.ip.reputation} />
      )}
      {assessment.email && <EvidenceCard title="Evidence about the email address" from={assessment.email} />}
      <FactTable facts={facts} />
    </>
  );
}

/** @param ruleset by which it was decided */
function decidedBy({ assessment, thresholds }: AssessedVisitor, ruleset: string): string {
  const { action, rule, score } = assessment;
  if (rule !== null) return `decided by rule ${rule} (${ruleset})`;
  const byScore = score >= thresholds.deny ? "deny" : score >= thresholds.challenge ? "challenge" : "allow";
  const isStricter = ACTIONS.indexOf(action) > ACTIONS.indexOf(byScore);
  return `${isStricter ? "because data is missing" : "decided by the score"} (${ruleset})`;
}
