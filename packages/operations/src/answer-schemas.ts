// answer-schemas.ts: defines the API's answers as zod schemas. OpenAPI and tests are derived from them.
//
// The server writes answers as bytes and never uses these schemas. Tests check each answer against them
// (test/harness/checked-fetch.ts). Code that runs at startup imports only types from this file.

import {
  ADMIN_ROLES,
  ANSWER_FIELDS,
  DECISION,
  DECISION_INPUT,
  DECISION_OUTCOME,
  DECISION_OUTCOME_SET,
  type Field,
  PROBLEM_CODES,
  type Shape,
  type ValueOf,
} from "@inkling/contract";
import { channelReport } from "@inkling/data";
import { ANSWERS, feedReport, release } from "@inkling/engine";
import { z } from "zod";

const text = z.string().min(1);
const time = z.iso.datetime();

const named = new Map<string, z.ZodType>();

/** Returns the schema that a row describes. An object with a name has one schema wherever it is used. */
export function schemaOf<const S extends Shape>(shape: S): z.ZodType<ValueOf<S>>;
export function schemaOf(shape: Shape): z.ZodType {
  switch (shape.type) {
    case "text":
      if (shape.values !== undefined) return z.enum(shape.values);
      return shape.pattern === undefined ? text : z.string().regex(shape.pattern);
    case "time":
      return time;
    case "integer":
      return shape.minimum === undefined ? z.int().positive() : z.int().min(shape.minimum);
    case "uint32":
      return z.int().positive();
    case "number": {
      const { minimum, maximum } = shape;
      const number = minimum === undefined ? z.number() : z.number().min(minimum);
      return maximum === undefined ? number : number.max(maximum);
    }
    case "boolean":
      return z.boolean();
    case "true":
      return z.literal(true);
    case "list": {
      const list = z.array(schemaOf(shape.of));
      return shape.limit === undefined ? list : list.max(shape.limit);
    }
    case "object": {
      const { name, about, isOpen } = shape;
      const known = name === undefined ? undefined : named.get(name);
      if (known !== undefined) return known;
      const fields = Object.fromEntries(
        Object.entries(shape.fields).map(([field, row]) => [field, fieldOf(row)]),
      );
      const object = isOpen ? z.looseObject(fields) : z.strictObject(fields);
      if (name === undefined) return object;
      const schema = object.meta({ id: name, ...(about !== undefined && { description: about }) });
      named.set(name, schema);
      return schema;
    }
  }
}

function fieldOf(row: Field): z.ZodType {
  const value = schemaOf(row);
  const orNull = row.nullable ? value.nullable() : value;
  const orNothing = row.optional ? orNull.optional() : orNull;
  return row.description === undefined ? orNothing : orNothing.meta({ description: row.description });
}

export const geolocation = schemaOf(ANSWER_FIELDS.geolocate);
export const reputation = schemaOf(ANSWER_FIELDS.reputation);
export const emailVerdict = schemaOf(ANSWER_FIELDS.email);
export const visitor = schemaOf(DECISION_INPUT);
export const decision = schemaOf(DECISION);
export const decisionOutcome = schemaOf(DECISION_OUTCOME);
export const decisionOutcomeSet = schemaOf(DECISION_OUTCOME_SET);

/** A problem's status and code always belong together. The document narrows this schema for each problem. */
export const problemDocument = z
  .strictObject({
    type: text.meta({ description: "Link to the explanation of the code" }),
    title: text,
    status: z.int().min(400).max(599),
    detail: text,
    code: z
      .enum(PROBLEM_CODES)
      .meta({ description: "Programs should use this code: its meaning never changes" }),
    request_id: text,
  })
  .meta({ id: "Problem", description: "RFC 9457. `title` and `detail` are for people and may change." });

const { location, postal } = ANSWER_FIELDS.geolocate.fields;
const geoip2Name = z.strictObject({ en: text }).optional();
const geoip2Country = z.strictObject({
  is_in_european_union: z.literal(true).optional(),
  iso_code: text.optional(),
  names: geoip2Name,
});
const geoip2Fields = {
  continent: z.strictObject({ code: text.optional(), names: geoip2Name }).optional(),
  country: geoip2Country.optional(),
  registered_country: geoip2Country.optional(),
};
const geoip2Traits = z.strictObject({ ip_address: text, network: text });

/** The shape of MaxMind's GeoIP2 Country. */
export const maxmindCountry = z
  .strictObject({ ...geoip2Fields, traits: geoip2Traits })
  .meta({ id: "MaxMindCountry", description: "Unknown fields are omitted." });
