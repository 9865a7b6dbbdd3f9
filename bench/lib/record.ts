// record.ts: what a part records. A figure is a row: question, contestant, measure, one value for each round. Rows of one
// question and measure are compared round by round, so contestants are measured in alternating rounds.

import { messageOf } from "@inkling/release-store";
import { spread } from "./stats.ts";

export interface Row {
  readonly type: "row";
  /** The question, the same for all who are compared: "geolocate, random IPv4". */
  readonly what: string;
  /** "inkling", a variant of it, or a peer. */
  readonly who: string;
  readonly measure: string;
  readonly unit: string;
  /** One for each round, in order. */
  readonly values: readonly number[];
}
/** A curve of a plot. */
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
  /** Conditions of the measurement: versions, sizes, what was left out. */
  | { type: "note"; text: string }
  /** A rule that must hold at any speed: no failed request, no mixed answer. */
  | { type: "check"; what: string; isKept: boolean; figure: string };

/** Results of a part, kept as JSON until it runs again. */
export interface PartResult {
  readonly part: string;
  readonly commit: string;
  /** ISO 8601. */
  readonly at: string;
  readonly seconds: number;
  readonly command: string;
  readonly machine: string;
  /** Where the data came from. */
  readonly data: string;
  /** Why it is incomplete; absent when it is complete. */
  readonly failed?: string;
  readonly lines: readonly Line[];
}

/** A checkout that is measured; `suffix` ends the names of its contestants: "" for this one. */
export interface Checkout {
  readonly root: string;
  readonly suffix: string;
}

export interface Options {
  readonly isQuick: boolean;
  /** With --pressure: parts that can also measure beside neighbours that use the caches. */
  readonly hasPressure: boolean;
  /** Of an endurance run: how long it takes. */
  readonly hours: number;
  /** With --against: the checkout to compare with; peers are left out then. */
  readonly other?: Checkout | undefined;
}

export interface Contestant {
  readonly what: string;
  readonly who: string;
  /** @returns measure and unit ("requests, /s") -> value */
  readonly measure: () => Promise<Readonly<Record<string, number>>>;
}

export interface Part {
  readonly name: string;
  readonly title: string;
  /** It is stopped after this, and reported as incomplete. */
  readonly limitSeconds: number;
  /** How much longer it may take with --pressure; absent: it is not measured beside neighbours. */
  readonly pressureSeconds?: number;
  /** Whether it runs only if it is named. */
  readonly onlyIfNamed?: boolean;
  /** How long it takes with --quick; absent: left out then unless named. */
  readonly quickSeconds?: number;
  readonly measure: (run: Run) => Promise<void>;
}

/** Progress, for people. */
export const log = (text: string): void => void process.stderr.write(`${text}\n`);

/** One run of a part: records its lines, and undoes what it started. */
export class Run {
  readonly isQuick: boolean;
  readonly hasPressure: boolean;
  readonly hours: number;
  readonly checkout: Checkout;
  /** This checkout, and the one to compare with. */
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

  /** `quick` in a quick run, otherwise `full`. */
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
   * Measures all contestants in each round, the first round unrecorded unless `isWarm`; every other round backwards, so
   * that none always runs after the same one.
   */
  async alternate(contestants: readonly Contestant[], rounds: number, isWarm = false): Promise<void> {
    const found = contestants.map(() => new Map<string, number[]>());
    for (let round = isWarm ? 0 : -1; round < rounds; round++) {
      const order = [...contestants.entries()];
      for (const [i, { measure }] of round % 2 === 0 ? order : order.reverse())
        for (const [key, value] of Object.entries(await measure()))
          if (round >= 0) found[i]!.set(key, [...(found[i]!.get(key) ?? []), value]);
    }
    for (const [i, { what, who }] of contestants.entries())
      for (const [key, values] of found[i]!) this.row(what, who, key, values);
  }

  /** Runs `undo` when the part ends, however it ends. */
  defer(undo: () => unknown): void {
    this.undo.push(undo);
    if (!this.isOver) return;
    void this.end();
    throw new Error("the part is over");
  }

  /** Undoes all that was deferred, the last first. @throws AggregateError of what failed */
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
