// database-state.ts: the database, compared with what the servers of this data folder know of it.

import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER } from "@inkling/release-store";
import { judge, onlyInCopies, RevocationFile, readRemembered, type Store } from "@inkling/server";
import { formatCount } from "../terminal/terminal.ts";

export const ONLY_IN_COPIES =
  "the database is empty: what follows applies only from the copies in the data folder (origin: copy); `inkling database adopt` writes them into the database";

/** What a server of this data folder knows, compared with the database. */
export async function databaseState(store: Store, { dataDir }: Settings) {
  const known = readRemembered(join(dataDir, DATA_FOLDER.databaseHistory));
  const now = Date.now();
  const found = await store.readHistory(known?.mark ?? undefined, now);
  const { tokens, overrides } = await onlyInCopies(store, dataDir);
  const keyIds = [...new Set(tokens.map(({ key }) => key.id))];
  // Without any entry the database is empty: then what counts is what only the copies hold.
  const isEmpty = found.last === undefined;
  const wentBack = known === undefined || isEmpty ? null : judge(known, found, now).wentBack;
  return {
    database: store.label,
    went_back:
      wentBack === null
        ? null
        : {
            noticed_at: new Date(wentBack.at).toISOString(),
            audit_sequence_known: wentBack.from,
            audit_sequence_now: wentBack.to,
            revocations_kept: known!.revoked.map(({ id }) => id),
          },
    only_in_copies: { keys: keyIds, overrides: overrides.map(({ id }) => id) },
    unstored_revocations: new RevocationFile(join(dataDir, DATA_FOLDER.revocations))
      .read()
      .map(({ id, at, by }) => ({ id, at: new Date(at).toISOString(), actor: by.actor })),
  };
}

export type DatabaseState = Awaited<ReturnType<typeof databaseState>>;

/** What is wrong, a line each, with the command that helps; empty when nothing is. */
export function databaseTroubles({
  went_back,
  only_in_copies,
  unstored_revocations,
}: DatabaseState): string[] {
  const { keys, overrides } = only_in_copies;
  const troubles: string[] = [];
  if (keys.length + overrides.length > 0) {
    troubles.push(
      `The database is empty. ${counts(keys.length, overrides.length)} apply only from the copies in the data folder: ${[...keys, ...overrides].join(", ")}. \`inkling database adopt\` writes them into the database; \`inkling database confirm\` discards them.`,
    );
  }
  if (went_back !== null) {
    const { audit_sequence_known, audit_sequence_now, revocations_kept } = went_back;
    const kept =
      revocations_kept.length === 0
        ? "No key was revoked in the day before."
        : `These keys, revoked in the day before, stay revoked: ${revocations_kept.join(", ")}.`;
    troubles.push(
      `The database went back to an earlier state: audit entry ${audit_sequence_known} is not in it, its newest is ${audit_sequence_now}. ${kept} Restore the newest backup, or accept the database as it is with \`inkling database confirm\`.`,
    );
  }
  for (const { id, at, actor } of unstored_revocations) {
    troubles.push(
      `The revocation of ${id} by ${actor} at ${at} is not stored yet: the server of this data folder stores it once the database can be written.`,
    );
  }
  return troubles;
}

export const counts = (keys: number, overrides: number) =>
  `${formatCount(keys)} ${keys === 1 ? "key" : "keys"} and ${formatCount(overrides)} ${overrides === 1 ? "override" : "overrides"}`;
