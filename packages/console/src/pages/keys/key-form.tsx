// key-form.tsx: name, scopes and limits of a key: of a new one, or of an existing one.

import { useState } from "preact/hooks";
import { CopyButton } from "../../components/basics.tsx";
import { Field, Form, type FormValues, Select, TextInput } from "../../components/form.tsx";
import type { Key, Scope } from "../../types.ts";
import { SCOPES } from "./usage.tsx";

/** The members that the form sets; `null` is "not set". */
export interface KeyLimits {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly networks: readonly string[];
  readonly rate: number | null;
  readonly burst: number | null;
  readonly quota: number | null;
  readonly expires_at: string | null;
}

interface KeyFormProps {
  /** The key to change. */
  readonly of?: Key;
  readonly save?: (limits: KeyLimits) => Promise<void>;
  /** For a new key. */
  readonly create?: (limits: KeyLimits, mode: string) => Promise<{ id: string; token: string }>;
}

const MODES = [
  ["live", "live: answers from data"],
  ["test", "sandbox: fixed answers"],
] as const;

function limitsOf(values: FormValues): KeyLimits {
  const number = (name: string) => (values.text(name) === "" ? null : Number(values.text(name)));
  const date = values.text("expires");
  return {
    name: values.text("name"),
    scopes: values.all("scope"),
    networks: values
      .text("networks")
      .split(/[\s,]+/)
      .filter(Boolean),
    rate: number("rate"),
    burst: number("burst"),
    quota: number("quota"),
    expires_at: date ? `${date}T23:59:59Z` : null,
  };
}

export function KeyForm({ of: key, save, create }: KeyFormProps) {
  const [created, setCreated] = useState<{ id: string; token: string }>();
  const submit = async (values: FormValues, form: HTMLFormElement) => {
    setCreated(undefined);
    await save?.(limitsOf(values));
    if (!create) return;
    setCreated(await create(limitsOf(values), values.text("mode")));
    form.reset();
  };
  return (
    <>
      <Form action={key ? "Save" : "Create key"} submit={submit}>
        <Field label="Name" note="The application that uses it.">
          <TextInput name="name" required maxLength={100} defaultValue={key?.name} />
        </Field>
        {create && (
          <Field label="Mode">
            <Select name="mode" options={MODES} />
          </Field>
        )}
        <Scopes selected={key?.scopes} />
        <Field label="Rate" note="Lookups per second; 0 is no limit, empty the server's default.">
          <NumberInput name="rate" value={key?.rate} step="any" placeholder="default" />
        </Field>
        <Field label="Burst" note="Lookups at once; empty the server's default.">
          <NumberInput name="burst" value={key?.burst} min={1} placeholder="default" />
        </Field>
        <Field label="Quota" note="Lookups per day (UTC).">
          <NumberInput name="quota" value={key?.quota} placeholder="none" />
        </Field>
        <Field label="Expires" note="At the end of that day (UTC).">
          <input type="date" name="expires" defaultValue={key?.expires_at?.slice(0, 10)} />
        </Field>
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
      <div aria-live="polite">
        {created && <TokenOnce token={created.token} href={`#/keys/${created.id}`} />}
      </div>
    </>
  );
}

interface NumberInputProps {
  readonly name: string;
  readonly value: number | null | undefined;
  readonly min?: number;
  readonly step?: number | "any";
  readonly placeholder: string;
}

const NumberInput = ({ value, min = 0, step = 1, ...props }: NumberInputProps) => (
  <TextInput type="number" min={min} step={step} defaultValue={value ?? ""} {...props} />
);

/** @param selected undefined: all */
const Scopes = ({ selected }: { selected: readonly Scope[] | undefined }) => (
  <fieldset>
    <legend>Scopes</legend>
    {SCOPES.map(([scope, title]) => (
      <label key={scope} class="inline">
        <input
          type="checkbox"
          name="scope"
          value={scope}
          defaultChecked={selected?.includes(scope) ?? true}
        />
        {title}
      </label>
    ))}
  </fieldset>
);

/** A token, which the server never shows again. */
export const TokenOnce = ({ token, href }: { token: string; href?: string }) => (
  <div class="notice good">
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
  </div>
);
