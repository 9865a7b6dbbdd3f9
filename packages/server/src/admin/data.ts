// data.ts: shows the state of the data, feeds, releases, and the changes of a release over the admin API.
//
// Source: docs/admin-api.md.

import {
  findManifest,
  openRelease,
  pinnedName,
  ReleaseError,
  readFeedsReport,
  releaseNames,
} from "@inkling/data";
import { ADDRESS_FLAGS, ANSWERS, failedBuild, type Release } from "@inkling/engine";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import * as answers from "../lookup/answer-schemas.ts";
import { statusDocument } from "../lookup/status.ts";
import { changedFeeds, type ReleaseChanges, releaseChanges } from "../releases/diff.ts";
import { finishInSteps } from "../sharing/steps.ts";
import { requireKept, updateState } from "./data-actions.ts";
import { type AdminContext, type AdminHandlers, count, handler, text, time } from "./handler.ts";

export const dataAnswer = z.strictObject({
  ...answers.status.omit({ feeds: true }).shape,
  pinned: text.nullable(),
  update: updateState.nullable(),
  failed_build: z
    .strictObject(failedBuild.shape)
    .nullable()
    .meta({ description: "The latest build, if it failed" }),
});
const choosable = {
  on: z
    .boolean()
    .nullable()
    .meta({ description: "True if the next build uses the feed; null if this server does not build" }),
  own: z.boolean().nullable().meta({ description: "True for the operator's own feeds" }),
  needs_agreement: z
    .boolean()
    .nullable()
    .meta({ description: "True if only `inkling feeds enable` can turn it on, after showing its terms" }),
};
const history = z
  .array(z.strictObject({ release: text, at: time, entries: count }))
  .meta({ description: "Entries in each kept release that has the feed, oldest first" });
