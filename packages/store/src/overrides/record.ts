// record.ts: converts an override to and from text, JSON and a database row.

import { sha256Hex } from "@inkling/data";
import { type NewOverride, OVERRIDE_FLAGS, OVERRIDE_KINDS, type Override, Overrides } from "@inkling/engine";
import { isoTime, isoTimeOrNull, optionalNumber } from "../keys/day.ts";
import { known, visibleText } from "../text/fields.ts";

/** Creates the object in which lookups find the active overrides. */
export function overridesOf(all: readonly Override[]): Overrides {
  return all.length === 0 ? Overrides.NONE : new Overrides(all, sha256Hex);
}

type ForcedFlag = Pick<NewOverride, "kind" | "value" | "flag" | "verdict">;

/** Returns a text that identifies the override's subject and verdict: "address 203.0.114.9 is_tor_exit=false". */
export function effectText(override: ForcedFlag): string {
  return `${subjectText(override)}=${override.verdict}`;
}

/**
 * Returns a text that identifies the override's subject, which is its kind, value and flag. Only one active override
 * may have a given subject.
 */
export function subjectText({ kind, value, flag }: Omit<ForcedFlag, "verdict">): string {
  return `${kind} ${value} ${flag}`;
}

/** Describes an override for people: "203.0.114.9 is_tor_exit=false". */
export function describeOverride({ value, flag, verdict }: ForcedFlag): string {
  return `${value} ${flag}=${verdict}`;
}

export type OverrideJson = ReturnType<typeof overrideJson>;

/** Converts an override to JSON for programs: snake_case names, ISO 8601 times, null for "not set". */
export function overrideJson(override: Override) {
  const { id, kind, value, flag, verdict, note, author } = override;
  return {
    id,
    kind,
    value,
    flag,
    verdict,
    note,
    author,
    created_at: isoTime(override.createdAt),
    expires_at: isoTimeOrNull(override.expiresAt),
    removed_at: isoTimeOrNull(override.removedAt),
  };
}

/** A row of the overrides table. PostgreSQL returns 64-bit integers as text. */
export interface OverrideRow {
  readonly id: string;
  readonly kind: string;
  readonly value: string;
  /** The name of the flag: "is_tor_exit". */
  readonly effect: string;
  /** "true" or "false". */
  readonly argument: string;
  readonly note: string;
  readonly author: string;
  readonly created_at: number | string;
  readonly expires_at: number | string | null;
  readonly removed_at: number | string | null;
}

/** @throws Error if this program did not write the row */
export function overrideFromRow(row: OverrideRow): Override {
  return Object.freeze({
    id: row.id,
    kind: known(OVERRIDE_KINDS, row.kind, "kind"),
    value: row.value,
    flag: known(OVERRIDE_FLAGS, row.effect, "effect"),
    verdict: known(["true", "false"], row.argument, "verdict") === "true",
    note: visibleText(row.note),
    author: visibleText(row.author),
    createdAt: Number(row.created_at),
    expiresAt: optionalNumber(row.expires_at),
    removedAt: optionalNumber(row.removed_at),
  });
}

export function rowFromOverride(override: Override): OverrideRow {
  return {
    id: override.id,
    kind: override.kind,
    value: override.value,
    effect: override.flag,
    argument: String(override.verdict),
    note: override.note,
    author: override.author,
    created_at: override.createdAt,
    expires_at: override.expiresAt ?? null,
    removed_at: override.removedAt ?? null,
  };
}
