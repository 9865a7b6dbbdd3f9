// progress.ts: turns a build's events into one live line on a terminal, plus lines that remain.

import type { BuildEvent } from "@inkling/compiler/events";
import type { FeedReport } from "@inkling/engine";
import { counted, formatBytes, formatCount, type Style, type Terminal } from "./terminal.ts";

/** Milliseconds without a line after which a plain log mentions long work. */
export const PLAIN_EVERY_MS = 10_000;
const REDRAW_MS = 100;
const BAR_CELLS = 24;
const SPACE_FOR_BAR = 70;
const MAX_LINES_WITHOUT_FILE = 3;

interface Step {
  readonly name: string;
  readonly since: number;
  readonly done: number;
  readonly total: number | undefined;
}

/** Shows a build's events: a live line for the step in progress, and lines that remain. */
export class BuildProgress {
  private readonly terminal: Pick<Terminal, "err" | "live" | "columns" | "style">;
  private readonly line: LiveLine;
  private readonly now: () => number;
  /** Updates the elapsed time. */
  private readonly timer = setInterval(() => this.redraw(), REDRAW_MS).unref();
  private step: Step | undefined;
  /**
   * Feeds whose source did not respond, by reason. Without internet access, these are all feeds, and one line reports
   * them.
   */
  private readonly unreached = new Map<string, FeedReport[]>();
  /** The lines of feeds for which the mirror has no file. If they are many, their count replaces them. */
  private withoutFile: string[] = [];

  /** @param now milliseconds of any clock that does not go backwards */
  constructor(terminal: BuildProgress["terminal"], now = () => performance.now()) {
    this.terminal = terminal;
    this.line = new LiveLine(terminal, PLAIN_EVERY_MS, now);
    this.now = now;
  }

  private redraw(): void {
    const { step, terminal } = this;
    if (step === undefined) return;
    this.line.show(() =>
      terminal.live
        ? stepLine(step, this.now(), terminal.columns, terminal.style)
        : `  ${step.name}: ${amount(step)}`,
    );
  }

  stop(): void {
    clearInterval(this.timer);
    this.line.clear();
  }

  take(event: BuildEvent): void {
    if (event.type !== "progress") this.print(this.describe(event));
    if (event.type === "done" || event.type === "failed") this.endStep();
    if (event.type !== "progress") return;
    const { step: name, done, total } = event;
    if (this.step?.name !== name) {
      this.endStep();
      this.line.clear();
    }
    this.step = { name, since: this.step?.since ?? this.now(), done, total };
    this.redraw();
  }

  private endStep(): void {
    const { style } = this.terminal;
    this.print([...this.unreached].flatMap(([why, feeds]) => unreachedLines(why, feeds, style)));
    this.unreached.clear();
    const { length } = this.withoutFile;
    if (length <= MAX_LINES_WITHOUT_FILE) this.print(this.withoutFile);
    else
      this.print([
        `  ${style.yellow(`the mirror has no file for ${counted(length, "feed")}`)}: run \`inkling data status\` to list them`,
      ]);
    this.withoutFile = [];
    if (this.step === undefined) return;
    this.print([`  ${this.step.name} ${style.dim(`${seconds(this.now() - this.step.since)} s`)}`]);
    this.step = undefined;
  }

  /** Prints lines that remain. */
  private print(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.line.clear();
    for (const line of lines) this.terminal.err(`${line}\n`);
  }

  private describe(event: Exclude<BuildEvent, { type: "progress" }>): string[] {
    if (event.type === "note") return [`  ${event.text}`];
    if (event.type === "feed") return this.describeTrouble(event);
    return [];
  }

  private describeTrouble({ feed, trouble, lacksFile }: BuildEvent & { type: "feed" }): string[] {
    const { id, state, source, error = "" } = feed;
    if (trouble !== undefined) {
      this.unreached.set(trouble.why, [...(this.unreached.get(trouble.why) ?? []), feed]);
    }
    const rest = trouble?.rest ?? error;
    if (rest === "") return [];
    const used = state === "loaded" ? `; in use instead: ${SOURCES[source]}` : "";
    const shownState = state === "loaded" ? "not updated" : state;
    const line = `  ${this.terminal.style.yellow(`${id} ${shownState}`)}: ${rest}${used}`;
    if (lacksFile !== true) return [line];
    this.withoutFile.push(line);
    return [];
  }
}

