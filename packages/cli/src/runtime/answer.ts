// answer.ts: lookups without a server, with the release in use and the active overrides; no HTTP, no key.
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
  formatPrefix,
  type IpAddress,
  type LoadedRelease,
  type Lookup,
  Overrides,
  parseUnwrapped,
  RESERVED,
  specialUse,
} from "@inkling/engine";
import { DATA_FOLDER, messageOf, openServable } from "@inkling/release-store";
import { problemOf } from "@inkling/server/failures";
import { type Problem, problemBody } from "@inkling/server/problems";
import type { Store } from "@inkling/server/store";
import { databaseFile } from "../config/settings.ts";
import { CliError, EXIT } from "../terminal/errors.ts";
import { reservedText } from "../terminal/reserved-text.ts";

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
  const { value: overrides, warnings } = withOverrides
    ? await loadOverrides(settings)
    : { value: Overrides.NONE, warnings: [] };
  const missing = [...new Set(lookups.flatMap((lookup) => release.states[lookup].missing))];
  return { release, overrides, missing, warnings: [...warnings, ...missing.map(missingText)] };
}

export const missingText = (flag: string) => `${flag} is unknown: no feed with it is loaded`;

/** What a command reads of the database, or of a copy of it in the data folder. */
export interface StoreReading<T> {
  /** Before there is a database. */
  readonly none: T;
  readonly read: (store: Store) => Promise<T>;
  /** Throws if there is no copy, or if it is damaged. */
  readonly copy: () => Promise<T>;
  /** Completes the warning that the database cannot be read. */
  readonly fromCopy: string;
  readonly withoutCopy: string;
}

/** @returns a warning if the database could not be read */
export async function readStore<T>(
  settings: Settings,
  { none, read, copy, fromCopy, withoutCopy }: StoreReading<T>,
): Promise<{ readonly value: T; readonly warnings: readonly string[] }> {
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return { value: none, warnings: [] }; // opening would make it
  try {
    // Loaded where there is something to read: this takes longer than a lookup.
    const { openStore } = await import("@inkling/server/store");
    const store = await openStore(settings.databaseUrl, { timeoutMs: TIMEOUT_MS });
    try {
      return { value: await read(store), warnings: [] };
    } finally {
      await store.close();
    }
  } catch (error) {
    const reason = messageOf(error);
    try {
      return { value: await copy(), warnings: [`${reason}; ${fromCopy}`] };
    } catch {
      return { value: none, warnings: [`${reason}; ${withoutCopy}`] };
    }
  }
}

function loadOverrides(settings: Settings) {
  return readStore(settings, {
    none: Overrides.NONE,
    read: async (store) => {
      const { overridesOf } = await import("@inkling/server/override-records");
      return overridesOf((await store.overrides.load()).overrides);
    },
    copy: async () => {
      const { readSnapshot } = await import("@inkling/server/overrides-file");
      const { overridesOf } = await import("@inkling/server/override-records");
      const text = readFileSync(join(settings.dataDir, DATA_FOLDER.overrides), "utf8");
      return overridesOf(readSnapshot(text).overrides);
    },
    fromCopy: `overrides are those of ${DATA_FOLDER.overrides}`,
    withoutCopy: "answered without overrides",
  });
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
  if (outcome.reason === "reserved") throw reserved(value, parseUnwrapped(value)!, outcome.use);
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

/** @param value as it was given @param address it, or the first one of a network */
export function reserved(value: string, address: IpAddress, use: string): Refused {
  const network = formatPrefix(specialUse(address)!.prefix);
  return new Refused(...reservedText(value, use, network), problemOf(RESERVED.get(use)!));
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
