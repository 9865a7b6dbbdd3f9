// builder.tsx: implements the rule builder, which shows one rule of the draft as fields. Every change is written into
// the draft's text immediately, and the fields are read from the text again, so that text and builder cannot differ.

import { ACTIONS, type FactType } from "@inkling/contract";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button, Marked, Notice } from "../../components/basics.tsx";
import { Field, Select, TextField } from "../../components/form.tsx";
import { ClauseFields } from "./clause.tsx";
import { type Fact, factsWith } from "./facts.ts";
import {
  type Beyond,
  type Clause,
  type Condition,
  NEW_CLAUSE,
  normalized,
  writeCondition,
} from "./rule-condition.ts";
import {
  RULE_MODES,
  type RulesText,
  type RuleText,
  type ShownRule,
  showRule,
  withKey,
  withNewRule,
  withoutRule,
  withRuleAt,
} from "./rule-text.ts";

interface BuilderProps {
  readonly text: string;
  readonly rules: RulesText | Beyond;
  readonly onText: (text: string) => void;
  /** Shows a line of the text. Lines begin at 1. */
  readonly onShow: (line: number) => void;
}

const NO_FACTS: Readonly<Record<string, FactType>> = {};

export function Builder({ text, rules, onText, onShow }: BuilderProps) {
  const [chosen, setChosen] = useState(0);
  const all = "beyond" in rules ? [] : rules.rules;
  const index = Math.max(0, Math.min(chosen, all.length - 1));
  const rule = all[index];
  const declared = "beyond" in rules ? NO_FACTS : rules.declared;
  const facts = useMemo(() => factsWith(declared), [JSON.stringify(declared)]);
  const isOpen = useRef(false);
  useEffect(() => {
    if (isOpen.current && rule) onShow(rule.header + 1); // the page opens with the start of the text
    isOpen.current = true;
  }, [chosen]);
  const add = () => {
    setChosen(all.length);
    onText(withNewRule(text, all));
  };
  const move = (from: RuleText, to: number) => {
    setChosen(to);
    onText(withRuleAt(text, from, to));
  };
  return (
    <section class="builder" aria-label="Rule builder">
      <h3>Rule builder</h3>
      {"beyond" in rules ? (
        <Notice kind="warn">{rules.beyond} Correct the text to use the builder.</Notice>
      ) : (
        <>
          {rule && (
            <Field label="Rule">
              <Select
                options={all.map(({ name, keys }, i) => [`${i}`, `${i + 1}. ${name} (${keys.mode})`])}
                value={`${index}`}
                onChoose={(value) => setChosen(Number(value))}
              />
            </Field>
          )}
          <p class="actions">
            <Button text="Add a rule" onClick={add} />
            {rule?.statements && (
              <Button text="Remove this rule" onClick={() => onText(withoutRule(text, rule))} />
            )}
          </p>
          {rule?.statements && all.length > 1 && (
            <Field label="Place" note="The first live rule that matches decides.">
              <Select
                options={all.map((_, i) => [`${i}`, placeOf(all, index, i)])}
                value={`${index}`}
                onChoose={(value) => move(rule, Number(value))}
              />
            </Field>
          )}
          {rule && <OneRule text={text} rule={rule} facts={facts} onText={onText} />}
        </>
      )}
    </section>
  );
}

/** Returns where the rule at `from` is if its index is `to`. */
function placeOf(rules: readonly RuleText[], from: number, to: number): string {
  const next = rules[to < from ? to : to + 1];
  return next === undefined ? `${to + 1}. last` : `${to + 1}. before ${next.name}`;
}

interface OneRuleProps {
  readonly text: string;
  readonly rule: RuleText;
  readonly facts: readonly Fact[];
  readonly onText: (text: string) => void;
}

function OneRule({ text, rule, facts, onText }: OneRuleProps) {
  const shown = showRule(rule, facts);
  if ("beyond" in shown)
    return (
      <Notice kind="warn">
        The builder cannot show this rule: <Marked text={shown.beyond} />. Its text remains as it is; change
        it in the editor.
      </Notice>
    );
  const set = (key: string, value: string | boolean) => onText(withKey(text, rule, key, value));
  return <RuleFields rule={shown} facts={facts} set={set} />;
}

