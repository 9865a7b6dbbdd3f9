// history.ts: detects that the database went back to an earlier state, because an older dump or file was restored. It
// remembers keys and tokens that were revoked or expired within the last day, so that they do not become valid again.
//
// in   the audit trail, which only grows, so the newest known entry must still be in it; the history file in the data
//      folder
// out  `wentBack`; the keys and tokens that remain revoked until an operator confirms the database
//      (`database-confirmed`)
// err  review throws the database's errors, and remember the file system's; any other failure to read or write the file
//      causes an event
// cost six small reads after each change of keys or overrides, and once a minute; two more after the database went back

import { readFileSync } from "node:fs";
import type { AuditAction } from "@inkling/contract";
import { messageOf, replaceFile } from "@inkling/release-store";
import type { SQL } from "bun";
import { z } from "zod";
import { DAY_MS } from "./keys/day.ts";
import type { EpochMs, KeyId } from "./keys/key.ts";
import type { KeySnapshot } from "./keys/keyring.ts";

const MODE = 0o640;

/** One entry of the audit trail. A restored database has a different entry with this sequence number, or none. */
const mark = z.object({ sequence: z.number(), at: z.number(), subject: z.string() });
type HistoryMark = z.output<typeof mark>;

const remembered = z.object({
  format: z.literal("inkling-database-history"),
  version: z.literal(1),
  mark: mark.nullable(),
  revoked: z.array(z.object({ id: z.string(), at: z.number() })),
  ended: z.array(z.object({ hash: z.string(), at: z.number() })),
  wentBack: z.object({ at: z.number(), from: z.number(), to: z.number() }).nullable(),
});
export type Remembered = z.output<typeof remembered>;
/**
 * When the database was last found to have gone back, and the sequence numbers of the newest audit entry before and
 * after that.
 */
type WentBack = NonNullable<Remembered["wentBack"]>;

/** The database's current history. */
export interface HistoryReading {
  readonly last: HistoryMark | undefined;
  /** Is the known entry still in the database? */
  readonly hasMark: boolean;
  /** The newest confirmation by an operator. */
  readonly confirmed: HistoryMark | undefined;
  /** The newest `inkling restore`. */
  readonly restored: HistoryMark | undefined;
  /** The remembered keys and tokens that became valid again when the database went back. */
  readonly takenBack: Pick<Remembered, "revoked" | "ended">;
  /** Keys that were revoked within the last day. */
  readonly revoked: Remembered["revoked"];
  readonly ended: Remembered["ended"];
}

/** @param since epoch ms; older revocations and ended tokens are left out */
export async function readHistory(
  sql: SQL,
  before: Remembered | undefined,
  since: EpochMs,
): Promise<HistoryReading> {
  const known = before?.mark ?? undefined;
  type Row = Record<"sequence" | "at", number | string> & { subject: string };
  const first = (rows: Row[]) =>
    rows[0] && { sequence: Number(rows[0].sequence), at: Number(rows[0].at), subject: rows[0].subject };
  const last = first(
    await sql`SELECT sequence, at, subject FROM inkling_audit ORDER BY sequence DESC LIMIT 1`,
  );
  const same =
    known &&
    first(await sql`SELECT sequence, at, subject FROM inkling_audit WHERE sequence = ${known.sequence}`);
  const newest = async (action: AuditAction) =>
    first(
      await sql`SELECT sequence, at, subject FROM inkling_audit WHERE action = ${action}
        ORDER BY sequence DESC LIMIT 1`,
    );
  const revoked: { id: string; at: number | string }[] =
    await sql`SELECT id, revoked_at AS at FROM inkling_keys WHERE revoked_at >= ${since}`;
  const ended: { hash: string; at: number | string }[] =
    await sql`SELECT hash, valid_until AS at FROM inkling_tokens WHERE valid_until >= ${since}
      UNION SELECT t.hash, k.revoked_at FROM inkling_tokens t JOIN inkling_keys k ON k.id = t.key_id
      WHERE k.revoked_at >= ${since}`;
  const hasMark = known === undefined || (same !== undefined && Bun.deepEquals(same, known));
  const isBack = before !== undefined && (!hasMark || before.wentBack !== null);
  return {
    last,
    hasMark,
    confirmed: await newest("database-confirmed"),
    restored: await newest("database-restored"),
    takenBack: isBack ? await readTakenBack(sql, before) : { revoked: [], ended: [] },
    revoked: revoked.map(({ id, at }) => ({ id, at: Number(at) })),
    ended: ended.map(({ hash, at }) => ({ hash, at: Number(at) })),
  };
}

