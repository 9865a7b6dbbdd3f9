// database.ts: shows over the admin API whether the database was lost or went back to an earlier state, and which
// revocations it lacks. An operator can accept the database as it is, or refill it from the host's copies.
//
// src  docs/admin-api.md, docs/troubleshooting.md

import { adoptCopies, onlyInCopies } from "@inkling/store/adopt-copies";
import { z } from "zod";
import { type AdminHandlers, count, handler, text, time } from "./handler.ts";

const databaseAnswer = z.strictObject({
  went_back: z
    .strictObject({
      noticed_at: time,
      audit_sequence_known: count,
      audit_sequence_now: count,
      revocations_kept: z.array(text).meta({ description: "Ids of keys that remain revoked" }),
    })
    .nullable()
    .meta({ description: "Set until an operator confirms the database" }),
  only_in_copies: z.strictObject({ keys: z.array(text), overrides: z.array(text) }).meta({
    description:
      "Ids of keys and overrides that exist only in the data folder's copies and still apply, because the database is empty",
  }),
  unstored_revocations: z
    .array(z.strictObject({ id: text, at: time, actor: text }))
    .meta({ description: "Keys revoked on this host while the database cannot be written" }),
});

export const DATABASE_HANDLERS = {
  database: handler({
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
  confirm_database: handler({
    answer: z.strictObject({ confirmed: z.literal(true) }),
    run: async ({ store, keyLoader, overrideCache }, { by }) => {
      await store.confirmHistory(by);
      await Promise.all([keyLoader.refresh(), overrideCache.refresh()]);
      return { document: { confirmed: true } };
    },
  }),
  adopt_copies: handler({
    answer: z.strictObject({ keys: count, overrides: count }),
    run: async ({ store, dataDir, keyLoader, overrideCache }, { by }) => {
      const adopted = await adoptCopies(store, await onlyInCopies(store, dataDir), by);
      await Promise.all([keyLoader.refresh(), overrideCache.refresh()]);
      return { document: adopted };
    },
  }),
} satisfies AdminHandlers;
