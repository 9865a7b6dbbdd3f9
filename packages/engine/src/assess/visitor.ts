// visitor.ts: looks up the visitor that a caller describes, and turns input and answers into the facts of a
// decision.
//
// Cost: three lookups and the parsing of their answers; no text is longer than MAX_USER_AGENT.

import {
  type CountFact,
  CRAWLERS,
  type CrawlerCheck,
  DEGRADED_DATA,
  type DecisionAnswer,
  type DegradedData,
  type EmailVerdict,
  type FactName,
  flagFact,
  type Geolocation,
  REPUTATION_FLAGS,
  type Reputation,
  type ReputationFlag,
  type VisitorInput,
} from "@inkling/contract";
import { z } from "zod";
import { type UnwrappedAddress, visitorNetwork } from "../address/ip.ts";
import { parseEmail } from "../email/email.ts";
import { nearest, suggestAddress, suggestDomain } from "../email/email-labels.ts";
import { type Answerer, type AnswerSource, bodyOf, type Outcome } from "../lookup/answerer.ts";
import type { IpLookup, LoadedRelease } from "../lookup/data-state.ts";
import { type LookupFailure, NO_RELEASE } from "../lookup/failure.ts";
import { emailLabels, INCLUDE } from "../lookup/opt-ins.ts";
import { bitsOfAnswer, REPUTATIONS } from "../overrides/reputation-flags.ts";
import { isCountryCode, notCountry } from "../text/countries.ts";
import { issueLines, whyUncheckable } from "../text/issues.ts";
import {
  FACT_INDEX,
  type FactSchema,
  type Facts,
  type FactValue,
  isOfType,
  MAX_LIST,
  MAX_USER_AGENT,
} from "./facts.ts";

const MAX_FACTS = 32;
const MAX_FACT_TEXT = 256;
/** Maximum number of values in a visitor: 32 facts, each with the longest list, and the other fields. */
const MAX_VALUES = MAX_FACTS * (MAX_LIST + 1) + 20;
/** Maximum number of mistakes to report. */
const MAX_MISTAKES = 10;
const EARTH_RADIUS_KM = 6_371;
const HOUR_MS = 3_600_000;
/** Requests less than a minute apart count as a minute apart, because clocks differ and phones change networks. */
const MIN_HOURS = 1 / 60;

const text = (most: number) =>
  z.string("must be a string").min(1, "must not be empty").max(most, `at most ${most} characters`);
const id = text(128).regex(/^\P{Cc}*$/u, "must not contain control characters");
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
const isFactText = (value: unknown) =>
  typeof value === "string" && value.length > 0 && value.length <= MAX_FACT_TEXT;
const isFactValue = (value: unknown) =>
  Number.isFinite(value) ||
  typeof value === "boolean" ||
  isFactText(value) ||
  (Array.isArray(value) && value.length <= MAX_LIST && value.every(isFactText));
const FACT_VALUE = "must be a string, a number, true, false or a list of strings";
const INPUT = z
  .strictObject(
    {
      event: z
        .string("is required")
        .regex(
          /^[a-z0-9][a-z0-9_.-]{0,63}$/,
          "must be a word such as sign_up: up to 64 characters a-z, 0-9, _ . and -, starting with a letter or digit",
        ),
      ip: text(64).optional(),
      email: text(1_024).optional(),
      user_agent: text(MAX_USER_AGENT).optional(),
      account: id.optional(),
      ref: id.optional(),
      expected_country: z
        .custom<string>((value) => typeof value === "string" && isCountryCode(value), {
          error: ({ input }) => notCountry(typeof input === "string" ? input : ""),
        })
        .optional(),
      previous: PREVIOUS.optional(),
      facts: z.record(z.string(), z.custom<FactValue>(isFactValue, FACT_VALUE)).optional(),
    },
    { error: ({ code }) => (code === "invalid_type" ? "must be a JSON object" : undefined) },
  )
  .refine(({ ip, email }) => ip !== undefined || email !== undefined, {
    error: "ip or email is required",
    when: ({ value }) => typeof value === "object" && value !== null && !Array.isArray(value), // also if other fields are wrong
  });

