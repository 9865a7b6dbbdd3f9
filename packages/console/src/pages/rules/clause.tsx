// clause.tsx: shows the fields of one clause of a condition: a fact, an operator, and what the operator needs.

import { COUNTRY_CODES } from "@inkling/contract";
import { useState } from "preact/hooks";
import { Button, Marked } from "../../components/basics.tsx";
import { Select } from "../../components/form.tsx";
import { countryName } from "../../format.ts";
import type { Fact } from "./facts.ts";
import {
  type Clause,
  comparable,
  firstValue,
  isMultiple,
  type Literal,
  OPERATORS,
  type Operator,
  operatorsFor,
  withFact,
  withOperator,
} from "./rule-condition.ts";

interface ClauseFieldsProps {
  readonly label: string;
  /** The word that joins it with the clause above. */
  readonly joint: string | undefined;
  readonly clause: Clause;
  readonly facts: readonly Fact[];
  readonly onChange: (clause: Clause) => void;
  /** Undefined for the only clause. */
  readonly onRemove: (() => void) | undefined;
}

export function ClauseFields({ label, joint, clause, facts, onChange, onRemove }: ClauseFieldsProps) {
  const fact = factIn(facts, clause.fact);
  const { operator } = clause;
  return (
    <>
      {joint && <p class="faint">{joint}</p>}
      <fieldset class="clause" aria-label={label}>
        <FactSelect
          label="Fact"
          facts={facts}
          value={fact.expression}
          onChoose={(chosen) => onChange(withFact(clause, fact, factIn(facts, chosen), facts))}
        />
        <small>
          <Marked text={fact.meaning} />
        </small>
        <Select
          aria-label="Operator"
          options={operatorsFor(fact).map((name) => [name, OPERATORS[name].text])}
          value={operator}
          onChoose={(chosen) => onChange(withOperator(clause, fact, chosen as Operator, facts))}
        />
        <Operand clause={clause} fact={fact} facts={facts} onChange={onChange} />
        {onRemove && <Button text="Remove" label={`Remove ${label.toLowerCase()}`} onClick={onRemove} />}
      </fieldset>
    </>
  );
}

/** Finds a clause's fact, which is always known, because the clause was read. */
const factIn = (facts: readonly Fact[], expression: string) =>
  facts.find((fact) => fact.expression === expression)!;

/** The start of a fact's meaning, up to its details. */
const shortMeaning = (meaning: string) => meaning.split(/[:;]/)[0]!.replaceAll("`", "");

interface FactSelectProps {
  readonly label: string;
  readonly facts: readonly Fact[];
  readonly value: string;
  readonly onChoose: (expression: string) => void;
}

const FactSelect = ({ label, facts, value, onChoose }: FactSelectProps) => (
  <Select
    aria-label={label}
    options={facts.map(({ expression, meaning }) => [expression, `${expression}: ${shortMeaning(meaning)}`])}
    value={value}
    onChoose={onChoose}
  />
);

type OperandProps = Pick<ClauseFieldsProps, "clause" | "facts" | "onChange"> & { readonly fact: Fact };

function Operand({ clause, fact, facts, onChange }: OperandProps) {
  const { operand } = clause;
  const row = OPERATORS[clause.operator];
  const set = (changed: Clause["operand"]) => onChange({ ...clause, operand: changed });
  const given = row.isPart ? { ...fact, values: undefined } : fact;
  if (row.operand === "none") return null;
  if (row.operand === "fact")
    return (
      <FactSelect label="Other fact" facts={comparable(fact, facts)} value={String(operand)} onChoose={set} />
    );
  if (isMultiple(operand))
    return (
      <>
        <NumberValue label="Times" value={operand.times} onValue={(times) => set({ ...operand, times })} />
        <FactSelect
          label="Other fact"
          facts={comparable(fact, facts)}
          value={operand.of}
          onChoose={(of) => set({ ...operand, of })}
        />
      </>
    );
  if (!Array.isArray(operand))
    return <Value label="Value" fact={given} value={operand as Literal} onValue={set} />;
  return (
    <div>
      {operand.map((value: Literal, i) => (
        <div key={i} class="value">
          <Value
            label={`Value ${i + 1}`}
            fact={given}
            value={value}
            onValue={(changed) => set(operand.map((old: Literal, k) => (k === i ? changed : old)))}
          />
          {operand.length > 1 && (
            <Button
              text="×"
              label={`Remove value ${i + 1}`}
              onClick={() => set(operand.filter((_: Literal, k) => k !== i))}
            />
          )}
        </div>
      ))}
      <Button text="Add a value" onClick={() => set([...operand, firstValue(fact, operand)])} />
    </div>
  );
}

interface ValueProps {
  readonly label: string;
  readonly fact: Fact;
  readonly value: Literal;
  readonly onValue: (value: Literal) => void;
}

function Value({ label, fact: { values }, value, onValue }: ValueProps) {
  if (typeof value === "number") return <NumberValue label={label} value={value} onValue={onValue} />;
  if (values === undefined)
    return (
      <input
        type="text"
        aria-label={label}
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    );
  // the text may have a value that the fact never has
  const options = values.includes(value) ? values : [value, ...values];
  const textOf = (one: string) => (values === COUNTRY_CODES ? `${one}: ${countryName(one)}` : one);
  return (
    <Select
      aria-label={label}
      options={options.map((one) => [one, textOf(one)])}
      value={value}
      onChoose={onValue}
    />
  );
}

interface NumberValueProps {
  readonly label: string;
  readonly value: number;
  readonly onValue: (value: number) => void;
}

/** Keeps what is typed while it is not a number. */
function NumberValue({ label, value, onValue }: NumberValueProps) {
  const [typed, setTyped] = useState({ text: String(value), value });
  return (
    <input
      type="number"
      step="any"
      aria-label={label}
      value={typed.value === value ? typed.text : String(value)}
      onInput={(event) => {
        const { value: text, valueAsNumber } = event.currentTarget;
        const isNumber = Number.isFinite(valueAsNumber);
        setTyped({ text, value: isNumber ? valueAsNumber : value });
        if (isNumber) onValue(valueAsNumber);
      }}
    />
  );
}
