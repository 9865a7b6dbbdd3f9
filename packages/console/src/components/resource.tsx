// resource.tsx: shows the objects of a resource: a list with filters, selection and actions, a form for a new object,
// and the page of a single object. Filters, forms and plain columns are created from the schemas of the operations.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, call, UserError } from "../api.ts";
import { useLoad, useObjectName } from "../hooks.ts";
import { Button, Card } from "./basics.tsx";
import { FilterBar, useFilters } from "./filters.tsx";
import { type BulkAction, List, type ListProps } from "./list.tsx";
import { Loaded } from "./loaded.tsx";
import {
  type FieldTexts,
  type Input,
  OperationForm,
  type OperationFormProps,
  type Output,
  type Route,
  schemaOf,
} from "./operation.tsx";
import { SecretOnce, secretIn } from "./secrets.tsx";
import { type Columns, Fields } from "./value.tsx";

/** An object in the only list of an operation's output. */
type RowOf<R extends Route> = {
  [Name in keyof Output<R>]: Output<R>[Name] extends readonly (infer Row)[] ? Row : never;
}[keyof Output<R>];

const rowsOf = <R extends Route>(output: Output<R>): readonly RowOf<R>[] =>
  Object.values(output).find(Array.isArray) ?? [];

interface Identified {
  readonly id?: string;
  readonly name?: string;
  readonly number?: number;
  readonly sequence?: number;
}
function keyOf(row: unknown): string {
  const { id, name, number, sequence } = row as Identified;
  return String(id ?? name ?? number ?? sequence);
}

interface RowsProps<R extends Route>
  extends Pick<ListProps<RowOf<R>>, "caption" | "empty" | "columns" | "isOneLine"> {
  readonly route: R;
  readonly input?: Partial<Input<R>>;
  /** Buttons for a row. */
  readonly actions?: (row: RowOf<R>, reload: () => void) => ComponentChildren;
  readonly bulk?: BulkAction<RowOf<R>>;
  /** Minimum number of rows to read before there is a button for more. */
  readonly first?: number;
  /** Milliseconds between two loads. */
  readonly everyMs?: number;
  /** Text below the list. */
  readonly note?: (output: Output<R>) => string;
}

interface ResourceListProps<R extends Route, New extends Route> extends RowsProps<R> {
  /** The title, if it differs from the caption. */
  readonly title?: ComponentChildren;
  /** True to show nothing if there is no object. */
  readonly isOptional?: boolean;
  /** A new value reloads the list. */
  readonly changes?: number;
  /** Called when the user has changed something here. */
  readonly onChange?: () => void;
  /** If given, there is a filter for each field of the input: the filters in the address, and their texts. */
  readonly filters?: readonly [rest: string, texts: FieldTexts<R>];
  readonly create?: NewProps<New>;
}

/** A list of a resource's objects, and a form for a new one. */
export function ResourceList<R extends Route, New extends Route>(props: ResourceListProps<R, New>) {
  const { filters: [rest, texts] = [], title = props.caption, changes = 0, isOptional, ...others } = props;
  const { onChange, create, ...list } = others;
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
  return (
    <>
      {created && <SecretOnce secret={secretIn(created)}>{create?.next?.(created)}</SecretOnce>}
      <Card class={isOptional ? "optional" : "wide"} title={title}>
        {texts && <FilterBar route={list.route} of={filters} texts={texts} />}
        <div aria-live="polite">
          <Rows
            key={filters.query}
            {...list}
            query={filters.query}
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

interface NewProps<R extends Route>
  extends Pick<OperationFormProps<R>, "route" | "action" | "fields" | "message"> {
  readonly title: string;
  readonly intro?: string;
  /** What to do with a new token or secret. */
  readonly next?: (output: Output<R>) => ComponentChildren;
}

const PAGE = 100;
/** Does the operation itself search for a text? */
const hasTextFilter = (route: Route) =>
  Object.entries(schemaOf(route).fields).some(
    ([name, { type, enum: values }]) => type === "string" && !values && name !== "cursor",
  );

interface LoadedRowsProps<R extends Route> extends RowsProps<R> {
  readonly query: string;
  /** A new value reloads the list. */
  readonly version: number;
  readonly reload: () => void;
}

function Rows<R extends Route>(props: LoadedRowsProps<R>) {
  const { route, input, actions, query, version, reload, first = 1_000, everyMs, note, ...list } = props;
  const [wanted, setWanted] = useState(first);
  const hasPages = "cursor" in schemaOf(route).fields;
  const read = async (signal: AbortSignal) => {
    const limit = Math.min(wanted, PAGE);
    const items: RowOf<R>[] = [];
    for (let cursor = ""; ; ) {
      const page: object = { ...(hasPages && { limit }), ...(cursor && { cursor }) };
      const given = { ...input, ...Object.fromEntries(new URLSearchParams(query)), ...page };
      const output: Output<R> = await call(route, given as Input<R>, signal);
      const rows = rowsOf(output);
      items.push(...rows);
      cursor = (output as { next_cursor?: string | null }).next_cursor ?? "";
      // a search that takes long returns short pages, perhaps without rows
      const isShort = rows.length < limit && items.length > 0;
      if (cursor === "" || items.length >= wanted || isShort)
        return { items, hasMore: cursor !== "", text: note?.(output) };
    }
  };
  const loading = useLoad(read, [version, wanted], everyMs);
  return (
    <Loaded from={loading}>
      {({ items, hasMore, text }) => (
        <>
          <List<RowOf<R>>
            {...list}
            isSearched={hasTextFilter(route)}
            rows={items}
            rowKey={keyOf}
            actions={actions && ((row) => actions(row, reload))}
            empty={query === "" ? list.empty : "Nothing matches."}
            onChange={reload}
          />
          {hasMore && <Button text="Show older" onClick={() => setWanted(items.length + first)} />}
          {text && items.length > 0 && <p class="faint">{text}</p>}
        </>
      )}
    </Loaded>
  );
}

interface DetailProps<R extends Route> {
  readonly route: R;
  readonly id: string;
  readonly noun: string;
  /** The page of all objects. */
  readonly page?: string;
  readonly nameOf: (one: Output<R>) => string;
  readonly everyMs?: number;
  /** The fields that a card shows, above the buttons. */
  readonly fields?: Columns<Output<R>>;
  readonly actions?: (one: Output<R>, reload: () => void) => ComponentChildren;
  readonly children?: (one: Output<R>, reload: () => void) => ComponentChildren;
}

/** The page of a single object. */
export function ResourceDetail<R extends Route>(props: DetailProps<R>) {
  const { route, id, noun, page = `${noun}s`, nameOf, everyMs, fields, actions, children } = props;
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
      <Loaded from={loading}>
        {(one) => (
          <>
            {fields && (
              <Card>
                <Fields of={one} columns={fields} />
                <div class="actions">{actions?.(one, loading.reload)}</div>
              </Card>
            )}
            {children?.(one, loading.reload)}
          </>
        )}
      </Loaded>
    </>
  );
}