/** Describes which feeds could not be reached, and what is used instead. */
function unreachedLines(why: string, feeds: readonly FeedReport[], style: Style): string[] {
  const instead = new Map<string, string[]>();
  for (const { id, source, state } of feeds) {
    const used = state === "expired" ? "nothing, because the last copy has expired" : SOURCES[source];
    instead.set(used, [...(instead.get(used) ?? []), id]);
  }
  return [
    `  ${style.yellow(`${counted(feeds.length, "feed")} could not be reached`)}: ${why}`,
    ...[...instead].map(([used, ids]) => `    in use instead: ${used} (${ids.join(", ")})`),
  ];
}

/** Where a feed's copy came from, as shown. */
export const SOURCES = {
  mirror: "mirror",
  fetched: "publisher",
  "last-good": "last good copy",
  seed: "npm package",
  own: "part of Inkling",
  none: "nothing",
} as const;

/** Formats one step, with a bar if the total is known and there is room. */
export function stepLine(step: Step, now: number, columns: number, style: Style): string {
  const elapsed = `${seconds(now - step.since)} s`;
  const part = fraction(step);
  const bar = part === undefined || columns < SPACE_FOR_BAR ? "" : `${renderBar(part, BAR_CELLS)} `;
  const percent = part === undefined ? amount(step) : `${Math.floor(part * 100)}%`.padStart(4);
  const tail = ` ${bar}${percent} ${elapsed}`;
  const room = Math.max(8, columns - 3 - Bun.stringWidth(tail));
  const name = step.name.length > room ? `${step.name.slice(0, room - 1)}…` : step.name;
  return `  ${name}${style.dim(tail)}`;
}

/**
 * The line on standard error about long work. It is rewritten in place. If lines cannot be rewritten, it is nothing, or
 * a new line whenever nothing was shown for `plainEveryMs`.
 */
export class LiveLine {
  private readonly terminal: Pick<Terminal, "err" | "live">;
  private readonly everyMs: number;
  private readonly now: () => number;
  private isDrawn = false;
  private shownAt: number;

  constructor(
    terminal: Pick<Terminal, "err" | "live">,
    plainEveryMs = Number.POSITIVE_INFINITY,
    now = () => performance.now(),
  ) {
    this.terminal = terminal;
    this.everyMs = terminal.live ? REDRAW_MS : plainEveryMs;
    this.now = now;
    this.shownAt = terminal.live ? Number.NEGATIVE_INFINITY : now();
  }

  /** Shows what `line` returns, unless the line has just been shown. */
  show(line: () => string): void {
    const { live, err } = this.terminal;
    if (this.now() - this.shownAt < this.everyMs) return;
    this.clear();
    err(live ? line() : `${line()}\n`);
    this.isDrawn = live;
    this.shownAt = this.now();
  }

  clear(): void {
    if (this.isDrawn) this.terminal.err("\r\x1b[2K");
    this.isDrawn = false;
    this.shownAt = this.terminal.live ? Number.NEGATIVE_INFINITY : this.now();
  }
}

/** Returns `done` divided by `total`, from 0 to 1; undefined while the total is unknown. */
function fraction({ done, total }: Step): number | undefined {
  if (total === undefined || total <= 0) return undefined;
  return Math.min(1, Math.max(0, done / total));
}

export function renderBar(part: number, cells: number): string {
  const full = Math.round(part * cells);
  return "█".repeat(full) + "░".repeat(cells - full);
}

function amount(step: Step): string {
  const part = fraction(step);
  if (part !== undefined) return `${Math.floor(part * 100)}%`;
  return step.done > 0 ? formatCount(step.done) : "";
}

const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(1);

/** Returns a text such as `██████░░░░  43%  1,234,567 rows/s  12 s left`. @param size total bytes, if they are known */
export function rateText(bytes: number, size: number | undefined, rows: number, since: number): string {
  const seconds = (performance.now() - since) / 1000;
  const rate = `${formatCount(Math.round(rows / seconds))} rows/s`;
  if (!size) return `  ${rate}  ${formatBytes(bytes)}`;
  const part = bytes / size;
  const percent = `${String(Math.floor(part * 100)).padStart(3)}%`;
  const left = bytes > 0 ? `${Math.ceil((seconds * (size - bytes)) / bytes)} s left` : formatBytes(0);
  return `  ${renderBar(part, BAR_CELLS)} ${percent}  ${rate}  ${left}`;
}
