// edit.tsx: a dialog that changes an override's reason and expiry.

import type { Override } from "@inkling/server/admin-answers";
import { api } from "../../api.ts";
import { OverrideDialog } from "./override-dialog.tsx";

interface EditButtonProps {
  readonly override: Override;
  readonly onDone: () => void;
}

export function EditButton({ override, onDone }: EditButtonProps) {
  const { value, flag, verdict } = override;
  const title = `Edit the override for ${value}`;
  const submit = async (reason: object) => {
    // A wide network was already allowed when the override was added.
    const body = { value, flag, verdict, ...reason, force: true };
    const { outcome } = await api<{ outcome: string }>("overrides", { method: "POST", body });
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
