// edit.tsx: a dialog that changes an override's reason and expiry.

import type { Override } from "@inkling/server/admin-answers";
import { call } from "../../api.ts";
import { OverrideDialog, type Reason } from "./override-dialog.tsx";

interface EditButtonProps {
  readonly override: Override;
  readonly onDone: () => void;
}

export function EditButton({ override, onDone }: EditButtonProps) {
  const { value, flag, verdict } = override;
  const title = `Edit the override for ${value}`;
  const submit = async (reason: Reason) => {
    // A wide network was already allowed when the override was added.
    const { outcome } = await call("POST overrides", { value, flag, verdict, ...reason, force: true });
    return `Override ${outcome}.`;
  };
  return (
    <OverrideDialog
      text="Edit"
      label={title}
      title={title}
      action="Save"
      of={override}
      submit={submit}
      onDone={onDone}
    />
  );
}
