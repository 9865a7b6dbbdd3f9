// resource.tsx: shows the objects of a resource: a list with filters, selection and actions, a form for a new object,
// and the page of a single object. Filters, forms and plain columns are created from the schemas of the operations.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, call, UserError } from "../api.ts";
import { formatCount } from "../format.ts";
import { useLoad, useObjectName } from "../hooks.ts";
import { Badge, Button, Card, type Kind, RelativeTime } from "./basics.tsx";
import { Bulk, type BulkAction, RowChoice } from "./bulk.tsx";
import { FilterBar, useFilters } from "./filters.tsx";
import { TextField } from "./form.tsx";
import { Loaded } from "./loaded.tsx";
import {
  type FieldTexts,
  type Input,
  labelOf,
  OperationForm,
  type OperationFormProps,
  type Output,
  type Route,
  schemaOf,
} from "./operation.tsx";
import { SecretOnce } from "./secrets.tsx";
import { type Column, Table } from "./table.tsx";

interface RowsProps<R extends Route, Row> {
  readonly route: R;
  readonly input?: Partial<Input<R>>;
  readonly rows: (output: Output<R>) => readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly caption: string;
  readonly empty: string;
  /** Names of fields, or columns. */
  readonly columns: readonly ((keyof Row & string) | Column<Row>)[];
  /** Buttons for a row. */
  readonly actions?: (row: Row, reload: () => void) => ComponentChildren;
  readonly bulk?: BulkAction<Row>;
  /** True if each row is one line. */
  readonly isOneLine?: boolean;
  /** Minimum number of rows to read before there is a button for more. */
  readonly first?: number;
  /** Milliseconds between two loads. */
  readonly everyMs?: number;
  /** Text below the list. */
  readonly note?: (output: Output<R>) => string;
}

interface ListProps<R extends Route, New extends Route, Row> extends RowsProps<R, Row> {
  /** The list is loaded again when it changes. */
  readonly changes?: number;
  /** Called when the user has changed something here. */
  readonly onChange?: () => void;
  /** If given, there is a filter for each field of the input: the filters in the address, and their texts. */
  readonly filters?: readonly [rest: string, texts: FieldTexts<R>];
  readonly create?: NewProps<New>;
}

/** A list of a resource's objects, and a form for a new one. */
export function ResourceList<R extends Route, New extends Route, Row>(props: ListProps<R, New, Row>) {
  const { filters: [rest, texts] = [], changes = 0, onChange, create, ...list } = props;
  const filters = useFilters(rest ?? "");
  const [version, setVersion] = useState(0);
  const [created, setCreated] = useState<Output<New>>();
  const reload = () => {
    setVersion((n) => n + 1);
    onChange?.();
  };
  const done = (output: Output<New>, form: HTMLFormElement) => {
    setCreated(output);
    form.reset();
    reload();
  };
  const [what, secretOf, next] = create?.secret ?? [];
  return (
    <>
      {created && what && secretOf && (
        <SecretOnce what={what} secret={secretOf(created)}>
          {next?.(created)}
        </SecretOnce>
      )}
      <Card title={list.caption}>
        {texts && <FilterBar route={list.route} of={filters} texts={texts} />}
        <div aria-live="polite">
          <Rows
            key={filters.query}
            {...list}
            query={filters.query}
            hasSearch={!texts}
            version={version + changes}
            reload={reload}
          />
        </div>
      </Card>
      {create && (
        <Card title={create.title}>
          {create.intro && <p>{create.intro}</p>}
          <OperationForm class="grid" {...create} done={done} />
        </Card>
      )}
    </>
  );
}

const PAGE = 100;
/** Minimum number of rows for which a list has a search field, and maximum number that it shows. */
const MIN_SEARCHED = 6;
const MAX_SHOWN = 500;

interface LoadedRowsProps<R extends Route, Row> extends RowsProps<R, Row> {
  readonly query: string;
  readonly hasSearch: boolean;
  /** The list is loaded again when it changes. */
  readonly version: number;
  readonly reload: () => void;
}

