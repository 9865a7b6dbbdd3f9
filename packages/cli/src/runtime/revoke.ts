// revoke.ts: revokes a key, also while the database cannot be written: then through the server of the same data folder.
//
// out  the key, and where it is revoked now
// err  what the database throws, where no server can be told either

import { join } from "node:path";
import type { Settings } from "@inkling/contract";
import { DATA_FOLDER, messageOf } from "@inkling/release-store";
import { type Actor, type Key, RevocationFile, readCopies, type Store, StoreError } from "@inkling/server";
import { withExistingStore } from "./keys.ts";

export interface RevokedKey {
  readonly key: Key;
  /** stored: in the database; applied: by the running server, which stores it later; noted: no server has taken it. */
  readonly state: "stored" | "applied" | "noted";
  /** Why it is not stored. */
  readonly why: string | undefined;
}

/** A server looks once a second. */
const ANSWER_MS = 5_000;
const POLL_MS = 50;

/** @returns undefined where no such key is known */
export async function revokeKey(
  settings: Settings,
  id: string,
  by: Actor,
  missing: (store: Store) => Promise<never>,
): Promise<RevokedKey> {
  const inCopy = () => readCopies(settings.dataDir).tokens.find(({ key }) => key.id === id)?.key;
  try {
    return await withExistingStore(settings, async (store) => {
      const key = await store.revokeKey(id, by);
      if (key !== undefined) return { key, state: "stored", why: undefined };
      const copied = (await store.readKeyStamp()) === "new" ? inCopy() : undefined;
      if (copied === undefined) return await missing(store);
      return hand(settings, copied, by, "the database, which is empty, does not hold it");
    });
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "AWAY") throw error;
    const key = inCopy();
    if (key === undefined) throw error;
    return hand(settings, key, by, error.message, error);
  }
}

/** Hands a revocation to the server of this data folder. @throws `cause` where its file cannot be written */
async function hand(
  { dataDir }: Settings,
  key: Key,
  by: Actor,
  why: string,
  cause?: StoreError,
): Promise<RevokedKey> {
  const file = new RevocationFile(join(dataDir, DATA_FOLDER.revocations));
  const at = Date.now();
  let slot: number;
  try {
    slot = file.add({ id: key.id, at, by }, "requested");
  } catch (error) {
    if (cause === undefined) throw error;
    const hint = `${cause.hint}. No server of this data folder could be told either: ${messageOf(error)}`;
    throw new StoreError(cause.code, cause.message, hint, cause.isReadOnly);
  }
  const revoked: Key = { ...key, revokedAt: at };
  for (const end = performance.now() + ANSWER_MS; performance.now() < end; await Bun.sleep(POLL_MS)) {
    const entry = file.read().find((one) => one.slot === slot && one.id === key.id);
    if (entry === undefined) return { key: revoked, state: "stored", why: undefined };
    if (entry.state === "applied") return { key: revoked, state: "applied", why };
  }
  return { key: revoked, state: "noted", why };
}