export const feedsAnswer = z.strictObject({
  feeds: z.array(
    z.strictObject({
      ...answers.feedStatus.shape,
      ...choosable,
      title: text,
      homepage: z.string().nullable(),
      cadence_hours: z
        .number()
        .nullable()
        .meta({ description: "Hours between new copies from the publisher" }),
      stale_hours: z.number().nullable(),
      weight: z.number().nullable().meta({
        description:
          "Weight of the feed's claims; to flag an address, claims must add up to 2. Null if the feed has no weight",
      }),
      history,
    }),
  ),
  unused: z
    .array(
      z.strictObject({
        id: text,
        title: text,
        homepage: text,
        sets: text,
        licence: text,
        weight: z.number().optional(),
        ...choosable,
        history,
      }),
    )
    .meta({ description: "Feeds that are not in the release in use" }),
});
export const releasesAnswer = z.strictObject({
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

const flagChange = z.strictObject({ ipv4_addresses: count, ipv6_networks: count });
const flagChanges = z.strictObject({ added: flagChange, removed: flagChange });
export const changesAnswer = z.strictObject({
  release: text,
  before: text.nullable(),
  changes: z
    .strictObject({
      flags: z.strictObject(Object.fromEntries(ADDRESS_FLAGS.map((flag) => [flag, flagChanges]))).optional(),
      disposable: z.strictObject({ added: count, removed: count }).optional(),
    })
    .nullable(),
});

export const DATA_HANDLERS = {
  data: handler({
    answer: dataAnswer,
    run: (context) => {
      const { feeds: _, ...status } = statusDocument(context.status, context.now());
      const pinned = pinnedName(context.dataDir) ?? null;
      const failed_build = readFeedsReport(context.dataDir)?.failed ?? null;
      const update = context.actions?.update() ?? null;
      return { document: { ...status, pinned, update, failed_build } };
    },
  }),
  list_feeds: handler({
    answer: feedsAnswer,
    run: (context) => {
      const feeds = feedRows(context);
      return { document: { feeds, unused: unusedFeeds(context, feeds) } };
    },
  }),
  list_releases: handler({
    answer: releasesAnswer,
    run: (context) => ({ document: { releases: releaseRows(context) } }),
  }),
  release_changes: handler({
    answer: changesAnswer,
    run: async (context, { id }) => ({ document: await changesOf(context, id) }),
  }),
} satisfies AdminHandlers;

/** Returns the manifests of the kept releases, newest first. It omits unreadable manifests. */
export function keptManifests(dataDir: string): { readonly name: string; readonly manifest: Release }[] {
  return releaseNames(dataDir).flatMap((name) => {
    const manifest = findManifest(dataDir, name);
    return manifest === undefined ? [] : [{ name, manifest }];
  });
}

function feedRows(context: AdminContext) {
  const facts = new Map(context.actions?.feeds.map((row) => [row.id, row]));
  const historyOf = feedHistories(context.dataDir);
  return statusDocument(context.status, context.now()).feeds.map((feed) => {
    const known = facts.get(feed.id);
    return {
      ...feed,
      title: known?.title ?? feed.id,
      homepage: known?.homepage ?? null,
      cadence_hours: known?.cadence_hours ?? null,
      stale_hours: known?.stale_hours ?? null,
      weight: known?.weight ?? null,
      on: known?.on ?? null,
      own: known?.own ?? null,
      needs_agreement: known?.needs_agreement ?? null,
      history: historyOf(feed.id),
    };
  });
}

/** Returns a function that lists a feed's entry count in each kept release, oldest first. */
function feedHistories(dataDir: string) {
  const releases = keptManifests(dataDir).reverse();
  return (id: string) =>
    releases.flatMap(({ name, manifest }) => {
      const then = manifest.feeds.find((feed) => feed.id === id);
      return then === undefined ? [] : [{ release: name, at: manifest.created_at, entries: then.entries }];
    });
}

function unusedFeeds({ actions, dataDir }: AdminContext, used: readonly { readonly id: string }[]) {
  const ids = new Set(used.map(({ id }) => id));
  const historyOf = feedHistories(dataDir);
  return (actions?.feeds ?? [])
    .filter(({ id }) => !ids.has(id))
    .map(({ cadence_hours: _, stale_hours: __, ...feed }) => ({ ...feed, history: historyOf(feed.id) }));
}

function releaseRows({ dataDir, releases }: AdminContext) {
  const current = releases.current?.name;
  const pinned = pinnedName(dataDir);
  return keptManifests(dataDir).map(({ name, manifest }, i, all) => ({
    name,
    id: manifest.id,
    created_at: manifest.created_at,
    current: name === current,
    pinned: name === pinned,
    bytes: Object.values(manifest.segments).reduce((sum, segment) => sum + (segment?.bytes ?? 0), 0),
    missing: manifest.missing,
    feeds_changed: feedCounts(all[i + 1]?.manifest, manifest),
  }));
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

/** Maximum number of results of comparisons that are kept. */
const MAX_COMPARISONS = 50;
/** Results of comparisons, by the names of both releases, which never change. */
const comparisons = new Map<string, Promise<ReleaseChanges>>();

function compareReleases(dataDir: string, before: string, after: string): Promise<ReleaseChanges> {
  const pair = JSON.stringify([dataDir, before, after]);
  const known = comparisons.get(pair);
  if (known !== undefined) return known;
  if (comparisons.size >= MAX_COMPARISONS) comparisons.clear();
  const { signal } = new AbortController(); // others may wait for the result when one client leaves
  const steps = releaseChanges(openRelease(dataDir, before), openRelease(dataDir, after));
  const changes = finishInSteps(steps, signal);
  comparisons.set(pair, changes);
  return changes;
}

async function changesOf({ dataDir }: AdminContext, id: string) {
  const release = requireKept(dataDir, id);
  const names = releaseNames(dataDir);
  const before = names[names.indexOf(release) + 1];
  if (before === undefined) return { release, before: null, changes: null };
  try {
    return { release, before, changes: await compareReleases(dataDir, before, release) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    throw new AdminProblem("ACTION_REFUSED", `The releases cannot be compared: ${error.message}`);
  }
}
