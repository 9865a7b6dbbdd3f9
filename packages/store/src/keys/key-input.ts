// key-input.ts: parses new keys, key changes and new admin tokens from the admin API or the command line.
//
// in   unknown input
// out  NewKey, KeyChange, NewAdminToken
// err  KeyInputError with one line per mistake
// note This module is separate from key.ts, so that workers and the server's startup do not load it.

import { ADMIN_ROLES } from "@inkling/contract";
import { issueLines, type Prefix, parsePeerPrefix, withoutHostBits } from "@inkling/engine";
import { z } from "zod";
import { isoTime, oneLine } from "../text/fields.ts";
import { ADMIN_TOKEN_NAME, type NewAdminToken } from "./admin-token.ts";
import { DAY_MS } from "./day.ts";
import { type KeyChange, KeyInputError, type NewKey, SCOPES } from "./key.ts";
import { KEY_MODES } from "./token.ts";

const prefix = z.string().transform((text, ctx): Prefix => {
  const parsed = parsePeerPrefix(text);
  if (parsed !== undefined) return parsed;
  const meant = withoutHostBits(text);
  const message =
    meant === undefined
      ? `must be a network such as 203.0.113.0/24, not "${text.slice(0, 60)}"`
      : `\`${text}\` has host bits set. Use \`${meant}\``;
  ctx.addIssue({ code: "custom", message });
  return z.NEVER;
});

/** Creates the schema of a number, with a single error message for all mistakes. */
function within(number: z.ZodNumber, least: number, most: number, kind: string) {
  // a function, because `toLocaleString` loads ICU, and loading it takes 5 to 15 ms
  const error = () => `must be ${kind} from ${least} to ${most.toLocaleString("en")}`;
  return z
    .custom<number>((value) => number.min(least).max(most).safeParse(value).success, { error })
    .meta({ type: number.isInt ? "integer" : "number", minimum: least, maximum: most });
}

/** Maximum time in milliseconds for which the log can name a key's callers. */
const MAX_TRACE_MS = 7 * DAY_MS;

const keyName = oneLine(100);

const scopes = z
  .array(z.enum(SCOPES, `must be some of ${SCOPES.join(", ")}`))
  .min(1, `must be some of ${SCOPES.join(", ")}`)
  .transform((given) => SCOPES.filter((scope) => given.includes(scope)));
const networks = z.array(prefix).max(256);
const rate = within(z.number(), 0, 1_000_000, "a number");
const burst = within(z.number().int(), 1, 10_000_000, "a whole number");
const quota = within(z.number().int(), 0, 1_000_000_000_000, "a whole number");

/** The body of a request for a new key; null means "not set". */
export const newKeyBody = z
  .strictObject({
    name: keyName,
    mode: z.enum(KEY_MODES).default("live"),
    scopes: scopes.default([...SCOPES]),
    networks: networks.default([]),
    rate: rate.nullish(),
    burst: burst.nullish(),
    quota: quota.nullish(),
    expires_at: isoTime.nullish(),
  })
  .meta({ id: "NewKey" });

/** The changes to a key that the admin API accepts. An omitted member keeps its value; null means "not set". */
export const keyChangeBody = z
  .strictObject({
    name: keyName.optional(),
    scopes: scopes.optional(),
    networks: networks.optional(),
    rate: rate.nullish(),
    burst: burst.nullish(),
    quota: quota.nullish(),
    expires_at: isoTime.nullish(),
    traced_until: isoTime.nullish(),
  })
  .meta({ id: "KeyChange" });

/**
 * Parses a new key from external input.
 * @param now epoch ms; a new key must not be expired already
 * @throws KeyInputError with one line per mistake
 */
export function parseNewKey(input: unknown, now: number): NewKey {
  const { rate, burst, quota, expires_at, ...rest } = read(newKeyBody, input);
  refusePast(expires_at, now);
  const set = <T>(value: T | null | undefined) => value ?? undefined;
  return { ...rest, rate: set(rate), burst: set(burst), quota: set(quota), expiresAt: set(expires_at) };
}

/** Parses the body of a key change. @throws KeyInputError with one line per mistake */
export function parseKeyChange(input: unknown, now: number): KeyChange {
  const given = read(keyChangeBody, input);
  refusePast(given.expires_at, now);
  refuseLongTrace(given.traced_until, now);
  const { expires_at, traced_until, ...rest } = given;
  const named = {
    ...rest,
    ...("expires_at" in given && { expiresAt: expires_at }),
    ...("traced_until" in given && { tracedUntil: traced_until }),
  };
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [name, value ?? undefined]));
}

export const newAdminTokenBody = z
  .strictObject({
    name: z
      .string()
      .regex(
        new RegExp(`^${ADMIN_TOKEN_NAME}$`),
        "must have 1 to 63 lower-case letters, digits, `.`, `_` or `-`, and begin with a letter or digit",
      )
      .meta({ description: "Author of every change made with the token" }),
    role: z
      .enum(ADMIN_ROLES, `must be ${ADMIN_ROLES.slice(0, -1).join(", ")} or ${ADMIN_ROLES.at(-1)}`)
      .meta({ description: "What the token may do" }),
    expires_at: isoTime.nullish().meta({ description: "When it expires" }),
  })
  .meta({ id: "NewAdminToken" });

/**
 * Returns a new admin token.
 * @param now epoch ms; a new token must not be expired already
 * @throws KeyInputError
 */
export function newAdminToken(
  { name, role, expires_at }: z.output<typeof newAdminTokenBody>,
  now: number,
): NewAdminToken {
  refusePast(expires_at, now);
  return { name, role, expiresAt: expires_at ?? undefined };
}

function refusePast(expiresAt: number | null | undefined, now: number): void {
  if (expiresAt != null && expiresAt <= now) throw new KeyInputError(["expires_at: is in the past"]);
}

function refuseLongTrace(tracedUntil: number | null | undefined, now: number): void {
  if (tracedUntil == null) return;
  if (tracedUntil <= now) throw new KeyInputError(["traced_until: is in the past"]);
  if (tracedUntil > now + MAX_TRACE_MS)
    throw new KeyInputError([`traced_until: must be at most ${MAX_TRACE_MS / DAY_MS} days from now`]);
}

function read<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new KeyInputError(issueLines(result.error, "key", input, 1));
}
