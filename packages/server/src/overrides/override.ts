// override.ts: an operator's own verdict on an address, network, domain or email address, as it is requested.
//
// in   unknown input: admin API, command line, an imported file
// out  NewOverride
// err  OverrideInputError with every problem
// src  docs/overrides.md

import {
  FLAGS_OF,
  issueLines,
  type NewOverride,
  nearest,
  OVERRIDE_FLAGS,
  type OverrideFlag,
  type OverrideKind,
} from "@inkling/engine";
import { z } from "zod";
import type { EpochMs } from "../keys/key.ts";
import { isoTime, oneLine } from "../text/fields.ts";
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

/** Older exports and programs may still have `mute`. */
const NO_MUTES = "`mute` was removed: an override now forces a flag. Use `flag` and `verdict` instead.";

/** An override as requested. */
export const newOverrideSchema = z.strictObject(
  {
    value: z.string("must be text").min(1, "must not be empty").max(400, "is too long"),
    flag: z.string(`must be one of ${OVERRIDE_FLAGS.join(", ")}`).max(100),
    verdict: z.boolean("must be true or false"),
    note: oneLine(MAX_NOTE),
    author: oneLine(MAX_AUTHOR).optional(),
    expires_at: isoTime.nullish(),
    force: z.boolean().optional(),
  },
  {
    error: ({ code, keys }) =>
      code === "unrecognized_keys" && keys?.includes("mute") ? NO_MUTES : undefined,
  },
);

export interface OverrideContext {
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
  const flag = readFlag(data.flag, target?.kind, problems);
  const expiresAt = data.expires_at ?? undefined;
  if (expiresAt !== undefined && expiresAt <= context.now) problems.push("expires_at: is in the past");
  if (target === undefined || flag === undefined || problems.length > 0)
    throw new OverrideInputError(problems);
  if (target.tooWide !== undefined && data.force !== true) {
    throw new OverrideInputError([`value: ${target.tooWide}`], "TOO_WIDE");
  }
  const { kind, value } = target;
  const { verdict, note, author = context.author } = data;
  return { kind, value, flag, verdict, note, author, expiresAt };
}

function readFlag(
  flag: string,
  kind: OverrideKind | undefined,
  problems: string[],
): OverrideFlag | undefined {
  const known = OVERRIDE_FLAGS.find((name) => name === flag);
  if (known === undefined) {
    const near = nearest(flag, OVERRIDE_FLAGS);
    const help = near === undefined ? `: there are ${OVERRIDE_FLAGS.join(", ")}` : `; did you mean ${near}?`;
    problems.push(`flag: there is no flag "${flag}"${help}`);
  } else if (kind !== undefined && !FLAGS_OF[kind].includes(known)) {
    problems.push(`flag: ${known} is not a flag of ${KIND_WORDS[kind]}: use ${FLAGS_OF[kind].join(", ")}`);
  }
  return known;
}

const KIND_WORDS: Readonly<Record<OverrideKind, string>> = {
  address: "an address",
  network: "a network",
  domain: "a domain",
  email_hash: "an email address",
};
