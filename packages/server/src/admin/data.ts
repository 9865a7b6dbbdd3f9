// data.ts: data over the admin API: feeds, releases and what changed between them; update, roll back, pin.
//
// in   the data folder, which the compiler writes; actions of the program around the server, which knows the compiler
// err  AdminProblem; an action that is refused says why, and what to do
// src  docs/admin-api.md

import type { Release } from "@inkling/engine";
import {
  findManifest,
  findRollback,
  pinnedName,
  pin as pinRelease,
  ReleaseError,
  releaseNames,
  requireCurrentName,
  type Switched,
  unpin as unpinRelease,
} from "@inkling/release-store";
import { z } from "zod";
import { statusDocument } from "../lookup/status.ts";
import type { ReleaseChanges } from "../releases/diff.ts";
import type { ChangesAnswer } from "../releases/diff-worker.ts";
import { verifyInWorker } from "../releases/follow.ts";
import type { AuditAction } from "../store/audit.ts";
import type { AdminServer } from "./app.ts";
import { type AdminRoute, bodyProblem, type Call, type Reply } from "./call.ts";
import { AdminProblem } from "./problems.ts";

/** What is known of a feed beyond its state. */
export interface FeedFacts {
  readonly id: string;
  readonly title: string;
  readonly homepage: string;
  /** How often its publisher makes a new one. */
  readonly cadence_hours: number;
  /** Older than this it is stale. */
  readonly stale_hours: number;
}

/** How building stands. */
export interface UpdateState {
  readonly running: boolean;
  /** Asked for, and not begun yet. */
  readonly asked: boolean;
  /** The last one that ended. */
  readonly last:
    | { readonly at: string; readonly release: string; readonly published: boolean; readonly seconds: number }
    | { readonly at: string; readonly problem: string; readonly hint: string | null }
    | null;
}

/** What only the program around the server can do. Each throws an Error, with a `hint` where there is one. */
export interface DataActions {
  readonly feeds: readonly FeedFacts[];
  readonly update: () => UpdateState;
  /** Begins a build soon. */
  readonly updateNow: () => void;
}

export const DATA_ROUTES: readonly AdminRoute<AdminServer>[] = [
  { template: "/admin/v1/data", path: /^data$/, methods: { GET: { id: "data", run: overview } } },
  {
    template: "/admin/v1/data/feeds",
    path: /^data\/feeds$/,
    methods: { GET: { id: "list_feeds", run: feeds } },
  },
  {
    template: "/admin/v1/data/releases",
    path: /^data\/releases$/,
    methods: { GET: { id: "list_releases", run: releases } },
  },
  {
    template: "/admin/v1/data/releases/{id}/changes",
    path: /^data\/releases\/(\d{8}T\d{6,9}Z-[0-9a-f]{12})\/changes$/,
    methods: { GET: { id: "release_changes", run: changes } },
  },
  {
    template: "/admin/v1/data/update",
    path: /^data\/update$/,
    methods: { GET: { id: "update_state", run: updateState }, POST: { id: "update_now", run: updateNow } },
  },
  {
    template: "/admin/v1/data/rollback",
    path: /^data\/rollback$/,
    methods: {
      POST: { id: "roll_back", run: rollBack },
    },
  },
  {
    template: "/admin/v1/data/pin",
    path: /^data\/pin$/,
    methods: {
      POST: { id: "pin", run: pin },
      DELETE: { id: "unpin", run: unpin },
    },
  },
];

/** The form of somebody who sees an old state must not act on the new one. */
const seen = {
  current: z.string().max(80).meta({ description: "Name of the release in use, as you saw it" }),
};
export const switchBody = z.strictObject(seen).meta({ id: "Switch" });
export const rollbackBody = z
  .strictObject({
    ...seen,
    to: z.string().max(80).optional().meta({
      description: "Name of a release that is kept; without it the one before the one in use",
    }),
  })
  .meta({ id: "Rollback" });

const pinnedOf = ({ dataDir }: AdminServer): string | null => pinnedName(dataDir) ?? null;

function overview(server: AdminServer): Reply {
  const { feeds: _, ...status } = statusDocument(server.status, server.now());
  const update = server.actions?.update() ?? null;
  return { status: 200, document: { ...status, pinned: pinnedOf(server), update } };
}

/** Manifests that are kept, newest first; those that cannot be read are left out. */
function kept({ dataDir }: AdminServer): { readonly name: string; readonly manifest: Release }[] {
  return releaseNames(dataDir).flatMap((name) => {
    const manifest = findManifest(dataDir, name);
    return manifest === undefined ? [] : [{ name, manifest }];
  });
}

function feeds(server: AdminServer): Reply {
  const all = kept(server).reverse();
  const facts = new Map(server.actions?.feeds.map((row) => [row.id, row]));
  const rows = statusDocument(server.status, server.now()).feeds.map((feed) => {
    const known = facts.get(feed.id);
    return {
      ...feed,
      title: known?.title ?? feed.id,
      homepage: known?.homepage ?? null,
      cadence_hours: known?.cadence_hours ?? null,
      stale_hours: known?.stale_hours ?? null,
      history: all.flatMap(({ name, manifest }) => {
        const then = manifest.feeds.find(({ id }) => id === feed.id);
        return then === undefined ? [] : [{ release: name, at: manifest.created_at, entries: then.entries }];
      }),
    };
  });
  return { status: 200, document: { feeds: rows } };
}

