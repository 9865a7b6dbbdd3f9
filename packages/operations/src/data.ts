// data.ts: shows the data that a server uses, its releases and builds, starts a build, accepts held copies, and switches to
// another release.

import { ACCEPT_RELEASE, type AuditAction, copyName, parseCopyName } from "@inkling/contract";
import {
  currentName,
  findRollback,
  isNameOrId,
  keptManifests,
  newestName,
  pin,
  pinnedName,
  ReleaseError,
  readFeedsReport,
  releaseNames,
  releasesBefore,
  requireCurrentName,
  requireKeptName,
  segmentsOf,
  unpin,
} from "@inkling/data";
import { ANSWERS, failedBuild, type Release } from "@inkling/engine";
import { StoreError } from "@inkling/store/error";
import { z } from "zod";
import { status } from "./answer-schemas.ts";
import { type OperationContext, updateState } from "./context.ts";
import { count, operation, type Resource, text, time } from "./operation.ts";
import { AdminProblem, building, running } from "./problem.ts";
import { changedFeeds, changes, changesSince } from "./release-changes.ts";

const overview = z.strictObject({
  ...status.omit({ feeds: true }).shape,
  pinned: text.nullable(),
  update: updateState.nullable(),
  failed_build: z
    .strictObject(failedBuild.shape)
    .nullable()
    .meta({ description: "The latest build, if it failed" }),
});
const releases = z.strictObject({
  releases: z.array(
    z.strictObject({
      name: text,
      id: text,
      created_at: time,
      current: z.boolean(),
      pinned: z.boolean(),
      bytes: count,
      missing: z.array(z.enum(ANSWERS)),
      feeds_changed: z
        .array(z.strictObject({ feed: text, entries_before: count, entries: count }))
        .nullable()
        .meta({ description: "Changes since the previous release; null for the oldest release" }),
    }),
  ),
});

const switched = {
  from: text,
  to: text,
  pinned: text.nullable(),
  changed: z.boolean().meta({ description: "False if the data folder was already in this state" }),
};
/** Protects against stale forms: a form that shows a replaced release must not act on the new release. */
const current = {
  current: z.string().max(80).meta({ description: "Id or name of the release in use, as last read" }),
};
const kept = (standard: string) =>
  z
    .string()
    .max(80)
    .optional()
    .meta({ description: `Id or name of a stored release; by default ${standard}` });
const IN_USE = "current";

