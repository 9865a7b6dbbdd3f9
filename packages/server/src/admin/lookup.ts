// lookup.ts: looks values up for the operator in the release in use, or in all stored releases, and assesses visitors.

import type { ServerSettings } from "@inkling/contract";
import { keptManifests, ReleaseError } from "@inkling/data";
import { dataAges, type LoadedRelease, type Overrides } from "@inkling/engine";
import { parseDraft } from "@inkling/operations/rulesets";
import type { PublishedRuleset } from "@inkling/store/rulesets/record";
import { AdminProblem } from "../http/problems.ts";
import { assessVisitor, type Caller, lookUpInReleases, lookUpValues } from "../lookup/operator-lookup.ts";
import type { Releases } from "../releases/releases.ts";
import { TooManyWaiting, Turns } from "../sharing/turns.ts";
import type { Call } from "./handler.ts";

/** What lookups read. `inkling mcp` has it without a server. */
interface LookupServices {
  readonly releases: Pick<Releases, "current" | "open" | "feeds">;
  readonly overrides: { readonly current: Overrides };
  readonly rulesets: { readonly current: PublishedRuleset };
  readonly settings: Pick<ServerSettings, "dataDir">;
  readonly now: () => number;
}

export async function lookUp(
  { releases, overrides, now }: LookupServices,
  values: readonly string[],
  parts: number,
  caller: Caller,
): Promise<object> {
  const release = openCurrent(releases);
  const { id, missing, partial } = release.manifest;
  const source = { release, overrides: overrides.current, now: now() };
  const answers = await orRateLimited(lookUpValues(source, values, parts, caller));
  const ages = dataAges(releases.feeds, now());
  return { release: id, missing, partial, ages, answers };
}

/** Work that takes long runs once per token. */
export const callerOf = ({ request, token }: Pick<Call, "request" | "token">): Caller => ({
  owner: token?.name ?? "",
  signal: request.signal,
});

/** @throws AdminProblem RATE_LIMITED if the token has too much work waiting */
function orRateLimited<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof TooManyWaiting)) throw error;
    throw new AdminProblem(
      "RATE_LIMITED",
      "Too many requests with this token are waiting. Retry in a second.",
    );
  });
}

/** Opens the release in use. @throws AdminProblem DATA_NOT_LOADED */
export function openCurrent(releases: LookupServices["releases"]): LoadedRelease {
  try {
    const release = releases.open();
    if (release !== undefined) return release;
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    throw new AdminProblem("DATA_NOT_LOADED", error.message);
  }
  throw new AdminProblem("DATA_NOT_LOADED");
}

/** Looks the value up in every stored release. */
export async function lookUpHistory(
  { settings: { dataDir }, releases, now }: LookupServices,
  value: string,
  caller: Caller,
): Promise<object> {
  const kept = keptManifests(dataDir);
  if (kept.length === 0) throw new AdminProblem("DATA_NOT_LOADED");
  const names = kept.map(({ name }) => name);
  const found = await orRateLimited(lookUpInReleases(dataDir, names, value, now(), caller));
  const current = releases.current?.name;
  return {
    history: kept.map(({ name, manifest }, i) => ({
      release: manifest.id,
      created_at: manifest.created_at,
      current: name === current,
      ...found[i]!, // each name is listed once
    })),
  };
}

const turns = new Turns({ running: 1, waitingPerOwner: 4 });

/**
 * Runs one check of a ruleset at a time, and then rests for three times as long as the check took. The longest text
 * takes 40 ms, so however many checks are waiting, this thread keeps three quarters of its time for other work.
 * @throws AdminProblem RATE_LIMITED; the errors of `check`
 */
export function checkSparingly<T>({ owner, signal }: Caller, check: () => T): Promise<T> {
  return orRateLimited(
    turns.take(owner, signal, async () => {
      const start = performance.now();
      try {
        return check();
      } finally {
        await Bun.sleep(3 * (performance.now() - start));
      }
    }),
  );
}

export async function assessForOperator(
  { releases, overrides, rulesets, now }: LookupServices,
  visitor: unknown,
  draft: string | undefined,
  caller: Caller,
): Promise<object> {
  const release = openCurrent(releases);
  if (draft !== undefined) await checkSparingly(caller, () => parseDraft(draft));
  const { number, text } = rulesets.current;
  const source = { release, overrides: overrides.current, now: now() };
  const ruleset = draft === undefined ? { number, text } : { number: 0, text: draft };
  const found = assessVisitor(source, visitor, ruleset);
  if ("refused" in found)
    throw new AdminProblem("BODY_INVALID", "The visitor cannot be assessed.", found.refused);
  return found;
}
