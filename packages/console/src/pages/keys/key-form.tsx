// key-form.tsx: edits the name, scopes and limits of a new or existing key.

import type { Key, KeySettings } from "@inkling/server/admin-answers";
import { Field, Form, Select, TextField, textOf } from "../../components/form.tsx";
import { SCOPES } from "./usage.tsx";

const MODES = [
  ["live", "live: answers from data"],
  ["test", "sandbox: fixed answers"],
] as const;

/** Returns the day of the expiry. The form does not show the time of day. */
const dayOf = (key: Key | undefined) => key?.expires_at?.slice(0, 10) ?? "";

/**
 * Reads the key's settings from the form, including the mode if the form has one. If the expiry's day is unchanged, its
 * time is kept.
 */
function settingsOf(values: FormData, key: Key | undefined): KeySettings {
  const number = (name: string) => (textOf(values, name) === "" ? null : Number(values.get(name)));
  const date = textOf(values, "expires");
  return {
    ...(values.has("mode") ? { mode: textOf(values, "mode") as KeySettings["mode"] } : {}),
    name: textOf(values, "name"),
    scopes: values.getAll("scope") as Key["scopes"],
    networks: textOf(values, "networks").match(/[^\s,]+/g) ?? [],
    rate: number("rate"),
    burst: number("burst"),
    quota: number("quota"),
    expires_at: date === dayOf(key) ? (key?.expires_at ?? null) : date ? `${date}T23:59:59Z` : null,
  };
}

interface KeyFormProps {
  /** The key to change; undefined for a new key. */
  readonly of?: Key;
  readonly submit: (settings: KeySettings, form: HTMLFormElement) => Promise<void>;
}

export function KeyForm({ of: key, submit }: KeyFormProps) {
  const number = (name: "rate" | "burst" | "quota", placeholder = "default", min = 0) =>
    ({ name, placeholder, min, type: "number", defaultValue: key?.[name] ?? "" }) as const;
  const hasScope = (scope: Key["scopes"][number]) => key?.scopes.includes(scope) ?? true;
  const name = { name: "name", required: true, maxLength: 100, defaultValue: key?.name };
  const expires = { name: "expires", type: "date", defaultValue: dayOf(key) } as const;
  const networks = { placeholder: "10.0.0.0/8", defaultValue: key?.networks.join("\n") };
  const save = (values: FormData, form: HTMLFormElement) => submit(settingsOf(values, key), form);
  return (
    <Form class="grid" action={key ? "Save" : "Create key"} submit={save}>
      <TextField label="Name" note="The application that uses the key." {...name} />
      {!key && (
        <Field label="Mode">
          <Select name="mode" options={MODES} />
        </Field>
      )}
      <fieldset>
        <legend>Scopes</legend>
        {SCOPES.map(([scope, title]) => (
          <label key={scope} class="inline">
            <input type="checkbox" name="scope" value={scope} defaultChecked={hasScope(scope)} />
            {title}
          </label>
        ))}
      </fieldset>
      <TextField label="Rate" note="Lookups per second; 0 means no limit." step="any" {...number("rate")} />
      <TextField label="Burst" note="Lookups at once." {...number("burst", "default", 1)} />
      <TextField label="Quota" note="Lookups per day (UTC)." {...number("quota", "none")} />
      <TextField label="Expires" note="At the end of that day (UTC)." {...expires} />
      <Field label="Allowed networks" note="One per line. Leave empty to allow every address.">
        <textarea name="networks" rows={2} spellcheck={false} {...networks} />
      </Field>
    </Form>
  );
}