export const DATA = {
  tag: "Data",
  noun: "release",
  command: { name: "data", summary: "build, inspect, compare, verify and switch data releases" },
  operations: {
    // `inkling data status` is written by hand: it describes the data folder, and needs no server.
    data: operation({
      route: "GET data",
      summary: "The release in use and the build state",
      docs: "release in use, missing answers, pin and build state. If the latest build failed, `failed_build` has its time and reason",
      needsServer: true,
      input: {},
      output: overview,
      run: async ({ server, dataDir, updates }) => {
        const { feeds: _, ...status } = running(server).status();
        return {
          ...status,
          pinned: pinnedName(dataDir) ?? null,
          update: updates?.state ?? null,
          failed_build: readFeedsReport(dataDir)?.failed ?? null,
        };
      },
    }),
    list_releases: operation({
      route: "GET data/releases",
      summary: "Kept releases, newest first",
      docs: "stored releases, newest first, with the feeds that changed",
      input: {},
      output: releases,
      run: async ({ server, dataDir }) => {
        const release = server === undefined ? currentName(dataDir) : server.release;
        const pinned = pinnedName(dataDir);
        const rows = keptManifests(dataDir).map(({ name, manifest }, i, all) => ({
          name,
          id: manifest.id,
          created_at: manifest.created_at,
          current: name === release,
          pinned: name === pinned,
          bytes: segmentsOf(manifest).reduce((sum, { bytes }) => sum + bytes, 0),
          missing: manifest.missing,
          feeds_changed: feedCounts(all[i + 1]?.manifest, manifest),
        }));
        return { releases: rows };
      },
    }),
    release_changes: operation({
      route: "GET data/releases/{id}/changes",
      summary:
        "Show what changed between two stored releases: feeds, flagged networks and disposable domains",
      docs: "difference from the previous release, or from `before`: feeds, IPv4 addresses and IPv6 networks by flag, disposable domains. `current` is an id as well",
      problems: ["RELEASE_NOT_FOUND", "ACTION_REFUSED"],
      needsNoDatabase: true,
      input: { before: kept("the previous release"), id: z.string().max(80).default(IN_USE) },
      output: changes,
      command: {
        words: "data diff",
        arguments: ["before"],
        flags: { before: { name: "older" }, id: { name: "newer" } },
        notes: `OLDER and NEWER are ids or names of stored releases, from \`data status\`. Without NEWER, the command compares the
release in use, and without OLDER, the release before it. Ages are counted until now. Overrides are not compared, because
they do not belong to a release. To list the networks or domains, export both releases with
\`inkling export csv --release\`, and compare the files.`,
        examples: [
          "inkling data diff",
          "inkling data diff 0123456789ab",
          "inkling data diff 0123456789ab ba9876543210 --json",
        ],
      },
      run: (context, { id, before }) => changesOf(context, id, before),
    }),
    update_state: operation({
      route: "GET data/update",
      summary: "The build state",
      docs: "update state: requested, running, result of the last build",
      problems: ["ACTION_REFUSED"],
      needsServer: true,
      input: {},
      output: updateState,
      run: async (context) => building(context.updates).state,
    }),
    // `inkling data update` runs these two operations. It is written by hand, because it builds in its own process,
    // shows the progress, and prints more about the build.
    update_now: operation({
      route: "POST data/update",
      summary: "Fetch all feeds now, and build a release",
      docs: "202: fetches all feeds and builds a release. It starts within two seconds, or after the current build",
      status: 202,
      audits: ["data-update-asked"],
      problems: ["ACTION_REFUSED"],
      needsNoDatabase: true,
      needsServer: true,
      input: {},
      output: updateState,
      run: async (context) => {
        const updates = building(context.updates);
        if (updates.isUnderWay) return updates.state;
        const before = { current: currentName(context.dataDir) ?? null };
        const after = { requested: "all feeds" };
        const entry = { action: "data-update-asked", subject: "data", before, after } as const;
        await context.audited(entry, () => updates.request());
        return updates.state;
      },
    }),
    accept_copies: operation({
      route: "POST data/accept",
      summary: "Use held copies although they look wrong, and build a release",
      docs: '202: uses the held copies of `{"copies":["ipsum-3@0123456789ab"]}` although they look wrong, and builds a release. The hexadecimal digits begin the SHA-256 of the copy, `held.sha256` of the feed. `release` stands for all held copies, and for a release that fails its check',
      status: 202,
      audits: ["data-accepted"],
      problems: ["COPY_CONFLICT", "ACTION_REFUSED"],
      needsNoDatabase: true,
      needsServer: true,
      input: {
        copies: z
          .array(
            z
              .string()
              .regex(
                /^(release|[^@]{1,64}@[0-9a-f]{12,64})$/,
                "must be `release`, or a feed's id, @ and at least 12 digits of the copy's SHA-256",
              ),
          )
          .min(1)
          .max(100)
          .meta({ description: "Held copies, such as `ipsum-3@0123456789ab`, or `release`" }),
      },
      output: updateState,
      run: async (context, { copies }) => {
        const updates = building(context.updates);
        await accept(context, [...new Set(copies)], () => updates.request(copies));
        return updates.state;
      },
    }),
    roll_back: operation({
      route: "POST data/rollback",
      summary: "Switch to the previous release, or to another stored release, and pin it",
      docs: 'rolls back to the previous release and pins it: `{"current":"<release in use>"}`. `"to":"<release>"` selects another stored release; to pin the release in use, send its id',
      audits: ["release-rolled-back", "release-pinned"],
      problems: ["RELEASE_CONFLICT", "ACTION_REFUSED", "DATA_NOT_LOADED", "RELEASE_NOT_FOUND"],
      needsNoDatabase: true,
      input: { to: kept("the previous release"), ...current },
      output: z.strictObject({
        ...switched,
        passed_over: z.array(text).meta({ description: "Why newer releases were skipped: they are damaged" }),
      }),
      command: {
        words: "data rollback",
        arguments: ["to"],
        flags: { to: { name: "release" } },
        supplies: ["current"],
        notes: `RELEASE is the id or name of a stored release, from \`data status\`; by default the release before the one in use. A running
server verifies the release, which takes a few seconds, and then switches to it. Newer builds are kept but not used until
you run \`inkling data unpin\`. To pin the release in use, give its id or name.`,
        examples: [
          "inkling data rollback",
          "inkling data rollback 0123456789ab",
          "inkling data rollback 20260601T043000000Z-0123456789ab",
        ],
      },
      run: async (context, { current, to }) => {
        const { dataDir, verify } = context;
        requireCurrent(context, current);
        const named = to === undefined ? undefined : requireKept(dataDir, to);
        const found = await findRollback(dataDir, named, verify).catch(refuse);
        const target = { from: found.from, to: found.to, pinned: found.to };
        const action = found.to === found.from ? "release-pinned" : "release-rolled-back";
        const done = await switchRelease(context, action, target, () => pin(dataDir, found.to));
        return { ...done, passed_over: found.passedOver };
      },
    }),
    pin: operation({
      route: "POST data/pin",
      summary: "Pin the release in use, so that new builds do not replace it",
      docs: 'pins the release in use: `{"current":"<release in use>"}`',
      audits: ["release-pinned"],
      problems: ["RELEASE_CONFLICT", "ACTION_REFUSED", "DATA_NOT_LOADED"],
      needsNoDatabase: true,
      input: current,
      output: z.strictObject(switched),
      run: async (context, { current }) => {
        const { dataDir } = context;
        requireCurrent(context, current);
        const name = currentOf(dataDir);
        const target = { from: name, to: name, pinned: name };
        return switchRelease(context, "release-pinned", target, () => pin(dataDir, name));
      },
    }),
    unpin: operation({
      route: "DELETE data/pin",
      summary: "Use the newest release again after a rollback or a pin",
      docs: "switches to the newest release",
      audits: ["release-unpinned"],
      problems: ["ACTION_REFUSED"],
      needsNoDatabase: true,
      input: {},
      output: z.strictObject(switched),
      command: {
        words: "data unpin",
        notes: "A running server verifies the release, which takes a few seconds, and then switches to it.",
        examples: ["inkling data unpin"],
      },
      run: async (context) => {
        const { dataDir, verify } = context;
        const from = currentOf(dataDir);
        const to = pinnedName(dataDir) === undefined ? from : newestName(dataDir, from);
        return switchRelease(context, "release-unpinned", { from, to, pinned: null }, () =>
          unpin(dataDir, verify),
        );
      },
    }),
  },
} as const satisfies Resource;

