// bulk.tsx: runs one action for each selected row of a list, shows the progress, and lists the rows for which it
// failed.

import type { AdminRole } from "@inkling/contract";
import { useState } from "preact/hooks";
import { formatCount } from "../format.ts";
import { messageOf, useAction } from "../hooks.ts";
import { useRefusal } from "../session.ts";
import { Button, Notice } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";
import type { Options } from "./form.tsx";

/**
 * Maximum number of concurrent requests. A browser opens at most six connections to a host, and pages need some too.
 */
const MAX_CONCURRENT = 4;

export interface BulkAction<Row> {
  /** What it does, as in "Label", "Labelled". */
  readonly verb: readonly [infinitive: string, past: string];
  readonly needs: AdminRole;
  readonly question: (rows: readonly Row[]) => string;
  /** The buttons of the dialog; by default one, for what cannot be undone. */
  readonly choices?: Options;
  readonly run: (row: Row, choice: string) => Promise<unknown>;
  /** The address of a row's page. */
  readonly link?: (key: string) => string;
}

interface BulkProps<Row> {
  readonly action: BulkAction<Row>;
  readonly shown: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (keys: readonly string[]) => void;
  /** Called at the end with the keys of the rows that failed. */
  readonly onDone: (failed: readonly string[]) => void;
}

interface Result {
  readonly text: string;
  /** The keys of the rows that failed, by the reason. */
  readonly failed: ReadonlyMap<string, readonly string[]>;
}

const NO_FAILURES: Result["failed"] = new Map();

export function Bulk<Row>({ action, shown, rowKey, selected, onSelect, onDone }: BulkProps<Row>) {
  const [verb, past] = action.verb;
  const [isOpen, setOpen] = useState(false);
  const [result, setResult] = useState<Result>({ text: "", failed: NO_FAILURES });
  const [progress, setProgress] = useState(0);
  const [start, isBusy] = useAction();
  const readOnly = useRefusal(action.needs);
  const chosen = shown.filter((row) => selected.has(rowKey(row)));
  const count = formatCount(chosen.length);
  const choices = action.choices ?? [["", verb] as const];
  const close = () => setOpen(false);
  const run = async (choice: string) => {
    setResult({ text: "Working …", failed: NO_FAILURES });
    setProgress(0);
    const failed = new Map<string, string[]>();
    const waiting = chosen.values();
    const work = async () => {
      for (const row of waiting) {
        const key = rowKey(row);
        try {
          await action.run(row, choice);
        } catch (error) {
          const reason = messageOf(error);
          failed.set(reason, [...(failed.get(reason) ?? []), key]);
        }
        setProgress((n) => n + 1);
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
    const keys = [...failed.values()].flat();
    const part = keys.length > 0 ? `${formatCount(chosen.length - keys.length)} of ` : "";
    const as = choice && ` as ${choice}`;
    setResult({ text: `${past} ${part}${count}${as}.`, failed });
    onDone(keys);
  };
  return (
    <>
      <p class="actions">
        <label class="inline">
          <input
            type="checkbox"
            checked={chosen.length > 0 && chosen.length === shown.length}
            indeterminate={chosen.length > 0 && chosen.length < shown.length}
            onChange={({ currentTarget: { checked } }) => onSelect(checked ? shown.map(rowKey) : [])}
          />
          Select all shown
        </label>
        <Button
          text={chosen.length === 0 ? `${verb} selected` : `${verb} ${count} selected`}
          isBusy={isBusy}
          refusal={readOnly ?? (chosen.length === 0 ? "Select rows in the list first." : undefined)}
          onClick={() => setOpen(!isBusy)}
        />
        <span role="status">
          {result.text} {isBusy && <progress aria-label={past} value={progress} max={chosen.length} />}
        </span>
      </p>
      {[...result.failed].map(([reason, keys]) => (
        <Notice key={reason} kind="bad">
          Not {past.toLowerCase()}: {reason}{" "}
          {keys.map((key) =>
            action.link ? <a key={key} href={action.link(key)}>{`${key} `}</a> : `${key} `,
          )}
        </Notice>
      ))}
      {isOpen && (
        <Dialog title={`${verb} ${count} selected`} onClose={close}>
          <p>{action.question(chosen)}</p>
          <p class="actions">
            <Button text="Cancel" onClick={close} />
            {choices.map(([choice, text]) => (
              <Button
                key={choice}
                class={action.choices ? "" : "danger"}
                text={text}
                onClick={() => {
                  close();
                  start(() => run(choice));
                }}
              />
            ))}
          </p>
        </Dialog>
      )}
    </>
  );
}

interface RowChoiceProps {
  readonly rowKey: string;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (keys: readonly string[]) => void;
}

/** The checkbox that selects a row. */
export const RowChoice = ({ rowKey, selected, onSelect }: RowChoiceProps) => (
  <input
    type="checkbox"
    class="row-choice"
    aria-label={`Select ${rowKey}`}
    checked={selected.has(rowKey)}
    onChange={({ currentTarget: { checked } }) =>
      onSelect(checked ? [...selected, rowKey] : [...selected].filter((key) => key !== rowKey))
    }
  />
);
