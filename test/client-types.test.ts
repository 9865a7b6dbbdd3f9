// The client's types beside the server's: packages/server/src/lookup/answer-schemas.ts, of which /openapi.json is made.
// What TypeScript can compare is compared when this file is compiled (`npm test` compiles it); the rest when it runs.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Release } from "@inkling/engine";
import type { z } from "zod";
import {
  type EmailEvidence,
  type EmailVerdict,
  EVIDENCE_LABELS,
  type MxOutcome,
  type Place,
  type PlaceEvidence,
  type Reputation,
  type ReputationEvidence,
  type WithChecks,
  type WithEvidence,
  type WithNetwork,
  type WithSubject,
} from "../packages/client/src/answers.ts";
import type { DataName, WithData } from "../packages/client/src/data-state.ts";
import type * as served from "../packages/server/src/lookup/answer-schemas.ts";
import { MX_OUTCOMES, type MxOutcome as ServedMxOutcome } from "../packages/server/src/mx/outcome.ts";
import { openApiJson } from "../packages/server/src/openapi/public.ts";

/** Read-only, and without the `undefined` that zod adds to optional members. */
type Plain<T> = T extends readonly (infer Item)[]
  ? readonly Plain<Item>[]
  : T extends object
    ? { readonly [K in keyof T as string extends K ? never : K]: Plain<Exclude<T[K], undefined>> }
    : T;
/** Every member at any depth: "city", "city.name", … */
type Members<T> = T extends readonly (infer Item)[]
  ? Members<Item>
  : T extends object
    ? { [K in keyof T & string]: K | `${K}.${Members<Exclude<T[K], undefined>>}` }[keyof T & string]
    : never;
/** `true`, or what is missing on which side. */
type SameMembers<Ours, Theirs> = [Exclude<Ours, Theirs>, Exclude<Theirs, Ours>] extends [never, never]
  ? true
  : { readonly onlyOurs: Exclude<Ours, Theirs>; readonly onlyTheirs: Exclude<Theirs, Ours> };
/** The server's answers are assignable to the client's types. */
type Fits<Theirs, Ours> =
  Plain<Theirs> extends Ours ? true : { readonly theirs: Plain<Theirs>; readonly ours: Ours };

type Extras = keyof WithEvidence<"email"> | keyof WithChecks;
/** Of answers about addresses. */
type More = keyof WithNetwork | keyof WithSubject;
type PlainAnswer<T> = Plain<Omit<T, Extras | More>>;
type Wide<T> = { readonly [K in More]-?: K extends keyof T ? Exclude<T[K], undefined> : never };
type Entry = z.infer<typeof served.evidenceEntry>;
type EntryKeys = keyof Plain<Entry>;

/** The client's own member of an answer, which the API must not have. */
type Own = Extract<keyof (served.Geolocation & served.Reputation & served.EmailVerdict), keyof WithData>;

/** Each is compiled only when it is `true`. */
export const compared: readonly true[] = [
  true satisfies SameMembers<Members<Place>, Members<PlainAnswer<served.Geolocation>>>,
  true satisfies SameMembers<Members<Reputation>, Members<PlainAnswer<served.Reputation>>>,
  true satisfies SameMembers<Members<EmailVerdict>, Members<PlainAnswer<served.EmailVerdict>>>,
  true satisfies SameMembers<keyof WithEvidence<"geolocate">, Extract<keyof served.Geolocation, Extras>>,
  true satisfies SameMembers<Extras, Extract<keyof served.EmailVerdict, Extras>>,
  true satisfies SameMembers<keyof PlaceEvidence | keyof ReputationEvidence | keyof EmailEvidence, EntryKeys>,
  true satisfies SameMembers<More, Extract<keyof served.Geolocation, More>>,
  true satisfies SameMembers<
    keyof NonNullable<WithNetwork["network"]>,
    keyof Plain<NonNullable<served.Geolocation["network"]>>
  >,
  true satisfies Fits<Wide<served.Geolocation>, WithNetwork & WithSubject>,
  true satisfies Fits<Wide<served.Reputation>, WithNetwork & WithSubject>,
  true satisfies Fits<Omit<served.Geolocation, Extras | More>, Place>,
  true satisfies Fits<Omit<served.Reputation, Extras | More>, Reputation>,
  true satisfies Fits<Omit<served.EmailVerdict, Extras>, EmailVerdict>,
  true satisfies Fits<Pick<Entry, keyof PlaceEvidence>, PlaceEvidence>,
  true satisfies Fits<Pick<Entry, keyof ReputationEvidence>, ReputationEvidence>,
  true satisfies Fits<Pick<Entry, keyof EmailEvidence>, EmailEvidence>,
  true satisfies Fits<ServedMxOutcome, MxOutcome>,
  true satisfies SameMembers<Own, never>,
  true satisfies SameMembers<DataName, Release["missing"][number]>,
];

// The comparisons must be able to fail.
// @ts-expect-error a member that only the server has
true satisfies SameMembers<"city", "city" | "city.name">;
// @ts-expect-error a member that only the client has
true satisfies SameMembers<"city" | "city.name", "city">;
// @ts-expect-error another type
true satisfies Fits<{ valid: string }, { readonly valid: boolean }>;
// @ts-expect-error may be null
true satisfies Fits<{ valid: boolean | null }, { readonly valid: boolean }>;

test("the labels of evidence are those of docs/evidence.md", () => {
  const page = readFileSync(join(import.meta.dir, "../docs/evidence.md"), "utf8");
  const table = page.slice(page.indexOf("## Labels"), page.indexOf("## Locations"));
  const rows = [...table.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, names]) =>
    names!.split(", ").map((name) => name.replaceAll("`", "")),
  );
  expect(rows.filter((name) => name !== "label")).toEqual([...EVIDENCE_LABELS]);
});

test("the paths and parameters of the client's requests are in /openapi.json", () => {
  const { paths } = JSON.parse(openApiJson("0.0.0"));
  const parametersOf = ({ parameters }: { parameters: { name: string }[] }) =>
    parameters.map(({ name }) => name);
  for (const [path, value] of [
    ["/v1/ip-intel/geolocate", "ip"],
    ["/v1/ip-intel/reputation", "ip"],
    ["/v1/user-intel/email", "email_address"],
  ] as const) {
    expect(parametersOf(paths[`${path}/{${value}}`].get)).toContain("include");
    expect(parametersOf(paths[path].post)).toContain("include");
  }
  expect(MX_OUTCOMES).toContain("found");
});
