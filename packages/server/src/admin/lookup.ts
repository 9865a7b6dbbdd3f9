// lookup.ts: what the API would answer about a value, with evidence, for the operator: no key, no limit, no usage.
//
// in   up to a hundred values: addresses and e-mail addresses, told apart by the "@"
// out  for each its answers, or the problems in their place
// note Values are in no log and no audit trail. Overrides count; sandbox answers do not exist here.

import {
  ANSWERS,
  formatIp,
  IpAddress,
  type IpLookup,
  type LoadedRelease,
  type Overrides,
  overrideEmail,
  overrideEntries,
  overrideReputation,
  parseIpInto,
  unwrapIpv4,
  withAddressEvidence,
  withEmailEvidence,
} from "@inkling/engine";
import { z } from "zod";
import { type Problem, problem, problemBody } from "../http/problems.ts";
import { lookUpAddress, lookUpEmail } from "../lookup/answer.ts";
import * as answers from "../openapi/answer-schemas.ts";
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

const orProblem = (answer: z.ZodType) => z.union([answer, answers.valueProblem]);
const lookupAnswer = z.strictObject({
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
/** The console shows what there is, and says what is missing. */
const MODE = "up";

function lookUp({ releases, book, now }: AdminContext, values: readonly string[]) {
  const release = releases.current;
  if (release === undefined) throw new AdminProblem("NO_RELEASE");
  const at = now();
  const found = values.map((text) => {
    const value = text.trim();
    return value.includes("@")
      ? { value, kind: "email", email: told(emailAnswer(value, release, book.current, at)) }
      : ofAddress(value, release, book.current, at);
  });
  const { missing, partial } = release.manifest;
  return { release: release.manifest.id, missing, partial, answers: found };
}

function ofAddress(value: string, release: LoadedRelease, overrides: Overrides, now: number) {
  const address = new IpAddress();
  if (!parseIpInto(value, address)) {
    const refusal = told(problem("IP_ADDRESS_INVALID"));
    return { value, kind: "unknown", geolocation: refusal, reputation: refusal };
  }
  unwrapIpv4(address);
  const answer = (lookup: IpLookup) => told(addressAnswer(lookup, address, release, overrides, now));
  return {
    value,
    kind: "address",
    address: formatIp(address),
    geolocation: answer("geolocate"),
    reputation: answer("reputation"),
  };
}

function addressAnswer(
  lookup: IpLookup,
  address: IpAddress,
  release: LoadedRelease,
  overrides: Overrides,
  now: number,
): Uint8Array | Problem {
  const outcome = lookUpAddress(lookup, { address, isCaller: false }, release, MODE);
  if (!(outcome instanceof Uint8Array)) return outcome;
  const plain = outcome.slice(); // a look-up's bytes are good until the next one
  const overridden =
    lookup === "reputation" && overrides.hasAddresses
      ? overrideReputation(plain, address, release, overrides, now)
      : undefined;
  const entries = overridden && overrideEntries(overridden.verdict);
  return withAddressEvidence(overridden?.body ?? plain, lookup, address, release, entries);
}

function emailAnswer(
  text: string,
  release: LoadedRelease,
  overrides: Overrides,
  now: number,
): Uint8Array | Problem {
  const outcome = lookUpEmail(text, release, MODE);
  if (!(outcome instanceof Uint8Array)) return outcome;
  const overridden = overrides.hasEmail ? overrideEmail(outcome, text, release, overrides, now) : undefined;
  const entries = overridden && overrideEntries(overridden.verdict);
  return withEmailEvidence(overridden?.body ?? outcome, text, release, entries);
}

function told(outcome: Uint8Array | Problem): unknown {
  return JSON.parse(outcome instanceof Uint8Array ? decoder.decode(outcome) : problemBody(outcome));
}
