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
import { formatRelative } from "../format.ts";
import { useAction } from "../hooks.ts";
import { useRefusal } from "../session.ts";
import { Problem } from "./basics.tsx";

/** A field's value without surrounding white space. */
export const textOf = (values: FormData, name: string) => String(values.get(name) ?? "").trim();

interface FormProps {
  readonly class?: string;
  /** The button's text. */
  readonly action: string;
  /** The role that the action needs. */
  readonly needs?: AdminRole;
  /** If this function throws, the form shows the error above the button, and the fields keep their values. */
  readonly submit: (values: FormData, form: HTMLFormElement) => Promise<unknown>;
  /** Content next to the button. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Form({ class: kind, action, needs = "admin", submit, aside, children }: FormProps) {
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

/** A control with its label and, if given, a note that describes it. */
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
  /** Called with the chosen option's value. */
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
 * @param current the current expiry, which a change keeps by default
 */
export const ExpiryField = ({ current }: { current?: string | null }) => (
  <Field label="Expires">
    <Select
      name="expires"
      options={current ? [[KEPT, `unchanged: ${formatRelative(current)}`], ...EXPIRIES] : EXPIRIES}
    />
  </Field>
);

/** An object with the request's `expires_at` member, or an empty object. */
export function expiryOf(values: FormData, current?: string | null): { expires_at?: string } {
  if (current && values.get("expires") === KEPT) return { expires_at: current };
  const days = Number(values.get("expires"));
  return days > 0 ? { expires_at: new Date(Date.now() + days * DAY_MS).toISOString() } : {};
}
