// form.tsx: forms whose submission is one request, and their fields.

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
import { useAction } from "../hooks.ts";
import { Problem } from "./basics.tsx";

interface FormProps {
  readonly class?: string;
  readonly action: string;
  readonly actionClass?: string;
  /** What it throws is shown above the button; the fields keep their values. */
  readonly submit: (values: FormValues, form: HTMLFormElement) => Promise<void>;
  /** Beside the button. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** What is entered in a form, by the names of its fields. */
export interface FormValues {
  /** Without surrounding space. */
  text(name: string): string;
  all(name: string): string[];
  file(name: string): File | undefined;
}

function valuesOf(form: HTMLFormElement): FormValues {
  const data = new FormData(form);
  return {
    text: (name) => String(data.get(name) ?? "").trim(),
    all: (name) => data.getAll(name).map(String),
    file: (name) => {
      const file = data.get(name);
      return file instanceof File ? file : undefined;
    },
  };
}

export function Form({ class: kind = "grid", action, actionClass, submit, aside, children }: FormProps) {
  const [problem, setProblem] = useState("");
  const [start, isBusy] = useAction(setProblem);
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    setProblem("");
    start(() => submit(valuesOf(form), form));
  };
  return (
    <form class={kind} onSubmit={onSubmit}>
      {children}
      <Problem>{problem}</Problem>
      <p class="actions">
        {aside}
        <button type="submit" class={actionClass} aria-busy={isBusy}>
          {action}
        </button>
      </p>
    </form>
  );
}

interface FieldProps {
  readonly label: string;
  readonly note?: string;
  /** The control: an input, select or textarea. */
  readonly children: VNode<HTMLAttributes>;
}

/** A control with its label, and a note that describes it. */
export function Field({ label, note, children }: FieldProps) {
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

export const TextInput = (props: InputHTMLAttributes) => (
  <input type="text" autocomplete="off" spellcheck={false} {...props} />
);

type SelectProps = SelectHTMLAttributes & {
  readonly options: readonly (readonly [value: string, text: string])[];
};

export const Select = ({ options, ...props }: SelectProps) => (
  <select {...props}>
    {options.map(([value, text]) => (
      <option key={value} value={value}>
        {text}
      </option>
    ))}
  </select>
);

const EXPIRIES = [
  ["", "never"],
  ["1", "in a day"],
  ["7", "in a week"],
  ["30", "in 30 days"],
  ["365", "in a year"],
] as const;

/** A field named "expires"; see {@link expiryOf}. */
export const ExpiryField = () => (
  <Field label="Expires">
    <Select name="expires" options={EXPIRIES} />
  </Field>
);

/** The member `expires_at` of a request, or none. */
export function expiryOf(values: FormValues): { expires_at?: string } {
  const days = Number(values.text("expires"));
  return days > 0 ? { expires_at: new Date(Date.now() + days * 86_400_000).toISOString() } : {};
}
