// lookup.ts: returns the API's answers with evidence to the operator. These lookups need no key, and they are neither
// limited nor counted.
//
// Values appear neither in the log nor in the audit trail. There are no sandbox answers.

import { recordOf } from "@inkling/contract";
import { ReleaseError } from "@inkling/data";
import { ADDRESS_FLAGS, ANSWERS, dataAges, type LoadedRelease } from "@inkling/engine";
import { override } from "@inkling/operations/overrides";
import type { ValidAdminToken } from "@inkling/store/admin-token";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import * as answers from "../lookup/answer-schemas.ts";
import { MAX_COUNTRIES, MAX_NETWORKS, MAX_PREFIXES } from "../lookup/network-summary.ts";
import { type Caller, lookUpInReleases, lookUpValues } from "../lookup/operator-lookup.ts";
import { TooManyWaiting } from "../sharing/turns.ts";
import { keptManifests } from "./data.ts";
import { type AdminContext, type AdminHandlers, count, handler, text, time } from "./handler.ts";

/** Maximum number of network parts that one request may list. */
const MAX_PARTS = 10_000;
const value = z.string("must be text").min(1, "must not be empty").max(400, "is too long");
const lookupBody = z
  .strictObject({
    values: z.array(value).min(1).max(100),
    parts: z.int().min(1).max(MAX_PARTS).default(MAX_PREFIXES).meta({
      description: "Number of parts to list for a network, or for each address family of an AS",
    }),
  })
  .meta({ id: "LookUp" });
const historyBody = z.strictObject({ value }).meta({ id: "LookUpHistory" });

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
export const lookupAnswer = z.strictObject({
  release: text,
  missing: z.array(z.enum(ANSWERS)),
  partial: z.array(z.strictObject({ answer: z.enum(ANSWERS), why: z.string() })),
  ages: answers.dataAges,
  answers: z.array(valueAnswer),
});
export const historyAnswer = z.strictObject({
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

export const LOOKUP_HANDLERS = {
  look_up: handler({
    body: { schema: lookupBody },
    answer: lookupAnswer,
    run: async (context, { body, request, token }) => ({
      document: await lookUp(context, body.values, body.parts, callerOf(request, token)),
    }),
  }),
  look_up_history: handler({
    body: { schema: historyBody },
    answer: historyAnswer,
    run: async (context, { body, request, token }) => ({
      document: await lookUpHistory(context, body.value, callerOf(request, token)),
    }),
  }),
} satisfies AdminHandlers;

async function lookUp(
  { releases, status, overrideCache, now }: AdminContext,
  values: readonly string[],
  parts: number,
  caller: Caller,
): Promise<object> {
  const release = openCurrent(releases);
  const { id, missing, partial, feeds } = release.manifest;
  const source = { release, overrides: overrideCache.current, now: now() };
  const answers = await orRateLimited(lookUpValues(source, values, parts, caller));
  const ages = dataAges(status.releases.feeds ?? feeds, now());
  return { release: id, missing, partial, ages, answers };
}

/** Work that takes long runs once per token. */
export const callerOf = (request: Request, token: ValidAdminToken | undefined): Caller => ({
  owner: token?.name ?? "",
  signal: request.signal,
});

/** @throws AdminProblem RATE_LIMITED if the token has too much work waiting */
export function orRateLimited<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof TooManyWaiting)) throw error;
    throw new AdminProblem("RATE_LIMITED", "Too many requests of this token are waiting. Retry in a second.");
  });
}

/** Opens the release in use. @throws AdminProblem DATA_NOT_LOADED */
export function openCurrent(releases: AdminContext["releases"]): LoadedRelease {
  try {
    const release = releases.open();
    if (release !== undefined) return release;
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    throw new AdminProblem("DATA_NOT_LOADED", error.message);
  }
  throw new AdminProblem("DATA_NOT_LOADED");
}

/** Looks the value up in every kept release. */
async function lookUpHistory(
  { dataDir, releases, now }: AdminContext,
  value: string,
  caller: Caller,
): Promise<object> {
  const kept = keptManifests(dataDir);
  if (kept.length === 0) throw new AdminProblem("DATA_NOT_LOADED");
  const names = kept.map(({ name }) => name);
  const found = await orRateLimited(lookUpInReleases(dataDir, names, value, now(), caller));
  const current = releases.current?.name;
  return {
    history: kept.map(({ name, manifest }, i) => ({
      release: manifest.id,
      created_at: manifest.created_at,
      current: name === current,
      ...found[i]!, // each name is listed once
    })),
  };
}
