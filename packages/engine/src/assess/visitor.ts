// visitor.ts: what a caller sends about a visitor -> the answers of the lookups -> the facts of an assessment.
//
// in   an AssessmentInput that readAssessmentInput accepted; a release and overrides
// out  facts, in the order of the ruleset's schema
// err  a LookupFailure if the address cannot be looked up, or if there is no release
// cost three lookups and the parsing of their answers; texts are at most MAX_USER_AGENT long

import {
  type CountFact,
  CRAWLERS,
  type CrawlerCheck,
  DEGRADED_DATA,
  type DegradedData,
  type EmailVerdict,
  type FactName,
  type Geolocation,
  type Reputation,
  type VisitorInput,
} from "@inkling/contract";
import { z } from "zod";
import type { UnwrappedAddress } from "../address/ip.ts";
import { parseEmail } from "../email/email.ts";
import { nearest } from "../email/email-labels.ts";
import { type Answerer, type AnswerSource, bodyOf, INCLUDE, type Outcome } from "../lookup/answerer.ts";
import type { IpLookup, Lookup } from "../lookup/data-state.ts";
import { type LookupFailure, NO_RELEASE } from "../lookup/failure.ts";
import { networkText } from "../lookup/opt-ins.ts";
import { issueLines } from "../text/issue-lines.ts";
import { FACT_INDEX, type FactSchema, type Facts, type FactValue, isOfType } from "./facts.ts";

const MAX_USER_AGENT = 2_048;
const MAX_FACTS = 32;
const EARTH_RADIUS_KM = 6_371;
const HOUR_MS = 3_600_000;
/** Two requests closer than this are one moment: clocks differ, and phones change networks. */
const MIN_HOURS = 1 / 60;

const text = (most: number) =>
  z.string("must be a string").min(1, "must not be empty").max(most, `at most ${most} characters`);
const degrees = (most: number) => {
  const range = `must be a number from -${most} to ${most}`;
  return z.number(range).min(-most, range).max(most, range);
};

const RADIUS = "must be a number of kilometres from 0 to 20000";
const PREVIOUS = z.strictObject({
  latitude: degrees(90),
  longitude: degrees(180),
  accuracy_radius: z.number(RADIUS).min(0, RADIUS).max(20_000, RADIUS).optional(),
  at: z.iso.datetime({ offset: true, error: "must be a time such as 2026-11-23T09:00:00Z" }),
});
const COUNTRY = "must be an ISO 3166-1 alpha-2 code such as DE";
const INPUT = z
  .strictObject(
    {
      event: z
        .string("is required")
        .regex(
          /^[a-z0-9][a-z0-9_.-]{0,63}$/,
          "must be a word such as sign_up: at most 64 of a-z, 0-9, and _ . - after the first",
        ),
      ip: text(64).optional(),
      email: text(1_024).optional(),
      user_agent: text(MAX_USER_AGENT).optional(),
      ref: text(128)
        .regex(/^\P{Cc}*$/u, "must not have control characters")
        .optional(),
      expected_country: z
        .string(COUNTRY)
        .regex(/^[A-Z]{2}$/, COUNTRY)
        .optional(),
      previous: PREVIOUS.optional(),
      facts: z
        .record(
          z.string(),
          z.union(
            [text(256), z.number(), z.boolean(), z.array(text(256)).max(32)],
            "must be a string, a number, true, false or a list of strings",
          ),
        )
        .refine((facts) => Object.keys(facts).length <= MAX_FACTS, `at most ${MAX_FACTS} facts`)
        .optional(),
    },
    { error: ({ code }) => (code === "invalid_type" ? "must be a JSON object" : undefined) },
  )
  .refine(({ ip, email }) => ip !== undefined || email !== undefined, "ip or email is required");

/** The rows of the contract describe the same members. */
type Described<T extends VisitorInput> = T;
export type AssessmentInput = Described<z.output<typeof INPUT>>;

/**
 * Reads what a caller sent.
 * @param schema of the ruleset in force, which declares what `facts` may have
 * @returns an input, or a line for each thing that is wrong with it
 */
export function readAssessmentInput(value: unknown, schema: FactSchema): AssessmentInput | readonly string[] {
  const parsed = INPUT.safeParse(value);
  if (!parsed.success)
    return [...unknownMembers(parsed.error), ...issueLines(known(parsed.error), "the body", 2)];
  const { facts = {} } = parsed.data;
  const wrong = Object.entries(facts).flatMap(([name, sent]) => {
    const type = Object.hasOwn(schema.declared, name) ? schema.declared[name]! : undefined;
    if (type === undefined)
      return [
        `facts: the ruleset declares no fact ${quoted(name)}; declare it under [facts] and publish the ruleset`,
      ];
    return isOfType(sent, type) ? [] : [`facts.${name}: must be of the type ${type}`];
  });
  return wrong.length > 0 ? wrong : parsed.data;
}

