// operation.tsx: creates forms from the schema of an operation's input, and buttons that run an operation.

import type { Api } from "@inkling/operations";
import type { FormSchemas } from "@inkling/operations/form-schemas";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, call, UserError } from "../api.ts";
import { notify, useAction } from "../hooks.ts";
import { useRefusal } from "../session.ts";
import { Button } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";
import {
  Field,
  FieldProblem,
  Form,
  type Options,
  Select,
  TextField,
  TimeField,
  textOf,
  timeOf,
} from "./form.tsx";
import { SecretOnce, secretIn } from "./secrets.tsx";

/** The build puts the schemas of all operations here. */
declare const FORM_SCHEMAS: FormSchemas;

export type Route = keyof Api;
export type Input<R extends Route> = Api[R]["input"];
export type Output<R extends Route> = Api[R]["output"];
type FieldSchema = FormSchemas[string]["fields"][string];

/** The role that an operation needs, and the fields of its input that are not in the path. */
export const schemaOf = (route: Route) => FORM_SCHEMAS[route]!;

/** What a page shows instead of a field's name and description. */
export interface FieldText {
  readonly label?: string;
  readonly note?: string;
  readonly placeholder?: string;
  /** The values to choose from, with their texts. */
  readonly options?: Options;
  /** True to choose a day, at whose end the time is. */
  readonly isDay?: boolean;
}
export type FieldTexts<R extends Route> = { readonly [Name in keyof Input<R>]?: FieldText };

export const isTime = (name: string) => /_(at|until)$/.test(name);