/** Checks that the contract's `VisitorInput` describes the same fields. */
type Described<T extends VisitorInput> = T;
export type DecisionInput = Described<z.output<typeof INPUT>>;

/**
 * Checks what a caller sent.
 * @param schema the schema of the active ruleset, which declares the fields of `facts`
 * @returns the input, or one line for each of the first MAX_MISTAKES mistakes in it
 */
export function readDecisionInput(value: unknown, schema: FactSchema): DecisionInput | readonly string[] {
  if (hasTooManyFacts(value)) return [`facts: at most ${MAX_FACTS} facts`];
  const why = whyUncheckable(value, MAX_VALUES);
  if (why !== undefined) return [`the body: ${why}`];
  const parsed = INPUT.safeParse(value);
  if (!parsed.success) {
    const { issues } = parsed.error;
    const known = new z.ZodError(issues.filter(({ code }) => code !== "unrecognized_keys"));
    return [...unknownFields(issues), ...issueLines(known, "the body", undefined, 2)].slice(0, MAX_MISTAKES);
  }
  const { facts = {} } = parsed.data;
  const wrong = Object.entries(facts).flatMap(([name, sent]) => {
    const type = Object.hasOwn(schema.declared, name) ? schema.declared[name]! : undefined;
    if (type === undefined) {
      const near = nearest(name.slice(0, 64), Object.keys(schema.declared));
      const hint = near === undefined ? "declare it under [facts] and publish the ruleset" : meant(near);
      return [`facts: the ruleset declares no fact ${quoted(name)}; ${hint}`];
    }
    return isOfType(sent, type) ? [] : [`facts.${name}: must have the type ${type}`];
  });
  return wrong.length > 0 ? wrong.slice(0, MAX_MISTAKES) : parsed.data;
}

function hasTooManyFacts(value: unknown): boolean {
  const { facts } = Object(value) as { readonly facts?: unknown };
  return typeof facts === "object" && facts !== null && Object.keys(facts).length > MAX_FACTS;
}

/** Names that are safe to repeat to the caller. Any other name may be a misplaced address or key. */
const PLAIN_NAME = /^[A-Za-z_][\w-]{0,31}$/;
const quoted = (name: string) => (PLAIN_NAME.test(name) ? `"${name}"` : "with an invalid name");

const meant = (name: string) => `did you mean "${name}"?`;

function unknownFields(issues: readonly z.core.$ZodIssue[]): string[] {
  return issues.flatMap((issue) => {
    if (issue.code !== "unrecognized_keys") return [];
    const inPrevious = issue.path[0] === "previous";
    const fields = Object.keys(inPrevious ? PREVIOUS.shape : INPUT.shape);
    return issue.keys.slice(0, MAX_MISTAKES).map((key) => {
      const near = nearest(key.slice(0, 64), fields);
      return `${inPrevious ? "previous: " : ""}unknown field ${quoted(key)}${near === undefined ? "" : `, ${meant(near)}`}`;
    });
  });
}

type Network = NonNullable<Reputation["network"]>;

/** What the lookups find about a visitor. */
export interface VisitorAnswers {
  /** Undefined if no address was sent. */
  readonly address?: UnwrappedAddress | undefined;
  /** Undefined if the location is unknown. */
  readonly place?: Geolocation | undefined;
  /** Undefined if no address was sent, or if the release lacks the segment. */
  readonly reputation?: Readonly<Record<ReputationFlag, boolean>> | undefined;
  /** Undefined if the release has no data about the network. */
  readonly network?: Omit<Network, "prefix"> | undefined;
  /** The host of the email address, as lower-case A-labels; undefined if no domain can be read. */
  readonly host?: string | undefined;
  readonly email?: EmailVerdict | undefined;
  /** Labels of the email address. */
  readonly labels?: readonly string[] | undefined;
  /** The email address that the visitor probably meant, if the address looks mistyped. */
  readonly didYouMean?: string | undefined;
  /** Set only if the ruleset's conditions read counts. */
  readonly counts?: Readonly<Partial<Record<CountFact, number>>> | undefined;
  readonly degraded: readonly DegradedData[];
  /** Returns whether the release contains the ranges of this feed. */
  readonly hasFeed: (id: string) => boolean;
}

