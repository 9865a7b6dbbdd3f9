// decision.tsx: shows a decision about a visitor: the action, the score as a stacked bar of its reasons, what would
// change the action, facts and evidence.

import {
  type Action,
  FACT_ROWS,
  type FactName,
  REASON_ROWS,
  type ReasonCode,
  type VisitorInput,
} from "@inkling/contract";
import type { ComponentChildren } from "preact";
import type { AssessedVisitor } from "../../answers.ts";
import { Card, Marked, Notice, State } from "../../components/basics.tsx";
import { Swatch } from "../../components/chart.tsx";
import { type Column, Table, TwoLines } from "../../components/table.tsx";
import { countOf } from "../../format.ts";
import { Copies, EvidenceCard } from "../lookup/evidence.tsx";
import { LookupLink } from "../lookup/links.tsx";
import { colorOf, ScoreBar } from "./score-bar.tsx";

type Decision = AssessedVisitor["decision"];
type Reason = Decision["reasons"][number];
type Thresholds = AssessedVisitor["thresholds"];

const isReason = (code: string): code is ReasonCode => Object.hasOwn(REASON_ROWS, code);
/** Newer servers may send reasons and facts for which this page has no text. */
export const meaningOf = (code: string) => (isReason(code) ? REASON_ROWS[code].meaning : "");
const isFact = (name: string): name is FactName => Object.hasOwn(FACT_ROWS, name);
const factMeaning = (name: string) => (isFact(name) ? FACT_ROWS[name].meaning : "sent by the caller");

interface FactTableProps {
  readonly facts: Facts;
  /** Names of the facts to show first. The others are folded. */
  readonly read: readonly string[];
}

/** Facts with their values, both written as in a ruleset's conditions. */
export function FactTable({ facts, read }: FactTableProps) {
  const names = Object.keys(facts);
  const first = names.filter((name) => read.includes(name));
  const others = names.filter((name) => !read.includes(name));
  const table = (caption: string, shown: readonly string[], empty: string) => (
    <Table
      caption={caption}
      rows={shown}
      rowKey={(name) => name}
      columns={[
        ["Fact", (name) => <code>{name}</code>],
        ["Value", (name) => valueCell(name, facts)],
        ["Meaning", (name) => <Marked text={factMeaning(name)} />],
      ]}
      empty={empty}
    />
  );
  return (
    <Card title="Facts">
      {table("Facts", first, "No rule or reason that applied read a known fact.")}
      {others.length > 0 && (
        <details>
          <summary>{countOf(others.length, "other fact")}</summary>
          {table("Other facts", others, "")}
        </details>
      )}
    </Card>
  );
}

type Facts = Readonly<Record<string, unknown>>;

/** A fact's value, with a link if it has a page. */
function valueCell(name: string, facts: Facts) {
  const subject = subjectOf(name, facts);
  const text = <code>{JSON.stringify(facts[name])}</code>;
  return subject === undefined ? text : <LookupLink value={subject}>{text}</LookupLink>;
}

/** Returns the network, autonomous system or domain that a fact is about; undefined for other facts. */
function subjectOf(name: string, facts: Facts): string | undefined {
  if (name === "ip.network" || name === "email.domain") return String(facts[name]);
  const asn = facts["ip.asn"];
  return asn !== undefined && (name === "ip.asn" || name === "ip.organization") ? `AS${asn}` : undefined;
}

export const rulesetName = (number: number) => (number === 0 ? "no ruleset" : `ruleset ${number}`);

type Alternatives = AssessedVisitor["alternatives"];

interface DecisionCardProps {
  readonly of: Omit<Decision, "ip" | "email" | "facts">;
  /** What decided, such as "ruleset 7". */
  readonly ruleset: string;
  readonly alternatives?: Alternatives;
  readonly thresholds?: Thresholds;
  /** The action of the decision's rule. */
  readonly ruleAction: Action | null;
  readonly children: ComponentChildren;
}

