// data.ts: feeds and releases over the admin API.
//
// in   the data folder, which the compiler writes
// err  AdminProblem
// src  docs/admin-api.md

import { ANSWERS, failedBuild, type Release } from "@inkling/engine";
import {
  findManifest,
  pinnedName,
  RELEASE_NAME_PATTERN,
  readFeedsReport,
  releaseNames,
} from "@inkling/release-store";
import { z } from "zod";
import * as answers from "../lookup/answer-schemas.ts";
import { statusDocument } from "../lookup/status.ts";
import type { AdminContext } from "./context.ts";
import { updateState } from "./data-actions.ts";
import { type Operation, operation } from "./operation.ts";
import { changesAnswer, releaseChanges } from "./release-changes.ts";
import { count, text, time } from "./schemas.ts";

export const dataAnswer = z.strictObject({
  ...answers.status.omit({ feeds: true }).shape,
  pinned: text.nullable(),
  update: updateState.nullable(),
  failed_build: z
    .strictObject(failedBuild.shape)
    .nullable()
    .meta({ description: "The latest build, if it failed and published nothing" }),
});
export const feedsAnswer = z.strictObject({
  feeds: z.array(
    z.strictObject({
      ...answers.feedStatus.shape,
      title: text,
      homepage: z.string().nullable(),
      cadence_hours: z.number().nullable().meta({ description: "How often its publisher makes a new one" }),
      stale_hours: z.number().nullable(),
      history: z
        .array(z.strictObject({ release: text, at: time, entries: count }))
        .meta({ description: "Over the releases that are kept, oldest first" }),
    }),
  ),
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

const tag = "Data";

export const DATA_OPERATIONS: readonly Operation[] = [
  operation({
    id: "data",
    method: "GET",
    path: "data",
    tag,
    summary: "The release in use, and the state of the builds",
    answer: dataAnswer,
    run: (context) => {
      const { feeds: _, ...status } = statusDocument(context.status, context.now());
      const pinned = pinnedName(context.dataDir) ?? null;
      const failed_build = readFeedsReport(context.dataDir)?.failed ?? null;
      const update = context.actions?.update() ?? null;
      return { document: { ...status, pinned, update, failed_build } };
    },
  }),
  operation({
    id: "list_feeds",
    method: "GET",
    path: "data/feeds",
    tag,
    summary: "Every feed, and its entries over the releases",
    answer: feedsAnswer,
    run: (context) => ({ document: { feeds: feedRows(context) } }),
  }),
  operation({
    id: "list_releases",
    method: "GET",
    path: "data/releases",
    tag,
    summary: "The releases that are kept, newest first",
    answer: releasesAnswer,
    run: (context) => ({ document: { releases: releaseRows(context) } }),
  }),
  operation({
    id: "release_changes",
    method: "GET",
    path: "data/releases/{id}/changes",
    idPattern: RELEASE_NAME_PATTERN,
    tag,
    summary: "What was flagged and unflagged since the previous release",
    answer: changesAnswer,
    codes: ["RELEASE_NOT_FOUND", "ACTION_REFUSED"],
    run: async (context, { id }) => ({ document: await releaseChanges(context, id) }),
  }),
];

/** Manifests that are kept, newest first; unreadable ones are left out. */
function keptManifests(dataDir: string): { readonly name: string; readonly manifest: Release }[] {
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
      history: releases.flatMap(({ name, manifest }) => {
        const then = manifest.feeds.find(({ id }) => id === feed.id);
        return then === undefined ? [] : [{ release: name, at: manifest.created_at, entries: then.entries }];
      }),
    };
  });
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
