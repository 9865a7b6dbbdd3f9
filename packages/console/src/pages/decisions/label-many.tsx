// label-many.tsx: labels the selected decisions with one outcome, shows the progress, and names the decisions that
// could not be labelled.

import { OUTCOMES, type Outcome } from "@inkling/contract";
import type { Decision } from "@inkling/server/admin-answers";
import { useState } from "preact/hooks";
import { Button, Notice } from "../../components/basics.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { formatCount } from "../../format.ts";
import { messageOf, useAction } from "../../hooks.ts";
import { useRefusal } from "../../session.ts";
import { labelDecision, OUTCOME_TEXTS } from "./decision.tsx";

/** Maximum number of concurrent requests. A browser opens at most six connections to a host, and pages need some too. */
const MAX_CONCURRENT = 4;

interface LabelManyProps {
  readonly shown: readonly Decision[];
  /** The ids of the selected decisions. */
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (ids: readonly string[]) => void;
  /** Called at the end with the decisions that were labelled. */
  readonly onLabelled: (labelled: readonly Decision[]) => void;
}

interface Result {
  readonly text: string;
  /** The ids of the decisions that could not be labelled, by the reason. */
  readonly failed: ReadonlyMap<string, readonly string[]>;
}

const NO_FAILURES: Result["failed"] = new Map();

export function LabelMany({ shown, selected, onSelect, onLabelled }: LabelManyProps) {
  const [isOpen, setOpen] = useState(false);
  const [result, setResult] = useState<Result>({ text: "", failed: NO_FAILURES });
  const [progress, setProgress] = useState({ done: 0, of: 0 });
  const [start, isBusy] = useAction();
  const readOnly = useRefusal("analyst");
  const chosen = shown.filter(({ id }) => selected.has(id));
  const count = formatCount(chosen.length);
  const noun = chosen.length === 1 ? "decision" : "decisions";
  const close = () => setOpen(false);
  const label = async (outcome: Outcome) => {
    setResult({ text: "Labelling …", failed: NO_FAILURES });
    const onDone = (done: number) => setProgress({ done, of: chosen.length });
    const { labelled, failed } = await labelAll(chosen, outcome, onDone);
    const part = failed.size > 0 ? `${formatCount(labelled.length)} of ` : "";
    setResult({ text: `Labelled ${part}${count} ${noun} as ${outcome}.`, failed });
    onLabelled(labelled);
  };
  const replaced = chosen.filter(({ outcome }) => outcome !== null).length;
  return (
    <>
      <p class="actions">
        <label class="inline">
          <input
            type="checkbox"
            checked={chosen.length === shown.length}
            indeterminate={chosen.length > 0 && chosen.length < shown.length}
            onChange={({ currentTarget: { checked } }) => onSelect(checked ? shown.map(({ id }) => id) : [])}
          />
          Select all shown
        </label>
        <Button
          text={chosen.length === 0 ? "Label selected" : `Label ${count} selected`}
          isBusy={isBusy}
          refusal={readOnly ?? (chosen.length === 0 ? "Select decisions in the list first." : undefined)}
          onClick={() => setOpen(!isBusy)}
        />
        <span role="status">
          {result.text}{" "}
          {isBusy && <progress aria-label="Labelled decisions" value={progress.done} max={progress.of} />}
        </span>
      </p>
      {[...result.failed].map(([reason, ids]) => (
        <Notice key={reason} kind="bad">
          Not labelled: {reason}{" "}
          {ids.map((id) => (
            <a key={id} href={`#/decisions/${id}`}>
              {id}{" "}
            </a>
          ))}
        </Notice>
      ))}
      {isOpen && (
        <Dialog title={`Label ${count} ${noun}`} onClose={close}>
          <p>
            How the visitors turned out.
            {replaced > 0 && ` The new outcome replaces the earlier outcome of ${formatCount(replaced)}.`}
          </p>
          <p class="actions">
            <Button text="Cancel" onClick={close} />
            {OUTCOMES.map((outcome) => (
              <Button
                key={outcome}
                class=""
                text={OUTCOME_TEXTS[outcome]}
                onClick={() => {
                  close();
                  start(() => label(outcome));
                }}
              />
            ))}
          </p>
        </Dialog>
      )}
    </>
  );
}

/** @param onDone called with the number of decisions that were labelled or failed so far */
async function labelAll(decisions: readonly Decision[], outcome: Outcome, onDone: (count: number) => void) {
  const labelled: Decision[] = [];
  const failed = new Map<string, string[]>();
  const waiting = decisions.values();
  let done = 0;
  onDone(done);
  const work = async () => {
    for (const { id } of waiting) {
      try {
        labelled.push(await labelDecision(id, outcome));
      } catch (error) {
        const reason = messageOf(error);
        failed.set(reason, [...(failed.get(reason) ?? []), id]);
      }
      onDone(++done);
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
  return { labelled, failed };
}