/**
 * The answers to a visitor's lookups, with their evidence. `reputation` has the fields of `include=network`. An answer
 * is absent if there is none.
 */
export type ExplainedAnswers = Pick<DecisionAnswer, "ip" | "email">;

/** The addresses to look up for a visitor. */
export interface VisitorSubject {
  /** Undefined if no address was sent. */
  readonly address: UnwrappedAddress | undefined;
  /** Undefined if no email address was sent. */
  readonly email: string | undefined;
}

/** Parses UTF-8 JSON. The caller provides it because a runtime's own decoder is faster. */
export type Parse = (body: Uint8Array) => unknown;

/**
 * Looks up a visitor. If the release lacks data, `degraded` lists the data. If the release lacks a whole segment, the
 * answer from that segment is omitted.
 * @returns what a decision reads; a failure for a special-use address, or if there is no release
 */
export function lookUpVisitor(
  answerer: Answerer,
  { address, email }: VisitorSubject,
  source: AnswerSource,
  parse: Parse,
): VisitorAnswers | LookupFailure {
  const { release } = source;
  if (release === undefined) return NO_RELEASE;
  const available = availableIn(source);
  const place = address && answerer.answerAddress("geolocate", address, available);
  if (place !== undefined && "reason" in place && place.reason === "reserved") return place;
  const reputation = bodyIn(address && answerer.answerAddress("reputation", address, available));
  const network = address && release.network?.lookup(address);
  const mailbox = email === undefined ? undefined : parseEmail(email);
  const labels = mailbox && emailLabels(email!, mailbox, release); // there is a mailbox only if an email address was sent
  const meant = labels?.includes("mistyped") ? suggestDomain(mailbox!.host!) : undefined;
  return {
    address,
    // The segments' answers have these shapes.
    place: read<Geolocation>(place, parse),
    reputation: reputation && REPUTATIONS[bitsOfAnswer(reputation)],
    network: network && (parse(network) as Omit<Network, "prefix">),
    host: mailbox?.host,
    email:
      email === undefined ? undefined : read<EmailVerdict>(answerer.answerEmail(email, available), parse),
    labels,
    didYouMean: mailbox && suggestAddress(email!, mailbox, meant),
    degraded: degradedData(release, { address, email }),
    hasFeed: (id) => release.manifest.feeds.some((feed) => feed.id === id && feed.state === "loaded"),
  };
}

/** Looks up a visitor again, with the evidence for each answer. */
export function explainVisitor(
  answerer: Answerer,
  { address, email }: VisitorSubject,
  source: AnswerSource,
  parse: Parse,
): ExplainedAnswers {
  const available = availableIn(source);
  const answerAbout = <T>(lookup: IpLookup, include: number) =>
    read<T>(address && answerer.answerAddress(lookup, address, available, include), parse);
  const geolocate = answerAbout<Geolocation>("geolocate", INCLUDE.evidence);
  const reputation = answerAbout<Reputation>("reputation", INCLUDE.evidence | INCLUDE.network);
  const verdict =
    email === undefined ? undefined : read<EmailVerdict>(answerer.answerEmail(email, available, true), parse);
  return {
    ...(address !== undefined && {
      ip: { ...(geolocate !== undefined && { geolocate }), ...(reputation !== undefined && { reputation }) },
    }),
    ...(verdict !== undefined && { email: verdict }),
  };
}

