// override-button.tsx: an override with one click, and a reason.

import type { Override } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Badge, Button } from "../../components/basics.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ExpiryField, expiryOf, Form, TextField, textOf } from "../../components/form.tsx";
import { flagName } from "../../format.ts";
import { notify } from "../../hooks.ts";

interface OverrideButtonProps {
  readonly value: string;
  readonly flag: string;
  readonly verdict: boolean;
  /** "Set" or "Clear" by default. */
  readonly text?: string;
  /** Those that apply to the value. */
  readonly overrides: readonly Override[];
  readonly onDone: () => void;
}

/** Where an override decides already, a badge: a second override of the same value would replace the first. */
export function OverrideButton({ value, flag, verdict, text, overrides, onDone }: OverrideButtonProps) {
  const [isOpen, setOpen] = useState(false);
  if (overrides.some((one) => one.flag === flag && one.value === value.toLowerCase()))
    return <Badge kind="faint">your override</Badge>;
  const close = () => setOpen(false);
  const submit = async (values: FormData) => {
    const body = { value, flag, verdict, note: textOf(values, "note"), ...expiryOf(values) };
    await api("overrides", { method: "POST", body });
    close();
    notify("Override added. All servers apply it within a second.");
    onDone();
  };
  const name = flagName(flag);
  const action = verdict ? "Set" : "Clear";
  const label = text ?? `${action} ${name} for ${value}`;
  return (
    <>
      <Button text={text ?? action} label={label} onClick={() => setOpen(true)} />
      {isOpen && (
        <Dialog title={`${value}: ${name} ${verdict ? "yes" : "no"}`} onClose={close}>
          <p>An override takes precedence over every feed.</p>
          <Form action="Add override" submit={submit} aside={<Button text="Cancel" onClick={close} />}>
            <TextField label="Reason" note="Also in the audit trail." name="note" required maxLength={500} />
            <ExpiryField />
          </Form>
        </Dialog>
      )}
    </>
  );
}
