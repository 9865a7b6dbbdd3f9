// record.ts: a published ruleset: its number, its text, and who published it when; and the data folder's copy of it.
//
// err  readRulesetSnapshot throws for a text that is no copy

import type { Loaded } from "@inkling/release-store";
import { z } from "zod";
import type { EpochMs } from "../keys/key.ts";

/** Immutable: a change is published under the next number. */
export interface PublishedRuleset {
  /** 1, 2, 3 and so on. */
  readonly number: number;
  /** TOML, as docs/rulesets.md describes it. */
  readonly text: string;
  readonly note: string;
  readonly author: string;
  readonly createdAt: EpochMs;
  /** The number of the ruleset that a rollback published again. */
  readonly restores: number | undefined;
}

/** What assessments go by before anyone publishes a ruleset: the reasons and their weights only. */
export const NO_RULESET: PublishedRuleset = Object.freeze({
  number: 0,
  text: "",
  note: "",
  author: "inkling",
  createdAt: 0,
  restores: undefined,
});

/** A ruleset for programs. Its text may have 256 KiB, so lists leave it out. */
export function rulesetJson({ number, note, author, createdAt, restores }: PublishedRuleset) {
  return {
    number,
    note,
    author,
    created_at: new Date(createdAt).toISOString(),
    restores: restores ?? null,
  };
}

/** The stamp of a database in which nobody published a ruleset. */
export const NO_RULESET_STAMP = "new";

export const loadedRuleset = (value: PublishedRuleset): Loaded<PublishedRuleset> => ({
  version: value.number === 0 ? NO_RULESET_STAMP : String(value.number),
  value,
});

const FORMAT = "inkling-ruleset-snapshot";
const snapshotSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(1),
  ruleset: z.strictObject({
    number: z.int().positive(),
    text: z.string(),
    note: z.string(),
    author: z.string(),
    createdAt: z.number(),
    restores: z.int().positive().optional(),
  }),
});

export const rulesetSnapshot = ({ value }: Loaded<PublishedRuleset>): string =>
  `${JSON.stringify({ format: FORMAT, version: 1, ruleset: value })}\n`;

/** @throws Error for a text that is no copy */
export function readRulesetSnapshot(text: string): Loaded<PublishedRuleset> {
  const { ruleset } = snapshotSchema.parse(JSON.parse(text));
  return loadedRuleset({ ...ruleset, restores: ruleset.restores });
}
