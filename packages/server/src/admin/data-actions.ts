// data-actions.ts: update, roll back and pin over the admin API.
//
// in   the data folder; the functions of the program around the server, which knows the compiler
// err  AdminProblem: a refused action gives the reason, and what to do
// src  docs/admin-api.md

import {
  findRollback,
  messageOf,
  pin,
  pinnedName,
  ReleaseError,
  releaseNames,
  requireCurrentName,
  type Switched,
  unpin,
  type Verify,
} from "@inkling/release-store";
import { z } from "zod";
import type { AuditAction } from "../store/audit.ts";
import { StoreError } from "../store/error.ts";
import { scrub } from "../telemetry/log.ts";
import type { AdminContext, DataActions } from "./context.ts";
import { type Operation, operation } from "./operation.ts";
import { AdminProblem } from "./problems.ts";
import { text, time } from "./schemas.ts";

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
          failed: z
            .array(text)
            .meta({ description: "Feeds that were refused or not reached, or are missing" }),
          held: z
            .strictObject({ why: z.string(), hint: text })
            .nullable()
            .meta({ description: "Why the release that was built waits, and how to accept it" }),
          seconds: z.number(),
        }),
        z.strictObject({ at: time, problem: z.string(), hint: text.nullable() }),
      ])
      .nullable(),
  })
  .meta({ id: "Update" });
const switchAnswer = z.strictObject({ from: text, to: text, pinned: text.nullable() });

/** A form filled in before a release was replaced must not act on the new one. */
const seen = {
  current: z.string().max(80).meta({ description: "Name of the release in use, as last read" }),
};
const to = z.string().max(80).optional().meta({
  description: "Name of a release that is kept; by default the one before the one in use",
});

const tag = "Data";

export const DATA_ACTION_OPERATIONS: readonly Operation[] = [
  operation({
    id: "update_state",
    method: "GET",
    path: "data/update",
    tag,
    summary: "State of the builds",
    answer: updateState,
    codes: ["ACTION_REFUSED"],
    run: (context) => ({ document: requireActions(context).update() }),
  }),
  operation({
    id: "update_now",
    method: "POST",
    path: "data/update",
    tag,
    summary: "Fetch all feeds now, and build a release",
    answer: updateState,
    status: 202,
    codes: ["ACTION_REFUSED"],
    run: async (context, { actor }) => {
      const actions = requireActions(context);
      if (actions.updateNow()) await record(context, actor, "data-update-asked", undefined, undefined);
      return { document: actions.update() };
    },
  }),
  operation({
    id: "roll_back",
    method: "POST",
    path: "data/rollback",
    tag,
    summary: "Go back to the previous release, or to any that is kept, and pin it",
    body: { schema: z.strictObject({ ...seen, to }).meta({ id: "Rollback" }) },
    answer: switchAnswer,
    codes: ["STALE_FORM", "ACTION_REFUSED", "NO_RELEASE", "RELEASE_NOT_FOUND"],
    run: (context, { body, actor }) => {
      requireCurrent(context, body.current);
      requireKept(context.dataDir, body.to);
      return switchRelease(context, actor, "release-rolled-back", async (dataDir) => {
        const found = await findRollback(dataDir, body.to, verifier(context));
        pin(dataDir, found.to);
        return found;
      });
    },
  }),
  operation({
    id: "pin",
    method: "POST",
    path: "data/pin",
    tag,
    summary: "Stay with the release in use, whatever is built",
    body: { schema: z.strictObject(seen).meta({ id: "Switch" }) },
    answer: switchAnswer,
    codes: ["STALE_FORM", "ACTION_REFUSED", "NO_RELEASE"],
    run: (context, { body, actor }) => {
      requireCurrent(context, body.current);
      return switchRelease(context, actor, "release-pinned", async (dataDir) => {
        const name = requireCurrentName(dataDir);
        pin(dataDir, name);
        return { from: name, to: name };
      });
    },
  }),
  operation({
    id: "unpin",
    method: "DELETE",
    path: "data/pin",
    tag,
    summary: "Go forward to the newest release",
    answer: switchAnswer,
    codes: ["ACTION_REFUSED"],
    run: (context, { actor }) =>
      switchRelease(context, actor, "release-unpinned", (dataDir) => unpin(dataDir, verifier(context))),
  }),
];

function requireActions({ actions }: AdminContext): DataActions {
  if (actions !== undefined) return actions;
  throw new AdminProblem("ACTION_REFUSED", "This server runs without a builder.");
}

const verifier =
  ({ releases }: AdminContext): Verify =>
  (_, name) =>
    releases.verify(name);

async function switchRelease(
  context: AdminContext,
  actor: string,
  action: AuditAction,
  act: (dataDir: string) => Promise<Switched>,
) {
  const { dataDir, releases } = context;
  const pinned = () => pinnedName(dataDir) ?? null;
  const before = { current: releases.current?.name ?? null, pinned: pinned() };
  const { from, to } = await act(dataDir).catch(refuse);
  await releases.check();
  const after = { current: to, pinned: pinned() };
  if (from !== to || before.pinned !== after.pinned) await record(context, actor, action, before, after);
  return { document: { from, to, pinned: after.pinned } };
}

function refuse(error: unknown): never {
  if (!(error instanceof Error)) throw error;
  const hint = error instanceof ReleaseError ? error.hint : undefined;
  throw new AdminProblem("ACTION_REFUSED", error.message, hint === undefined ? [] : [hint]);
}

function requireCurrent({ releases }: AdminContext, current: string): void {
  if (releases.current === undefined) throw new AdminProblem("NO_RELEASE");
  const { name } = releases.current;
  if (name === current) return;
  throw new AdminProblem("STALE_FORM", `The release in use is now ${name}. Nothing was changed.`);
}

function requireKept(dataDir: string, name: string | undefined): void {
  const names = releaseNames(dataDir);
  if (name === undefined || names.includes(name)) return;
  throw new AdminProblem("RELEASE_NOT_FOUND", undefined, [`kept are ${names.join(", ")}`]);
}

/** What was done stays done: where the database cannot take the entry, the log has it. */
async function record(
  { overrides, log }: AdminContext,
  actor: string,
  action: AuditAction,
  before: unknown,
  after: unknown,
): Promise<void> {
  try {
    await overrides.record({ actor, action, subject: "data", before, after });
  } catch (error) {
    const hint = error instanceof StoreError ? error.hint : undefined;
    const entry = { actor: scrub(actor, []), action, before, after };
    log.error("audit-not-written", { ...entry, reason: messageOf(error), hint });
  }
}
