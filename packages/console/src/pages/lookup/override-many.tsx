// override-many.tsx: one override for each of many values, with one reason: all of them are added, or none.

import { isReputationFlag, REPUTATION_FLAGS } from "@inkling/contract";
import type { Answer, Imported } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { api, UserError } from "../../api.ts";
import { Field, Select } from "../../components/form.tsx";
import { formatCount } from "../../format.ts";
import { VERDICTS } from "../overrides/add.tsx";
import { OverrideDialog } from "../overrides/override-dialog.tsx";

/** The values that an override of a flag can be about. */
function valuesFor(flag: string, answers: readonly Answer[]): string[] {
  const kinds = isReputationFlag(flag) ? ["address", "network"] : ["email", "domain"];
  return answers.filter(({ kind }) => kinds.includes(kind)).map(({ value }) => value);
}

interface OverrideManyProps {
  /** "Override the shown values". */
  readonly title: string;
  readonly answers: readonly Answer[];
  readonly onDone: () => void;
}

export function OverrideMany({ title, answers, onDone }: OverrideManyProps) {
  const [verdict, setVerdict] = useState<string>(`${REPUTATION_FLAGS[0]}=false`);
  const [flag = ""] = verdict.split("=");
  const values = valuesFor(flag, answers);
  const submit = async (reason: object) => {
    if (values.length === 0) throw new UserError("None of these values can have this verdict.");
    const isSet = verdict.endsWith("=true");
    const overrides = values.map((value) => ({ value, flag, verdict: isSet, ...reason }));
    const body = { format: "inkling-overrides", version: 1, overrides };
    const { added, changed, unchanged } = await api<Imported>("overrides/import", { method: "POST", body });
    return `${added} added, ${changed} changed, ${unchanged} unchanged.`;
  };
  const note = `For ${formatCount(values.length)} of ${formatCount(answers.length)} values.`;
  return (
    <OverrideDialog text={title} title={title} action="Add overrides" submit={submit} onDone={onDone}>
      <Field label="Verdict" note={note}>
        <Select options={VERDICTS} value={verdict} onChoose={setVerdict} />
      </Field>
    </OverrideDialog>
  );
}