const choices = (values: readonly string[]) => values.map((value) => [value, value] as const);
const MODE_TEXTS = {
  live: "live: it decides",
  shadow: "shadow: answers list what it would decide",
  off: "off",
} as const;
const MODES = RULE_MODES.map((mode) => [mode, MODE_TEXTS[mode]] as const);

interface RuleFieldsProps {
  readonly rule: ShownRule;
  readonly facts: readonly Fact[];
  readonly set: (key: string, value: string | boolean) => void;
}

function RuleFields({ rule, facts, set }: RuleFieldsProps) {
  const { name, condition, action, isAtLeast, isReview, mode } = rule;
  return (
    <>
      <TextField
        label="Name"
        note="Lower-case letters, digits, hyphens and underscores. Begins with a letter or digit."
        value={name}
        onInput={(event) => set("name", event.currentTarget.value)}
      />
      <ConditionFields
        condition={condition}
        facts={facts}
        onChange={(changed) => set("when", writeCondition(normalized(changed)))}
      />
      <Field label="Action">
        <Select options={choices(ACTIONS)} value={action} onChoose={(value) => set("then", value)} />
      </Field>
      {(action !== "allow" || isAtLeast) && (
        <Check
          text="If the score's action is stricter, it applies (`at_least`)"
          value={isAtLeast}
          onChange={(value) => set("at_least", value)}
        />
      )}
      <Check
        text="A person should review the visitor"
        value={isReview}
        onChange={(value) => set("review", value)}
      />
      <Field label="Mode">
        <Select options={MODES} value={mode} onChoose={(value) => set("mode", value)} />
      </Field>
    </>
  );
}

interface CheckProps {
  readonly text: string;
  readonly value: boolean;
  readonly onChange: (value: boolean) => void;
}

const Check = ({ text, value, onChange }: CheckProps) => (
  <label class="inline">
    <input type="checkbox" checked={value} onChange={(event) => onChange(event.currentTarget.checked)} />{" "}
    <Marked text={text} />
  </label>
);

const JOINTS = [
  ["all", "all of these match"],
  ["any", "any of these matches"],
] as const;

interface ConditionFieldsProps {
  readonly condition: Condition;
  readonly facts: readonly Fact[];
  readonly onChange: (condition: Condition) => void;
}

function ConditionFields({ condition, facts, onChange }: ConditionFieldsProps) {
  const { joint, groups } = condition;
  const [outer, inner] = joint === "all" ? ["and", "or"] : ["or", "and"];
  const count = groups.flat().length;
  const setGroup = (at: number, group: readonly Clause[]) =>
    onChange({ joint, groups: groups.map((old, i) => (i === at ? group : old)) });
  return (
    <div class="field">
      {groups.length > 1 ? (
        <Field label="When">
          <Select
            options={JOINTS}
            value={joint}
            onChoose={(value) => onChange({ joint: value === "any" ? "any" : "all", groups })}
          />
        </Field>
      ) : (
        <strong>When</strong>
      )}
      {groups.map((group, i) => (
        <div key={i} class="clauses">
          {i > 0 && <p class="faint">{outer}</p>}
          {group.map((clause, j) => (
            <ClauseFields
              key={j}
              label={group.length > 1 ? `Condition ${i + 1}, part ${j + 1}` : `Condition ${i + 1}`}
              joint={j > 0 ? inner : undefined}
              clause={clause}
              facts={facts}
              onChange={(changed) =>
                setGroup(
                  i,
                  group.map((old, k) => (k === j ? changed : old)),
                )
              }
              onRemove={
                count === 1
                  ? undefined
                  : () =>
                      setGroup(
                        i,
                        group.filter((_, k) => k !== j),
                      )
              }
            />
          ))}
          {groups.length > 1 && (
            <Button
              text={`${inner} …`}
              label={`${inner} … in condition ${i + 1}`}
              onClick={() => setGroup(i, [...group, NEW_CLAUSE])}
            />
          )}
        </div>
      ))}
      <p class="actions">
        <Button
          text="Add a condition"
          onClick={() => onChange({ joint, groups: [...groups, [NEW_CLAUSE]] })}
        />
      </p>
    </div>
  );
}
