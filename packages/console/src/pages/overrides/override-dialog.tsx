// override-dialog.tsx: a button that opens a form for an override's reason and expiry.

import type { Override } from "@inkling/server/admin-answers";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../components/basics.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ExpiryField, expiryOf, Form, TextField, textOf } from "../../components/form.tsx";
import { notify } from "../../hooks.ts";
import { useRefusal } from "../../session.ts";

/** The fields of the form. */
export interface Reason {
  readonly note: string;
  readonly expires_at?: string;
}

interface OverrideDialogProps {
  readonly text: string;
  /** A label for screen readers, if the text does not distinguish two buttons. */
  readonly label?: string;
  readonly title: string;
  readonly action: string;
  /** The override to change; undefined for a new one. */
  readonly of?: Override;
  /** Returns the message for the user. */
  readonly submit: (reason: Reason) => Promise<string>;
  readonly onDone: () => void;
  /** Fields above the reason. */
  readonly children?: ComponentChildren;
}

export function OverrideDialog(props: OverrideDialogProps) {
  const { text, label, title, action, of, submit, onDone, children } = props;
  const [isOpen, setOpen] = useState(false);
  const readOnly = useRefusal("analyst");
  const close = () => setOpen(false);
  const send = async (values: FormData) => {
    const message = await submit({ note: textOf(values, "note"), ...expiryOf(values, of?.expires_at) });
    close();
    notify(message);
    onDone();
  };
  return (
    <>
      <Button text={text} {...(label && { label })} refusal={readOnly} onClick={() => setOpen(true)} />
      {isOpen && (
        <Dialog title={title} onClose={close}>
          <p>An override takes precedence over every feed.</p>
          <Form
            needs="analyst"
            action={action}
            submit={send}
            aside={<Button text="Cancel" onClick={close} />}
          >
            {children}
            <TextField
              label="Reason"
              note="Also in the audit trail."
              name="note"
              defaultValue={of?.note ?? ""}
              required
              maxLength={500}
            />
            <ExpiryField current={of?.expires_at ?? null} />
          </Form>
        </Dialog>
      )}
    </>
  );
}
