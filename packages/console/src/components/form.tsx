// form.tsx: forms whose submission is one request that changes something, and their fields.

import {
  type ComponentChildren,
  cloneElement,
  type HTMLAttributes,
  type InputHTMLAttributes,
  type SelectHTMLAttributes,
  type TargetedSubmitEvent,
  type VNode,
} from "preact";
import { useId, useState } from "preact/hooks";
import { formatRelative } from "../format.ts";
import { useAction } from "../hooks.ts";
import { useReadOnly } from "../session.ts";
import { Problem } from "./basics.tsx";

/** What is entered in a field, without surrounding space. */
export const textOf = (values: FormData, name: string) => String(values.get(name) ?? "").trim();

interface FormProps {
  readonly class?: string;
  /** The text of the button. */
  readonly action: string;
  /** What it throws is shown above the button; the fields keep their values. */
  readonly submit: (values: FormData, form: HTMLFormElement) => Promise<unknown>;
  /** Beside the button. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Form({ class: kind, action, submit, aside, children }: FormProps) {
  const [problem, setProblem] = useState("");
  const [start, isBusy] = useAction(setProblem);
  const readOnly = useReadOnly();
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    setProblem("");
    start(() => submit(new FormData(form), form));
  };
  return (
    <form class={kind} onSubmit={onSubmit}>
      {children}
      {problem && <Problem text={problem} />}
      <p class="actions">
        {aside}
        <button type="submit" aria-busy={isBusy} disabled={readOnly !== undefined}>
          {action}
        </button>
        {readOnly && <small>{readOnly}</small>}
      </p>
    </form>
  );
}

interface FieldProps {
  readonly label: string;
  readonly note?: string | undefined;
}

/** A control with its label, and a note that describes it. */
export function Field({ label, note, children }: FieldProps & { children: VNode<HTMLAttributes> }) {
  const id = useId();
  const noteId = `${id}-note`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, { id, ...(note ? { "aria-describedby": noteId } : {}) })}
      {note && <small id={noteId}>{note}</small>}
    </div>
  );
}

export const TextField = ({ label, note, ...attributes }: FieldProps & InputHTMLAttributes) => (
  <Field label={label} note={note}>
    <input type="text" autocomplete="off" spellcheck={false} {...attributes} />
  </Field>
);

export type Options = readonly (readonly [value: string, text: string])[];

type SelectProps = SelectHTMLAttributes & {
  readonly options: Options;
  /** Gets the value of the chosen option. */
  readonly onChoose?: (value: string) => void;
};

export const Select = ({ options, onChoose, ...attributes }: SelectProps) => (
  <select {...attributes} onChange={(event) => onChoose?.(event.currentTarget.value)}>
    {options.map(([value, text]) => (
      <option key={value} value={value}>
        {text}
      </option>
    ))}
  </select>
);

const DAY_MS = 86_400_000;
const PERIODS: Options = [
  ["", "any time"],
  ["1", "last day"],
  ["7", "last week"],
  ["30", "last 30 days"],
  ["365", "last year"],
];

/** @param onSince gets the time at which the period begins; "" for any time */
export const PeriodField = ({ onSince }: { onSince: (iso: string) => void }) => (
  <Field label="Time">
    <Select
      options={PERIODS}
      onChoose={(days) => onSince(days && new Date(Date.now() - Number(days) * DAY_MS).toISOString())}
    />
  </Field>
);

const EXPIRIES: Options = [
  ["", "never"],
  ["1", "in a day"],
  ["7", "in a week"],
  ["30", "in 30 days"],
  ["365", "in a year"],
];

const KEPT = "kept";

/**
 * A field named "expires"; see {@link expiryOf}.
 * @param current the expiry that a change keeps by default
 */
export const ExpiryField = ({ current }: { current?: string | null }) => (
  <Field label="Expires">
    <Select
      name="expires"
      options={current ? [[KEPT, `unchanged: ${formatRelative(current)}`], ...EXPIRIES] : EXPIRIES}
    />
  </Field>
);

/** The member `expires_at` of a request, or none. */
export function expiryOf(values: FormData, current?: string | null): { expires_at?: string } {
  if (current && values.get("expires") === KEPT) return { expires_at: current };
  const days = Number(values.get("expires"));
  return days > 0 ? { expires_at: new Date(Date.now() + days * DAY_MS).toISOString() } : {};
}
