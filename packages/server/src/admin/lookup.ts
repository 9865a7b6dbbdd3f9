// lookup.ts: the API's answers about values, with evidence, for the operator: no key, no limit, no usage.
//
// in   up to a hundred values: addresses, and email addresses, which have an "@"
// out  for each its answers, or the problems in their place
// note Values are in no log and no audit trail. Overrides apply; there are no sandbox answers.

import { Answerer, type AnswerSource, formatIp, type Outcome } from "@inkling/engine";
import { z } from "zod";
import { problemBody } from "../http/problems.ts";
import { problemOf } from "../lookup/failures.ts";
import type { AdminServer } from "./app.ts";
import { type AdminRoute, bodyProblem, type Call, type Reply } from "./call.ts";
import { AdminProblem } from "./problems.ts";

export const lookupBody = z
  .strictObject({
    values: z
      .array(z.string("must be text").min(1, "must not be empty").max(400, "is too long"))
      .min(1)
      .max(100),
  })
  .meta({ id: "LookUp" });

export const LOOKUP_ROUTES: readonly AdminRoute<AdminServer>[] = [
  {
    template: "/admin/v1/lookup",
    path: /^lookup$/,
    methods: { POST: { id: "look_up", run: lookUp } },
  },
];

const decoder = new TextDecoder();

async function lookUp({ releases, book, now }: AdminServer, { json }: Call): Promise<Reply> {
  const read = lookupBody.safeParse(await json());
  if (!read.success) {
    throw bodyProblem(
      read.error.issues.map(({ path, message }) => `${path.join(".") || "body"}: ${message}`),
    );
  }
  const release = releases.current;
  if (release === undefined) throw new AdminProblem("NO_RELEASE");
  // "up": the console shows what there is, and what is missing.
  const source: AnswerSource = { release, overrides: book.current, now: now(), mode: "up" };
  const answerer = new Answerer();
  const answers = read.data.values.map((text) => {
    const value = text.trim();
    return value.includes("@")
      ? { value, kind: "email", email: documentOf(answerer.answerEmail(value, source, true)) }
      : ofAddress(value, answerer, source);
  });
  const { missing, partial } = release.manifest;
  return { status: 200, document: { release: release.manifest.id, missing, partial, answers } };
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
  return JSON.parse(
    outcome instanceof Uint8Array ? decoder.decode(outcome) : problemBody(problemOf(outcome)),
  );
}