function Rows<R extends Route, Row>(props: LoadedRowsProps<R, Row>) {
  const { route, rowKey, caption, empty, bulk, query, hasSearch, version, reload, first = 1_000 } = props;
  const [wanted, setWanted] = useState(first);
  const hasPages = "cursor" in schemaOf(route).fields;
  const read = async (signal: AbortSignal) => {
    const limit = Math.min(wanted, PAGE);
    const items: Row[] = [];
    for (let cursor = ""; ; ) {
      const page: object = { ...(hasPages && { limit }), ...(cursor && { cursor }) };
      const given = { ...props.input, ...Object.fromEntries(new URLSearchParams(query)), ...page };
      const output: Output<R> = await call(route, given as Input<R>, signal);
      const rows = props.rows(output);
      items.push(...rows);
      cursor = (output as { next_cursor?: string | null }).next_cursor ?? "";
      // a search that takes long returns short pages, perhaps without rows
      const isShort = rows.length < limit && items.length > 0;
      if (cursor === "" || items.length >= wanted || isShort)
        return { items, hasMore: cursor !== "", note: props.note?.(output) };
    }
  };
  const loading = useLoad(read, [version, wanted], props.everyMs);
  const [search, setSearch] = useState("");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const select = (keys: readonly string[]) => setSelected(new Set(keys));
  const selecting = (row: Row) => <RowChoice rowKey={rowKey(row)} selected={selected} onSelect={select} />;
  return (
    <Loaded from={loading}>
      {({ items: all, hasMore, note }) => {
        const text = search.trim().toLowerCase();
        const found = all.filter((row) => JSON.stringify(row).toLowerCase().includes(text));
        const shown = found.slice(0, MAX_SHOWN);
        return (
          <>
            {hasSearch && all.length >= MIN_SEARCHED && (
              <TextField
                label="Search"
                type="search"
                value={search}
                onInput={(event) => setSearch(event.currentTarget.value)}
              />
            )}
            {bulk && all.length > 1 && (
              <Bulk
                action={bulk}
                shown={shown}
                rowKey={rowKey}
                selected={selected}
                onSelect={select}
                onDone={(failed) => {
                  select(failed);
                  reload();
                }}
              />
            )}
            <Table
              caption={caption}
              rows={shown}
              rowKey={rowKey}
              columns={columnsOf(props)}
              isOneLine={props.isOneLine}
              before={bulk && all.length > 1 ? selecting : undefined}
              empty={query !== "" || all.length > 0 ? "Nothing matches." : empty}
            />
            {found.length > shown.length && (
              <p class="faint">{`The first ${MAX_SHOWN} of ${formatCount(found.length)}.`}</p>
            )}
            {hasMore && <Button text="Show older" onClick={() => setWanted(all.length + first)} />}
            {note && <p class="faint">{note}</p>}
          </>
        );
      }}
    </Loaded>
  );
}

function columnsOf<R extends Route, Row>(props: LoadedRowsProps<R, Row>): Column<Row>[] {
  const { columns, actions, reload } = props;
  const all = columns.map(
    (column): Column<Row> =>
      typeof column === "string"
        ? [labelOf(column), (row) => <Value name={column} of={row[column]} />]
        : column,
  );
  const buttons = (row: Row) => {
    const shown = actions?.(row, reload);
    return shown && <span class="actions">{shown}</span>;
  };
  return actions ? [...all, ["Action", buttons]] : all;
}

const KINDS: Readonly<Record<string, Kind>> = {
  active: "good",
  live: "good",
  sandbox: "warn",
};

/** A field's value. Null means that something never happened, or that there is none. */
export function Value({ name, of }: { name: string; of: unknown }) {
  const isTime = /_(at|until)$/.test(name);
  if (of === null) return <>{isTime ? "never" : "none"}</>;
  if (name === "state") return <Badge kind={KINDS[String(of)] ?? "faint"}>{String(of)}</Badge>;
  if (isTime && String(of).includes("T")) return <RelativeTime iso={String(of)} />;
  if (typeof of === "number") return <>{formatCount(of)}</>;
  return <>{Array.isArray(of) ? of.join(", ") || "none" : String(of)}</>;
}

interface NewProps<R extends Route>
  extends Pick<OperationFormProps<R>, "route" | "action" | "fields" | "message"> {
  readonly title: string;
  readonly intro?: string;
  /** What the output has that is shown once: its name, its text, and what to do with it. */
  readonly secret?: readonly [
    what: string,
    of: (output: Output<R>) => string,
    next?: (output: Output<R>) => ComponentChildren,
  ];
}

interface DetailProps<R extends Route> {
  readonly route: R;
  readonly id: string;
  readonly noun: string;
  /** The page of all objects. */
  readonly page?: string;
  readonly nameOf: (one: Output<R>) => string;
  readonly everyMs?: number;
  readonly children: (one: Output<R>, reload: () => void) => ComponentChildren;
}

/** The page of a single object. */
export function ResourceDetail<R extends Route>(props: DetailProps<R>) {
  const { route, id, noun, page = `${noun}s`, nameOf, everyMs, children } = props;
  const load = (signal: AbortSignal) =>
    call(route, { id } as Input<R>, signal).catch((error: unknown) => {
      // The API has no path for an id that cannot exist. Users get the same message as for any unknown id.
      if (error instanceof ApiError && error.code === "PATH_NOT_FOUND")
        throw new UserError(`No such ${noun}. No ${noun} has this id.`);
      throw error;
    });
  const loading = useLoad(load, [id], everyMs);
  useObjectName(loading.data && nameOf(loading.data));
  return (
    <>
      <p>
        <a href={`#/${page}`}>All {noun}s</a>
      </p>
      <Loaded from={loading}>{(one) => children(one, loading.reload)}</Loaded>
    </>
  );
}