/** The shape of MaxMind's GeoIP2 City. */
export const maxmindCity = z
  .strictObject({
    city: z.strictObject({ names: geoip2Name }).optional(),
    ...geoip2Fields,
    location: schemaOf(location).optional(),
    postal: schemaOf(postal).optional(),
    subdivisions: z.array(z.strictObject({ iso_code: text.optional(), names: geoip2Name })).optional(),
    traits: geoip2Traits.extend({
      autonomous_system_number: z.int().positive().optional(),
      autonomous_system_organization: text.optional(),
    }),
  })
  .meta({ id: "MaxMindCity", description: "Unknown fields are omitted." });
export const maxmindError = z
  .strictObject({ code: text, error: text })
  .meta({ id: "MaxMindError", description: "MaxMind's error format. `error` is for people and may change." });

/** Takes the place of an answer in a batch. It has no request id, because that id belongs to the whole batch. */
export const valueProblem = problemDocument
  .omit({ request_id: true })
  .meta({ id: "ValueProblem", description: "Why a value in a batch has no answer." });
export type ValueProblem = z.output<typeof valueProblem>;

export const batchRequest = z
  .strictObject({ values: z.array(z.string()).max(1000) })
  .meta({ id: "Batch", description: "The values, in the order of the answers" });

/** @param answer the schema of a single lookup's answer */
export function batchAnswers(answer: z.ZodType) {
  return z.strictObject({ answers: z.array(z.union([answer, valueProblem])) });
}

const { sets, source, state, entries, licence, held, skipped } = feedReport.shape;
export const feedStatus = z
  .strictObject({
    id: text,
    sets,
    state,
    source,
    entries,
    sha256: z.string().nullable(),
    age_seconds: z.int().nonnegative().nullable(),
    fetched_at: time.nullable(),
    published_at: time.nullable(),
    licence,
    attribution: z.string().nullable(),
    error: z.string().nullable(),
    stale: z.boolean(),
    checked_at: time.nullable(),
    next_check_at: time.nullable(),
    failures: z.int().nonnegative(),
    held: held.unwrap().nullable(),
    skipped: skipped.unwrap().nullable(),
  })
  .meta({ id: "FeedStatus" });
export type FeedStatus = z.infer<typeof feedStatus>;

export const dataAges = z
  .array(z.strictObject({ answer: z.enum(ANSWERS), feed: text, seconds: z.int().nonnegative() }))
  .meta({
    description:
      "The age of each answer's data, which is the age of the oldest feed with at least 1% of that answer's entries. Feeds without a date are ignored",
  });

export const status = z
  .strictObject({
    version: text,
    allow_missing: z.boolean().meta({
      description: "Does the server answer lookups although data is missing (INKLING_ALLOW_MISSING)?",
    }),
    release: z
      .strictObject({
        id: release.shape.id,
        name: text,
        created_at: time,
        serving_since: time,
        segments: release.shape.segments.optional(),
      })
      .nullable(),
    refused_release: z.strictObject({ name: z.string(), reason: text, at: time }).nullable(),
    channel: z.strictObject(channelReport.shape).nullable().meta({
      description:
        "The channel that releases come from, and the fault if the server does not follow the channel",
    }),
    missing: z
      .array(z.enum(ANSWERS))
      .meta({ description: "Answers without data, because no loaded feed contributes to them" }),
    partial: release.shape.partial,
    ages: dataAges,
    feeds: z.array(feedStatus).optional(),
    keys: z.strictObject({ loaded: z.boolean(), database: z.enum(["reachable", "unreachable"]) }),
  })
  .meta({ id: "Status" });
export type Status = z.infer<typeof status>;

export const health = z.strictObject({ status: z.literal("alive") }).meta({ id: "Health" });
export const ready = z
  .strictObject({
    status: z.enum(["ready", "starting"]).meta({
      description: "starting: lists that reputation needs have never been fetched, so its lookups return 503",
    }),
    warnings: z
      .array(text)
      .optional()
      .meta({ description: "Reasons why an older release is in use, and other warnings" }),
  })
  .meta({ id: "Ready" });
export const notReady = z
  .strictObject({ status: z.literal("not ready"), reasons: z.array(text) })
  .meta({ id: "NotReady" });

/** What the admin API returns about the session or token of a request. */
export const session = z
  .strictObject({
    author: text,
    role: z.enum(ADMIN_ROLES).meta({ description: "What the request's token may do" }),
    token_name: text.nullable().meta({ description: "Null for the root token" }),
    expires_at: time
      .nullable()
      .meta({ description: "Null if the request was sent with a token instead of a cookie" }),
  })
  .meta({ id: "Session" });
export type AdminSession = z.output<typeof session>;
