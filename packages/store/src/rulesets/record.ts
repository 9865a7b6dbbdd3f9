// record.ts: defines a published ruleset with its number, text, author and time, and its copy in the data folder.

import { createHash } from "node:crypto";
import type { Loaded } from "@inkling/data";
import { z } from "zod";
import { isoTime } from "../keys/day.ts";
import type { EpochMs } from "../keys/key.ts";

/** A ruleset never changes. A change is published under the next number. */
export interface PublishedRuleset {
  /** The ruleset's number: 1, 2, 3 and so on. */
  readonly number: number;
  /** TOML, described in docs/rulesets.md. */
  readonly text: string;
  readonly note: string;
  readonly author: string;
  readonly createdAt: EpochMs;
  /** The number of the ruleset that a rollback published again. */
  readonly restores: number | undefined;
}

/** What decisions use before the first ruleset is published: only the reasons and their weights. */
export const NO_RULESET: PublishedRuleset = Object.freeze({
  number: 0,
  text: "",
  note: "",
  author: "inkling",
  createdAt: 0,
  restores: undefined,
});

/**
 * Converts a ruleset to JSON for programs, without its text. The text may have 256 KiB, which is too much for lists.
 */
export function rulesetJson({ number, note, author, createdAt, restores }: PublishedRuleset) {
  return {
    number,
    note,
    author,
    created_at: isoTime(createdAt),
    restores: restores ?? null,
  };
}

/** The stamp of a database in which no ruleset was published. */
const NO_RULESET_STAMP = "new";

/**
 * Returns the stamp of a ruleset. After a failover to an older replica, the database may publish another text under a
 * number that servers already know.
 * @param hash SHA-256 of the text, in hexadecimal
 */
export const rulesetStamp = (number: number, hash: string): string =>
  number === 0 ? NO_RULESET_STAMP : `${number}-${hash}`;

export const textHash = (text: string): string => createHash("sha256").update(text).digest("hex");

export const loadedRuleset = (value: PublishedRuleset): Loaded<PublishedRuleset> => ({
  version: rulesetStamp(value.number, textHash(value.text)),
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

/** @throws Error if the text is not a copy */
export function readRulesetSnapshot(text: string): Loaded<PublishedRuleset> {
  const { ruleset } = snapshotSchema.parse(JSON.parse(text));
  return loadedRuleset({ ...ruleset, restores: ruleset.restores });
}
