// schemas.ts: what the admin API answers, as zod schemas: for its OpenAPI document and the tests.
//
// note Asked for by openapi-admin.ts alone: nothing of it is loaded at the start.

import { ADDRESS_FLAGS, ANSWERS, OVERRIDE_FLAGS, OVERRIDE_KINDS } from "@inkling/engine";
import { z } from "zod";
import { SCOPES } from "../keys/key.ts";
import { KEY_MODES } from "../keys/token.ts";
import * as answers from "../openapi/answer-schemas.ts";
import { AUDIT_ACTIONS } from "../store/audit.ts";
import { ADMIN_PROBLEM_CODES } from "./problems.ts";

const text = z.string().min(1);
const time = z.iso.datetime();
const count = z.int().nonnegative();
const cursor = {
  next_cursor: text.nullable().meta({ description: "`cursor` of the next page; null after the last" }),
};

export const problem = z
  .strictObject({
    ...answers.problemDocument.omit({ code: true }).shape,
    code: z.enum(ADMIN_PROBLEM_CODES),
    problems: z.array(text).optional().meta({ description: "A line for each thing that is wrong" }),
  })
  .meta({ id: "Problem", description: "RFC 9457" });

export const session = z
  .strictObject({
    author: text,
    expires_at: time.nullable().meta({ description: "null where the token itself was sent" }),
  })
  .meta({ id: "Session" });
export const loggedOut = z.strictObject({ logged_out: z.literal(true) });

const keyMembers = {
  id: text,
  hint: text.meta({ description: "First characters of its newest token" }),
  name: text,
  mode: z.enum(KEY_MODES),
  state: z.enum(["live", "sandbox", "expired", "revoked"]),
  scopes: z.array(z.enum(SCOPES)),
  networks: z.array(text),
  rate: z.number().nullable(),
  burst: count.nullable(),
  quota: count.nullable(),
  created_at: time,
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
};
const perLookup = { geolocate: count, reputation: count, email: count };
const refused = z.strictObject({ not_allowed: count, rate_limited: count, quota_exceeded: count }).meta({
  description: "Requests, and values of batches, that were refused: scope, network or expiry; rate; quota",
});
export const key = z.strictObject(keyMembers).meta({ id: "Key", description: "Never its token" });
const token = text.meta({ description: "Told this once: only its hash is kept" });
export const madeKey = z.strictObject({ ...keyMembers, token }).meta({ id: "MadeKey" });
export const rotatedKey = z
  .strictObject({ ...keyMembers, token, old_token_valid_until: time })
  .meta({ id: "RotatedKey" });
export const keys = z.strictObject({
  keys: z.array(
    z.strictObject({ ...keyMembers, lookups_today: z.strictObject(perLookup), refused_today: refused }),
  ),
  ...cursor,
});
export const usage = z.strictObject({
  by: z.enum(["day", "hour"]),
  from: text,
  to: text,
  usage: z.array(z.strictObject({ at: text, ...perLookup, total: count, refused })),
});

const overrideMembers = {
  id: text,
  kind: z.enum(OVERRIDE_KINDS),
  value: text,
  flag: z.enum(OVERRIDE_FLAGS).nullable(),
  verdict: z.boolean().nullable(),
  mute: text.nullable(),
  note: text,
  author: text,
  created_at: time,
  expires_at: time.nullable(),
  removed_at: time.nullable(),
};
export const override = z.strictObject(overrideMembers).meta({ id: "Override" });
export const putOverride = z.strictObject({
  ...overrideMembers,
  outcome: z.enum(["added", "changed", "unchanged"]),
});
export const overrides = z.strictObject({ overrides: z.array(override), ...cursor });
export const overrideFile = z.looseObject({
  format: text,
  version: count,
  overrides: z.array(z.looseObject({})),
});
export const imported = z.strictObject({
  added: count,
  changed: count,
  unchanged: count,
  expired: count,
  warnings: z.array(text),
});