/**
 * Records each accepted feed, or the release, with the reason why it was held. Then requests the build.
 * @throws AdminProblem if the feed has no held copy, or another one
 */
function accept(
  { dataDir, audited }: OperationContext,
  copies: readonly string[],
  build: () => unknown,
): Promise<unknown> {
  const { feeds = [], failed } = readFeedsReport(dataDir) ?? {};
  const named = copies.map(parseCopyName);
  const heldOf = (subject: string) => feeds.find(({ id }) => id === subject)?.held;
  const ofFeeds = named.filter(({ feed }) => feed !== ACCEPT_RELEASE);
  const idle = ofFeeds.filter(({ feed }) => heldOf(feed) === undefined).map(({ feed }) => feed);
  if (idle.length > 0)
    refuse(new ReleaseError(`no copy of ${idle.join(", ")} is held`, "see `inkling data status`"));
  for (const { feed, sha256 } of ofFeeds) {
    const held = heldOf(feed)!;
    if (held.sha256.startsWith(sha256)) continue;
    const detail = `The held copy is now ${copyName(feed, held.sha256)}. Read why it is held, then decide again. Nothing was changed.`;
    throw new AdminProblem("COPY_CONFLICT", detail);
  }
  const current = currentName(dataDir) ?? null;
  const entries = named.map(({ feed: subject }) => {
    const accepted = feeds.filter(({ id }) => subject === ACCEPT_RELEASE || id === subject);
    const reasons = accepted.flatMap(({ held }) => held?.why ?? []);
    if (subject === ACCEPT_RELEASE && failed !== undefined) reasons.push(failed.why);
    const held = reasons.length === 0 ? null : [...new Set(reasons)].join("; ");
    return {
      action: "data-accepted",
      subject,
      before: { current, held },
      after: { accepted: true },
    } as const;
  });
  // Each change is made inside its entry, so that a failure is recorded for every entry.
  const recordFrom = async (index: number): Promise<unknown> =>
    index === entries.length ? build() : audited(entries[index]!, () => recordFrom(index + 1));
  return recordFrom(0);
}