async function readTakenBack(
  sql: SQL,
  { revoked, ended }: Remembered,
): Promise<Pick<Remembered, "revoked" | "ended">> {
  const among = (values: readonly string[]) => sql([...values, ""]); // the list must not be empty
  const keys: { id: string }[] =
    await sql`SELECT id FROM inkling_keys WHERE revoked_at IS NULL AND id IN ${among(revoked.map(({ id }) => id))}`;
  const tokens: { hash: string; until: number | string | null }[] =
    await sql`SELECT t.hash, t.valid_until AS until FROM inkling_tokens t JOIN inkling_keys k ON k.id = t.key_id
      WHERE k.revoked_at IS NULL AND t.hash IN ${among(ended.map(({ hash }) => hash))}`;
  const valid = new Set(keys.map(({ id }) => id));
  const untilOf = new Map(tokens.map(({ hash, until }) => [hash, Number(until ?? Infinity)]));
  return {
    revoked: revoked.filter(({ id }) => valid.has(id)),
    ended: ended.filter(({ hash, at }) => (untilOf.get(hash) ?? at) > at),
  };
}

export type HistoryEvent =
  /** `from` and `to` are sequence numbers of audit entries. */
  | { readonly type: "went-back"; readonly from: number; readonly to: number; readonly revocations: number }
  | { readonly type: "confirmed" }
  | { readonly type: "file-failed"; readonly reason: string };

interface HistoryOptions {
  readonly path: string;
  readonly read: (before: Remembered, since: EpochMs) => Promise<HistoryReading>;
  readonly now: () => EpochMs;
  readonly onEvent: (event: HistoryEvent) => void;
}

export class DatabaseHistory {
  private readonly options: HistoryOptions;
  private remembered: Remembered = {
    format: "inkling-database-history",
    version: 1,
    mark: null,
    revoked: [],
    ended: [],
    wentBack: null,
  };
  private queue: Promise<void> = Promise.resolve();
  /** The result of the last comparison. */
  private takenBack: HistoryReading["takenBack"] | undefined;
  private lastFailure: string | undefined;

  /** Reads the file. */
  constructor(options: HistoryOptions) {
    this.options = options;
    try {
      this.remembered = readRemembered(options.path) ?? this.remembered;
    } catch (error) {
      this.report(error);
    }
    if (this.remembered.wentBack !== null) this.reportWentBack(this.remembered.wentBack);
  }

  /** Set when the database is found to have gone back, until an operator confirms it. */
  get wentBack(): WentBack | undefined {
    return this.remembered.wentBack ?? undefined;
  }

  /** Keys that remain revoked here although they are valid in the database. */
  get revoked(): readonly KeyId[] {
    const { revoked } = this.takenBack ?? this.remembered;
    return this.wentBack === undefined ? [] : revoked.map(({ id }) => id);
  }

  /** Compares the database with the remembered state. Call this before anything from the database is applied. */
  review(): Promise<void> {
    const review = this.queue.then(() => this.compare());
    this.queue = review.catch(() => {}); // the caller receives the error
    return review;
  }

  /**
   * Remembers for a day that a key is revoked. The database does not have this key.
   * @throws the file system's errors
   */
  remember(id: KeyId): Promise<void> {
    const remembering = this.queue.then(() => {
      const entry = { id, at: this.options.now() };
      const next = { ...this.remembered, revoked: union([entry], this.remembered.revoked, idOf) };
      this.write(next);
      this.remembered = next;
    });
    this.queue = remembering.catch(() => {}); // the caller receives the error
    return remembering;
  }

  /** Removes keys that remain revoked from a snapshot, and gives replaced tokens their remembered expiry again. */
  withoutRevoked(snapshot: KeySnapshot): KeySnapshot {
    if (this.wentBack === undefined) return snapshot;
    const revoked = new Set(this.remembered.revoked.map(({ id }) => id));
    const ended = new Map(this.remembered.ended.map(({ hash, at }) => [hash, at]));
    const tokens = snapshot.tokens
      .filter(({ key }) => !revoked.has(key.id))
      .map((token) => {
        const validUntil = Math.min(token.validUntil ?? Infinity, ended.get(token.hash) ?? Infinity);
        return validUntil === Infinity ? token : { ...token, validUntil };
      });
    return { stamp: snapshot.stamp, tokens };
  }

