// operation.tsx: creates forms from the schema of an operation's input, and buttons that run an operation.

import type { Api } from "@inkling/operations";
import type { FormSchemas } from "@inkling/operations/form-schemas";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, call, UserError } from "../api.ts";
import { notify, useAction } from "../hooks.ts";
import { useRefusal } from "../session.ts";
import { Button, type ButtonProps } from "./basics.tsx";
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
import { SecretOnce } from "./secrets.tsx";

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

const isTime = (name: string) => /_(at|until)$/.test(name);

/** Returns a field's name in words: "created_at" is "Created". */
export function labelOf(name: string): string {
  const text = name.replace(/_(at|until|seconds)$/, "").replaceAll("_", " ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

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
  const choices = text.options ?? (schema.enum ?? items?.enum)?.map((value) => [value, value] as const);
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

/** What the page shows at the end. */
type Message<R extends Route> = string | ((output: Output<R>) => string);

function show<R extends Route>(message: Message<R> | undefined, output: Output<R>): void {
  if (message) notify(typeof message === "string" ? message : message(output));
}

export interface OperationFormProps<R extends Route> {
  readonly route: R;
  /** The button's text. */
  readonly action: string;
  /** The input's fields that have no control. */
  readonly input?: Partial<Input<R>>;
  /** The current values of fields with a control. */
  readonly initial?: object;
  readonly fields?: FieldTexts<R>;
  readonly class?: string;
  readonly isDanger?: boolean;
  readonly aside?: ComponentChildren;
  readonly message?: Message<R>;
  readonly done: (output: Output<R>, form: HTMLFormElement) => unknown;
  /** Called with the server's refusal. */
  readonly failed?: (error: unknown) => unknown;
}

/** A form with a control for each field of an operation's input. Shows the server's problems beside them. */
export function OperationForm<R extends Route>(props: OperationFormProps<R>) {
  const { route, input = {}, initial = {}, fields = {}, message, done, failed, ...form } = props;
  const { role, fields: inputs } = schemaOf(route);
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const shown = Object.entries(inputs).filter(([name]) => !(name in input));
  const current = initial as Readonly<Record<string, unknown>>;
  const texts = fields as Readonly<Record<string, FieldText>>;
  const submit = async (values: FormData, element: HTMLFormElement) => {
    setProblems({});
    const given = shown.map(
      ([name, schema]) => [name, readField(name, schema, values, current[name])] as const,
    );
    const body = Object.fromEntries(given.filter(([, value]) => value !== undefined));
    const output = await call(route, { ...body, ...input } as Input<R>).catch((error: unknown) => {
      const names = shown.map(([name]) => name);
      const [beside, rest] = placeProblems(error, names);
      setProblems(beside);
      failed?.(error);
      throw rest;
    });
    show(message, output);
    await done(output, element);
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

interface ActionProps<R extends Route>
  extends Pick<ButtonProps, "text" | "label" | "class">,
    Omit<OperationFormProps<R>, "action" | "class" | "aside" | "done"> {
  /** If given, the button opens a dialog with this text and the fields. */
  readonly question?: readonly [title: string, details: ComponentChildren, action: string];
  /** A token or secret in the output, which is shown once: its name, and where it is. */
  readonly secret?: readonly [what: string, of: (output: Output<R>) => string];
  readonly done?: (output: Output<R>) => unknown;
}

/** A button that runs an operation. */
export function Action<R extends Route>(props: ActionProps<R>) {
  const { text, label, class: kind = "quiet", question, secret, done, ...operation } = props;
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState<string>();
  const [start, isBusy] = useAction();
  const refusal = useRefusal(schemaOf(operation.route).role);
  const close = () => setOpen(false);
  const finish = (output: Output<R>) => {
    close();
    if (secret) setShown(secret[1](output));
    done?.(output);
  };
  const run = async () => {
    const output = await call(operation.route, operation.input as Input<R>);
    show(operation.message, output);
    finish(output);
  };
  return (
    <>
      <Button
        text={text}
        {...(label && { label })}
        class={kind}
        isBusy={isBusy}
        refusal={refusal}
        onClick={() => (question ? setOpen(true) : start(run))}
      />
      {isOpen && question && (
        <Dialog title={question[0]} onClose={close}>
          {typeof question[1] === "string" ? <p>{question[1]}</p> : question[1]}
          <OperationForm
            {...operation}
            action={question[2]}
            aside={<Button text="Cancel" onClick={close} />}
            done={finish}
          />
        </Dialog>
      )}
      {secret && shown && <SecretOnce what={secret[0]} secret={shown} />}
    </>
  );
}
