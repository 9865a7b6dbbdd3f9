// history.ts: notices that the database went back to an earlier state (an older dump was restored, an older file put in
// its place), and keeps what it took back: keys that were revoked, and tokens that ended, in the day before.
//
// in   the audit trail, which only grows: the newest entry known here must still be in it; its file in the data folder
// out  `state`, and which keys and tokens remain revoked until an operator confirms the database (`database-confirmed`)
// err  review throws what the database throws; a file that cannot be read or written is an event
// cost one query of four small reads after each change of keys or overrides, and once a minute

import { readFileSync } from "node:fs";
import { messageOf, replaceFile } from "@inkling/release-store";
import type { SQL } from "bun";
import { z } from "zod";
import { DAY_MS } from "../keys/day.ts";
import type { EpochMs, KeyId } from "../keys/key.ts";
import type { KeySnapshot } from "../keys/keyring.ts";

const MODE = 0o640;

/** One entry of the audit trail: a restored database has another one with its number, or none. */
const mark = z.object({ sequence: z.number(), at: z.number(), subject: z.string() });
export type HistoryMark = z.output<typeof mark>;

const remembered = z.object({
  format: z.literal("inkling-database-history"),
  version: z.literal(1),
  mark: mark.nullable(),
  revoked: z.array(z.object({ id: z.string(), at: z.number() })),
  ended: z.array(z.object({ hash: z.string(), at: z.number() })),
  wentBack: z.object({ at: z.number(), from: z.number(), to: z.number() }).nullable(),
});
type Remembered = z.output<typeof remembered>;
/** Numbers of the newest audit entry, before and after. */
type WentBack = NonNullable<Remembered["wentBack"]>;

/** What the database has of its history now. */
export interface HistoryReading {
  readonly last: HistoryMark | undefined;
  /** Is the known entry still there? */
  readonly hasMark: boolean;
  /** The newest confirmation by an operator. */
  readonly confirmed: HistoryMark | undefined;
  /** Of the last day. */
  readonly revoked: Remembered["revoked"];
  readonly ended: Remembered["ended"];
}

/** @param since epoch ms from which revoked keys and ended tokens count */
export async function readHistory(
  sql: SQL,
  known: HistoryMark | undefined,
  since: EpochMs,
): Promise<HistoryReading> {
  type Row = Record<"sequence" | "at", number | string> & { subject: string };
  const first = (rows: Row[]) =>
    rows[0] && { sequence: Number(rows[0].sequence), at: Number(rows[0].at), subject: rows[0].subject };
  const last = first(
    await sql`SELECT sequence, at, subject FROM inkling_audit ORDER BY sequence DESC LIMIT 1`,
  );
  const same =
    known &&
    first(await sql`SELECT sequence, at, subject FROM inkling_audit WHERE sequence = ${known.sequence}`);
  const confirmed = first(
    await sql`SELECT sequence, at, subject FROM inkling_audit WHERE action = 'database-confirmed'
      ORDER BY sequence DESC LIMIT 1`,
  );
  const revoked: { id: string; at: number | string }[] =
    await sql`SELECT id, revoked_at AS at FROM inkling_keys WHERE revoked_at >= ${since}`;
  const ended: { hash: string; at: number | string }[] =
    await sql`SELECT hash, valid_until AS at FROM inkling_tokens WHERE valid_until >= ${since}
      UNION SELECT t.hash, k.revoked_at FROM inkling_tokens t JOIN inkling_keys k ON k.id = t.key_id
      WHERE k.revoked_at >= ${since}`;
  return {
    last,
    hasMark: known === undefined || (same !== undefined && Bun.deepEquals(same, known)),
    confirmed,
    revoked: revoked.map(({ id, at }) => ({ id, at: Number(at) })),
    ended: ended.map(({ hash, at }) => ({ hash, at: Number(at) })),
  };
}

export type HistoryEvent =
  /** `from` and `to` are numbers of audit entries. */
  | { readonly type: "went-back"; readonly from: number; readonly to: number; readonly revocations: number }
  | { readonly type: "confirmed" }
  | { readonly type: "file-failed"; readonly reason: string };

