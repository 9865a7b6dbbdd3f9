// database.ts: the state of the database over the admin API, after it was lost or went back to an earlier state.
//
// src  docs/admin-api.md, docs/operations.md

import { z } from "zod";
import { adoptCopies, onlyInCopies } from "../store/adopt-copies.ts";
import { type Operation, operation } from "./operation.ts";
import { count, text, time } from "./schemas.ts";

export const databaseAnswer = z.strictObject({
  went_back: z
    .strictObject({
      noticed_at: time,
      audit_sequence_known: count,
      audit_sequence_now: count,
      revocations_kept: z.array(text).meta({ description: "Ids of keys that stay revoked" }),
    })
    .nullable()
    .meta({ description: "Set until an operator confirms the database" }),
  only_in_copies: z.strictObject({ keys: z.array(text), overrides: z.array(text) }).meta({
    description: "Ids of what applies from the data folder's copies, because the database is empty",
  }),
  unstored_revocations: z
    .array(z.strictObject({ id: text, at: time, actor: text }))
    .meta({ description: "Revoked on this host while the database cannot be written" }),
});

const tag = "Keys";

export const DATABASE_OPERATIONS: readonly Operation[] = [
  operation({
    id: "database",
    method: "GET",
    path: "database",
    tag,
    summary: "Is the database the one that this server knows?",
    answer: databaseAnswer,
    run: async ({ guard, store, dataDir }) => {
      const { history, revocations } = guard;
      const { wentBack } = history;
      const { tokens, overrides } = await onlyInCopies(store, dataDir);
      const iso = (at: number) => new Date(at).toISOString();
      return {
        document: {
          went_back:
            wentBack === undefined
              ? null
              : {
                  noticed_at: iso(wentBack.at),
                  audit_sequence_known: wentBack.from,
                  audit_sequence_now: wentBack.to,
                  revocations_kept: history.revoked,
                },
          only_in_copies: {
            keys: [...new Set(tokens.map(({ key }) => key.id))],
            overrides: overrides.map(({ id }) => id),
          },
          unstored_revocations: revocations.pending.map(({ id, at, by }) => ({
            id,
            at: iso(at),
            actor: by.actor,
          })),
        },
      };
    },
  }),
  operation({
    id: "confirm_database",
    method: "POST",
    path: "database/confirm",
    tag,
    summary: "Accept the database as it is: nothing that it took back is kept",
    answer: z.strictObject({ confirmed: z.literal(true) }),
    run: async ({ store, keyLoader, overrideCache }, { by }) => {
      await store.confirmHistory(by);
      await Promise.all([keyLoader.refresh(), overrideCache.refresh()]);
      return { document: { confirmed: true } };
    },
  }),
  operation({
    id: "adopt_copies",
    method: "POST",
    path: "database/adopt",
    tag,
    summary: "Write what only the data folder's copies have into the database",
    answer: z.strictObject({ keys: count, overrides: count }),
    run: async ({ store, dataDir, keyLoader, overrideCache }, { by }) => {
      const adopted = await adoptCopies(store, await onlyInCopies(store, dataDir), by);
      await Promise.all([keyLoader.refresh(), overrideCache.refresh()]);
      return { document: adopted };
    },
  }),
];
