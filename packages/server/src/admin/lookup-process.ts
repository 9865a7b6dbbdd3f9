// lookup-process.ts: answers about values for the operator, in a process of its own, which maps the release.
//
// in   one message: the release with the stamps of its verified files, overrides, values
// out  one message: the answers of each value, or why the release cannot be opened

import {
  Answerer,
  type AnswerSource,
  bodyOf,
  formatIp,
  INCLUDE,
  type Outcome,
  type Override,
} from "@inkling/engine";
import { messageOf, openRelease, ReleaseError, type Stamps } from "@inkling/release-store";
import { problemBody } from "../http/problems.ts";
import { problemOf } from "../lookup/failures.ts";
import { overridesOf } from "../overrides/record.ts";
import { answerOnce } from "../releases/process.ts";

export interface LookUpQuestion {
  readonly dataDir: string;
  readonly name: string;
  readonly stamps: Stamps;
  readonly overrides: readonly Override[];
  /** Epoch ms. */
  readonly now: number;
  readonly values: readonly string[];
}
export type LookUpAnswer = { readonly answers: readonly object[] } | { readonly problem: string };

const decoder = new TextDecoder();

answerOnce(({ dataDir, name, stamps, overrides, now, values }: LookUpQuestion): LookUpAnswer => {
  try {
    const release = openRelease(dataDir, name, stamps);
    // "up": the console shows what there is, and what is missing.
    const source: AnswerSource = { release, overrides: overridesOf(overrides), now, mode: "up" };
    const answerer = new Answerer();
    return { answers: values.map((text) => answersOf(text.trim(), answerer, source)) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return { problem: messageOf(error) };
  }
});

function answersOf(value: string, answerer: Answerer, source: AnswerSource) {
  return value.includes("@")
    ? { value, kind: "email", email: documentOf(answerer.answerEmail(value, source, true)) }
    : ofAddress(value, answerer, source);
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
    geolocation: documentOf(
      answerer.answerAddress("geolocate", address, source, INCLUDE.evidence | INCLUDE.network),
    ),
    reputation: documentOf(answerer.answerAddress("reputation", address, source, INCLUDE.evidence)),
  };
}

function documentOf(outcome: Outcome): unknown {
  return JSON.parse("reason" in outcome ? problemBody(problemOf(outcome)) : decoder.decode(bodyOf(outcome)));
}
