// add.tsx: a form that adds an override.

import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Card } from "../../components/basics.tsx";
import {
  ExpiryField,
  expiryOf,
  Field,
  Form,
  type FormValues,
  Select,
  TextInput,
} from "../../components/form.tsx";
import { FLAG_NAMES, flagName } from "../../format.ts";
import { notify } from "../../hooks.ts";

const MUTE = "mute";
const VERDICTS: readonly (readonly [value: string, text: string])[] = [
  ...[...FLAG_NAMES, "disposable"].flatMap((flag) => [
    [`${flag}=false`, `${flagName(flag)}: no`] as const,
    [`${flag}=true`, `${flagName(flag)}: yes`] as const,
  ]),
  [MUTE, "ignore one feed"],
];

function bodyOf(values: FormValues) {
  const [flag, verdict] = values.text("verdict").split("=");
  return {
    value: values.text("value"),
    ...(flag === MUTE ? { mute: values.text("feed") } : { flag, verdict: verdict === "true" }),
    note: values.text("note"),
    ...expiryOf(values),
    ...(values.text("force") ? { force: true } : {}),
  };
}

export function AddCard({ reload }: { reload: () => void }) {
  const [verdict, setVerdict] = useState(VERDICTS[0]?.[0] ?? "");
  const submit = async (values: FormValues, form: HTMLFormElement) => {
    const { outcome } = await api<{ outcome: string }>("overrides", { method: "POST", body: bodyOf(values) });
    const isNew = outcome !== "unchanged";
    notify(isNew ? "Override added. All servers apply it within a second." : "This override exists already.");
    form.reset();
    setVerdict(VERDICTS[0]?.[0] ?? "");
    reload();
  };
  return (
    <Card title="Add an override">
      <Form class="stack" action="Add" submit={submit}>
        <Field
          label="Address, network, domain or email address"
          note="An email address is stored only as a hash."
        >
          <TextInput name="value" required placeholder="203.0.113.9, 203.0.113.0/24, example.com" />
        </Field>
        <Field label="Verdict">
          <Select
            name="verdict"
            options={VERDICTS}
            value={verdict}
            onChange={(event) => setVerdict(event.currentTarget.value)}
          />
        </Field>
        {verdict === MUTE && (
          <Field label="Feed">
            <TextInput name="feed" required placeholder="id of the feed" />
          </Field>
        )}
        <Field label="Reason">
          <TextInput name="note" required maxLength={500} />
        </Field>
        <ExpiryField />
        <label class="inline">
          <input type="checkbox" name="force" />
          Allow a very wide network
        </label>
      </Form>
    </Card>
  );
}
