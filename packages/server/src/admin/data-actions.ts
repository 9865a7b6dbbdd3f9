// data-actions.ts: updates, rolls back, pins and unpins the data over the admin API, and turns feeds on and off.
//
// Source: docs/admin-api.md.

import type { AuditAction } from "@inkling/contract";
import {
  currentName,
  findRollback,
  isNameOrId,
  keptName,
  newestName,
  pin,
  pinnedName,
  ReleaseError,
  releaseNames,
  requireCurrentName,
  type Switched,
  unpin,
  type Verify,
} from "@inkling/data";
import type { Author } from "@inkling/store/author";
import { StoreError } from "@inkling/store/error";
import { withEntry } from "@inkling/store/host-entry";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import { type AdminContext, type AdminHandlers, type DataActions, handler, text, time } from "./handler.ts";

export const updateState = z
  .strictObject({
    running: z.boolean(),
    asked: z.boolean(),
    last: z
      .union([
        z.strictObject({
          at: time,
          release: text,
          published: z.boolean(),
          failed: z.array(text).meta({ description: "Feeds that are held, unreachable, expired or missing" }),
          seconds: z.number(),
        }),
        z.strictObject({ at: time, problem: z.string(), hint: text.nullable() }),
      ])
      .nullable(),
  })
  .meta({ id: "Update" });
const switchAnswer = z.strictObject({ from: text, to: text, pinned: text.nullable() });

/** Protects against stale forms: a form that shows a replaced release must not act on the new release. */
const seen = {
  current: z.string().max(80).meta({ description: "Id or name of the release in use, as last read" }),
};
const to = z.string().max(80).optional().meta({
  description: "Id or name of a kept release; by default the previous release",
});

const feedChoice = z.strictObject({ id: z.string().max(64), on: z.boolean() }).meta({ id: "FeedChoice" });

export const DATA_ACTION_HANDLERS = {
  choose_feed: handler({
    body: { schema: feedChoice },
    answer: z.strictObject({ id: text, on: z.boolean(), changed: z.boolean() }),
    run: async (context, { body: { id, on }, by }) => {
      const actions = requireActions(context);
      const feed = actions.feeds.find((one) => one.id === id);
      if (feed === undefined)
        throw new AdminProblem("ACTION_REFUSED", `There is no feed ${JSON.stringify(id)}.`);
      if (feed.on === on) return { document: { id, on, changed: false } };
      if (on && feed.needs_agreement)
        throw new AdminProblem("ACTION_REFUSED", "You must agree to this feed's terms.", [
          `\`inkling feeds enable ${id}\` shows the terms`,
        ]);
      const action = on ? "feed-enabled" : "feed-disabled";
      const entry = { ...by, action, subject: id, before: { on: feed.on }, after: { on } } as const;
      await withEntry(context.store.overrides, entry, async () => actions.chooseFeed(id, on)).catch(refuse);
      return { document: { id, on, changed: true } };
    },
  }),
  update_state: handler({
    answer: updateState,
    run: (context) => ({ document: requireActions(context).update() }),
  }),
  update_now: handler({
    answer: updateState,
    run: async (context, { by }) => {
      const actions = requireActions(context);
      if (actions.isRequested()) return { document: actions.update() };
      const before = { current: currentName(context.dataDir) ?? null };
      const after = { requested: "all feeds" };
      const entry = { ...by, action: "data-update-asked", subject: "data", before, after } as const;
      await withEntry(context.store.overrides, entry, async () => actions.updateNow());
      return { document: actions.update() };
    },
  }),
  roll_back: handler({
    body: { schema: z.strictObject({ ...seen, to }).meta({ id: "Rollback" }) },
    answer: switchAnswer,
    run: async (context, { body, by }) => {
      const { dataDir } = context;
      requireCurrent(context, body.current);
      const to = body.to === undefined ? undefined : requireKept(dataDir, body.to);
      const found = await findRollback(dataDir, to, verifier(context)).catch(refuse);
      const target = { ...found, pinned: found.to };
      return switchRelease(context, by, "release-rolled-back", target, () => pin(dataDir, found.to));
    },
  }),
  pin: handler({
    body: { schema: z.strictObject(seen).meta({ id: "Switch" }) },
    answer: switchAnswer,
    run: (context, { body, by }) => {
      const { dataDir } = context;
      requireCurrent(context, body.current);
      const name = currentOf(dataDir);
      const target = { from: name, to: name, pinned: name };
      return switchRelease(context, by, "release-pinned", target, () => pin(dataDir, name));
    },
  }),
  unpin: handler({
    answer: switchAnswer,
    run: (context, { by }) => {
      const { dataDir } = context;
      const from = currentOf(dataDir);
      const to = pinnedName(dataDir) === undefined ? from : newestName(dataDir, from);
      const target = { from, to, pinned: null };
      return switchRelease(context, by, "release-unpinned", target, () => unpin(dataDir, verifier(context)));
    },
  }),
} satisfies AdminHandlers;

function requireActions({ actions }: AdminContext): DataActions {
  if (actions !== undefined) return actions;
  throw new AdminProblem("ACTION_REFUSED", "This server does not build releases.");
}

const verifier =
  ({ verify }: AdminContext): Verify =>
  (dataDir, name) =>
    verify(dataDir, name);

/**
 * Records a change in the audit trail, makes the change, and then checks which release is current.
 * Does nothing if the data folder is already in the requested state.
 * @param change must set the current release to `to` and the pin to `pinned`
 */
async function switchRelease(
  context: AdminContext,
  by: Author,
  action: AuditAction,
  { from, to, pinned }: Switched & { readonly pinned: string | null },
  change: () => unknown,
) {
  const { dataDir, releases } = context;
  const before = { current: from, pinned: pinnedName(dataDir) ?? null };
  const after = { current: to, pinned };
  if (!Bun.deepEquals(before, after)) {
    const entry = { ...by, action, subject: "data", before, after };
    await withEntry(context.store.overrides, entry, async () => change()).catch(refuse);
    await releases.check();
  }
  return { document: { from, to: currentName(dataDir) ?? to, pinned } };
}

function refuse(error: unknown): never {
  if (!(error instanceof Error) || error instanceof StoreError) throw error;
  const hint = error instanceof ReleaseError ? error.hint : undefined;
  throw new AdminProblem("ACTION_REFUSED", error.message, hint === undefined ? [] : [hint]);
}

function currentOf(dataDir: string): string {
  try {
    return requireCurrentName(dataDir);
  } catch (error) {
    return refuse(error);
  }
}

function requireCurrent({ releases }: AdminContext, current: string): void {
  if (releases.current === undefined) throw new AdminProblem("DATA_NOT_LOADED");
  const { name } = releases.current;
  if (isNameOrId(current, name)) return;
  throw new AdminProblem(
    "RELEASE_CONFLICT",
    `The release in use is now ${name}. Read the current state, then decide again. Nothing was changed.`,
  );
}

/** Finds a kept release by its id or name. @returns its name. @throws AdminProblem if it does not exist */
export function requireKept(dataDir: string, text: string): string {
  const name = keptName(dataDir, text);
  if (name !== undefined) return name;
  throw new AdminProblem("RELEASE_NOT_FOUND", undefined, [
    `kept releases: ${releaseNames(dataDir).join(", ")}`,
  ]);
}
