// override-many.tsx: one override for each of many values, with one reason: all of them are added, or none.

import { isReputationFlag, REPUTATION_FLAGS } from "@inkling/contract";
import type { Answer, Imported } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { api, UserError } from "../../api.ts";
import { Button } from "../../components/basics.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ExpiryField, expiryOf, Field, Form, Select, TextField, textOf } from "../../components/form.tsx";
import { formatCount } from "../../format.ts";
import { notify } from "../../hooks.ts";
import { VERDICTS } from "../overrides/add.tsx";

/** The values that an override of a flag can be about. */
function valuesFor(flag: string, answers: readonly Answer[]): string[] {
  const kinds = isReputationFlag(flag) ? ["address", "network"] : ["email", "domain"];
  return answers.filter(({ kind }) => kinds.includes(kind)).map(({ value }) => value);
}

interface OverrideManyProps {
  readonly answers: readonly Answer[];
  readonly onDone: () => void;
}

export function OverrideMany({ answers, onDone }: OverrideManyProps) {
  const [isOpen, setOpen] = useState(false);
  const [verdict, setVerdict] = useState<string>(`${REPUTATION_FLAGS[0]}=false`);
  const [flag = ""] = verdict.split("=");
  const values = valuesFor(flag, answers);
  const close = () => setOpen(false);
  const submit = async (form: FormData) => {
    if (values.length === 0) throw new UserError("None of the shown values can have this verdict.");
    const rest = { flag, verdict: verdict.endsWith("=true"), note: textOf(form, "note"), ...expiryOf(form) };
    const overrides = values.map((value) => ({ value, ...rest }));
    const body = { format: "inkling-overrides", version: 1, overrides };
    const { added, changed, unchanged } = await api<Imported>("overrides/import", { method: "POST", body });
    close();
    notify(`${added} added, ${changed} changed, ${unchanged} unchanged.`);
    onDone();
  };
  return (
    <>
      <Button text="Override the shown values" onClick={() => setOpen(answers.length > 0)} />
      {isOpen && (
        <Dialog title="Override the shown values" onClose={close}>
          <p>An override takes precedence over every feed.</p>
          <Form action="Add overrides" submit={submit} aside={<Button text="Cancel" onClick={close} />}>
            <Field label="Verdict" note={`For ${formatCount(values.length)} of the shown values.`}>
              <Select options={VERDICTS} value={verdict} onChoose={setVerdict} />
            </Field>
            <TextField label="Reason" note="Also in the audit trail." name="note" required maxLength={500} />
            <ExpiryField />
          </Form>
        </Dialog>
      )}
    </>
  );
}
