// override.ts: an operator's own verdict on an address, network, domain or email address, as it is requested.
//
// in   unknown input: admin API, command line, an imported file
// out  NewOverride
// err  OverrideInputError with every problem
// src  docs/overrides.md

import { issueLines, type NewOverride } from "@inkling/engine";
import { z } from "zod";
import type { EpochMs } from "../keys/key.ts";
import { isoTime, oneLine } from "../text/fields.ts";
import { type EffectContext, readEffect } from "./effect.ts";
import { readTarget } from "./target.ts";

/** As many overrides may be in force: each change reads them all again, in every process. */
export const MAX_OVERRIDES = 10_000;
const MAX_NOTE = 500;
export const MAX_AUTHOR = 100;
/** TOO_WIDE: it needs `force`, CONTRADICTS: rows of one file do; nothing else is wrong. */
export type OverrideInputCode = "INVALID" | "TOO_WIDE" | "CONTRADICTS";

/** An override cannot be made as requested. `problems` has a line for each thing that is wrong. */
export class OverrideInputError extends Error {
  readonly problems: readonly string[];
  readonly code: OverrideInputCode;
  /** Would `force` solve one of the problems at least? */
  readonly needsForce: boolean;
  constructor(
    problems: readonly string[],
    code: OverrideInputCode = "INVALID",
    needsForce = code === "TOO_WIDE",
  ) {
    super(problems.join("; "));
    this.name = "OverrideInputError";
    this.problems = problems;
    this.code = code;
    this.needsForce = needsForce;
  }
}

/** An override as requested. */
export const newOverrideSchema = z.strictObject({
  value: z.string("must be text").min(1, "must not be empty").max(400, "is too long"),
  flag: z.string().max(100).optional(),
  verdict: z.boolean("must be true or false").optional(),
  mute: z.string().max(100).optional(),
  note: oneLine(MAX_NOTE),
  author: oneLine(MAX_AUTHOR).optional(),
  expires_at: isoTime.nullish(),
  force: z.boolean().optional(),
});

export interface OverrideContext extends EffectContext {
  readonly now: EpochMs;
  /** Where the input has no author. */
  readonly author: string;
}

/** @throws OverrideInputError with every problem */
export function parseNewOverride(input: unknown, context: OverrideContext): NewOverride {
  const result = newOverrideSchema.safeParse(input);
  if (!result.success) throw new OverrideInputError(issueLines(result.error, "override"));
  const { data } = result;
  const problems: string[] = [];
  const target = readTarget(data.value, problems);
  const effect = readEffect(data, target?.kind, context, problems);
  const expiresAt = data.expires_at ?? undefined;
  if (expiresAt !== undefined && expiresAt <= context.now) problems.push("expires_at: is in the past");
  if (target === undefined || effect === undefined || problems.length > 0)
    throw new OverrideInputError(problems);
  if (target.tooWide !== undefined && data.force !== true) {
    throw new OverrideInputError([`value: ${target.tooWide}`], "TOO_WIDE");
  }
  const { kind, value } = target;
  return { kind, value, effect, note: data.note, author: data.author ?? context.author, expiresAt };
}