function releases(server: AdminServer): Reply {
  const current = server.releases.current?.name;
  const pinned = pinnedOf(server);
  const rows = kept(server).map(({ name, manifest }, i, all) => ({
    name,
    id: manifest.id,
    created_at: manifest.created_at,
    current: name === current,
    pinned: name === pinned,
    bytes: Object.values(manifest.segments).reduce((sum, segment) => sum + (segment?.bytes ?? 0), 0),
    missing: manifest.missing,
    feeds_changed: feedsChanged(all[i + 1]?.manifest, manifest),
  }));
  return { status: 200, document: { releases: rows } };
}

/** Feeds whose copy is another than in the release before; null for the oldest. */
function feedsChanged(before: Release | undefined, after: Release) {
  if (before === undefined) return null;
  const old = new Map(before.feeds.map((feed) => [feed.id, feed]));
  return after.feeds.flatMap(({ id, sha256, entries }) => {
    const then = old.get(id);
    if (then?.sha256 === sha256) return [];
    return [{ feed: id, entries_before: then?.entries ?? 0, entries }];
  });
}

/** Comparisons that were made: a release never changes. */
const compared = new Map<string, Promise<ReleaseChanges>>();
const MOST_COMPARED = 50;

async function changes(server: AdminServer, { id: name }: Call): Promise<Reply> {
  const names = releaseNames(server.dataDir);
  const at = names.indexOf(name);
  if (at < 0) throw new AdminProblem("RELEASE_NOT_FOUND");
  const before = names[at + 1];
  if (before === undefined) return { status: 200, document: { release: name, before: null, changes: null } };
  const pair = `${server.dataDir} ${before} ${name}`;
  let found = compared.get(pair);
  if (found === undefined) {
    if (compared.size >= MOST_COMPARED) compared.clear();
    found = compare(server.dataDir, before, name);
    compared.set(pair, found);
    found.catch(() => compared.delete(pair));
  }
  return { status: 200, document: { release: name, before, changes: await found } };
}

function compare(dataDir: string, before: string, after: string): Promise<ReleaseChanges> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("../releases/diff-worker.ts", import.meta.url).href, { smol: true });
    const settle = ({ changes, problem }: ChangesAnswer) => {
      worker.terminate();
      if (changes !== undefined) resolve(changes);
      else reject(new AdminProblem("ACTION_REFUSED", `The releases cannot be compared: ${problem}`));
    };
    worker.onmessage = ({ data }: MessageEvent<ChangesAnswer>) => settle(data);
    worker.onerror = ({ message }) => settle({ problem: message });
    worker.postMessage({ dataDir, before, after });
  });
}

function actionsOf({ actions }: AdminServer): DataActions {
  if (actions === undefined)
    throw new AdminProblem("ACTION_REFUSED", "This server was started without the means for it.");
  return actions;
}

function updateState(server: AdminServer): Reply {
  return { status: 200, document: actionsOf(server).update() };
}

async function updateNow(server: AdminServer, { actor }: Call): Promise<Reply> {
  const actions = actionsOf(server);
  const { running, asked } = actions.update();
  if (!running && !asked) {
    actions.updateNow();
    await record(server, actor, "data-update-asked", undefined, undefined);
  }
  return { status: 202, document: actions.update() };
}

async function rollBack(server: AdminServer, call: Call): Promise<Reply> {
  const { current, to } = readBody(rollbackBody, await call.json());
  requireSeen(server, current);
  if (to !== undefined && !releaseNames(server.dataDir).includes(to)) {
    throw new AdminProblem("RELEASE_NOT_FOUND", undefined, [
      `kept are ${releaseNames(server.dataDir).join(", ")}`,
    ]);
  }
  return switched(server, call, "release-rolled-back", async (dataDir) => {
    const found = await findRollback(dataDir, to, verifyInWorker);
    pinRelease(dataDir, found.to);
    return found;
  });
}

async function pin(server: AdminServer, call: Call): Promise<Reply> {
  requireSeen(server, readBody(switchBody, await call.json()).current);
  return switched(server, call, "release-pinned", async (dataDir) => {
    const name = requireCurrentName(dataDir);
    pinRelease(dataDir, name);
    return { from: name, to: name };
  });
}

function unpin(server: AdminServer, call: Call): Promise<Reply> {
  return switched(server, call, "release-unpinned", (dataDir) => unpinRelease(dataDir, verifyInWorker));
}

async function switched(
  server: AdminServer,
  { actor }: Call,
  action: AuditAction,
  act: (dataDir: string) => Promise<Switched>,
): Promise<Reply> {
  const before = { current: server.releases.current?.name ?? null, pinned: pinnedOf(server) };
  const { from, to } = await attempted(() => act(server.dataDir));
  await server.releases.check();
  const after = { current: to, pinned: pinnedOf(server) };
  const isChange = from !== to || before.pinned !== after.pinned;
  if (isChange) await record(server, actor, action, before, after);
  return { status: 200, document: { from, to, pinned: after.pinned } };
}

function readBody<T>(schema: z.ZodType<T>, input: unknown): T {
  const read = schema.safeParse(input);
  if (read.success) return read.data;
  throw bodyProblem(read.error.issues.map(({ path, message }) => `${path.join(".") || "body"}: ${message}`));
}

function requireSeen({ releases }: AdminServer, current: string): void {
  if (releases.current === undefined) throw new AdminProblem("NO_RELEASE");
  if (releases.current.name !== current) {
    throw new AdminProblem(
      "STALE_FORM",
      `The release in use is ${releases.current.name} by now. Nothing was changed.`,
    );
  }
}

async function attempted<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const hint = error instanceof ReleaseError ? error.hint : undefined;
    throw new AdminProblem("ACTION_REFUSED", error.message, hint === undefined ? [] : [hint]);
  }
}

async function record(
  { overrides }: AdminServer,
  actor: string,
  action: AuditAction,
  before: unknown,
  after: unknown,
): Promise<void> {
  await overrides.record({ actor, action, subject: "data", before, after });
}