interface HistoryOptions {
  readonly path: string;
  readonly read: (known: HistoryMark | undefined, since: EpochMs) => Promise<HistoryReading>;
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

  /** Set from the moment it was noticed until an operator confirms the database. */
  get wentBack(): WentBack | undefined {
    return this.remembered.wentBack ?? undefined;
  }

  /** Keys that remain revoked although they are valid in the database. */
  get revoked(): readonly KeyId[] {
    return this.wentBack === undefined ? [] : this.remembered.revoked.map(({ id }) => id);
  }

  /** Compares the database with its remembered state. Call this before anything from the database applies. */
  review(): Promise<void> {
    const review = this.queue.then(() => this.compare());
    this.queue = review.catch(() => {}); // the caller gets the error
    return review;
  }

  /** The snapshot without keys that remain revoked. */
  withoutRevoked(snapshot: KeySnapshot): KeySnapshot {
    if (this.wentBack === undefined) return snapshot;
    const revoked = new Set(this.revoked);
    const ended = new Map(this.remembered.ended.map(({ hash, at }) => [hash, at]));
    const tokens = snapshot.tokens
      .filter(({ key }) => !revoked.has(key.id))
      .map((token) => {
        const validUntil = Math.min(token.validUntil ?? Infinity, ended.get(token.hash) ?? Infinity);
        return validUntil === Infinity ? token : { ...token, validUntil };
      });
    return { ...snapshot, tokens };
  }

  private async compare(): Promise<void> {
    const { read, now } = this.options;
    const since = now() - DAY_MS;
    const before = this.remembered;
    const found = await read(before.mark ?? undefined, since);
    const { wentBack, isConfirmed } = judge(before, found, now());
    const kept = <T extends { at: number }>(entries: readonly T[]) =>
      isConfirmed ? [] : wentBack === null ? entries.filter(({ at }) => at >= since) : entries;
    const next: Remembered = {
      ...before,
      mark: found.last ?? null,
      revoked: union(kept(before.revoked), found.revoked, ({ id }) => id),
      ended: union(kept(before.ended), found.ended, ({ hash }) => hash),
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
      replaceFile(this.options.path, [`${JSON.stringify(this.remembered)}\n`], { mode: MODE });
      this.lastFailure = undefined;
    } catch (error) {
      this.report(error);
    }
  }

  private report(error: unknown): void {
    const reason = messageOf(error).slice(0, 500);
    if (reason !== this.lastFailure) this.options.onEvent({ type: "file-failed", reason });
    this.lastFailure = reason;
  }
}

/** What a server of this data folder remembers. @returns undefined if there is no file. @throws Error if the file is malformed */
export function readRemembered(path: string): Remembered | undefined {
  try {
    return remembered.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Has the database gone back, compared with what is remembered, and was it confirmed since? */
export function judge(
  before: Remembered,
  found: HistoryReading,
  now: EpochMs,
): { readonly wentBack: WentBack | null; readonly isConfirmed: boolean } {
  const { mark, wentBack: known } = before;
  const to = found.last?.sequence ?? 0;
  const isLost = mark !== null && !found.hasMark;
  const wentBack = isLost ? { at: known?.at ?? now, from: known?.from ?? mark.sequence, to } : known;
  const isConfirmed = wentBack !== null && isAfter(found.confirmed, before, found.hasMark);
  return { wentBack: isConfirmed ? null : wentBack, isConfirmed };
}

/** Was the confirmation given after the database went back? Where it did so just now, times decide: numbers repeat. */
function isAfter(
  confirmed: HistoryMark | undefined,
  { mark, wentBack }: Remembered,
  hasMark: boolean,
): boolean {
  if (confirmed === undefined) return false;
  if (wentBack !== null && hasMark) return confirmed.sequence > wentBack.to;
  return mark !== null && confirmed.at > (wentBack?.at ?? mark.at);
}

/** The first of each id. */
function union<T>(one: readonly T[], other: readonly T[], idOf: (entry: T) => string): T[] {
  const byId = new Map([...other, ...one].map((entry) => [idOf(entry), entry]));
  return [...byId.values()];
}
