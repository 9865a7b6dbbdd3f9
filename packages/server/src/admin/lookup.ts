// lookup.ts: the API's answers about values, with evidence, for the operator: no key, no limit, no usage.
//
// in   up to a hundred values: addresses, networks with a "/", domains, and email addresses, which have an "@"
// out  for each its answers, or the problems in their place, and the overrides that apply
// note Values are in no log and no audit trail. Overrides apply; there are no sandbox answers.

import { recordOf } from "@inkling/contract";
import { ADDRESS_FLAGS, ANSWERS, dataAges } from "@inkling/engine";
import { processCommand } from "@inkling/release-store/program";
import { z } from "zod";
import { AdminProblem } from "../http/problems.ts";
import * as answers from "../lookup/answer-schemas.ts";
import { MAX_COUNTRIES, MAX_PREFIXES } from "../lookup/network-summary.ts";
import { runInProcess } from "../releases/process.ts";
import { type AdminContext, type AdminHandlers, count, handler, text } from "./handler.ts";
import type { LookUpAnswer, LookUpQuestion } from "./lookup-process.ts";
import { overrideAnswer } from "./overrides.ts";

const lookupBody = z
  .strictObject({
    values: z
      .array(z.string("must be text").min(1, "must not be empty").max(400, "is too long"))
      .min(1)
      .max(100),
  })
  .meta({ id: "LookUp" });

const orProblem = <T extends z.ZodType>(answer: T) => z.union([answer, answers.valueProblem]);
const share = z.number().min(0).max(1);
const networkSummary = z
  .strictObject({
    examined: share.meta({ description: "Less than 1 if the network has too many prefixes" }),
    reserved: share,
    flagged: share.meta({ description: "With at least one flag" }),
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
      .max(MAX_PREFIXES)
      .meta({ description: "Parts with one answer each, flagged ones first" }),
  })
  .meta({ description: "Shares from 0 to 1, of the examined part" });
const overridden = { overrides: z.array(overrideAnswer).meta({ description: "The overrides that apply" }) };
export const lookupAnswer = z.strictObject({
  release: text,
  missing: z.array(z.enum(ANSWERS)),
  partial: z.array(z.strictObject({ answer: z.enum(ANSWERS), why: z.string() })),
  ages: answers.dataAges,
  answers: z.array(
    z.union([
      z.strictObject({
        value: z.string(),
        kind: z.enum(["address", "unknown"]),
        address: text.optional().meta({ description: "The address in normal form" }),
        geolocation: orProblem(answers.geolocation),
        reputation: orProblem(answers.reputation),
        ...overridden,
      }),
      z.strictObject({
        value: text,
        kind: z.literal("network"),
        network: text.meta({ description: "In normal form" }),
        summary: orProblem(networkSummary),
        ...overridden,
      }),
      z.strictObject({
        value: text,
        kind: z.enum(["email", "domain"]),
        email: orProblem(answers.emailVerdict).meta({
          description: "Of a domain: that of any mailbox there",
        }),
        ...overridden,
      }),
    ]),
  ),
});

export const LOOKUP_HANDLERS = {
  look_up: handler({
    body: { schema: lookupBody },
    answer: lookupAnswer,
    run: async (context, { body }) => ({ document: await lookUp(context, body.values) }),
  }),
} satisfies AdminHandlers;

/** In a process of its own: one that is damaged on the disk may end the process that reads it, and this one goes on. */
async function lookUp(
  { dataDir, releases, status, overrideCache, now, workerEnvironment }: AdminContext,
  values: readonly string[],
): Promise<object> {
  const release = releases.current;
  if (release === undefined) throw new AdminProblem("NO_RELEASE");
  const { name, stamps, manifest } = release;
  const overrides = overrideCache.current.all;
  const question: LookUpQuestion = { type: "look up", dataDir, name, stamps, overrides, now: now(), values };
  const found = await runInProcess<LookUpAnswer>(processCommand("lookup"), question, workerEnvironment);
  if ("problem" in found) throw new AdminProblem("NO_RELEASE", found.problem);
  const { missing, partial } = manifest;
  const ages = dataAges(status.releases.feeds ?? manifest.feeds, now());
  return { release: manifest.id, missing, partial, ages, answers: found.answers };
}