/** The action and everything that led to it. */
export function DecisionCard(props: DecisionCardProps) {
  const { of, ruleset, alternatives = [], thresholds, ruleAction, children } = props;
  const { action, review, score, reasons, rule, shadow, degraded } = of;
  const withoutRule = alternatives.find(({ without }) => "rule" in without);
  return (
    <Card
      title={[<State key="action" of={action} />, ` ${decidedBy(of, alternatives, ruleAction)} (${ruleset})`]}
    >
      {review && <Notice kind="warn">The rule asks for a manual review of this visitor.</Notice>}
      {degraded.length > 0 && (
        <Notice kind="warn">
          No data for {degraded.join(", ")}: the visitor may be riskier than the score suggests.
        </Notice>
      )}
      <ScoreBar score={score} reasons={reasons} thresholds={thresholds} />
      <Reasons of={of} alternatives={alternatives} />
      {withoutRule && (
        <p>
          Without the rule <code>{rule}</code>, the action would be <State of={withoutRule.action} />
        </p>
      )}
      {shadow.map(({ rule: shadowed, action: wanted, review: wantsReview }) => (
        <p key={shadowed}>
          Rule <code>{shadowed}</code> in shadow mode would decide <State of={wanted} />
          {wantsReview && " and ask for a review"}
        </p>
      ))}
      {children}
    </Card>
  );
}

/** A stored decision has no alternatives, so nobody knows whether `on_missing` made its action stricter. */
function decidedBy(
  { rule, action, degraded }: Pick<Decision, "rule" | "action" | "degraded">,
  alternatives: Alternatives,
  ruleAction: Action | null,
) {
  const complete = alternatives.find(({ without }) => "on_missing" in without);
  const isStricter = ruleAction !== null && ruleAction !== (complete?.action ?? action);
  const decider = rule === null || isStricter ? "the score" : `rule ${rule}`;
  const than = isStricter ? `, which is stricter than rule ${rule}` : "";
  if (complete)
    return `decided by on_missing, because data is missing; ${decider} would ${complete.action}${than}`;
  const isOpen = alternatives.length === 0 && degraded.length > 0 && action !== "allow";
  return isOpen ? `decided by ${decider}, or by on_missing${than}` : `decided by ${decider}${than}`;
}

interface ReasonsProps {
  readonly of: Pick<Decision, "action" | "reasons" | "degraded">;
  readonly alternatives: Alternatives;
}

/** Each reason with its weight and, if known, the action without it. */
function Reasons({ of: { action, reasons, degraded }, alternatives }: ReasonsProps) {
  const without = ({ code }: Reason) => {
    const found = alternatives.find((change) => "reason" in change.without && change.without.reason === code);
    if (found === undefined) return null;
    return (
      <TwoLines below={`score ${found.score.toFixed(2)}`}>
        {found.action === action ? "no change" : <State of={found.action} />}
      </TwoLines>
    );
  };
  const nameOf = (reason: Reason) => (
    <TwoLines below={<Marked text={meaningOf(reason.code)} />}>
      <Swatch color={colorOf(reasons.indexOf(reason))} /> <code>{reason.code}</code>
    </TwoLines>
  );
  const columns: Column<Reason>[] = [
    ["Reason", nameOf],
    ["Weight", ({ weight }) => weight.toFixed(2), "number"],
  ];
  return (
    <Table
      caption="Reasons"
      rows={reasons}
      rowKey={({ code }) => code}
      columns={alternatives.length > 0 ? [...columns, ["Without it", without]] : columns}
      empty={
        degraded.length > 0
          ? "No reason to doubt this visitor in the available data."
          : "No reason to doubt this visitor."
      }
    />
  );
}

interface DecisionResultProps {
  readonly of: AssessedVisitor;
  readonly visitor: VisitorInput;
  readonly isDraft: boolean;
}

export function DecisionResult({ of, visitor, isDraft }: DecisionResultProps) {
  const { decision, facts_read, rule_action, ...rest } = of;
  const { ruleset, facts = {}, ip, email } = decision;
  return (
    <>
      <DecisionCard
        of={decision}
        ruleset={isDraft ? "draft" : rulesetName(ruleset)}
        ruleAction={rule_action}
        {...rest}
      >
        <Copies json={JSON.stringify(decision, null, 2)}>
          {[visitor.ip, visitor.email].map(
            (value) =>
              value && (
                <LookupLink key={value} value={value}>
                  Look up {value}
                </LookupLink>
              ),
          )}
        </Copies>
      </DecisionCard>
      {ip?.reputation && <EvidenceCard title="Evidence about the address" from={ip.reputation} />}
      {email && <EvidenceCard title="Evidence about the email address" from={email} />}
      <FactTable facts={facts} read={facts_read} />
    </>
  );
}
