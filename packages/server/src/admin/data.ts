// data.ts: feeds and releases over the admin API.
//
// in   the data folder, which the compiler writes
// err  AdminProblem
// src  docs/admin-api.md

import { ADDRESS_FLAGS, ANSWERS, failedBuild, type Release } from "@inkling/engine";
import { findManifest, pinnedName, readFeedsReport, releaseNames } from "@inkling/release-store";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import * as answers from "../lookup/answer-schemas.ts";
import { statusDocument } from "../lookup/status.ts";
import { updateState } from "./data-actions.ts";
import { type AdminContext, type AdminHandlers, count, handler, text, time } from "./handler.ts";

export const dataAnswer = z.strictObject({
  ...answers.status.omit({ feeds: true }).shape,
  pinned: text.nullable(),
  update: updateState.nullable(),
  failed_build: z
    .strictObject(failedBuild.shape)
    .nullable()
    .meta({ description: "The latest build, if it failed and published nothing" }),
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
        .meta({ description: "How often the publisher publishes a new copy" }),
      stale_hours: z.number().nullable(),
      history: z
        .array(z.strictObject({ release: text, at: time, entries: count }))
        .meta({ description: "In each kept release, oldest first" }),
    }),
  ),
  unused: z
    .array(z.strictObject({ id: text, title: text, homepage: text, sets: text, licence: text, ...choosable }))
    .meta({ description: "Feeds that the release in use does not have" }),
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
        .meta({ description: "Since the previous release; null for the oldest" }),
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
    run: async (context, { id }) => ({ document: await releaseChanges(context, id) }),
  }),
} satisfies AdminHandlers;

/** Manifests that are kept, newest first; unreadable ones are left out. */
export function keptManifests(dataDir: string): { readonly name: string; readonly manifest: Release }[] {
  return releaseNames(dataDir).flatMap((name) => {
    const manifest = findManifest(dataDir, name);
    return manifest === undefined ? [] : [{ name, manifest }];
  });
}

function feedRows(context: AdminContext) {
  const releases = keptManifests(context.dataDir).reverse();
  const facts = new Map(context.actions?.feeds.map((row) => [row.id, row]));
  return statusDocument(context.status, context.now()).feeds.map((feed) => {
    const known = facts.get(feed.id);
    return {
      ...feed,
      title: known?.title ?? feed.id,
      homepage: known?.homepage ?? null,
      cadence_hours: known?.cadence_hours ?? null,
      stale_hours: known?.stale_hours ?? null,
      on: known?.on ?? null,
      own: known?.own ?? null,
      needs_agreement: known?.needs_agreement ?? null,
      history: releases.flatMap(({ name, manifest }) => {
        const then = manifest.feeds.find(({ id }) => id === feed.id);
        return then === undefined ? [] : [{ release: name, at: manifest.created_at, entries: then.entries }];
      }),
    };
  });
}

function unusedFeeds({ actions }: AdminContext, used: readonly { readonly id: string }[]) {
  const ids = new Set(used.map(({ id }) => id));
  return (actions?.feeds ?? [])
    .filter(({ id }) => !ids.has(id))
    .map(({ cadence_hours: _, stale_hours: __, ...feed }) => feed);
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
    feeds_changed: changedFeeds(all[i + 1]?.manifest, manifest),
  }));
}

/** Feeds whose copy differs from that of the previous release, those that are gone included; null for the oldest. */
function changedFeeds(before: Release | undefined, after: Release) {
  if (before === undefined) return null;
  const rows = ({ feeds }: Release) => new Map(feeds.map((feed) => [feed.id, feed]));
  const [old, current] = [rows(before), rows(after)];
  return [...new Set([...current.keys(), ...old.keys()])].flatMap((id) => {
    const [then, now] = [old.get(id), current.get(id)];
    if (then?.sha256 === now?.sha256) return [];
    return [{ feed: id, entries_before: then?.entries ?? 0, entries: now?.entries ?? 0 }];
  });
}

async function releaseChanges({ comparisons, dataDir }: AdminContext, release: string) {
  const names = releaseNames(dataDir);
  const at = names.indexOf(release);
  if (at < 0) throw new AdminProblem("RELEASE_NOT_FOUND");
  const before = names[at + 1];
  if (before === undefined) return { release, before: null, changes: null };
  const changes = await comparisons.compare(before, release).catch(({ message }: Error) => {
    throw new AdminProblem("ACTION_REFUSED", `The releases cannot be compared: ${message}`);
  });
  return { release, before, changes };
}
