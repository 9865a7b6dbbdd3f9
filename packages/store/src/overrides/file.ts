// file.ts: reads and writes overrides as one JSON file. An export carries them from one installation to another. A
// snapshot in the data folder lets a server start while its database is unreachable.
//
// Source: docs/overrides.md.

import { issueLines, type NewOverride, OVERRIDE_FLAGS, OVERRIDE_KINDS, type Override } from "@inkling/engine";
import { z } from "zod";
import { isoTime, oneLine } from "../text/fields.ts";
import {
  MAX_AUTHOR,
  MAX_OVERRIDES,
  newOverride,
  newOverrideBody,
  type OverrideContext,
  type OverrideInputCode,
  OverrideInputError,
} from "./override.ts";
import { overrideJson } from "./record.ts";

const FILE_FORMAT = "inkling-overrides";
const FILE_VERSION = 1;
const MAX_PROBLEMS = 20;

/** Returns the active overrides as a sorted file. Two exports of the same overrides differ only in their date. */
export function exportFile(overrides: readonly Override[], now: number) {
  const rows = overrides.map((override) => {
    const { value, flag, verdict, note, author, created_at, expires_at } = overrideJson(override);
    return { value, flag, verdict, note, author, created_at, expires_at };
  });
  const keyed = rows.map((row) => [`${row.value} ${row.flag} `, row] as const);
  keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return {
    format: FILE_FORMAT,
    version: FILE_VERSION,
    exported_at: new Date(now).toISOString(),
    overrides: keyed.map(([, row]) => row),
  };
}

export const overrideFile = z.strictObject({
  format: z.literal(FILE_FORMAT, `must be "${FILE_FORMAT}"`),
  version: z.literal(
    FILE_VERSION,
    `must be ${FILE_VERSION}, because a newer version of Inkling wrote this file`,
  ),
  exported_at: isoTime.optional(),
  overrides: z.array(z.unknown()).max(MAX_OVERRIDES, `has more than ${MAX_OVERRIDES} overrides`).meta({
    description: "Each has the fields of a new override, and optionally `author` and `created_at`",
  }),
});

const rowSchema = newOverrideBody
  .omit({ force: true })
  .extend({ author: oneLine(MAX_AUTHOR).optional(), created_at: isoTime.optional() });

interface ParsedFile {
  readonly overrides: readonly NewOverride[];
  /** The number of overrides left out because they expired after the export. */
  readonly expired: number;
}

/**
 * Reads the overrides of a file for import.
 * @param context the author of overrides that have none
 * @param force accept networks and domains that are otherwise too wide
 * @throws OverrideInputError
 */
export function importedOverrides(
  rows: readonly unknown[],
  context: OverrideContext,
  force: boolean,
): ParsedFile {
  const overrides: NewOverride[] = [];
  const problems = new Set<string>();
  let expired = 0;
  const codes = new Set<OverrideInputCode>();
  for (const [index, row] of rows.entries()) {
    try {
      const one = readRow(row, context, force);
      if (one === undefined) expired++;
      else overrides.push(one);
    } catch (error) {
      if (!(error instanceof OverrideInputError)) throw error;
      codes.add(error.code);
      for (const problem of error.problems) problems.add(`overrides.${index}.${problem}`);
    }
  }
  if (problems.size > 0) {
    const more = problems.size - MAX_PROBLEMS;
    const shown = [...problems].slice(0, MAX_PROBLEMS);
    throw new OverrideInputError(
      more > 0 ? [...shown, `and ${more} more`] : shown,
      codes.size === 1 ? [...codes][0] : "INVALID",
    );
  }
  return { overrides, expired };
}

/** @returns undefined if the override has expired */
function readRow(row: unknown, context: OverrideContext, force: boolean): NewOverride | undefined {
  const parsed = rowSchema.safeParse(row);
  if (!parsed.success) {
    throw new OverrideInputError(issueLines(parsed.error, "override", row));
  }
  const { created_at: createdAt, expires_at: expiresAt, author = context.author, ...rest } = parsed.data;
  const isExpired = typeof expiresAt === "number" && expiresAt <= context.now;
  const one = newOverride({ ...rest, force: force || isExpired }, { now: context.now, author });
  return isExpired ? undefined : { ...one, expiresAt: expiresAt ?? undefined, createdAt };
}

/** The data folder's copy of the active overrides. */
interface OverrideSnapshot {
  readonly stamp: string;
  readonly overrides: readonly Override[];
}

const snapshotSchema = z.strictObject({
  format: z.literal("inkling-override-snapshot"),
  version: z.literal(1),
  stamp: z.string(),
  overrides: z.array(z.looseObject({ id: z.string() })),
});
const snapshotRow = z.looseObject({
  id: z.string(),
  kind: z.enum(OVERRIDE_KINDS),
  value: z.string(),
  flag: z.enum(OVERRIDE_FLAGS),
  verdict: z.boolean(),
  note: z.string(),
  author: z.string(),
  created_at: isoTime,
  expires_at: isoTime.nullable(),
  removed_at: z.null(),
});

export function snapshotText({ stamp, overrides }: OverrideSnapshot): string {
  const rows = overrides.map(overrideJson);
  return `${JSON.stringify({ format: "inkling-override-snapshot", version: 1, stamp, overrides: rows })}\n`;
}

/**
 * @param report called with the reason for each override that is left out because this version cannot read it
 * @throws Error if the text is not a snapshot
 */
export function readSnapshot(text: string, report: (reason: string) => void = () => {}): OverrideSnapshot {
  const { stamp, overrides } = snapshotSchema.parse(JSON.parse(text));
  return {
    stamp,
    overrides: overrides.flatMap((row) => {
      const parsed = snapshotRow.safeParse(row);
      if (!parsed.success) {
        report(`${row.id}: ${issueLines(parsed.error, "override", row).join("; ")}`);
        return [];
      }
      const { id, kind, value, flag, verdict, note, author, created_at, expires_at } = parsed.data;
      const times = { createdAt: created_at, expiresAt: expires_at ?? undefined, removedAt: undefined };
      return Object.freeze({ id, kind, value, flag, verdict, note, author, ...times });
    }),
  };
}
