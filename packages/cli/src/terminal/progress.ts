// progress.ts: turns a build's events into one live line on a terminal, plus lines that remain.

import type { BuildEvent } from "@inkling/compiler/events";
import type { FeedReport } from "@inkling/engine";
import { counted, formatBytes, formatCount, type Style, type Terminal } from "./terminal.ts";

/** Milliseconds between two lines about the same long step in a plain log. */
export const PLAIN_EVERY_MS = 10_000;
const BAR_CELLS = 24;
const SPACE_FOR_BAR = 70;
const MAX_LINES_WITHOUT_FILE = 3;

interface Step {
  readonly name: string;
  readonly since: number;
  done: number;
  total: number | undefined;
  mentioned: number;
}

/** What one event changed. `keep` has whole lines; `live` is the line in progress, if any. */
export interface Shown {
  readonly keep: readonly string[];
  readonly live: string | undefined;
}

/** If the terminal is not live, a long step is mentioned only now and then. */
export class Progress {
  private readonly terminal: Pick<Terminal, "live" | "columns" | "style">;
  private step: Step | undefined;
  /**
   * Feeds whose source did not respond, by reason. Without internet access, these are all feeds, and one line reports
   * them.
   */
  private readonly unreached = new Map<string, FeedReport[]>();
  /** The lines of feeds for which the mirror has no file. If they are many, their count replaces them. */
  private withoutFile: string[] = [];

  constructor(terminal: Pick<Terminal, "live" | "columns" | "style">) {
    this.terminal = terminal;
  }

  /** @param now milliseconds of any clock that does not go backwards */
  next(event: BuildEvent, now: number): Shown {
    const keep: string[] = [];
    if (event.type === "progress") this.onProgress(event, now, keep);
    else keep.push(...this.describe(event));
    if (event.type === "done" || event.type === "failed") this.finish(now, keep);
    return { keep, live: this.live(now) };
  }

  /** Returns the line in progress, with the elapsed time at `now`. */
  live(now: number): string | undefined {
    if (!this.terminal.live || this.step === undefined) return undefined;
    return stepLine(this.step, now, this.terminal.columns, this.terminal.style);
  }

  private onProgress(event: BuildEvent & { type: "progress" }, now: number, keep: string[]): void {
    if (this.step?.name !== event.step) {
      this.finish(now, keep);
      this.step = { name: event.step, since: now, done: 0, total: undefined, mentioned: now };
    }
    const step = this.step!;
    step.done = event.done;
    step.total = event.total;
    if (!this.terminal.live && now - step.mentioned >= PLAIN_EVERY_MS) {
      step.mentioned = now;
      keep.push(`  ${step.name}: ${amount(step)}`);
    }
  }

  private finish(now: number, keep: string[]): void {
    keep.push(
      ...[...this.unreached].flatMap(([why, feeds]) => unreachedLines(why, feeds, this.terminal.style)),
    );
    this.unreached.clear();
    const { length } = this.withoutFile;
    if (length <= MAX_LINES_WITHOUT_FILE) keep.push(...this.withoutFile);
    else
      keep.push(
        `  ${this.terminal.style.yellow(`the mirror has no file for ${counted(length, "feed")}`)}: run \`inkling data status\` to list them`,
      );
    this.withoutFile = [];
    if (this.step === undefined) return;
    keep.push(`  ${this.step.name} ${this.terminal.style.dim(`${seconds(now - this.step.since)} s`)}`);
    this.step = undefined;
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
export function stepLine(step: Omit<Step, "mentioned">, now: number, columns: number, style: Style): string {
  const elapsed = `${seconds(now - step.since)} s`;
  const part = fraction(step);
  const bar = part === undefined || columns < SPACE_FOR_BAR ? "" : `${renderBar(part, BAR_CELLS)} `;
  const percent = part === undefined ? amount(step) : `${Math.floor(part * 100)}%`.padStart(4);
  const tail = ` ${bar}${percent} ${elapsed}`;
  const room = Math.max(8, columns - 3 - Bun.stringWidth(tail));
  const name = step.name.length > room ? `${step.name.slice(0, room - 1)}…` : step.name;
  return `  ${name}${style.dim(tail)}`;
}

export const REDRAW_MS = 100;

/** The line on standard error that is rewritten in place. It prints nothing if lines cannot be rewritten. */
export class LiveLine {
  private readonly terminal: Pick<Terminal, "err" | "live">;
  private isDrawn = false;
  private drawnAt = Number.NEGATIVE_INFINITY;

  constructor(terminal: Pick<Terminal, "err" | "live">) {
    this.terminal = terminal;
  }

  show(line: string | undefined): void {
    this.clear();
    if (line === undefined || !this.terminal.live) return;
    this.terminal.err(line);
    this.isDrawn = true;
  }

  /** Shows what `line` returns, unless the line has just been rewritten. */
  refresh(line: () => string): void {
    const now = performance.now();
    if (now - this.drawnAt < REDRAW_MS) return;
    this.drawnAt = now;
    this.show(line());
  }

  clear(): void {
    if (this.isDrawn) this.terminal.err("\r\x1b[2K");
    this.isDrawn = false;
  }
}

/** Returns `done` divided by `total`, from 0 to 1; undefined while the total is unknown. */
function fraction({ done, total }: Pick<Step, "done" | "total">): number | undefined {
  if (total === undefined || total <= 0) return undefined;
  return Math.min(1, Math.max(0, done / total));
}

export function renderBar(part: number, cells: number): string {
  const full = Math.round(part * cells);
  return "█".repeat(full) + "░".repeat(cells - full);
}

function amount(step: Pick<Step, "done" | "total">): string {
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
