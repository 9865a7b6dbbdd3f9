// table.tsx: a table that may be wider than the window; on a phone each row becomes a block with labels.

import type { ComponentChildren } from "preact";
import { Card } from "./basics.tsx";

/** The name of a column, its cell in a row, and whether it holds numbers. */
export type Column<T> = readonly [name: string, cell: (row: T) => ComponentChildren, kind?: "number"];

interface TableProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T, index: number) => string | number;
  /** Shown in place of a table without rows. */
  readonly empty: string;
}

export function Table<T>({ caption, columns, rows, rowKey, empty }: TableProps<T>) {
  if (rows.length === 0) return <p class="empty faint">{empty}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region needs keyboard focus (axe)
    <section class="scroll" tabIndex={0} aria-label={caption}>
      <table aria-label={caption}>
        <thead>
          <tr>
            {columns.map(([name, , kind]) => (
              <th key={name} scope="col" class={kind}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={rowKey(row, i)}>
              {columns.map(([name, cell, kind]) => (
                <td key={name} class={kind} data-label={name}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A table in a card of its own. */
export const TableCard = <T,>(props: TableProps<T>) => (
  <Card title={props.caption}>
    <Table {...props} />
  </Card>
);

/** The content of a cell with a smaller line below, if there is one. */
export const TwoLines = ({ below, children }: { below: ComponentChildren; children: ComponentChildren }) => (
  <>
    {children}
    {below && <small>{below}</small>}
  </>
);
