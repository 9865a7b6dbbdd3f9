// lookup.ts: the API's answers about values, with evidence, for the operator: no key, no limit, no usage.
//
// in   up to a hundred values: addresses, and email addresses, which have an "@"
// out  for each its answers, or the problems in their place
// note Values are in no log and no audit trail. Overrides apply; there are no sandbox answers.

import { ANSWERS, Answerer, type AnswerSource, bodyOf, formatIp, type Outcome } from "@inkling/engine";
import { z } from "zod";
import { problemBody } from "../http/problems.ts";
import * as answers from "../lookup/answer-schemas.ts";
import { problemOf } from "../lookup/failures.ts";
import type { AdminContext } from "./context.ts";
import { type Operation, operation } from "./operation.ts";
import { AdminProblem } from "./problems.ts";
import { text } from "./schemas.ts";

const lookupBody = z
  .strictObject({
    values: z
      .array(z.string("must be text").min(1, "must not be empty").max(400, "is too long"))
      .min(1)
      .max(100),
  })
  .meta({ id: "LookUp" });

const orProblem = <T extends z.ZodType>(answer: T) => z.union([answer, answers.valueProblem]);
export const lookupAnswer = z.strictObject({
  release: text,
  missing: z.array(z.enum(ANSWERS)),
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

export const LOOKUP_OPERATIONS: readonly Operation[] = [
  operation({
    id: "look_up",
    method: "POST",
    path: "lookup",
    tag: "Look up",
    summary: "Addresses and email addresses, with evidence; not counted as usage",
    body: { schema: lookupBody },
    answer: lookupAnswer,
    codes: ["NO_RELEASE"],
    run: (context, { body }) => ({ document: lookUp(context, body.values) }),
  }),
];

const decoder = new TextDecoder();

function lookUp({ releases, overrideCache, now }: AdminContext, values: readonly string[]) {
  const release = releases.current;
  if (release === undefined) throw new AdminProblem("NO_RELEASE");
  // "up": the console shows what there is, and what is missing.
  const source: AnswerSource = { release, overrides: overrideCache.current, now: now(), mode: "up" };
  const answerer = new Answerer();
  const found = values.map((text) => {
    const value = text.trim();
    return value.includes("@")
      ? { value, kind: "email", email: documentOf(answerer.answerEmail(value, source, true)) }
      : ofAddress(value, answerer, source);
  });
  const { missing, partial } = release.manifest;
  return { release: release.manifest.id, missing, partial, answers: found };
}

function ofAddress(value: string, answerer: Answerer, source: AnswerSource) {
  const failure = answerer.readAddress(value);
  if (failure !== undefined) {
    const refusal = documentOf(failure);
    return { value, kind: "unknown", geolocation: refusal, reputation: refusal };
  }
  const { address } = answerer;
  return {
    value,
    kind: "address",
    address: formatIp(address),
    geolocation: documentOf(answerer.answerAddress("geolocate", address, source, true)),
    reputation: documentOf(answerer.answerAddress("reputation", address, source, true)),
  };
}

function documentOf(outcome: Outcome): unknown {
  return JSON.parse("reason" in outcome ? problemBody(problemOf(outcome)) : decoder.decode(bodyOf(outcome)));
}
