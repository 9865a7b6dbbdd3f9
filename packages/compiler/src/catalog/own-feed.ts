// own-feed.ts: reads the operator's own feeds, from inkling.toml, feeds.json and the command line.
//
// Every command loads this file, so it does not import the feed table.

import { claimsOf, FEED_CLAIM_ROWS, FEED_CLAIMS, FEED_FORMATS, type OwnFeed } from "@inkling/contract";
import { z } from "zod";
import { parseJsonPath } from "./json-path.ts";

export const MAX_OWN_FEEDS = 100;
const ID = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const MAX_TEXT = 300;

const idText = (what: string) => z.string(what).max(40, what).regex(ID, what);
const text = (what: string) => z.string(what).trim().min(1, what).max(MAX_TEXT, what);
const whole = (least: number, most: number) => {
  const what = `must be a whole number from ${least} to ${most}`;
  return z.number(what).int(what).min(least, what).max(most, what);
};
const ASCII = /^[ -~]+$/;

const fields = {
  id: idText("must be lower-case letters, digits and hyphens, at most 40, such as acme-vpn"),
  format: z.enum(FEED_FORMATS, `must be ${oneOf(FEED_FORMATS)}`),
  claims: z.enum(FEED_CLAIMS, `must be ${oneOf(FEED_CLAIMS)}`),
  file: text("must be the path of a file").optional(),
  url: text("must be a URL that starts with https:// or http://").optional(),
  path: text("must be a path such as $.prefixes[*].ip_prefix")
    .refine(
      (path) => parseJsonPath(path) !== undefined,
      "must start with $, then have names (.name, ['name']) and [*]",
    )
    .optional(),
  header: z
    .string("must be the name of a header")
    .regex(/^[A-Za-z0-9-]{1,60}$/, "must be the name of a header, such as Authorization")
    .optional(),
  secret: z
    .string("must be text")
    .regex(/^[a-z0-9]+([_-][a-z0-9]+)*$/, "must be lower-case letters, digits, _ and -, such as acme")
    .optional(),
  operator: z
    .string("must be text")
    .regex(/^[a-z0-9][a-z0-9._-]{0,59}$/, "must be a lower-case name without spaces, such as acme")
    .optional(),
  weight: whole(1, 8).optional(),
  copies: z.array(z.string("must be feed ids"), "must be a list of feed ids").readonly().optional(),
  every_hours: whole(1, 24).optional(),
  max_age_days: whole(1, 3650).optional(),
  title: text(`must be text of at most ${MAX_TEXT} characters`).regex(ASCII, "must be ASCII").optional(),
  licence: text(`must be text of at most ${MAX_TEXT} characters`).regex(ASCII, "must be ASCII").optional(),
} satisfies { readonly [Field in keyof OwnFeed]-?: z.ZodType<OwnFeed[Field]> };

function oneOf(names: readonly string[]): string {
  return `one of ${names.join(", ")}`;
}

/** Returns whether the host is this machine, so that requests to it never cross a network. */
export const isLoopback = ({ hostname }: URL) => ["127.0.0.1", "[::1]", "localhost"].includes(hostname);

/** Yields the problems that the fields' own rules do not detect, such as a conflict between two fields. */
function* conflicts(feed: OwnFeed): Generator<readonly [field: keyof OwnFeed, problem: string]> {
  const { file, url, format, claims, path, header, secret, operator, weight, every_hours } = feed;
  if ((file === undefined) === (url === undefined))
    yield ["file", url === undefined ? "or url is required" : "and url cannot be combined"];
  const allowed = claimsOf(format);
  const row = FEED_CLAIM_ROWS[claims];
  if (!allowed.includes(claims)) yield ["claims", `of the format ${format} must be ${oneOf(allowed)}`];
  if (format === "json" && path === undefined) yield ["path", "is required for the format json"];
  if (format !== "json" && path !== undefined) yield ["path", "is only for the format json"];
  if (weight !== undefined && row.weight === undefined) yield ["weight", `is not for the claim ${claims}`];
  if (operator !== undefined && row.operator === undefined)
    yield ["operator", `is not for the claim ${claims}`];
  if (secret !== undefined && header === undefined) yield ["secret", "needs a header"];
  if (url === undefined) {
    if (header !== undefined) yield ["header", "is only for a url"];
    if (every_hours !== undefined) yield ["every_hours", "is only for a url: every build reads a file"];
    return;
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    yield ["url", "must be a URL that starts with https:// or http://"];
  else if (parsed.username !== "" || parsed.password !== "")
    yield ["url", "must not have a user or password: put them into a header with a secret"];
  else if (header !== undefined && parsed.protocol === "http:" && !isLoopback(parsed))
    yield ["url", "must start with https://, because the header is a secret"];
}

const ownFeed: z.ZodType<OwnFeed, unknown> = z.strictObject(fields).check((context) => {
  for (const [field, message] of conflicts(context.value as OwnFeed)) {
    const { [field]: input } = context.value;
    context.issues.push({ code: "custom", path: [field], message, input });
  }
});

/** The rows of one file: at most {@link MAX_OWN_FEEDS}, and each id only once. */
export const ownFeeds: z.ZodType<readonly OwnFeed[], unknown> = z
  .array(ownFeed, "must be [[feed]] tables")
  .max(MAX_OWN_FEEDS, `must be at most ${MAX_OWN_FEEDS}`)
  .readonly()
  .check((context) => {
    const ids = context.value.map(({ id }) => id);
    for (const [index, id] of ids.entries())
      if (ids.indexOf(id) < index)
        context.issues.push({ code: "custom", path: [index, "id"], message: "is used twice", input: id });
  });

/** Where a problem occurred, and its message. */
interface OwnFeedProblem {
  readonly index: number | undefined;
  /** Undefined for a problem with a whole row or list. */
  readonly field: string | undefined;
  /** `feed "acme": weight must be …: it is 9` */
  readonly text: string;
}

/** Fields whose values must not appear in messages, because a URL may contain a token. */
const HIDDEN = ["url", "header", "secret"];

/** @param rows the rows before parsing */
export function ownFeedProblems(rows: unknown, { issues }: z.ZodError): OwnFeedProblem[] {
  return issues.map((issue) => {
    const [index, field] = issue.path as [number | undefined, string | undefined];
    if (index === undefined) return { index, field, text: `feeds ${issue.message}` };
    const row = (rows as readonly unknown[])[index];
    const values = (typeof row === "object" && row !== null ? row : {}) as Readonly<Record<string, unknown>>;
    const name = typeof values.id === "string" ? JSON.stringify(values.id.slice(0, 60)) : `${index + 1}`;
    return { index, field: fieldOf(issue, field), text: `feed ${name}: ${textOf(issue, field, values)}` };
  });
}

const fieldOf = (issue: z.core.$ZodIssue, field: string | undefined) =>
  issue.code === "unrecognized_keys" ? issue.keys[0] : field;

function textOf(
  issue: z.core.$ZodIssue,
  field: string | undefined,
  values: Readonly<Record<string, unknown>>,
): string {
  if (issue.code === "unrecognized_keys") {
    const allowed = Object.keys(fields).join(", ");
    return `${issue.keys.join(", ").slice(0, 100)} is not allowed; the allowed fields are ${allowed}`;
  }
  if (field === undefined) return "must be a table";
  const value = values[field];
  const shown = HIDDEN.includes(field) ? "" : `: it is ${(JSON.stringify(value) ?? "").slice(0, 100)}`;
  return `${field} ${issue.message}${value === undefined ? "" : shown}`;
}
