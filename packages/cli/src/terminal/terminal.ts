// terminal.ts: formats and writes a command's output, with colours, tables and numbers.
//
// Results go to standard output; progress, warnings and errors to standard error. If the reader of standard
// output closes the pipe early (`| head`), a command ends quietly and a server keeps running. If standard error is
// closed, both keep running, so that a publication, a build or a file in progress is finished and cleaned up.

import { styleText } from "node:util";
import { recordOf } from "@inkling/contract";
import { explainFileError } from "./errors.ts";

export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Shows a question, and returns the line that was typed. Undefined without a terminal. */
  readonly prompt?: (question: string) => Promise<string>;
  /** From now on, this process keeps running even if a stream's reader is gone or a stream cannot be written to. */
  readonly outliveReaders?: () => void;
  /** Can lines on standard error be rewritten? */
  readonly live: boolean;
  /** Number of columns of standard error. */
  readonly columns: number;
  /** Number of columns of standard output; undefined without a terminal. */
  readonly width?: number;
  readonly style: Style;
}

const STYLES = ["bold", "dim", "green", "yellow", "red"] as const;
export type Style = Readonly<Record<(typeof STYLES)[number], (text: string) => string>>;

export const makeStyle = (color: boolean): Style =>
  recordOf(STYLES, (name) => (text) => (color ? styleText(name, text, { validateStream: false }) : text));

/** Returns text from outside (a file, a server) with its control codes and text-direction marks replaced. */
export const printable = (text: string): string =>
  text.replace(/[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");

export type ErrorOutput = Pick<Terminal, "err" | "style">;

export const warn = ({ err, style }: ErrorOutput, text: string): void =>
  err(`${style.yellow("warning")}: ${text}\n`);

/** Prints the texts that licences require with the data. */
export function printAttributions({ err, style }: ErrorOutput, texts: readonly string[]): void {
  for (const text of texts) err(`${style.dim(text)}\n`);
}

/**
 * Prints all texts if `isWhole` is set. Otherwise prints only one line below each answer: the first text, and how to
 * see the other texts.
 */
export function printSources(output: ErrorOutput, texts: readonly string[], isWhole: boolean): void {
  const [first, ...others] = texts;
  if (first === undefined) return;
  const more = others.length === 0 ? "" : `, and ${others.length} more: --attribution`;
  printAttributions(output, isWhole ? texts : [first + more]);
}

/** Returns a function that names the command as the user starts it, in texts that quote a command to run. */
export const naming = (command: string) => (text: string) =>
  text.replaceAll(/`inkling(?= [a-z-])/g, () => `\`${command}`);

/**
 * Returns the terminal of this process.
 * @param command how the user starts the command; undefined for `inkling`
 */
export function processTerminal(noColor: boolean, command: string | undefined): Terminal {
  const named = naming(command ?? "inkling");
  let isServer = false;
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (isServer || stream === process.stderr) return;
      if (isReaderGone(error)) process.exit(0);
      throw explainFileError(error, "standard output");
    });
  }
  return {
    out: (text) => void process.stdout.write(`${named(text)}\n`),
    err: (text) => void process.stderr.write(named(text)),
    outliveReaders: () => {
      isServer = true;
    },
    ...(process.stdin.isTTY && process.stderr.isTTY && { prompt: promptProcess }),
    live: process.stderr.isTTY === true && !noColor,
    columns: process.stderr.columns || 80,
    ...(process.stdout.isTTY && process.stdout.columns > 0 && { width: process.stdout.columns }),
    style: makeStyle(!noColor && process.stdout.isTTY === true && process.stderr.isTTY === true),
  };
}

/** Writes bytes to standard output as fast as its reader takes them. If the reader is gone, this process exits. */
export function standardOutput(): (bytes: string | Uint8Array) => Promise<void> {
  const writer = Bun.stdout.writer();
  return async (bytes) => {
    try {
      await writer.write(bytes);
      await writer.flush();
    } catch (error) {
      if (isReaderGone(error)) process.exit(0);
      throw error;
    }
  };
}

const isReaderGone = (error: unknown) => (error as NodeJS.ErrnoException).code === "EPIPE";

/** Shows a question and returns the line that was typed. Ctrl-C and Ctrl-D return an empty line. */
async function promptProcess(question: string): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  lines.on("SIGINT", () => lines.close());
  try {
    const closed = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
    return await Promise.race([lines.question(question), closed]);
  } finally {
    lines.close();
  }
}

type Rows = readonly (readonly string[])[];

/**
 * Formats rows in columns.
 * @param right indexes of the columns that are aligned to the right
 */
export function table(rows: Rows, right: readonly number[] = []): string {
  return tableLines(rows, right, "  ").join("\n");
}

/**
 * Like {@link table}, but if the table is too wide for the terminal, the cells from column `below` on appear in full
 * under their row.
 * @param width the terminal's width, if there is a terminal
 */
export function roomyTable(rows: Rows, right: readonly number[], below: number, width = Infinity): string {
  const lines = tableLines(rows, right, "  ");
  if (lines.every((line) => Bun.stringWidth(line) <= width)) return lines.join("\n");
  const firsts = tableLines(
    rows.map((row) => row.slice(0, below)),
    right,
    " ",
  );
  return rows
    .flatMap((row, i) => {
      const rest = row.slice(below).filter((cell) => cell !== "");
      return rest.length === 0 ? [firsts[i]] : [firsts[i], `    ${rest.join("; ")}`];
    })
    .join("\n");
}

function tableLines(rows: Rows, right: readonly number[], gap: string): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, Bun.stringWidth(cell));
    });
  }
  return rows.map((row) =>
    row
      .map((cell, i) => {
        const pad = " ".repeat(widths[i]! - Bun.stringWidth(cell));
        return right.includes(i) ? pad + cell : cell + pad;
      })
      .join(gap)
      .trimEnd(),
  );
}

const UNITS = ["B", "KB", "MB", "GB", "TB"];

/** Formats a size such as "63.1 MB", in decimal units, as disks and publishers count. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.95 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0 ? `${value} B` : `${value.toFixed(1)} ${UNITS[unit]}`;
}

const SPANS: readonly [seconds: number, unit: string][] = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** Formats a duration in the largest whole unit: "3 days", "1 hour", "just now". */
export function formatAge(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 0) return "in the future";
  for (const [span, unit] of SPANS) {
    const count = Math.floor(seconds / span);
    if (count > 0) return `${count} ${unit}${count === 1 ? "" : "s"}`;
  }
  return "just now";
}

/** Formats a time as the time before now: "2 hours ago", "just now". */
export function formatAgo(milliseconds: number): string {
  const age = formatAge(milliseconds);
  return /^\d/.test(age) ? `${age} ago` : age;
}

export const formatCount = (count: number) => count.toLocaleString("en-US");

/** Returns the first texts, such as "a, b and 3 more". */
export function firstOf(texts: readonly string[], count: number): string {
  const more = texts.length - count;
  return `${texts.slice(0, count).join(", ")}${more > 0 ? ` and ${formatCount(more)} more` : ""}`;
}

/** Returns a text such as "1 decision" or "1,203 decisions". */
export const counted = (count: number, one: string, many = `${one}s`) =>
  `${formatCount(count)} ${count === 1 ? one : many}`;
