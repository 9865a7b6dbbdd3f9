// override-button.tsx: an override with one click, and a reason.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Dialog } from "../../components/dialog.tsx";
import { ExpiryField, expiryOf, Field, Form, type FormValues, TextInput } from "../../components/form.tsx";
import { flagName } from "../../format.ts";
import { notify } from "../../hooks.ts";

interface OverrideButtonProps {
  readonly value: string;
  readonly flag: string;
  readonly verdict: boolean;
  readonly label?: string;
  readonly onDone: () => void;
  readonly children: ComponentChildren;
}

export function OverrideButton({ value, flag, verdict, label, onDone, children }: OverrideButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const submit = async (values: FormValues) => {
    const body = { value, flag, verdict, note: values.text("note"), ...expiryOf(values) };
    await api("overrides", { method: "POST", body });
    close();
    notify("Override added. All servers apply it within a second.");
    onDone();
  };
  return (
    <>
      <button type="button" class="quiet" aria-label={label} onClick={() => setOpen(true)}>
        {children}
      </button>
      {isOpen && (
        <Dialog title={`${value}: ${flagName(flag)} ${verdict ? "yes" : "no"}`} onClose={close}>
          <p>An override takes precedence over every feed.</p>
          <Form
            class="stack"
            action="Add override"
            submit={submit}
            aside={
              <button type="button" class="quiet" onClick={close}>
                Cancel
              </button>
            }
          >
            <Field label="Reason" note="Shown with the override and in the audit trail.">
              <TextInput name="note" required maxLength={500} />
            </Field>
            <ExpiryField />
          </Form>
        </Dialog>
      )}
    </>
  );
}
