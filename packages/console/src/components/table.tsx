// table.tsx: shows a table that may be wider than the window. On a phone, each row becomes a block with labels.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatCount } from "../format.ts";
import { Button, Card } from "./basics.tsx";

/**
 * A column: its name, its cell in a row, whether it holds numbers or has a fixed width (console.css), and what its rows
 * can be sorted by.
 */
export type Column<T> = readonly [
  name: string,
  cell: (row: T) => ComponentChildren,
  kind?: "number" | "time" | "small" | "medium" | "large" | undefined,
  sortBy?: (row: T) => string | number,
];

interface TableProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  /** Content before the first cell's. */
  readonly before?: ((row: T) => ComponentChildren) | undefined;
  readonly rows: readonly T[];
  readonly rowKey: (row: T, index: number) => string | number;
  /** The text to show if there are no rows. */
  readonly empty: string;
  /** Number of rows to show until the user asks for all. */
  readonly first?: number;
  /** True if each row is one line, and columns have a fixed width. What does not fit is cut off. */
  readonly isOneLine?: boolean | undefined;
}

interface Order {
  readonly name: string;
  readonly direction: "ascending" | "descending";
}

export function Table<T>({
  caption,
  columns,
  before,
  rows,
  rowKey,
  empty,
  first = Number.POSITIVE_INFINITY,
  isOneLine = false,
}: TableProps<T>) {
  const [areAllShown, setAllShown] = useState(false);
  const [order, setOrder] = useState<Order>();
  if (rows.length === 0) return <p class="empty faint">{empty}</p>;
  const sortBy = columns.find(([name]) => name === order?.name)?.[3];
  const sorted = sortBy && order ? sortRows(rows, sortBy, order) : rows;
  const shown = areAllShown ? sorted : sorted.slice(0, first);
  const isSortable = columns.some((column) => column[3]);
  const turn = (name: string) =>
    setOrder({
      name,
      direction: order?.name === name && order.direction === "ascending" ? "descending" : "ascending",
    });
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region needs keyboard focus (axe) */}
      <section class="scroll" tabIndex={0} aria-label={caption}>
        <table class={isOneLine ? "lines" : ""} aria-label={caption}>
          <thead class={isSortable ? "sortable" : ""}>
            <tr>
              {columns.map(([name, , kind, sortable]) => {
                const direction = order?.name === name ? order.direction : undefined;
                return (
                  <th key={name} scope="col" class={kind} aria-sort={sortable && (direction ?? "none")}>
                    {sortable ? (
                      <button type="button" class="sort" onClick={() => turn(name)}>
                        {name}
                        <span aria-hidden="true">{direction ? MARKS[direction] : "↕"}</span>
                      </button>
                    ) : (
                      name
                    )}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, i) => (
              <tr key={rowKey(row, i)}>
                {columns.map(([name, cell, kind], k) => (
                  <td key={name} class={kind} data-label={name}>
                    {k === 0 && before?.(row)}
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {shown.length < rows.length && (
        <Button
          text={`Show all ${formatCount(rows.length)}`}
          label={`Show all ${formatCount(rows.length)}: ${caption}`}
          onClick={() => setAllShown(true)}
        />
      )}
    </>
  );
}

const MARKS = { ascending: "↑", descending: "↓" } as const;
const collator = new Intl.Collator("en", { numeric: true });

function sortRows<T>(
  rows: readonly T[],
  sortBy: (row: T) => string | number,
  { direction }: Order,
): readonly T[] {
  const sign = direction === "ascending" ? 1 : -1;
  return rows.toSorted((a, b) => {
    const [x, y] = [sortBy(a), sortBy(b)];
    return sign * (typeof x === "number" && typeof y === "number" ? x - y : collator.compare(`${x}`, `${y}`));
  });
}

/** A card that contains one table. */
export const TableCard = <T,>(props: TableProps<T>) => (
  <Card title={props.caption}>
    <Table {...props} />
  </Card>
);

/** A cell's text in a row of one line, with the whole text as its title. */
export const OneLine = ({ text }: { text: string | null }) => text && <span title={text}>{text}</span>;

/** A cell's content, with a smaller line below it if there is one. */
export const TwoLines = ({ below, children }: { below: ComponentChildren; children: ComponentChildren }) => (
  <>
    {children}
    {below && <small>{below}</small>}
  </>
);