/** A name that may be repeated to the caller: longer ones, and odd ones, may be an address or a key in the wrong place. */
const PLAIN_NAME = /^[A-Za-z_][\w-]{0,31}$/;
const quoted = (name: string) => (PLAIN_NAME.test(name) ? `"${name}"` : "with an odd name");

const known = (error: z.ZodError): z.ZodError =>
  new z.ZodError(error.issues.filter(({ code }) => code !== "unrecognized_keys"));

function unknownMembers({ issues }: z.ZodError): string[] {
  return issues.flatMap((issue) => {
    if (issue.code !== "unrecognized_keys") return [];
    const inPrevious = issue.path[0] === "previous";
    const members = Object.keys(inPrevious ? PREVIOUS.shape : INPUT.shape);
    return issue.keys.map((key) => {
      const near = nearest(key.slice(0, 64), members);
      return `${inPrevious ? "previous: " : ""}unknown member ${quoted(key)}${near === undefined ? "" : `, did you mean "${near}"?`}`;
    });
  });
}

/** What the lookups answer about a visitor. */
export interface VisitorAnswers {
  /** Undefined: no address was sent. */
  readonly address?: UnwrappedAddress | undefined;
  /** Undefined where nothing is known of its place. */
  readonly place?: Geolocation | undefined;
  /** With `include=network`. */
  readonly reputation?: Reputation | undefined;
  /** With `include=evidence`. */
  readonly email?: EmailVerdict | undefined;
  /** Where the ruleset counts. */
  readonly counts?: Readonly<Partial<Record<CountFact, number>>> | undefined;
  readonly degraded: readonly DegradedData[];
  /** Does the release have the ranges of this feed? */
  readonly hasFeed: (id: string) => boolean;
}

/** What is to be looked up about a visitor. */
export interface VisitorSubject {
  /** Undefined: no address was sent. */
  readonly address: UnwrappedAddress | undefined;
  /** Undefined: no email address was sent. */
  readonly email: string | undefined;
}

/**
 * Looks up a visitor. Data that the release lacks leaves its answer out and is listed in `degraded`.
 * @param withEvidence also of the address; an email address always has its evidence, which facts derive from
 * @param parse reads UTF-8 JSON: runtimes decode it faster than code that knows no runtime
 * @returns a failure for a special-use address, or without a release
 */
export function lookUpVisitor(
  answerer: Answerer,
  { address, email }: VisitorSubject,
  source: AnswerSource,
  withEvidence: boolean,
  parse: (body: Uint8Array) => unknown,
): VisitorAnswers | LookupFailure {
  const { release } = source;
  if (release === undefined) return NO_RELEASE;
  const whatThereIs: AnswerSource = { ...source, mode: "up" };
  const evidence = withEvidence ? INCLUDE.evidence : 0;
  const ofAddress = (lookup: IpLookup, include: number) =>
    address && answerer.answerAddress(lookup, address, whatThereIs, include);
  const place = ofAddress("geolocate", evidence);
  if (place !== undefined && "reason" in place && place.reason === "reserved") return place;
  const reputation = ofAddress("reputation", evidence | INCLUDE.network);
  const verdict = email === undefined ? undefined : answerer.answerEmail(email, whatThereIs, true);
  // The segments hold answers of these shapes.
  const read = <T>(outcome: Outcome | undefined) =>
    outcome === undefined || "reason" in outcome ? undefined : (parse(bodyOf(outcome)) as T);
  const lookups: Lookup[] = [
    ...(address === undefined ? [] : (["geolocate", "reputation"] as const)),
    ...(email === undefined ? [] : (["email"] as const)),
  ];
  const missing = new Set<string>(lookups.flatMap((lookup) => release.states[lookup].missing));
  if (address !== undefined && release.network === undefined) missing.add("network");
  return {
    address,
    place: read<Geolocation>(place),
    reputation: read<Reputation>(reputation),
    email: read<EmailVerdict>(verdict),
    degraded: DEGRADED_DATA.filter((data) => missing.has(data)),
    hasFeed: (id) => release.manifest.feeds.some((feed) => feed.id === id && feed.state === "loaded"),
  };
}

/** @param now epoch ms */
export function visitorFacts(
  input: AssessmentInput,
  answers: VisitorAnswers,
  schema: FactSchema,
  now: number,
): Facts {
  const facts = schema.empty();
  const set = (name: FactName, value: FactValue | undefined) => {
    const { data } = schema.fields[FACT_INDEX[name]]!;
    if (data === undefined || !answers.degraded.includes(data)) facts[FACT_INDEX[name]] = value;
  };
  set("event", input.event);
  set("user_agent", input.user_agent);
  set("expected_country", input.expected_country);
  setAddress(set, input, answers);
  setPlace(set, input, answers, now);
  setEmail(set, input, answers);
  for (const [name, count] of Object.entries(answers.counts ?? {})) set(name as CountFact, count);
  for (const [name, value] of Object.entries(input.facts ?? {})) {
    const field = schema.find(`facts.${name}`);
    if (field !== undefined) facts[field.index] = value;
  }
  return facts;
}

