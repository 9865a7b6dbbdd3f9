// revocations.ts: reads from the database which keys and admin tokens were revoked, and writes revocations to the data
// folder's list before they are committed (keys/revoked-file.ts).

import { messageOf } from "@inkling/data";
import type { TransactionSQL } from "bun";
import { StoreError } from "./error.ts";
import type { Revocation, RevokedFile } from "./keys/revoked-file.ts";

/**
 * The rows of revoked admin tokens are deleted, so only the audit trail has them. Reading the trail for the authors of
 * 80,000 revoked keys takes three times as long as reading the keys. So it is not read for keys that the list has.
 */
export async function readRevocations(
  tx: TransactionSQL,
  after: number,
  isKnown: (keyId: string) => boolean,
) {
  const newest: { last: number | string | null }[] =
    await tx`SELECT MAX(sequence) AS last FROM inkling_audit`;
  const last = Number(newest[0]?.last ?? 0);
  const from = after <= last ? after : 0;
  if (from === last) return { last, revocations: [] };
  const keys: { id: string; at: number | string }[] =
    from === 0
      ? await tx`SELECT id, revoked_at AS at FROM inkling_keys WHERE revoked_at IS NOT NULL`
      : await tx`SELECT k.id, k.revoked_at AS at FROM inkling_audit a JOIN inkling_keys k ON k.id = a.subject
          WHERE a.sequence > ${from} AND a.action = 'key-revoked' AND k.revoked_at IS NOT NULL`;
  const missing = keys.filter(({ id }) => !isKnown(id));
  const entries: { id: string; author: string }[] =
    missing.length === 0
      ? []
      : await tx`SELECT subject AS id, actor AS author FROM inkling_audit
          WHERE action = 'key-revoked' AND sequence > ${from} ORDER BY sequence`;
  const authors = new Map(entries.map(({ id, author }) => [id, author]));
  const tokens: { id: string; at: number | string; author: string; was: string }[] =
    await tx`SELECT subject AS id, at, actor AS author, was FROM inkling_audit
      WHERE action = 'admin-token-revoked' AND sequence > ${from}`;
  const revocations: Revocation[] = [
    ...missing.map(({ id, at }) => ({ id, at: Number(at), author: authors.get(id) ?? "unknown" })),
    ...tokens.map(({ id, at, author, was }) => {
      const { created_at }: { created_at: string } = JSON.parse(was);
      return { id, at: Number(at), author: author, createdAt: Date.parse(created_at) };
    }),
  ];
  return { last, revocations };
}

/** Call this at the end of the transaction. @throws StoreError UNWRITTEN, which undoes the transaction */
export function writeRevocations(file: RevokedFile | undefined, revocations: readonly Revocation[]): void {
  try {
    file?.add(revocations);
  } catch (error) {
    throw new StoreError(
      "UNWRITTEN",
      `cannot write ${file?.path}: ${messageOf(error)}; nothing was revoked`,
      "free disk space, or give this user write permission to the file; then revoke it again",
    );
  }
}
