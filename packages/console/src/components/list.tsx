// list.tsx: shows rows that can be searched, filtered and selected, and runs an operation for each selected row.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api.ts";
import { countOf, formatCount } from "../format.ts";
import { messageOf, useAction } from "../hooks.ts";
import { useRefusal } from "../session.ts";
import { Button, Notice } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";
import { Field, Select, TextField } from "./form.tsx";
import { type FieldTexts, type Input, OperationForm, type Route, schemaOf } from "./operation.tsx";
import { Table } from "./table.tsx";
import { type Columns, columnsOf } from "./value.tsx";

/** Minimum number of rows for which a list has a search field, and maximum number that it shows. */
const MIN_SEARCHED = 6;
const MAX_SHOWN = 1_000;
/**
 * Maximum number of concurrent requests. A browser opens at most six connections to a host, and pages need some too.
 */
const MAX_CONCURRENT = 4;

export interface BulkAction<Row, R extends Route = Route> {
  readonly route: R;
  /** What it does, as in "Label", "Labelled". */
  readonly verb: readonly [infinitive: string, past: string];
  readonly ask: (rows: readonly Row[]) => string;
  /** The fields of the input that differ from row to row. The dialog asks for the others once. */
  readonly input: (row: Row) => Partial<Input<R>>;
  readonly fields?: FieldTexts<R>;
  /** The address of a row's page. */
  readonly link?: (key: string) => string;
}

/** A choice of the rows to show. */
export type Choice<Row> = readonly [value: string, text: string, isShown: (row: Row) => boolean];

export interface ListProps<Row> {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly columns: Columns<Row>;
  /** Buttons for a row. */
  readonly actions?: ((row: Row) => ComponentChildren) | undefined;
  readonly empty: string;
  /** Number of rows to show until the user asks for all. */
  readonly first?: number;
  /** True if each row is one line. */
  readonly isOneLine?: boolean | undefined;
  /** True if something else searches the rows. */
  readonly isSearched?: boolean;
  /** The text of a row that is searched; by default its JSON. */
  readonly textOf?: (row: Row) => string;
  readonly choices?: readonly Choice<Row>[];
  readonly bulk?: BulkAction<Row> | undefined;
  /** Called when a bulk action has run. */
  readonly onChange?: () => void;
  /** Content beside the filters. */
  readonly aside?: (shown: readonly Row[]) => ComponentChildren;
}

export function List<Row>(props: ListProps<Row>) {
  const { rows, rowKey, choices, bulk, actions, textOf = JSON.stringify, aside } = props;
  const [search, setSearch] = useState("");
  const [choice, setChoice] = useState("");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const text = search.trim().toLowerCase();
  const isShown = choices?.find(([value]) => value === choice)?.[2] ?? (() => true);
  const found = rows.filter((row) => textOf(row).toLowerCase().includes(text) && isShown(row));
  const shown = found.slice(0, MAX_SHOWN);
  const hasSearch = !props.isSearched && (choices !== undefined || rows.length >= MIN_SEARCHED);
  const hasBulk = bulk !== undefined && rows.length > 1;
  const select = (keys: readonly string[]) => setSelected(new Set(keys));
  const selecting = (row: Row) => (
    <input
      type="checkbox"
      class="row-choice"
      aria-label={`Select ${rowKey(row)}`}
      checked={selected.has(rowKey(row))}
      onChange={({ currentTarget: { checked } }) =>
        select(checked ? [...selected, rowKey(row)] : [...selected].filter((key) => key !== rowKey(row)))
      }
    />
  );
  const buttons = (row: Row) => <span class="actions">{actions?.(row)}</span>;
  const columns = columnsOf(props.columns);
  return (
    <>
      {hasSearch && (
        <div class="filters">
          {choices && (
            <Field label="Show">
              <Select
                options={choices.map(([value, name]) => [value, name])}
                value={choice}
                onChoose={setChoice}
              />
            </Field>
          )}
          <TextField
            label="Search"
            type="search"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
          {aside?.(found)}
        </div>
      )}
      {hasSearch && (
        <p class="faint" role="status">
          {found.length < rows.length && `${formatCount(found.length)} of `}
          {countOf(rows.length, "result")}
          {shown.length < found.length && `, the first ${formatCount(shown.length)} of which are shown`}
        </p>
      )}
      {hasBulk && (
        <Bulk
          action={bulk}
          shown={shown}
          rowKey={rowKey}
          selected={selected}
          onSelect={select}
          onDone={(failed) => {
            select(failed);
            props.onChange?.();
          }}
        />
      )}
      <Table
        key={`${choice} ${text}`}
        caption={props.caption}
        rows={shown}
        rowKey={rowKey}
        columns={actions ? [...columns, ["Action", buttons]] : columns}
        {...(props.first !== undefined && { first: props.first })}
        isOneLine={props.isOneLine}
        before={hasBulk ? selecting : undefined}
        empty={rows.length > 0 ? "Nothing matches." : props.empty}
      />
    </>
  );
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

/** Selects all rows, asks for what the action needs, runs it for each row, and lists the rows for which it failed. */
function Bulk<Row>({ action, shown, rowKey, selected, onSelect, onDone }: BulkProps<Row>) {
  const {
    route,
    verb: [verb, past],
    input,
  } = action;
  const [isOpen, setOpen] = useState(false);
  const [result, setResult] = useState<Result>({ text: "", failed: NO_FAILURES });
  const [progress, setProgress] = useState(0);
  const [start, isBusy] = useAction();
  const refusal = useRefusal(schemaOf(route).role);
  const chosen = shown.filter((row) => selected.has(rowKey(row)));
  const count = formatCount(chosen.length);
  const title = chosen.length === 0 ? `${verb} selected` : `${verb} ${count} selected`;
  const close = () => setOpen(false);
  const run = async (given: object) => {
    setResult({ text: "Working …", failed: NO_FAILURES });
    setProgress(0);
    const failed = new Map<string, string[]>();
    const waiting = chosen.values();
    const work = async () => {
      for (const row of waiting) {
        await call(route, { ...given, ...input(row) } as Input<Route>).catch((error: unknown) => {
          const reason = messageOf(error);
          failed.set(reason, [...(failed.get(reason) ?? []), rowKey(row)]);
        });
        setProgress((n) => n + 1);
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
    const keys = [...failed.values()].flat();
    const part = keys.length > 0 ? `${formatCount(chosen.length - keys.length)} of ` : "";
    setResult({ text: `${past} ${part}${count}.`, failed });
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
          text={title}
          isBusy={isBusy}
          refusal={refusal ?? (chosen.length === 0 ? "Select rows in the list first." : undefined)}
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
        <Dialog title={title} onClose={close}>
          <p>{action.ask(chosen)}</p>
          <OperationForm
            route={route}
            action={verb}
            {...(action.fields && { fields: action.fields })}
            isDanger={route.startsWith("DELETE ")}
            input={input(chosen[0]!)}
            aside={<Button text="Cancel" onClick={close} />}
            send={async (given) => {
              close();
              start(() => run(given));
            }}
          />
        </Dialog>
      )}
    </>
  );
}
