// add.tsx: a form that adds an override.

import { REPUTATION_FLAGS } from "@inkling/contract";
import { ApiError, call, UserError } from "../../api.ts";
import { Card } from "../../components/basics.tsx";
import { ExpiryField, expiryOf, Field, Form, Select, TextField, textOf } from "../../components/form.tsx";
import { flagName } from "../../format.ts";
import { notify } from "../../hooks.ts";

const verdictsOf = (flag: string) =>
  [
    [`${flag}=false`, `${flagName(flag)}: no`],
    [`${flag}=true`, `${flagName(flag)}: yes`],
  ] as const;

/** Flags with their verdicts, such as "is_proxy=false", each with the text to show. */
export const VERDICTS = [...REPUTATION_FLAGS, "disposable"].flatMap(verdictsOf);

function bodyOf(values: FormData) {
  const [flag, verdict] = textOf(values, "verdict").split("=");
  return {
    value: textOf(values, "value"),
    flag: flag!, // VERDICTS has a flag before each "="
    verdict: verdict === "true",
    note: textOf(values, "note"),
    ...expiryOf(values),
    ...(values.has("force") ? { force: true } : {}),
  };
}

const FORCE = "Allow a very broad network";

/** The API's message suggests sending `force`, but this form has a checkbox instead. */
function adviseForce(error: unknown): never {
  const isWide = error instanceof ApiError && error.code === "OVERRIDE_TOO_WIDE";
  throw isWide ? new UserError(`This network is very broad. To add it, check "${FORCE}".`) : error;
}

export function AddCard({ reload }: { reload: () => void }) {
  const submit = async (values: FormData, form: HTMLFormElement) => {
    const { outcome } = await call("POST overrides", bodyOf(values)).catch(adviseForce);
    const isNew = outcome !== "unchanged";
    notify(isNew ? "Override added. All servers apply it within a second." : "This override already exists.");
    form.reset();
    reload();
  };
  const value = { name: "value", placeholder: "203.0.113.9, 203.0.113.0/24, example.com", required: true };
  return (
    <Card title="Add an override">
      <Form needs="analyst" action="Add" submit={submit}>
        <TextField
          label="Address, network, domain or email address"
          note="An email address is stored only as a hash."
          {...value}
        />
        <Field label="Verdict">
          <Select name="verdict" options={VERDICTS} />
        </Field>
        <TextField label="Reason" name="note" required maxLength={500} />
        <ExpiryField />
        <label class="inline">
          <input type="checkbox" name="force" />
          {FORCE}
        </label>
      </Form>
    </Card>
  );
}
