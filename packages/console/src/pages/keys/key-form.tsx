// key-form.tsx: name, scopes and limits of a key, new or existing; and how its token is shown.

import { CopyButton, Notice } from "../../components/basics.tsx";
import { Field, Form, Select, TextField, textOf } from "../../components/form.tsx";
import type { Key, KeySettings } from "../../types.ts";
import { SCOPES } from "./usage.tsx";

const MODES = [
  ["live", "live: answers from data"],
  ["test", "sandbox: fixed answers"],
] as const;

/** With the mode, where the form has one. */
function settingsOf(values: FormData): KeySettings {
  const number = (name: string) => (textOf(values, name) === "" ? null : Number(values.get(name)));
  const date = textOf(values, "expires");
  return {
    ...(values.has("mode") ? { mode: textOf(values, "mode") } : {}),
    name: textOf(values, "name"),
    scopes: values.getAll("scope").map(String),
    networks: textOf(values, "networks")
      .split(/[\s,]+/)
      .filter(Boolean),
    rate: number("rate"),
    burst: number("burst"),
    quota: number("quota"),
    expires_at: date ? `${date}T23:59:59Z` : null,
  };
}

interface KeyFormProps {
  /** The key to change; none for a new one. */
  readonly of?: Key;
  readonly submit: (settings: KeySettings, form: HTMLFormElement) => Promise<void>;
}

export function KeyForm({ of: key, submit }: KeyFormProps) {
  const number = (name: "rate" | "burst" | "quota", least: number, placeholder: string) => ({
    name,
    type: "number" as const,
    min: least,
    placeholder,
    defaultValue: key?.[name] ?? "",
  });
  return (
    <Form
      class="grid"
      action={key ? "Save" : "Create key"}
      submit={(values, form) => submit(settingsOf(values), form)}
    >
      <TextField
        label="Name"
        note="The application that uses it."
        name="name"
        required
        maxLength={100}
        defaultValue={key?.name}
      />
      {!key && (
        <Field label="Mode">
          <Select name="mode" options={MODES} />
        </Field>
      )}
      <fieldset>
        <legend>Scopes</legend>
        {SCOPES.map(([scope, title]) => (
          <label key={scope} class="inline">
            <input
              type="checkbox"
              name="scope"
              value={scope}
              defaultChecked={key?.scopes.includes(scope) ?? true}
            />
            {title}
          </label>
        ))}
      </fieldset>
      <TextField
        label="Rate"
        note="Lookups per second; 0 is no limit."
        step="any"
        {...number("rate", 0, "default")}
      />
      <TextField label="Burst" note="Lookups at once." {...number("burst", 1, "default")} />
      <TextField label="Quota" note="Lookups per day (UTC)." {...number("quota", 0, "none")} />
      <TextField
        label="Expires"
        note="At the end of that day (UTC)."
        name="expires"
        type="date"
        defaultValue={key?.expires_at?.slice(0, 10)}
      />
      <Field label="Allowed networks" note="One per line; empty allows every address.">
        <textarea
          name="networks"
          rows={2}
          spellcheck={false}
          placeholder="10.0.0.0/8"
          defaultValue={key?.networks.join("\n")}
        />
      </Field>
    </Form>
  );
}

/** A token, which the server never shows again. */
export const TokenOnce = ({ token, href }: { token: string; href?: string }) => (
  <div aria-live="polite">
    <Notice kind="good">
      <p>
        <strong>Copy the key now: it is shown only once.</strong>
      </p>
      <p>
        <code class="token">{token}</code>
      </p>
      <p class="actions">
        <CopyButton text={token} label="Copy key" />
        {href && <a href={href}>Open this key</a>}
      </p>
    </Notice>
  </div>
);
