// generated.ts: what a generator returns, and helpers for its text.

/** A file that a generator writes whole. */
export interface GeneratedFile {
  /** From the project's folder, with "/". */
  readonly path: string;
  readonly content: string;
}

/** A part of a page written by hand: between `<!-- generated: NAME -->` and `<!-- end -->`. */
export interface GeneratedSection extends GeneratedFile {
  readonly section: string;
}

export type Generated = GeneratedFile | GeneratedSection;

/** Pure: reads rows, returns text, writes nothing. */
export type Generator = () => readonly Generated[];

/** A Markdown table. A bar inside a cell is escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}
