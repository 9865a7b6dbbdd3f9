// record.ts: defines what a part records. A figure is a row: question, contestant, measure, and one value for each
// round. Rows with the same question and measure are compared round by round, so contestants are measured in
// alternating rounds.

import { messageOf } from "@inkling/data";
import { spread } from "./stats.ts";

/**
 * How long each contestant runs before the first round, in milliseconds. Bun and Node compile code while it runs. On
 * Bun, the compiler's threads share the contestant's core, and the first million lookups take up to ten times as long
 * as later ones.
 */
const WARM_UP_MS = 5_000;

export interface Row {
  readonly type: "row";
  /** The question, the same for all contestants: "geolocate, random IPv4". */
  readonly what: string;
  /** "inkling", a variant of it, or a peer. */
  readonly who: string;
  readonly measure: string;
  readonly unit: string;
  /** One value for each round, in order. */
  readonly values: readonly number[];
}
/** A curve in a plot. */
type Series = {
  type: "series";
  plot: string;
  who: string;
  points: readonly (readonly [x: number, y: number])[];
};
export type Line =
  | Row
  | Series
  /** A peer that is not installed, and the command that installs it. */
  | { type: "missing"; who: string; why: string; install: string }
  /** Conditions of the measurement, such as versions, sizes, and what was left out. */
  | { type: "note"; text: string }
  /** A rule that must hold at any speed, such as no failed request and no mixed answer. */
  | { type: "check"; what: string; isKept: boolean; figure: string };

/** Results of a part, kept as JSON until the part runs again. */
export interface PartResult {
  readonly part: string;
  readonly commit: string;
  /** ISO 8601. */
  readonly at: string;
  readonly seconds: number;
  readonly command: string;
  readonly machine: string;
  /** The data's sources. */
  readonly data: string;
  /** Why the results are incomplete; undefined if they are complete. */
  readonly failed?: string;
  readonly lines: readonly Line[];
}

/**
 * Returns a recorded row.
 * @param name "question|contestant|measure"
 * @returns undefined if there is no such row
 */
export function rowOf(results: readonly PartResult[], name: string): Row | undefined {
  const rows = results.flatMap(({ lines }) => lines.filter((line) => line.type === "row"));
  return rows.find(({ what, who, measure }) => `${what}|${who}|${measure}` === name);
}

/** A checkout to measure. `suffix` is added to its contestants' names, and is "" for this checkout. */
export interface Checkout {
  readonly root: string;
  readonly suffix: string;
}

export interface Options {
  readonly isQuick: boolean;
  /** Set by --pressure: whether parts also measure beside neighbours that use the caches. */
  readonly hasPressure: boolean;
  /** Duration of an endurance run. */
  readonly hours: number;
  /** Set by --against: the checkout to compare with. Peers are then left out. */
  readonly other?: Checkout | undefined;
}

export interface Contestant {
  readonly what: string;
  readonly who: string;
  /**
   * @param isRecorded false while the contestant warms up
   * @returns values by measure and unit ("requests, /s")
   */
  readonly measure: (isRecorded: boolean) => Promise<Readonly<Record<string, number>>>;
}

export interface Part {
  readonly name: string;
  readonly title: string;
  /** After this time, the part is stopped and reported as incomplete. */
  readonly limitSeconds: number;
  /** How much longer the part may take with --pressure. Undefined if it does not measure beside neighbours. */
  readonly pressureSeconds?: number;
  /** Whether the part runs only if it is named. */
  readonly onlyIfNamed?: boolean;
  /** How long the part takes with --quick. If undefined, --quick leaves the part out unless it is named. */
  readonly quickSeconds?: number;
  readonly measure: (run: Run) => Promise<void>;
}

/** Prints progress to standard error. */
export const log = (text: string): void => void process.stderr.write(`${text}\n`);