/** Returns a field's name in words: "created_at" is "Created". */
export function labelOf(name: string): string {
  const text = name.replace(/_(at|until|seconds|hours)$/, "").replaceAll("_", " ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** How long an old token or secret remains valid after a rotation, in seconds. */
const OVERLAPS: Options = [
  ["86400", "a day"],
  ["3600", "an hour"],
  ["604800", "a week"],
  ["0", "not at all"],
];

interface SchemaFieldProps {
  readonly name: string;
  readonly schema: FieldSchema;
  readonly text: FieldText;
  readonly initial: unknown;
  readonly problem: string | undefined;
}

function SchemaField({ name, schema, text, initial = schema.default, problem }: SchemaFieldProps) {
  const { type, items, required, maxLength, minimum, maximum, description } = schema;
  const { label = labelOf(name), note = isTime(name) ? undefined : description, placeholder, isDay } = text;
  const choices =
    text.options ??
    (name === "overlap_seconds"
      ? OVERLAPS
      : (schema.enum ?? items?.enum)?.map((value) => [value, value] as const));
  const field = { label, note, problem };
  if (type === "boolean" && !choices)
    return (
      <label class="inline">
        <input type="checkbox" name={name} defaultChecked={initial === true} /> {text.label ?? note}
      </label>
    );
  if (items?.enum && choices)
    return (
      <fieldset>
        <legend>{label}</legend>
        {choices.map(([value, choice]) => (
          <label key={value} class="inline">
            <input
              type="checkbox"
              name={name}
              value={value}
              defaultChecked={(initial as readonly string[] | undefined)?.includes(value) ?? true}
            />
            {choice}
          </label>
        ))}
        {problem && <FieldProblem text={problem} />}
      </fieldset>
    );
  if (isTime(name) || isDay)
    return (
      <TimeField
        key={`${initial}`}
        {...field}
        name={name}
        isDay={isDay}
        options={text.options}
        current={initial as string | null}
      />
    );
  if (choices)
    return (
      <Field {...field}>
        <Select name={name} options={choices} defaultValue={String(initial ?? "")} />
      </Field>
    );
  if (type === "array")
    return (
      <Field {...field}>
        <textarea
          name={name}
          rows={2}
          spellcheck={false}
          placeholder={placeholder}
          defaultValue={((initial ?? []) as readonly string[]).join("\n")}
        />
      </Field>
    );
  const isNumber = type === "number" || type === "integer";
  const limits = isNumber
    ? ({ type: "number", min: minimum, max: maximum, step: "any" } as const)
    : ({ maxLength } as const);
  return (
    <TextField
      {...field}
      {...limits}
      name={name}
      required={required}
      placeholder={placeholder}
      defaultValue={String(initial ?? "")}
    />
  );
}

/** Reads a field's value. Undefined leaves the field out; null unsets what was set before. */
function readField(name: string, { type, items }: FieldSchema, values: FormData, initial: unknown): unknown {
  const given = textOf(values, name);
  if (type === "boolean") return given === "true" || given === "on";
  if (items?.enum) return values.getAll(name);
  if (type === "array") return given.match(/[^\s,]+/g) ?? [];
  if (isTime(name)) return timeOf(given, initial as string | null | undefined);
  if (given === "") return initial === undefined || initial === null ? undefined : null;
  return type === "number" || type === "integer" ? Number(given) : given;
}

interface OperationProps<R extends Route> {
  readonly route: R;
  /** The input's fields that have no control. */
  readonly input?: Partial<Input<R>>;
  /** The current values of fields with a control. */
  readonly initial?: object;
  readonly fields?: FieldTexts<R>;
  readonly isDanger?: boolean;
  /** What the page says at the end. */
  readonly message?: string | ((output: Output<R>) => string);
  /** Called with the server's refusal. */
  readonly failed?: (error: unknown) => unknown;
}

export interface OperationFormProps<R extends Route> extends OperationProps<R> {
  /** The button's text. */
  readonly action: string;
  readonly class?: string;
  readonly aside?: ComponentChildren;
  /** Sends the fields that have a control, and the rest of the input; by default once. */
  readonly send?: (given: object) => Promise<unknown>;
  readonly done?: (output: Output<R>, form: HTMLFormElement) => unknown;
}

/** Runs an operation, and says what became of it. */
async function run<R extends Route>({ route, input, message }: OperationProps<R>, given: object = {}) {
  const output = await call(route, { ...given, ...input } as Input<R>);
  if (message) notify(typeof message === "string" ? message : message(output));
  return output;
}

/** A form with a control for each field of an operation's input. Shows the server's problems beside them. */
export function OperationForm<R extends Route>(props: OperationFormProps<R>) {
  const { route, input = {}, initial = {}, fields = {}, message, failed, send, done, ...form } = props;
  const { role, fields: inputs } = schemaOf(route);
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const shown = Object.entries(inputs).filter(([name]) => !(name in input));
  const current = initial as Readonly<Record<string, unknown>>;
  const texts = fields as Readonly<Record<string, FieldText>>;
  const submit = async (values: FormData, element: HTMLFormElement) => {
    setProblems({});
    const read = shown.map(
      ([name, schema]) => [name, readField(name, schema, values, current[name])] as const,
    );
    const given = Object.fromEntries(read.filter(([, value]) => value !== undefined));
    if (send) return send(given);
    const output = await run(props, given).catch((error: unknown) => {
      const names = shown.map(([name]) => name);
      const [beside, rest] = placeProblems(error, names);
      setProblems(beside);
      failed?.(error);
      throw rest;
    });
    await done?.(output, element);
  };
  return (
    <Form {...form} needs={role} submit={submit}>
      {shown.map(([name, schema]) => (
        <SchemaField
          key={name}
          name={name}
          schema={schema}
          text={texts[name] ?? {}}
          initial={current[name]}
          problem={problems[name]}
        />
      ))}
    </Form>
  );
}

/** Separates the problems that belong beside a field from what the form shows. */
function placeProblems(error: unknown, names: readonly string[]): [Record<string, string>, unknown] {
  const beside: Record<string, string> = {};
  if (!(error instanceof ApiError)) return [beside, error];
  const rest = error.problems.filter((line) => {
    const [, name = "", text = ""] = /^(\w+)[\w.]*: (.*)$/s.exec(line) ?? [];
    if (!names.includes(name)) return true;
    beside[name] = [beside[name], text].filter(Boolean).join("; ");
    return false;
  });
  if (rest.length === error.problems.length) return [beside, error];
  return [beside, new UserError(rest.join("; "))];
}

interface ActionProps<R extends Route> extends OperationProps<R> {
  readonly text: string;
  /** What the text is about, such as a key's name. */
  readonly of?: string;
  /** What it does. The button asks in a dialog with this text and the fields, if there are any. */
  readonly ask?: ComponentChildren;
  /** The text of the dialog's button, if it differs. */
  readonly action?: string;
  readonly class?: "quiet" | "danger" | "";
  readonly refusal?: string | undefined;
  readonly done?: (output: Output<R>) => unknown;
}

/** A button that runs an operation. Shows the token or secret in the output. */
export function Action<R extends Route>(props: ActionProps<R>) {
  const { text, of, ask, action = text, class: kind, refusal, done, ...operation } = props;
  const { route, input = {}, isDanger = route.startsWith("DELETE ") } = operation;
  const { role, fields } = schemaOf(route);
  const [isOpen, setOpen] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [start, isBusy] = useAction();
  const readOnly = useRefusal(role);
  const hasFields = Object.keys(fields).some((name) => !(name in input));
  const label = of === undefined ? text : `${text} ${of}`;
  const close = () => setOpen(false);
  const finish = (output: Output<R>) => {
    close();
    setSecret(secretIn(output));
    done?.(output);
  };
  const click = () => {
    if (hasFields || ask !== undefined) setOpen(true);
    else start(async () => finish(await run(operation)));
  };
  return (
    <>
      <Button
        text={text}
        label={label}
        class={kind}
        isBusy={isBusy}
        refusal={readOnly ?? refusal}
        onClick={click}
      />
      {isOpen && (
        <Dialog title={hasFields ? label : `${label}?`} onClose={close}>
          {typeof ask === "string" ? <p>{ask}</p> : ask}
          <OperationForm
            {...operation}
            isDanger={isDanger}
            action={action}
            aside={<Button text="Cancel" onClick={close} />}
            done={finish}
          />
        </Dialog>
      )}
      <SecretOnce secret={secret} />
    </>
  );
}
