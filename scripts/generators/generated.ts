// generated.ts: defines what a generator returns, and helpers for its text.

/** A file whose whole content is generated. */
export interface GeneratedFile {
  /** Relative to the project's folder, with "/". */
  readonly path: string;
  readonly content: string;
}

/** A part of a hand-written page, between `<!-- generated: NAME -->` and `<!-- end -->`. */
export interface GeneratedSection extends GeneratedFile {
  readonly section: string;
}

export type Generated = GeneratedFile | GeneratedSection;

/** A pure function that reads rows, returns text and writes nothing. */
export type Generator = () => readonly Generated[];

export const code = (text: string) => `\`${text}\``;

/** Returns a section of a page that is a table. */
export const tableOn = (
  path: string,
  section: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): GeneratedSection => ({ path, section, content: markdownTable(head, rows) });

/** Returns a Markdown table, with bars inside cells escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}
