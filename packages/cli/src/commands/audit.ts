// audit.ts: formats the text of `inkling audit`.

import { AUDIT, type Output } from "@inkling/operations";
import type { OverrideJson } from "@inkling/store";
import type { Command } from "commander";
import type { Context } from "../runtime/command.ts";
import { addResource } from "../runtime/operation-command.ts";
import { table } from "../terminal/terminal.ts";

const HEAD = ["WHEN", "WHO", "SOURCE", "WHAT", "ID", "ABOUT"];

export const addAudit = (program: Command, context: Context) =>
  addResource(program, context, AUDIT, {
    audit: {
      empty: "Nothing has changed yet.",
      noMatch: "No change matches.",
      text: ({ entries }) => table([HEAD, ...entries.map(rowOf)]),
    },
  });

type Entry = Output<typeof AUDIT.operations.audit>["entries"][number];

const rowOf = ({ at, author, source, action, subject, before, after }: Entry) => [
  at,
  author,
  source ?? "-",
  action,
  subject,
  action === "key-changed" ? changedText(before, after) : aboutText(after ?? before),
];

/**
 * Describes the subject: an override's value and effect, a key's name, or the release in use. For any other subject,
 * returns the fields of its state, except `host`.
 */
function aboutText(about: unknown): string {
  if (typeof about !== "object" || about === null) return "";
  if ("value" in about) {
    const { flag, verdict, ...subject } = about as OverrideJson;
    return `${shortValue(subject)} ${flag}=${verdict}`;
  }
  const { name, current } = about as { readonly name?: unknown; readonly current?: unknown };
  if (name !== undefined || current !== undefined) return String(name ?? current ?? "");
  return Object.entries(about)
    .filter(([field]) => field !== "host")
    .map(([field, value]) => `${field}=${valueText(value)}`)
    .join(" ");
}

/** Returns a key's name, and each field that the change set, with its earlier value: "shop rate=200 (was 50)". */
function changedText(before: unknown, after: unknown): string {
  const [was, is] = [before, after] as readonly Readonly<Record<string, unknown>>[];
  const changes = Object.entries(is ?? {})
    .filter(([field, value]) => !Bun.deepEquals(value, was?.[field]))
    .map(([field, value]) => `${field}=${valueText(value)} (was ${valueText(was?.[field])})`);
  return [aboutText(is), ...changes].join(" ");
}

const valueText = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value));

/** Shortens the hash of an email address to 12 of its 64 characters, which are enough to identify it. */
export const shortValue = ({ kind, value }: Pick<OverrideJson, "kind" | "value">) =>
  kind === "email_hash" ? `email ${value.slice(0, 12)}…` : value;
