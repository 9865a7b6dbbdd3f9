// form.tsx: defines forms that each send one request to change something, and the fields of these forms.

import type { AdminRole } from "@inkling/contract";
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
import { formatRelative, timeIn } from "../format.ts";
import { useAction } from "../hooks.ts";
import { useRefusal } from "../session.ts";
import { Marked, Problem } from "./basics.tsx";

/** A field's value without surrounding white space. */
export const textOf = (values: FormData, name: string) => String(values.get(name) ?? "").trim();

interface FormProps {
  readonly class?: string;
  /** The button's text. */
  readonly action: string;
  readonly isDanger?: boolean;
  /** The role that the action needs. */
  readonly needs?: AdminRole;
  /** If this function throws, the form shows the error above the button, and the fields keep their values. */
  readonly submit: (values: FormData, form: HTMLFormElement) => Promise<unknown>;
  /** Content next to the button. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Form({ class: kind, action, isDanger, needs = "admin", submit, aside, children }: FormProps) {
  const [problem, setProblem] = useState("");
  const [start, isBusy] = useAction(setProblem);
  const readOnly = useRefusal(needs);
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
        <button
          type="submit"
          class={isDanger ? "danger" : undefined}
          aria-busy={isBusy}
          disabled={readOnly !== undefined}
        >
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
  /** What is wrong with the value. */
  readonly problem?: string | undefined;
}

/** A control with its label and, if given, a note that describes it and a problem. */
export function Field({ label, note, problem, children }: FieldProps & { children: VNode<HTMLAttributes> }) {
  const id = useId();
  const noteId = `${id}-note`;
  const described =
    note || problem ? { "aria-describedby": noteId, "aria-invalid": problem !== undefined } : {};
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, { id, ...described })}
      <span id={noteId}>
        {problem && <FieldProblem text={problem} />}
        {note && (
          <small>
            <Marked text={note} />
          </small>
        )}
      </span>
    </div>
  );
}

export const FieldProblem = ({ text }: { text: string }) => (
  <small class="problem" role="alert">
    <Marked text={text} />
  </small>
);

export const TextField = ({ label, note, problem, ...attributes }: FieldProps & InputHTMLAttributes) => (
  <Field label={label} note={note} problem={problem}>
    <input type="text" autocomplete="off" spellcheck={false} {...attributes} />
  </Field>
);

export type Options = readonly (readonly [value: string, text: string])[];

type SelectProps = SelectHTMLAttributes & {
  readonly options: Options;
  /** Called with the chosen option's value. */
  readonly onChoose?: (value: string) => void;
};

export const Select = ({ options, onChoose, defaultValue, ...attributes }: SelectProps) => (
  <select {...attributes} onChange={(event) => onChoose?.(event.currentTarget.value)}>
    {options.map(([value, text]) => (
      <option
        key={value}
        value={value}
        selected={defaultValue === undefined ? undefined : value === defaultValue}
      >
        {text}
      </option>
    ))}
  </select>
);

const EXPIRIES: Options = [
  ["", "never"],
  ["1", "in a day"],
  ["7", "in a week"],
  ["30", "in 30 days"],
  ["365", "in a year"],
];

const KEPT = "kept";

interface TimeFieldProps extends FieldProps {
  readonly name: string;
  /** The current value, which is kept by default. */
  readonly current?: string | null | undefined;
  /** True to choose the day at whose end (UTC) the time is. */
  readonly isDay?: boolean | undefined;
  /** Days from now; by default up to a year. */
  readonly options?: Options | undefined;
}

const isFuture = (iso: string | null | undefined): iso is string => !!iso && Date.parse(iso) > Date.now();

/** A field for a time in the future, or none; see {@link timeOf}. */
export const TimeField = ({ name, current, isDay, options = EXPIRIES, ...field }: TimeFieldProps) =>
  isDay ? (
    <TextField {...field} type="date" name={name} defaultValue={current?.slice(0, 10) ?? ""} />
  ) : (
    <Field {...field}>
      <Select
        name={name}
        options={isFuture(current) ? [[KEPT, `unchanged: ${formatRelative(current)}`], ...options] : options}
      />
    </Field>
  );

/** Returns the time that a TimeField's value means; null for none. */
export function timeOf(given: string, current: string | null | undefined): string | null {
  if (given === "") return null;
  if (current && (given === KEPT || given === current.slice(0, 10))) return current;
  if (given.includes("-")) return `${given}T23:59:59Z`;
  return timeIn(Number(given));
}
