// answer-schemas.ts: what the API answers, as zod schemas: the one description that OpenAPI, types and tests are made of.
//
// in   an answer's JSON, parsed
// out  schemas, and the types of what they accept
// note The server writes answers as bytes and asks no schema: tests hold each answer to these (test/checked-fetch.ts).
//      Nothing that runs at the start imports this file for more than its types.

import { PROBLEM_CODES, REPUTATION_FLAGS } from "@inkling/contract";
import { ANSWERS, feedReport, heldRelease, release } from "@inkling/engine";
import { channelReport } from "@inkling/release-store";
import { z } from "zod";
import { MX_OUTCOMES } from "../mx/outcome.ts";

const text = z.string().min(1);
const time = z.iso.datetime();

const country = z
  .strictObject({
    iso_code: z
      .string()
      .regex(/^[A-Z]{2}$/)
      .optional()
      .meta({ description: "ISO 3166-1 alpha-2; XK is Kosovo" }),
    name: text.optional(),
  })
  .meta({ id: "Country" });

export const evidenceEntry = z
  .looseObject({
    feed: text.meta({
      description: "A feed of /v1/status; `override`, `inkling` and a few more are no feeds",
    }),
    label: text.meta({ description: "What the feed knows, as in `vpn` or `relay`" }),
    effect: z.enum(["sets", "removes", "fills", "label"]),
    flags: z.array(z.enum([...REPUTATION_FLAGS, "disposable"])).optional(),
    members: z.array(text).optional().meta({ description: "Members of the answer that it filled in" }),
    id: text.optional().meta({ description: "Of an override" }),
    did_you_mean: text.optional(),
    weight: z.number().optional(),
    why: text.optional(),
    network: text.optional(),
    domain: text.optional(),
    mail_host: text.optional(),
    fetched_at: time.optional(),
    published_at: time.optional(),
  })
  .meta({
    id: "EvidenceEntry",
    description:
      "One thing that the answer rests on (docs/evidence.md). New members, labels and effects may come.",
  });

/** Only with `?include=evidence`. */
const reasons = {
  evidence: z.array(evidenceEntry).max(32).optional().meta({ description: "Only with `include=evidence`" }),
  evidence_truncated: z.literal(true).optional().meta({ description: "There were more entries than fit" }),
};

/** Only with `include=network` and `include=subject`, of lookups of addresses. */
const network = z
  .strictObject({
    prefix: text.meta({ description: "The largest network around the address of which all this holds" }),
    asn: z.int().positive().optional().meta({ description: "The autonomous system that announces it" }),
    organization: text.optional().meta({ description: "Of that system" }),
    kind: z.enum(["hosting", "isp", "mobile", "education", "government", "business", "unknown"]),
    shared: z.boolean().meta({ description: "Do many people come from one address, as published?" }),
    services: z
      .array(z.enum(["cdn", "crawler", "mail_sender", "monitor", "relay", "resolver", "webhook_sender"]))
      .meta({
        description: "What operators publish about it. New ones may come.",
      }),
  })
  .meta({ id: "Network", description: "Whose network an address is (docs/api.md)." });
const subject = {
  ip: text.optional().meta({ description: "Only with `include=subject`: in normal form, IPv4 unwrapped" }),
  prefix: text
    .optional()
    .meta({ description: "Only with `include=subject`: the network that the data has this answer for" }),
  network: network
    .nullable()
    .optional()
    .meta({ description: "Only with `include=network`; null where the release has no such data" }),
};

export const geolocation = z
  .strictObject({
    city: z.strictObject({ name: text.optional() }),
    continent: z.strictObject({
      code: z.enum(["AF", "AN", "AS", "EU", "NA", "OC", "SA"]).optional(),
      name: text.optional(),
    }),
    country: country.meta({ description: "Where the user is" }),
    location: z.strictObject({
      accuracy_radius: z
        .int()
        .positive()
        .optional()
        .meta({ description: "Whole kilometres, 67 % confidence" }),
      latitude: z.number().min(-90).max(90).optional(),
      longitude: z.number().min(-180).max(180).optional(),
      time_zone: text.optional().meta({ description: "IANA name" }),
    }),
    postal: z.strictObject({ code: text.optional() }),
    registered_country: country.meta({ description: "Where the block of addresses is registered" }),
    subdivisions: z
      .array(
        z.strictObject({
          iso_code: text.optional().meta({ description: "The part after the hyphen of ISO 3166-2" }),
          name: text.optional(),
        }),
      )
      .meta({ description: "From largest to smallest" }),
    ...subject,
    ...reasons,
  })
  .meta({
    id: "Geolocation",
    description: "Every member is always there; what is not known of it is left out, never null, empty or 0.",
  });
export type Geolocation = z.infer<typeof geolocation>;

export const reputation = z
  .strictObject({
    is_abuser: z.boolean(),
    is_proxy: z.boolean(),
    is_tor_exit: z.boolean(),
    ...subject,
    ...reasons,
  })
  .meta({ id: "Reputation" });
export type Reputation = z.infer<typeof reputation>;

