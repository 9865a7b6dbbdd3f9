// override-many.tsx: adds one override for each of many values, with one reason. Either all overrides are added, or
// none of them.

import { isReputationFlag, REPUTATION_FLAGS } from "@inkling/contract";
import { useState } from "preact/hooks";
import type { Answer } from "../../answers.ts";
import { UserError } from "../../api.ts";
import { Button } from "../../components/basics.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Field, Form, Select, TextField, TimeField, textOf, timeOf } from "../../components/form.tsx";
import { flagName, formatCount } from "../../format.ts";
import { notify } from "../../hooks.ts";
import { useRefusal } from "../../session.ts";
import { importOverrides } from "../overrides/files.tsx";
import { PRECEDENCE } from "../overrides/override-columns.tsx";
import { isProblem, verdictOf } from "./answers.ts";

const VERDICTS = [...REPUTATION_FLAGS, "disposable"].flatMap(
  (flag) =>
    [
      [`${flag}=false`, `${flagName(flag)}: no`],
      [`${flag}=true`, `${flagName(flag)}: yes`],
    ] as const,
);

/** Returns the initial verdict, which clears the flag that most answers set. */
function firstVerdict(answers: readonly Answer[]): string {
  const flags = [...REPUTATION_FLAGS, "disposable"];
  const texts = answers.flatMap((answer) => verdictOf(answer, []).texts.map((text) => text.toLowerCase()));
  const counts = flags.map(
    (flag) => texts.filter((text) => text.startsWith(flagName(flag).toLowerCase())).length,
  );
  const most = Math.max(...counts);
  if (most > 0) return `${flags[counts.indexOf(most)]}=false`;
  return valuesFor(REPUTATION_FLAGS[0], answers).length > 0
    ? `${REPUTATION_FLAGS[0]}=true`
    : "disposable=true";
}

/**
 * Returns the answer's value in the form that an override needs; undefined if no override of this flag can apply to the
 * value.
 */
function overridable(flag: string, answer: Answer): string | undefined {
  if (!isReputationFlag(flag)) {
    const isMailbox = "email" in answer && !isProblem(answer.email) && answer.email.valid;
    return isMailbox ? answer.value : undefined;
  }
  if (answer.kind === "address") return isProblem(answer.reputation) ? undefined : answer.value;
  return answer.kind === "network" && !isProblem(answer.summary) ? answer.network : undefined;
}

const valuesFor = (flag: string, answers: readonly Answer[]) =>
  answers.flatMap((answer) => overridable(flag, answer) ?? []);

interface OverrideManyProps {
  /** For example "Override the shown values". */
  readonly title: string;
  readonly answers: readonly Answer[];
  readonly onDone: () => void;
}

export function OverrideMany({ title, answers, onDone }: OverrideManyProps) {
  const [chosen, setVerdict] = useState<string>();
  const [isOpen, setOpen] = useState(false);
  const refusal = useRefusal("analyst");
  const close = () => setOpen(false);
  const verdict = chosen ?? firstVerdict(answers);
  const [flag = ""] = verdict.split("=");
  const values = valuesFor(flag, answers);
  const others = answers.filter((answer) => overridable(flag, answer) === undefined);
  const submit = async (given: FormData) => {
    const reason = { note: textOf(given, "note"), expires_at: timeOf(textOf(given, "expires_at"), null) };
    if (values.length === 0) throw new UserError("This verdict does not apply to any of these values.");
    const isSet = verdict.endsWith("=true");
    const overrides = values.map((value) => ({ value, flag, verdict: isSet, ...reason }));
    const file = { format: "inkling-overrides", version: 1, overrides } as const;
    const { added, changed, unchanged } = await importOverrides(file);
    close();
    notify(`${added} added, ${changed} changed, ${unchanged} unchanged.`);
    onDone();
  };
  const rest = others.length > 0 ? `, without ${others.map(({ value }) => value).join(", ")}` : "";
  const note = `For ${formatCount(values.length)} of ${formatCount(answers.length)} values${rest}.`;
  return (
    <>
      <Button text={title} refusal={refusal} onClick={() => setOpen(true)} />
      {isOpen && (
        <Dialog title={title} onClose={close}>
          <p>{PRECEDENCE}</p>
          <Form
            needs="analyst"
            action="Add overrides"
            submit={submit}
            aside={<Button text="Cancel" onClick={close} />}
          >
            <Field label="Verdict" note={note}>
              <Select options={VERDICTS} value={verdict} onChoose={setVerdict} />
            </Field>
            <TextField label="Reason" name="note" required maxLength={500} />
            <TimeField label="Expires" name="expires_at" />
          </Form>
        </Dialog>
      )}
    </>
  );
}
