// lookup.ts: returns the API's answers with evidence to the operator. These lookups need no key, and they are neither
// limited nor counted.
//
// Values appear neither in the log nor in the audit trail. There are no sandbox answers. `inkling lookup` is written by
// hand: it needs neither server nor database, and prints each answer before it reads the next value.

import { MAX_COUNTRIES, MAX_NETWORKS, MAX_PREFIXES, recordOf } from "@inkling/contract";
import { ADDRESS_FLAGS, ANSWERS } from "@inkling/engine";
import { z } from "zod";
import * as answers from "./answer-schemas.ts";
import { count, operation, type Resource, text, time } from "./operation.ts";
import { override } from "./overrides.ts";
import { running } from "./problem.ts";

/** Maximum number of network parts that one request may list. */
const MAX_PARTS = 10_000;
const value = z.string("must be text").min(1, "must not be empty").max(400, "is too long");

const orProblem = <T extends z.ZodType>(answer: T) => z.union([answer, answers.valueProblem]);
const share = z.number().min(0).max(1);
const networkSummary = z
  .strictObject({
    examined: share.meta({ description: "Less than 1 if the network has too many prefixes" }),
    reserved: share,
    flagged: share.meta({ description: "Share with at least one flag" }),
    flags: z.strictObject(recordOf(ADDRESS_FLAGS, () => share)),
    countries: z.array(z.strictObject({ iso_code: text, share })).max(MAX_COUNTRIES),
    prefix_count: count,
    prefixes: z
      .array(
        z.strictObject({
          network: text,
          flags: z.array(z.enum(ADDRESS_FLAGS)),
          country: text.optional(),
          city: text.optional(),
        }),
      )
      .max(MAX_PARTS)
      .meta({ description: "Parts with a single answer, flagged parts first" }),
    sources: z
      .array(
        z.strictObject({
          feed: text,
          id: text.optional().meta({ description: "Id of the override" }),
          label: text,
          effect: text,
          flags: z.array(z.enum(ADDRESS_FLAGS)),
          share,
        }),
      )
      .optional()
      .meta({ description: "Only for a request with one value: what each feed claims, largest share first" }),
    owners: z
      .array(z.strictObject({ asn: z.int().optional(), organization: text.optional(), kind: text, share }))
      .optional()
      .meta({ description: "Only for a request with one value, largest share first" }),
  })
  .meta({ id: "NetworkSummary", description: "Shares of the examined part, from 0 to 1" });
const family = networkSummary
  .extend({
    networks: z.array(text).max(MAX_NETWORKS),
    network_count: count.meta({ description: "Number of all networks; `networks` lists the first ones" }),
  })
  .meta({ id: "SystemNetworks" });
const overridden = { overrides: z.array(override).meta({ description: "The overrides that apply" }) };
const valueAnswer = z.union([
  z.strictObject({
    value: z.string(),
    kind: z.enum(["address", "unknown"]),
    address: text.optional().meta({ description: "The address, normalized" }),
    geolocation: orProblem(answers.geolocation),
    reputation: orProblem(answers.reputation),
    ...overridden,
  }),
  z.strictObject({
    value: text,
    kind: z.literal("network"),
    network: text.meta({ description: "The network, normalized" }),
    summary: orProblem(networkSummary),
    ...overridden,
  }),
  z.strictObject({
    value: text,
    kind: z.literal("as"),
    asn: z.int(),
    system: z
      .strictObject({ organization: text.optional(), ipv4: family.optional(), ipv6: family.optional() })
      .nullable()
      .meta({ description: "Null if the release has no network of the AS" }),
    ...overridden,
  }),
  z.strictObject({
    value: text,
    kind: z.enum(["email", "domain"]),
    email: orProblem(answers.emailVerdict).meta({
      description: "For a domain, the answer for any mailbox there",
    }),
    ...overridden,
  }),
]);
const lookup = z.strictObject({
  release: text,
  missing: z.array(z.enum(ANSWERS)),
  partial: z.array(z.strictObject({ answer: z.enum(ANSWERS), why: z.string() })),
  ages: answers.dataAges,
  answers: z.array(valueAnswer),
});
const history = z.strictObject({
  history: z.array(
    z.strictObject({
      release: text,
      created_at: time,
      current: z.boolean(),
      answer: valueAnswer.nullable(),
      problem: text.nullable().meta({ description: "Why the release cannot be read; null if it can" }),
    }),
  ),
});

export const LOOKUP = {
  tag: "Look up",
  operations: {
    look_up: operation({
      route: "POST lookup",
      summary:
        "Look up addresses, networks, autonomous systems, domains and email addresses with evidence; not counted as usage",
      docs: 'looks up `{"values":[…]}`, up to 100 addresses, networks, AS numbers, domains and email addresses. Returns the API\'s answers with evidence, for a network or an AS the share of each flag and country, and the overrides that apply. For a single network or AS, the answer also lists feeds and owners. `parts` is the number of network parts to list: 100 by default, at most 10,000',
      role: "read",
      problems: ["DATA_NOT_LOADED"],
      needsNoDatabase: true,
      input: {
        values: z.array(value).min(1).max(100),
        parts: z.int().min(1).max(MAX_PARTS).default(MAX_PREFIXES).meta({
          description: "Number of parts to list for a network, or for each address family of an AS",
        }),
      },
      output: lookup,
      run: async ({ lookups }, { values, parts }) =>
        (await running(lookups).lookUp(values, parts)) as z.output<typeof lookup>,
    }),
    look_up_history: operation({
      route: "POST lookup/history",
      summary: "Look up one value in every stored release, without overrides",
      docs: 'looks up `{"value":"…"}` in every stored release, newest first, without overrides, to show when an answer changed',
      role: "read",
      problems: ["DATA_NOT_LOADED"],
      needsNoDatabase: true,
      input: { value },
      output: history,
      run: async ({ lookups }, { value }) =>
        (await running(lookups).lookUpHistory(value)) as z.output<typeof history>,
    }),
  },
} as const satisfies Resource;