type Set = (name: FactName, value: FactValue | undefined) => void;

function setAddress(
  set: Set,
  input: AssessmentInput,
  { address, reputation, hasFeed }: VisitorAnswers,
): void {
  if (address !== undefined) set("ip.network", networkText(address, address.family === 4 ? 24 : 48));
  if (reputation === undefined) return;
  set("ip.is_abuser", reputation.is_abuser);
  set("ip.is_proxy", reputation.is_proxy);
  set("ip.is_tor_exit", reputation.is_tor_exit);
  const { network } = reputation;
  const claim = claimedCrawler(input.user_agent);
  if (claim !== undefined) {
    const isPublished = network?.operator === claim.operator && network.services.includes("crawler");
    const isKnown = network && claim.feed !== undefined && hasFeed(claim.feed);
    const check: CrawlerCheck = isPublished ? "verified" : isKnown ? "forged" : "unverifiable";
    set("ip.crawler", claim.operator);
    set("ip.crawler_check", check);
  }
  if (!network) return;
  set("ip.kind", network.kind);
  set("ip.shared", network.shared);
  set("ip.services", network.services);
  set("ip.operator", network.operator);
  set("ip.asn", network.asn);
  set("ip.organization", network.organization);
}

function claimedCrawler(userAgent: string | undefined): (typeof CRAWLERS)[number] | undefined {
  if (userAgent === undefined) return undefined;
  const lower = userAgent.toLowerCase();
  return CRAWLERS.find(({ token }) => lower.includes(token));
}

function setPlace(set: Set, { previous }: AssessmentInput, { place }: VisitorAnswers, now: number): void {
  if (place === undefined) return;
  const { latitude, longitude, accuracy_radius: radius, time_zone: zone } = place.location;
  set("ip.country", place.country.iso_code);
  set("ip.registered_country", place.registered_country.iso_code);
  set("ip.continent", place.continent.code);
  set("ip.subdivision", place.subdivisions[0]?.iso_code);
  set("ip.city", place.city.name);
  set("ip.time_zone", zone);
  set("ip.latitude", latitude);
  set("ip.longitude", longitude);
  set("ip.accuracy_radius", radius);
  if (previous === undefined || latitude === undefined || longitude === undefined || radius === undefined)
    return;
  const slack = radius + (previous.accuracy_radius ?? radius);
  const distance = Math.max(0, distanceKm(previous, { latitude, longitude }) - slack);
  const hours = Math.max(MIN_HOURS, (now - Date.parse(previous.at)) / HOUR_MS);
  set("ip.distance", distance);
  set("ip.speed", distance / hours);
}

interface Point {
  readonly latitude: number;
  readonly longitude: number;
}

/** Along a great circle, by the haversine formula. */
function distanceKm(a: Point, b: Point): number {
  const radians = (value: number) => (value * Math.PI) / 180;
  const half = (from: number, to: number) => Math.sin(radians(to - from) / 2) ** 2;
  const parallels = Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude));
  const chord = half(a.latitude, b.latitude) + parallels * half(a.longitude, b.longitude);
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(chord)));
}

function setEmail(set: Set, { email: sent }: AssessmentInput, { email }: VisitorAnswers): void {
  if (sent === undefined || email === undefined) return;
  const labels = new Set(email.evidence?.map(({ label }) => label));
  set("email.domain", parseEmail(sent).host);
  set("email.valid", email.valid);
  const ofDomain = domainFacts(email);
  for (const name of DOMAIN_FACTS) set(name, ofDomain[name]);
  set("email.mistyped", labels.has("mistyped"));
  set("email.confusable", labels.has("confusable"));
  set("email.role_account", labels.has("role_account"));
  set("email.alias", labels.has("alias"));
}

/** What data says of the domain of an email address. */
export const DOMAIN_FACTS = [
  "email.disposable",
  "email.providers",
  "email.listed",
  "email.relay",
  "email.free_mail",
] as const satisfies readonly FactName[];

/** @param verdict with its evidence */
export function domainFacts(
  verdict: EmailVerdict,
): Readonly<Record<(typeof DOMAIN_FACTS)[number], FactValue>> {
  const has = (label: string) => verdict.evidence?.some((entry) => entry.label === label) ?? false;
  return {
    "email.disposable": verdict.disposable,
    "email.providers": verdict.providers,
    "email.listed": has("listed"),
    "email.relay": has("relay"),
    "email.free_mail": has("free_mail"),
  };
}
