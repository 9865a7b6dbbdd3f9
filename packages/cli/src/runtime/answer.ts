// answer.ts: lookups without a server, with the release in use and the overrides in force; no HTTP, no key.
//
// out  the body that the API would answer with. Overrides are those of the database; where it cannot be read, those of the
//      data folder's copy, with a warning
// err  of the release; Refused for whatever the API would refuse or not find, with its code and document. Without any
//      overrides there is a warning only: a lookup without them is better than none

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import {
  Answerer,
  type AnswerSource,
  bodyOf,
  type LoadedRelease,
  type Lookup,
  Overrides,
} from "@inkling/engine";
import { DATA_FOLDER, messageOf, openServable } from "@inkling/release-store";
import { problemOf } from "@inkling/server/failures";
import { type Problem, problemBody } from "@inkling/server/problems";
import { databaseFile } from "../config/settings.ts";
import { CliError, EXIT } from "../terminal/errors.ts";

/** A lookup should not wait long for a database that is unreachable. */
const TIMEOUT_MS = 2_000;

export interface AnswerData {
  readonly release: LoadedRelease;
  readonly overrides: Overrides;
  /** Flags without data, for these lookups. */
  readonly missing: readonly string[];
  readonly warnings: readonly string[];
}

/** @param withOverrides false where none can apply: the database is not opened then */
export async function openAnswerData(
  settings: Settings,
  lookups: readonly Lookup[],
  withOverrides = true,
): Promise<AnswerData> {
  const release = openServable(settings.dataDir);
  const { overrides, warnings } = withOverrides ? await loadOverrides(settings) : NO_OVERRIDES;
  const missing = [...new Set(lookups.flatMap((lookup) => release.states[lookup].missing))];
  return { release, overrides, missing, warnings: [...warnings, ...missing.map(missingText)] };
}

export const missingText = (flag: string) => `${flag} is unknown: no feed with it is loaded`;

type OverridesNow = Pick<AnswerData, "overrides" | "warnings">;
const NO_OVERRIDES: OverridesNow = { overrides: Overrides.NONE, warnings: [] };

async function loadOverrides(settings: Settings): Promise<OverridesNow> {
  const { databaseUrl, dataDir } = settings;
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return NO_OVERRIDES; // opening would make it
  try {
    // Loaded where there is something to read: this takes longer than a lookup.
    const { openStore } = await import("@inkling/server/store");
    const { overridesOf } = await import("@inkling/server/override-records");
    const store = await openStore(databaseUrl, { timeoutMs: TIMEOUT_MS });
    try {
      return { overrides: overridesOf((await store.overrides.load()).overrides), warnings: [] };
    } finally {
      await store.close();
    }
  } catch (error) {
    const reason = messageOf(error);
    const overrides = await copyOf(dataDir);
    return overrides === undefined
      ? { overrides: Overrides.NONE, warnings: [`${reason}; answered without overrides`] }
      : { overrides, warnings: [`${reason}; overrides are those of ${DATA_FOLDER.overrides}`] };
  }
}

async function copyOf(dataDir: string): Promise<Overrides | undefined> {
  try {
    const { readSnapshot } = await import("@inkling/server/overrides-file");
    const { overridesOf } = await import("@inkling/server/override-records");
    return overridesOf(readSnapshot(readFileSync(join(dataDir, DATA_FOLDER.overrides), "utf8")).overrides);
  } catch {
    return undefined; // there is none, or it is damaged
  }
}

const decoder = new TextDecoder();

/**
 * The body for `value`, from the data that there is: the caller reports what is missing.
 * @param include bits of INCLUDE
 * @throws Refused for whatever the API would not answer with 200
 */
export function answer(
  release: LoadedRelease,
  lookup: Lookup,
  value: string,
  overrides = Overrides.NONE,
  now = 0,
  include = 0,
): string {
  const source: AnswerSource = { release, overrides, now, mode: "up" };
  const outcome = new Answerer().answer(lookup, value, source, include);
  if (!("reason" in outcome)) return decoder.decode(bodyOf(outcome));
  const problem = problemOf(outcome);
  if (outcome.reason === "address_invalid") {
    throw new Refused(
      `${JSON.stringify(value.slice(0, 60))} is not an IP address`,
      "for example 81.2.69.142 or 2001:4860:4860::8888, without port, brackets or prefix",
      problem,
    );
  }
  const [line, ...more] = problem.detail.split(/(?<=[.:]) /);
  throw new Refused(line!.replace(/[.:]$/, ""), more.length > 0 ? more.join(" ") : undefined, problem);
}

/** The API would not answer with 200. */
export class Refused extends CliError {
  /** The API's problem document: docs/errors.md. */
  readonly document: string;
  constructor(message: string, hint: string | undefined, problem: Problem) {
    super(`${message} (${problem.code})`, hint, problem.status === 400 ? EXIT.usage : EXIT.error);
    this.document = problemBody(problem);
  }
}
