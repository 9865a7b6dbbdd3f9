// record.ts: what a measuring script says: one JSON object a line on standard output; words for people go to standard
// error.
//
// Every figure is a row: what was asked, who answered, what was measured, one value for each round. Rows with the same
// `what` and `measure` are compared, round by round: the rounds of all who take part alternate.

import { z } from "zod";

const row = z.object({
  type: z.literal("row"),
  /** The question, alike for everybody compared: "geolocate, random IPv4". */
  what: z.string(),
  /** "inkling", or the name of a peer, or of a variant. */
  who: z.string(),
  /** What the values are: "time per look-up". */
  measure: z.string(),
  unit: z.string(),
  /** One for each round, in order. */
  values: z.array(z.number()).min(1),
  note: z.string().optional(),
});
/** A peer that is not there. */
const missing = z.object({
  type: z.literal("missing"),
  who: z.string(),
  why: z.string(),
  /** The command that brings it. */
  install: z.string(),
});
/** For a plot: curves of one figure. */
const series = z.object({
  type: z.literal("series"),
  /** Which plot it belongs to: plots.ts knows them. */
  plot: z.string(),
  who: z.string(),
  points: z.array(z.tuple([z.number(), z.number()])),
});
/** Something to be read with the figures: a limit, a version, how something was made. */
const note = z.object({ type: z.literal("note"), text: z.string() });
/** What was compared with what: versions of peers, sizes of data. */
const fact = z.object({ type: z.literal("fact"), name: z.string(), value: z.string() });
/** A rule that must hold whatever the speed: no failed request, no mixed answer. */
const check = z.object({
  type: z.literal("check"),
  what: z.string(),
  isKept: z.boolean(),
  figure: z.string(),
});

export const line = z.discriminatedUnion("type", [row, missing, series, note, fact, check]);
export type Line = z.infer<typeof line>;
export type Row = z.infer<typeof row>;
export type Series = z.infer<typeof series>;

/** Says it on standard output. */
export function emit(said: Line): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
}

/** For people: what is happening now. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Rounds of several, one value of each in turn, so that a machine that is slow for a while is slow for all. */
export async function alternate(
  rounds: number,
  who: Readonly<Record<string, () => number | Promise<number>>>,
): Promise<Record<string, number[]>> {
  const values: Record<string, number[]> = {};
  for (const name of Object.keys(who)) values[name] = [];
  for (let round = -1; round < rounds; round++) {
    for (const [name, measure] of Object.entries(who)) {
      const value = await measure();
      if (round >= 0) values[name]!.push(value); // the first warms up
    }
  }
  return values;
}

/** One part's results, as they are kept until it is run again. */
export const partResult = z.object({
  part: z.string(),
  commit: z.string(),
  /** ISO 8601. */
  at: z.string(),
  seconds: z.number(),
  isQuick: z.boolean(),
  command: z.string(),
  machine: z.string(),
  /** Where the data came from; absent in results of before this was told. */
  data: z.string().optional(),
  /** Why it is not complete; absent when it is. */
  failed: z.string().optional(),
  lines: z.array(line),
});
export type PartResult = z.infer<typeof partResult>;
