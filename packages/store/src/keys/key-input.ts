// key-input.ts: parses new keys, key changes and new admin tokens from the admin API or the command line.
//
// This module is separate from key.ts, so that workers and the server's startup do not load it.

import { ADMIN_ROLES, type AdminRole } from "@inkling/contract";
import { issueLines, type Prefix, parsePeerPrefix, withoutHostBits } from "@inkling/engine";
import { z } from "zod";
import { isoTime, oneLine } from "../text/fields.ts";
import { DAY_MS } from "./day.ts";
import { type EpochMs, type KeyChange, KeyInputError, type NewKey, SCOPES } from "./key.ts";
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

/** Maximum time in milliseconds for which the log can show a key's callers. */
const MAX_TRACE_MS = 7 * DAY_MS;

const keyName = oneLine(100).meta({ description: "What the key is for" });

const scopes = z
  .array(z.enum(SCOPES, `must be some of ${SCOPES.join(", ")}`))
  .min(1, `must be some of ${SCOPES.join(", ")}`)
  .transform((given) => SCOPES.filter((scope) => given.includes(scope)))
  .meta({ description: "What the key may do" });
const networks = z
  .array(prefix)
  .max(256)
  .meta({ description: "Networks that its callers must come from; empty means any network" });

/** Fields that a new key may have and that a change may unset; null means "not set". */
const optional = {
  rate: within(z.number(), 0, 1_000_000, "a number")
    .nullish()
    .meta({ description: "Lookups per second; 0 means no limit, null the server's limit" }),
  burst: within(z.number().int(), 1, 10_000_000, "a whole number")
    .nullish()
    .meta({ description: "Burst size in lookups; null means twice the rate, or the server's burst size" }),
  quota: within(z.number().int(), 0, 1_000_000_000_000, "a whole number")
    .nullish()
    .meta({ description: "Lookups per UTC day; null means no limit" }),
  expires_at: isoTime.nullish().meta({ description: "When it expires; null means never" }),
};

export const newKeyBody = z.strictObject({
  name: keyName,
  mode: z
    .enum(KEY_MODES)
    .default("live")
    .meta({ description: "`test` creates a sandbox key, which returns fixed answers" }),
  scopes: scopes.default([...SCOPES]),
  networks: networks.default([]),
  ...optional,
});

/** The changes to a key. An omitted field keeps its value. */
export const keyChangeBody = z.strictObject({
  name: keyName.optional(),
  scopes: scopes.optional(),
  networks: networks.optional(),
  ...optional,
  traced_until: isoTime.nullish().meta({
    description: "Until this time, at most 7 days from now, the log shows the networks that use the key",
  }),
});

/**
 * Parses a new key from external input.
 * @param now epoch ms
 * @throws KeyInputError with one line per mistake
 */
export function parseNewKey(input: unknown, now: number): NewKey {
  const result = newKeyBody.safeParse(input);
  if (!result.success) throw new KeyInputError(issueLines(result.error, "key", input, 1));
  return newKey(result.data, now);
}

/** @param now epoch ms; a new key must not be expired already @throws KeyInputError */
export function newKey(
  { rate, burst, quota, expires_at, ...rest }: z.output<typeof newKeyBody>,
  now: number,
): NewKey {
  refusePast(expires_at, now);
  const set = <T>(value: T | null | undefined) => value ?? undefined;
  return { ...rest, rate: set(rate), burst: set(burst), quota: set(quota), expiresAt: set(expires_at) };
}

/** @param now epoch ms @throws KeyInputError */
export function keyChange(given: z.output<typeof keyChangeBody>, now: number): KeyChange {
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

/** Pattern of names. Matching names need no quotes in paths and shells, and no two of them differ only in case. */
export const ADMIN_TOKEN_NAME = "[a-z0-9][a-z0-9._-]{0,62}";

export interface NewAdminToken {
  /** Unique among the existing tokens. It is the author of all changes that are made with the token. */
  readonly name: string;
  readonly role: AdminRole;
  readonly expiresAt: EpochMs | undefined;
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