/** One run of a part. It records lines, and undoes what the part started. */
export class Run {
  readonly isQuick: boolean;
  readonly hasPressure: boolean;
  readonly hours: number;
  readonly checkout: Checkout;
  /** This checkout, and the one to compare with if there is one. */
  readonly checkouts: readonly Checkout[];
  readonly lines: Line[] = [];
  /** Data folders that are locked against builds until the part ends. */
  readonly locked = new Set<string>();
  private readonly undo: (() => unknown)[] = [];
  private isOver = false;

  constructor(root: string, { isQuick, hasPressure, hours, other }: Options) {
    this.isQuick = isQuick;
    this.hasPressure = hasPressure;
    this.hours = hours;
    this.checkout = { root, suffix: "" };
    this.checkouts = other === undefined ? [this.checkout] : [this.checkout, other];
  }

  get hasPeers(): boolean {
    return this.checkouts.length === 1;
  }

  /** Returns `quick` in a quick run, otherwise `full`. */
  size(full: number, quick: number): number {
    return this.isQuick ? quick : full;
  }

  add(line: Line): void {
    this.lines.push(line);
    if (line.type === "row")
      log(`${line.what}: ${line.who}: ${line.measure} ${spread(line.values)} ${line.unit}`);
    else if (line.type === "check") log(`${line.what}: ${line.isKept ? "yes" : "NO"}; ${line.figure}`);
    else if (line.type === "missing") log(`${line.who} is left out: ${line.why}`);
  }

  /** @param key measure and unit: "requests, /s" */
  row(what: string, who: string, key: string, values: readonly number[]): void {
    const at = key.lastIndexOf(", ");
    this.add({ type: "row", what, who, measure: key.slice(0, at), unit: key.slice(at + 2), values });
  }

  check(what: string, isKept: boolean, figure: string): void {
    this.add({ type: "check", what, isKept, figure });
  }

  note(text: string): void {
    this.add({ type: "note", text });
  }

  values(what: string, who: string, measure: string): readonly number[] {
    const rows = this.lines.filter((line) => line.type === "row");
    return rows.find((row) => row.what === what && row.who === who && row.measure === measure)?.values ?? [];
  }

  /**
   * Measures all contestants in each round. Every other round runs in reverse order, so that no contestant always runs
   * after the same other contestant. Unless `isWarm` is set, each contestant first runs for {@link WARM_UP_MS} without
   * being recorded, at least once.
   */
  async alternate(contestants: readonly Contestant[], rounds: number, isWarm = false): Promise<void> {
    for (const { measure } of isWarm ? [] : contestants) {
      const until = performance.now() + this.size(WARM_UP_MS, 0);
      do await measure(false);
      while (performance.now() < until);
    }
    const found = contestants.map(() => new Map<string, number[]>());
    for (let round = 0; round < rounds; round++) {
      const order = [...contestants.entries()];
      for (const [i, { measure }] of round % 2 === 0 ? order : order.reverse())
        for (const [key, value] of Object.entries(await measure(true)))
          found[i]!.set(key, [...(found[i]!.get(key) ?? []), value]);
    }
    for (const [i, { what, who }] of contestants.entries())
      for (const [key, values] of found[i]!) this.row(what, who, key, values);
  }

  /**
   * Runs `undo` when the part ends, even if it fails. If the part is already over, runs it immediately.
   * @throws Error if the part is already over
   */
  defer(undo: () => unknown): void {
    this.undo.push(undo);
    if (!this.isOver) return;
    void this.end();
    throw new Error("the part is over");
  }

  /** Undoes everything that was deferred, last first. @throws AggregateError of the errors */
  async end(): Promise<void> {
    this.isOver = true;
    const errors: unknown[] = [];
    for (let undo = this.undo.pop(); undo !== undefined; undo = this.undo.pop()) {
      try {
        await undo();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 0) return;
    const messages = errors.map(messageOf).join("; ");
    throw new AggregateError(errors, `not all could be undone: ${messages}`);
  }
}