export const emailVerdict = z
  .strictObject({
    valid: z
      .boolean()
      .meta({ description: "Could it receive mail from the internet, as far as its text tells?" }),
    disposable: z.boolean(),
    providers: z.array(text).meta({
      description: "The entry that matched, then the service that runs it; empty when not disposable",
    }),
    checks: z
      .strictObject({ mx: z.enum(MX_OUTCOMES) })
      .optional()
      .meta({ description: "Only with `checks=mx`" }),
    ...reasons,
  })
  .meta({ id: "EmailVerdict" });
export type EmailVerdict = z.infer<typeof emailVerdict>;

/** The status and code of one problem always belong together: the document narrows this for each. */
export const problemDocument = z
  .strictObject({
    type: text.meta({ description: "Where the code is explained" }),
    title: text,
    status: z.int().min(400).max(599),
    detail: text,
    code: z.enum(PROBLEM_CODES).meta({ description: "Decide by this: it never changes its meaning" }),
    request_id: text,
  })
  .meta({ id: "Problem", description: "RFC 9457. `title` and `detail` are for people and may change." });

const geoip2Name = z.strictObject({ en: text }).optional();
const geoip2Country = z.strictObject({
  is_in_european_union: z.literal(true).optional(),
  iso_code: text.optional(),
  names: geoip2Name,
});
const geoip2Members = {
  continent: z.strictObject({ code: text.optional(), names: geoip2Name }).optional(),
  country: geoip2Country.optional(),
  registered_country: geoip2Country.optional(),
};
const geoip2Traits = z.strictObject({ ip_address: text, network: text });

/** As MaxMind's GeoIP2 Country. */
export const maxmindCountry = z
  .strictObject({ ...geoip2Members, traits: geoip2Traits })
  .meta({ id: "MaxMindCountry", description: "What is not known is omitted (docs/maxmind.md)." });
/** As MaxMind's GeoIP2 City. */
export const maxmindCity = z
  .strictObject({
    city: z.strictObject({ names: geoip2Name }).optional(),
    ...geoip2Members,
    location: geolocation.shape.location.optional(),
    postal: geolocation.shape.postal.optional(),
    subdivisions: z.array(z.strictObject({ iso_code: text.optional(), names: geoip2Name })).optional(),
    traits: geoip2Traits.extend({
      autonomous_system_number: z.int().positive().optional(),
      autonomous_system_organization: text.optional(),
    }),
  })
  .meta({ id: "MaxMindCity", description: "What is not known is omitted (docs/maxmind.md)." });
export const maxmindError = z
  .strictObject({ code: text, error: text })
  .meta({ id: "MaxMindError", description: "As MaxMind's; `error` is for people and may change." });

/** In place of one answer of a batch: the request, and so its id, is another's. */
export const valueProblem = problemDocument
  .omit({ request_id: true })
  .meta({ id: "ValueProblem", description: "Why one value of a batch has no answer." });

export const batchRequest = z
  .strictObject({ values: z.array(z.string()).max(1000) })
  .meta({ id: "Batch", description: "As many values as there are, in the order of their answers" });

/** @param answer of a single lookup */
export function batchAnswers(answer: z.ZodType) {
  return z.strictObject({ answers: z.array(z.union([answer, valueProblem])) });
}

const { sets, source, state, entries, licence, pending, skipped } = feedReport.shape;
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
    pending: pending.unwrap().nullable(),
    skipped: skipped.unwrap().nullable(),
  })
  .meta({ id: "FeedStatus" });

export const dataAges = z
  .array(z.strictObject({ answer: z.enum(ANSWERS), feed: text, seconds: z.int().nonnegative() }))
  .meta({
    description:
      "How long ago publishers made the data of each answer: the oldest feed with at least 1 % of its entries, as far as known",
  });

export const status = z
  .strictObject({
    version: text,
    mode: z.enum(["up", "serve"]),
    release: z
      .strictObject({
        id: release.shape.id,
        name: text,
        created_at: time,
        serving_since: time,
        verified: z.boolean().meta({ description: "Has every byte been read since the server started?" }),
        segments: release.shape.segments,
      })
      .nullable(),
    refused_release: z.strictObject({ name: z.string(), reason: text, at: time }).nullable(),
    held_release: z
      .strictObject(heldRelease.shape)
      .nullable()
      .meta({ description: "Built, but not published before the operator accepts it" }),
    channel: z
      .strictObject(channelReport.shape)
      .nullable()
      .meta({ description: "The channel that releases come from, if any, and why it is not followed now" }),
    missing: z
      .array(z.enum(ANSWERS))
      .meta({ description: "Answers without any loaded feed but such as only add to others" }),
    partial: release.shape.partial,
    ages: dataAges,
    feeds: z.array(feedStatus),
    keys: z.strictObject({ loaded: z.boolean(), database: z.enum(["reachable", "away"]) }),
  })
  .meta({ id: "Status" });
export type Status = z.infer<typeof status>;

export const health = z.strictObject({ status: z.literal("alive") }).meta({ id: "Health" });
export const ready = z
  .strictObject({
    status: z.literal("ready"),
    warnings: z.array(text).optional().meta({ description: "An older release answers in place of another" }),
  })
  .meta({ id: "Ready" });
export const notReady = z
  .strictObject({ status: z.literal("not ready"), reasons: z.array(text) })
  .meta({ id: "NotReady" });