export const audit = z.strictObject({
  entries: z.array(
    z.strictObject({
      sequence: count,
      at: time,
      actor: text,
      action: z.enum(AUDIT_ACTIONS),
      subject: text.meta({ description: "Id of what was changed" }),
      before: z.unknown(),
      after: z.unknown(),
    }),
  ),
  ...cursor,
});

const missing = z.array(z.enum(ANSWERS));
const orProblem = (answer: z.ZodType) => z.union([answer, answers.valueProblem]);
export const lookUps = z.strictObject({
  release: text,
  missing,
  partial: z.array(z.strictObject({ answer: z.enum(ANSWERS), why: z.string() })),
  answers: z.array(
    z.union([
      z.strictObject({
        value: z.string(),
        kind: z.enum(["address", "unknown"]),
        address: text.optional().meta({ description: "In normal form, IPv4 unwrapped" }),
        geolocation: orProblem(answers.geolocation),
        reputation: orProblem(answers.reputation),
      }),
      z.strictObject({ value: text, kind: z.literal("email"), email: orProblem(answers.emailVerdict) }),
    ]),
  ),
});

export const update = z
  .strictObject({
    running: z.boolean(),
    asked: z.boolean(),
    last: z
      .union([
        z.strictObject({ at: time, release: text, published: z.boolean(), seconds: z.number() }),
        z.strictObject({ at: time, problem: z.string(), hint: text.nullable() }),
      ])
      .nullable(),
  })
  .meta({ id: "Update" });
export const data = z.strictObject({
  ...answers.status.omit({ feeds: true }).shape,
  pinned: text.nullable(),
  update: update.nullable(),
});
export const feeds = z.strictObject({
  feeds: z.array(
    z.strictObject({
      ...answers.feedStatus.shape,
      title: text,
      homepage: z.string().nullable(),
      cadence_hours: z.number().nullable().meta({ description: "How often its publisher makes a new one" }),
      stale_hours: z.number().nullable(),
      history: z
        .array(z.strictObject({ release: text, at: time, entries: count }))
        .meta({ description: "Over the releases that are kept, oldest first" }),
    }),
  ),
});
export const releases = z.strictObject({
  releases: z.array(
    z.strictObject({
      name: text,
      id: text,
      created_at: time,
      current: z.boolean(),
      pinned: z.boolean(),
      bytes: count,
      missing,
      feeds_changed: z
        .array(z.strictObject({ feed: text, entries_before: count, entries: count }))
        .nullable()
        .meta({ description: "Against the release before; null for the oldest" }),
    }),
  ),
});
const flagChange = z.strictObject({ ipv4_addresses: count, ipv6_networks: count });
const flagChanges = z.strictObject({ added: flagChange, removed: flagChange });
export const changes = z.strictObject({
  release: text,
  before: text.nullable(),
  changes: z
    .strictObject({
      flags: z.strictObject(Object.fromEntries(ADDRESS_FLAGS.map((flag) => [flag, flagChanges]))).optional(),
      disposable: z.strictObject({ added: count, removed: count }).optional(),
    })
    .nullable(),
});
export const switched = z.strictObject({ from: text, to: text, pinned: text.nullable() });

const counts = z.record(z.string(), count);
const seconds = z.number().nullable();
const moment = {
  requests: count,
  statuses: counts.meta({ description: "By class: 2xx" }),
  lookups: counts,
  problems: counts.meta({ description: "By code" }),
  flags_raised: counts.meta({ description: "Single look-ups whose answer raised each flag" }),
  latency_seconds: z
    .strictObject({ p50: seconds, p95: seconds, p99: seconds })
    .meta({ description: "Upper bound of the part of the histogram; null without requests, or above 0.5" }),
};
export const traffic = z.strictObject({
  hours: count,
  step_minutes: count,
  series: z.array(z.strictObject({ at: time, ...moment })),
  total: z.strictObject({
    ...moment,
    countries: z
      .array(z.strictObject({ iso_code: text, count }))
      .meta({ description: "Of what single look-ups asked about, most first; sampled where there is much" }),
  }),
});