/**
 * Records a change in the audit trail, makes the change, and then checks which release is current.
 * Does nothing if the data folder is already in the requested state.
 * @param change must set the current release to `to` and the pin to `pinned`
 */
async function switchRelease(
  { dataDir, audited, server }: OperationContext,
  action: AuditAction,
  { from, to, pinned }: { readonly from: string; readonly to: string; readonly pinned: string | null },
  change: () => unknown,
) {
  const before = { current: currentName(dataDir) ?? null, pinned: pinnedName(dataDir) ?? null };
  const after = { current: to, pinned };
  const changed = !Bun.deepEquals(before, after);
  if (changed) {
    await audited({ action, subject: "data", before, after }, change).catch(refuse);
    await server?.checkRelease();
  }
  return { from, to: currentName(dataDir) ?? to, pinned, changed };
}

/** @throws AdminProblem instead of the fault of the data folder */
export function refuse(error: unknown): never {
  if (!(error instanceof Error) || error instanceof StoreError) throw error;
  const hint = error instanceof ReleaseError ? error.hint : undefined;
  throw new AdminProblem("ACTION_REFUSED", error.message, hint === undefined ? [] : [hint], { cause: error });
}

function currentOf(dataDir: string): string {
  try {
    return requireCurrentName(dataDir);
  } catch (error) {
    return refuse(error);
  }
}

/** @param current as a page has read it; a command has just read it from the data folder */
function requireCurrent({ server }: OperationContext, current: string): void {
  if (server === undefined) return;
  if (server.release === undefined) throw new AdminProblem("DATA_NOT_LOADED");
  if (isNameOrId(current, server.release)) return;
  throw new AdminProblem(
    "RELEASE_CONFLICT",
    `The release in use is now ${server.release}. Read the current state, then decide again. Nothing was changed.`,
  );
}

/** Finds a stored release by its id or name. @returns its name. @throws AdminProblem if it does not exist */
function requireKept(dataDir: string, text: string): string {
  try {
    return requireKeptName(dataDir, text);
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    const lines = [`stored releases: ${releaseNames(dataDir).join(", ")}`];
    throw new AdminProblem("RELEASE_NOT_FOUND", undefined, lines, { cause: error });
  }
}

/** Returns null for the oldest release. */
function feedCounts(before: Release | undefined, after: Release) {
  if (before === undefined) return null;
  return changedFeeds(before, after).map(({ id, before, after }) => ({
    feed: id,
    entries_before: before?.entries ?? 0,
    entries: after?.entries ?? 0,
  }));
}

async function changesOf(context: OperationContext, id: string, older: string | undefined) {
  const { dataDir, server } = context;
  const release = id === IN_USE ? (server?.release ?? currentOf(dataDir)) : requireKept(dataDir, id);
  const before = older === undefined ? releasesBefore(dataDir, release)[0] : requireKept(dataDir, older);
  try {
    return await changesSince(context, release, before);
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    const detail = `The releases cannot be compared: ${error.message}`;
    throw new AdminProblem("ACTION_REFUSED", detail, [], { cause: error });
  }
}