const availableIn = ({ release, overrides, now }: AnswerSource): AnswerSource => ({
  release,
  overrides,
  now,
  allowMissing: true,
});

const bodyIn = (outcome: Outcome | undefined): Uint8Array | undefined =>
  outcome === undefined || "reason" in outcome ? undefined : bodyOf(outcome);

function read<T>(outcome: Outcome | undefined, parse: Parse): T | undefined {
  const body = bodyIn(outcome);
  return body && (parse(body) as T);
}

function degradedData(release: LoadedRelease, { address, email }: VisitorSubject): readonly DegradedData[] {
  const { geolocate, reputation, email: ofEmail } = release.states;
  const missing: string[] = [];
  if (address !== undefined) missing.push(...geolocate.missing, ...reputation.missing);
  if (address !== undefined && release.network === undefined) missing.push("network");
  if (email !== undefined) missing.push(...ofEmail.missing);
  return missing.length === 0 ? [] : DEGRADED_DATA.filter((data) => missing.includes(data));
}

/** @param now epoch ms */
export function visitorFacts(
  input: DecisionInput,
  answers: VisitorAnswers,
  schema: FactSchema,
  now: number,
): Facts {
  const facts = schema.empty();
  facts[FACT_INDEX.event] = input.event;
  facts[FACT_INDEX.user_agent] = input.user_agent;
  facts[FACT_INDEX.expected_country] = input.expected_country;
  setAddress(facts, input, answers);
  setPlace(facts, input, answers, now);
  setEmail(facts, answers);
  for (const [name, count] of Object.entries(answers.counts ?? {}))
    facts[FACT_INDEX[name as CountFact]] = count;
  if (answers.degraded.length > 0) dropDegraded(facts, schema, answers.degraded);
  for (const [name, value] of Object.entries(input.facts ?? {})) {
    const field = schema.find(`facts.${name}`);
    if (field !== undefined) facts[field.index] = value;
  }
  return facts;
}

/** Makes facts unknown if the release lacks their data. */
function dropDegraded(facts: OpenFacts, { fields }: FactSchema, degraded: readonly DegradedData[]): void {
  for (const { index, data } of fields)
    if (data !== undefined && degraded.includes(data)) facts[index] = undefined;
}

/** Facts while they are being collected. */
type OpenFacts = (FactValue | undefined)[];

function setAddress(
  facts: OpenFacts,
  input: DecisionInput,
  { address, reputation, network, hasFeed }: VisitorAnswers,
): void {
  if (address !== undefined) facts[FACT_INDEX["ip.network"]] = visitorNetwork(address);
  if (reputation === undefined) return;
  for (const flag of REPUTATION_FLAGS) facts[FACT_INDEX[flagFact(flag)]] = reputation[flag];
  const claim = claimedCrawler(input.user_agent);
  if (claim !== undefined) {
    facts[FACT_INDEX["ip.crawler"]] = claim.operator;
    facts[FACT_INDEX["ip.crawler_check"]] = checkCrawler(claim, network, hasFeed);
  }
  if (network === undefined) return;
  facts[FACT_INDEX["ip.kind"]] = network.kind;
  facts[FACT_INDEX["ip.shared"]] = network.shared;
  facts[FACT_INDEX["ip.services"]] = network.services;
  facts[FACT_INDEX["ip.operator"]] = network.operator;
  facts[FACT_INDEX["ip.asn"]] = network.asn;
  facts[FACT_INDEX["ip.organization"]] = network.organization;
}

/** Some operators publish only all of their networks. An address there proves nothing, but one elsewhere is forged. */
function checkCrawler(
  { operator, feed }: (typeof CRAWLERS)[number],
  network: VisitorAnswers["network"],
  hasFeed: VisitorAnswers["hasFeed"],
): CrawlerCheck {
  if (network?.operator === operator)
    return network.services.includes("crawler") ? "verified" : "unverifiable";
  return network !== undefined && feed !== undefined && hasFeed(feed) ? "forged" : "unverifiable";
}

