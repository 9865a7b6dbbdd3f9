// answer.ts: looks up values without a server, in the release in use or a kept one, with the active overrides. Such a
// lookup needs neither HTTP nor a key.
//
// Overrides come from the database; if it cannot be read, they come from the data folder's copy, with a warning. If
// overrides cannot be read at all, there is only a warning, because a lookup without them is better than no lookup.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER, messageOf, openKept } from "@inkling/data";
import {
  Answerer,
  type AnswerSource,
  bodyOf,
  formatPrefix,
  type IpAddress,
  type LoadedRelease,
  type Lookup,
  type LookupFailure,
  Overrides,
  type Prefix,
  parseIp,
  RESERVED,
} from "@inkling/engine";
import { problemOf } from "@inkling/server/failures";
import {
  MAX_EXPLAINED,
  type NetworksReport,
  reportOfSystem as reportOf,
  reportOfNetworks,
  type SystemReport,
} from "@inkling/server/network-sources";
import { networkUse } from "@inkling/server/network-summary";
import { type Problem, problemBody } from "@inkling/server/problems";
import { finish } from "@inkling/server/turns";
import { reservedText } from "@inkling/server/value-texts";
import type { Store } from "@inkling/store/store";
import { databaseFile } from "../config/settings.ts";
import { CliError, EXIT } from "../terminal/errors.ts";
import { missingText } from "../terminal/release-tables.ts";

/** The flag of commands that can read an earlier release. */
export const RELEASE = [
  "--release <release>",
  "id or name of a stored release, from `data status` (default: the release in use)",
] as const;

/** Milliseconds that a lookup waits for an unreachable database. */
const TIMEOUT_MS = 2_000;

export interface AnswerData {
  readonly release: LoadedRelease;
  readonly overrides: Overrides;
  /** Flags without data, for the requested lookups. */
  readonly missing: readonly string[];
  readonly warnings: readonly string[];
}

/** Overrides have no places. */
export const mayOverride = (lookup: Lookup) => lookup !== "geolocate";

/**
 * Opens a release, and the overrides if any of the lookups may have some.
 * @param kept the name or id of a stored release; by default, the release in use
 * @throws ReleaseError
 */
export async function openAnswerData(
  settings: Settings,
  lookups: readonly Lookup[],
  kept?: string,
): Promise<AnswerData> {
  const release = openKept(settings.dataDir, kept);
  const { value: overrides, warnings } = lookups.some(mayOverride)
    ? await loadOverrides(settings)
    : { value: Overrides.NONE, warnings: [] };
  const missing = [...new Set(lookups.flatMap((lookup) => release.states[lookup].missing))];
  return { release, overrides, missing, warnings: [...warnings, ...missing.map(missingText)] };
}

/** What a command reads from the database or, if that fails, from the data folder's copy. */
interface StoreReading<T> {
  /** The value if there is no database yet, or if neither the database nor the copy can be read. */
  readonly none: T;
  readonly read: (store: Store) => Promise<T>;
  /** Throws if there is no copy, or if it is damaged. */
  readonly copy: () => Promise<T>;
  /** The end of the warning that the database cannot be read. */
  readonly fromCopy: string;
  readonly withoutCopy: string;
}

/** @returns the value, and a warning if the database could not be read */
export async function readStore<T>(
  settings: Settings,
  { none, read, copy, fromCopy, withoutCopy }: StoreReading<T>,
): Promise<{ readonly value: T; readonly warnings: readonly string[] }> {
  const file = databaseFile(settings);
  if (file !== undefined && !existsSync(file)) return { value: none, warnings: [] }; // opening it would create it
  try {
    // Loaded only if there is a database, because loading takes longer than a lookup.
    const { openStore } = await import("@inkling/store/store");
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
      const { overridesOf } = await import("@inkling/store/overrides/record");
      return overridesOf((await store.overrides.load()).overrides);
    },
    copy: async () => {
      const { readSnapshot } = await import("@inkling/store/overrides/file");
      const { overridesOf } = await import("@inkling/store/overrides/record");
      const text = readFileSync(join(settings.dataDir, DATA_FOLDER.overrides), "utf8");
      return overridesOf(readSnapshot(text).overrides);
    },
    fromCopy: `overrides come from ${DATA_FOLDER.overrides}`,
    withoutCopy: "answered without overrides",
  });
}

const decoder = new TextDecoder();

/** Parses the body of an answer. */
export const parseBody = (body: Uint8Array) => JSON.parse(decoder.decode(body));

/** Returns where answers come from, for the functions of the engine. The caller reports what is missing. */
export const sourceOf = (
  { release, overrides = Overrides.NONE }: Pick<AnswerData, "release"> & Partial<AnswerData>,
  now: number,
): AnswerSource => ({ release, overrides, now, allowMissing: true });

/**
 * Returns the body for `value`.
 * @param include bits of INCLUDE
 * @throws Refused if the API would not return 200
 */
export function answer(source: AnswerSource, lookup: Lookup, value: string, include = 0): string {
  const outcome = new Answerer().answer(lookup, value, source, include);
  if (!("reason" in outcome)) return decoder.decode(bodyOf(outcome));
  throw refusalOf(outcome, value);
}

/** @param value what could not be looked up; for an address, as it was given */
export function refusalOf(failure: LookupFailure, value: string): Refused {
  const problem = problemOf(failure);
  if (failure.reason === "reserved") return reserved(value, parseIp(value)!, failure.use); // only an address is reserved
  if (failure.reason === "address_invalid") {
    return new Refused(
      `${JSON.stringify(value.slice(0, 60))} is not an IP address`,
      "for example 81.2.69.142 or 2001:4860:4860::8888, without port, brackets or prefix",
      problem,
    );
  }
  const [line, ...more] = problem.detail.split(/(?<=[.:]) /);
  return new Refused(line!.replace(/[.:]$/, ""), more.length > 0 ? more.join(" ") : undefined, problem);
}

/**
 * @param value the value as it was given
 * @param address the address itself, or the first address of a network
 */
export function reserved(value: string, address: IpAddress, use: string): Refused {
  return new Refused(...reservedText(value, address, use), problemOf(RESERVED.get(use)!));
}

/** The API would not return 200 for this value. */
export class Refused extends CliError {
  /** The API's problem document: docs/errors.md. */
  readonly document: string;
  constructor(message: string, hint: string | undefined, problem: Problem) {
    super(`${message} (${problem.code})`, hint);
    this.document = problemBody(problem);
  }
}

export function orRefused(answerNow: () => string): string | Refused {
  try {
    return answerNow();
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
}

/**
 * Reports on a network: shares by flag and country, feeds, owners, and parts.
 * @throws Refused for a special-use network
 */
export function reportOfNetwork(network: Prefix, data: AnswerData, now: number): NetworksReport {
  const use = networkUse(network);
  if (use !== undefined) throw reserved(formatPrefix(network), network.address, use);
  return finish(reportOfNetworks([network], sourceOf(data, now), MAX_EXPLAINED));
}

/**
 * Reports on an AS. This takes one pass over the network segment.
 * @throws CliError if the release has no network data, or no data about the AS
 */
export function reportOfSystem(asn: number, data: AnswerData, now: number): SystemReport {
  if (data.release.network === undefined)
    throw new CliError("the release has no data about networks", "run `inkling doctor` to see why");
  const found = finish(reportOf(asn, sourceOf(data, now), MAX_EXPLAINED));
  if (found !== undefined) return found;
  throw new CliError(
    `no network of AS${asn} is known`,
    "the AS announces nothing, or the release has no data about it",
    EXIT.error,
  );
}