  private async compare(): Promise<void> {
    const { read, now } = this.options;
    const since = now() - DAY_MS;
    const before = this.remembered;
    const found = await read(before, since);
    const { wentBack, isConfirmed } = judge(before, found, now());
    this.takenBack = found.takenBack;
    // A confirmation accepts the keys and tokens that this database made valid again. It accepts no others, because a
    // database that is restored later may contain them.
    const accepted = isConfirmed ? found.takenBack : { revoked: [], ended: [] };
    const kept = <T extends { at: number }>(entries: readonly T[]) =>
      wentBack === null ? entries.filter(({ at }) => at >= since) : entries;
    const next: Remembered = {
      ...before,
      mark: found.last ?? null,
      revoked: union(kept(without(before.revoked, accepted.revoked, idOf)), found.revoked, idOf),
      ended: union(kept(without(before.ended, accepted.ended, hashOf)), found.ended, hashOf),
      wentBack,
    };
    if (Bun.deepEquals(before, next)) return;
    this.remembered = next;
    this.save();
    if (wentBack !== null && before.wentBack === null) this.reportWentBack(wentBack);
    if (wentBack === null && before.wentBack !== null) this.options.onEvent({ type: "confirmed" });
  }

  private reportWentBack({ from, to }: WentBack): void {
    this.options.onEvent({ type: "went-back", from, to, revocations: this.revoked.length });
  }

  private save(): void {
    try {
      this.write(this.remembered);
      this.lastFailure = undefined;
    } catch (error) {
      this.report(error);
    }
  }

  private write(remembered: Remembered): void {
    replaceFile(this.options.path, [`${JSON.stringify(remembered)}\n`], { mode: MODE });
  }

  private report(error: unknown): void {
    const reason = messageOf(error).slice(0, 500);
    if (reason !== this.lastFailure) this.options.onEvent({ type: "file-failed", reason });
    this.lastFailure = reason;
  }
}

/**
 * Reads the state that servers on this data folder remember.
 * @returns undefined if the file does not exist
 * @throws Error if the file is malformed
 */
export function readRemembered(path: string): Remembered | undefined {
  try {
    return remembered.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Compares the database with the remembered state. Decides whether the database went back, and whether that is
 * confirmed: by an operator, or by a restore that made nothing valid again.
 */
export function judge(
  before: Remembered,
  found: HistoryReading,
  now: EpochMs,
): { readonly wentBack: WentBack | null; readonly isConfirmed: boolean } {
  const { mark, wentBack: known } = before;
  const to = found.last?.sequence ?? 0;
  const isLost = mark !== null && !found.hasMark;
  const wentBack = isLost ? { at: now, from: known?.from ?? mark.sequence, to } : known;
  const isAccepted = (by: HistoryMark | undefined) => isAfter(by, before, found.hasMark);
  const { revoked, ended } = found.takenBack;
  // A restored backup that makes nothing valid again needs no confirmation.
  const isHarmless = revoked.length + ended.length === 0 && isAccepted(found.restored);
  const isConfirmed = wentBack !== null && (isAccepted(found.confirmed) || isHarmless);
  return { wentBack: isConfirmed ? null : wentBack, isConfirmed };
}

/**
 * Returns whether the confirmation came after the database went back. If this check is the first to notice that, the
 * times decide, because sequence numbers repeat.
 */
function isAfter(
  confirmed: HistoryMark | undefined,
  { mark, wentBack }: Remembered,
  hasMark: boolean,
): boolean {
  if (confirmed === undefined) return false;
  if (wentBack !== null && hasMark) return confirmed.sequence > wentBack.to;
  return mark !== null && confirmed.at > (wentBack?.at ?? mark.at);
}

const idOf = ({ id }: { readonly id: string }) => id;
const hashOf = ({ hash }: { readonly hash: string }) => hash;

function without<T>(entries: readonly T[], dropped: readonly T[], keyOf: (entry: T) => string): T[] {
  const keys = new Set(dropped.map(keyOf));
  return entries.filter((entry) => !keys.has(keyOf(entry)));
}

/** Merges two lists. If both contain an entry with the same id, the entry of the first list wins. */
function union<T>(one: readonly T[], other: readonly T[], keyOf: (entry: T) => string): T[] {
  const byKey = new Map([...other, ...one].map((entry) => [keyOf(entry), entry]));
  return [...byKey.values()];
}