function claimedCrawler(userAgent: string | undefined): (typeof CRAWLERS)[number] | undefined {
  if (userAgent === undefined) return undefined;
  const lower = userAgent.toLowerCase();
  return CRAWLERS.find(({ token }) => lower.includes(token));
}

function setPlace(
  facts: OpenFacts,
  { previous }: DecisionInput,
  { place }: VisitorAnswers,
  now: number,
): void {
  if (place === undefined) return;
  const { latitude, longitude, accuracy_radius: radius, time_zone: zone } = place.location;
  facts[FACT_INDEX["ip.country"]] = place.country.iso_code;
  facts[FACT_INDEX["ip.registered_country"]] = place.registered_country.iso_code;
  facts[FACT_INDEX["ip.continent"]] = place.continent.code;
  facts[FACT_INDEX["ip.subdivision"]] = place.subdivisions[0]?.iso_code;
  facts[FACT_INDEX["ip.city"]] = place.city.name;
  facts[FACT_INDEX["ip.time_zone"]] = zone;
  facts[FACT_INDEX["ip.latitude"]] = latitude;
  facts[FACT_INDEX["ip.longitude"]] = longitude;
  facts[FACT_INDEX["ip.accuracy_radius"]] = radius;
  if (previous === undefined || latitude === undefined || longitude === undefined || radius === undefined)
    return;
  const slack = radius + (previous.accuracy_radius ?? radius);
  const distance = Math.max(0, distanceKm(previous, { latitude, longitude }) - slack);
  const hours = Math.max(MIN_HOURS, (now - Date.parse(previous.at)) / HOUR_MS);
  facts[FACT_INDEX["ip.distance"]] = distance;
  facts[FACT_INDEX["ip.speed"]] = distance / hours;
}

interface Point {
  readonly latitude: number;
  readonly longitude: number;
}

/** Returns the great-circle distance in kilometres, by the haversine formula. */
function distanceKm(a: Point, b: Point): number {
  const radians = (value: number) => (value * Math.PI) / 180;
  const half = (from: number, to: number) => Math.sin(radians(to - from) / 2) ** 2;
  const parallels = Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude));
  const chord = half(a.latitude, b.latitude) + parallels * half(a.longitude, b.longitude);
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(chord)));
}

function setEmail(facts: OpenFacts, { host, email, labels = [] }: VisitorAnswers): void {
  if (email === undefined) return;
  facts[FACT_INDEX["email.domain"]] = host;
  facts[FACT_INDEX["email.valid"]] = email.valid;
  const ofDomain = domainFacts(email, labels);
  for (const name of DOMAIN_FACTS) facts[FACT_INDEX[name]] = ofDomain[name];
  facts[FACT_INDEX["email.mistyped"]] = labels.includes("mistyped");
  facts[FACT_INDEX["email.confusable"]] = labels.includes("confusable");
  facts[FACT_INDEX["email.role_account"]] = labels.includes("role_account");
  facts[FACT_INDEX["email.alias"]] = labels.includes("alias");
}

/** The facts that data provides about the domain of an email address. */
export const DOMAIN_FACTS = [
  "email.disposable",
  "email.providers",
  "email.listed",
  "email.relay",
  "email.free_mail",
] as const satisfies readonly FactName[];

/** @param labels the labels in the verdict's evidence */
export function domainFacts(
  verdict: EmailVerdict,
  labels: readonly string[],
): Readonly<Record<(typeof DOMAIN_FACTS)[number], FactValue>> {
  return {
    "email.disposable": verdict.disposable,
    "email.providers": verdict.providers,
    "email.listed": labels.includes("listed"),
    "email.relay": labels.includes("relay"),
    "email.free_mail": labels.includes("free_mail"),
  };
}
