// override-button.tsx: an override with one click, and a reason.

import type { Override } from "@inkling/server/admin-answers";
import { api } from "../../api.ts";
import { Badge } from "../../components/basics.tsx";
import { flagName } from "../../format.ts";
import { OverrideDialog } from "../overrides/override-dialog.tsx";

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
  if (overrides.some((one) => one.flag === flag && one.value === value.toLowerCase()))
    return <Badge kind="faint">your override</Badge>;
  const submit = async (reason: object) => {
    await api("overrides", { method: "POST", body: { value, flag, verdict, ...reason } });
    return "Override added. All servers apply it within a second.";
  };
  const name = flagName(flag);
  const action = verdict ? "Set" : "Clear";
  return (
    <OverrideDialog
      text={text ?? action}
      label={text ?? `${action} ${name} for ${value}`}
      title={`${value}: ${name} ${verdict ? "yes" : "no"}`}
      action="Add override"
      submit={submit}
      onDone={onDone}
    />
  );
}
