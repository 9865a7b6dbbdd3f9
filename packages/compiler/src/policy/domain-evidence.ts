// domain-evidence.ts: explains why a mail domain is disposable or not: the lists that contain it, the objections, and
// the weights.
//
// Cost: 0.2 s for 150,000 domains; domains with the same evidence share one array.
//
// A domain is disposable if and only if an entry sets the flag and no entry removes it.

import { cutSuffix, SPAN_NONE, walkUp } from "@inkling/engine";
import type { DomainClaims } from "../catalog/claims.ts";
import { type Doubt, MAIL_HOSTS } from "./domain-doubts.ts";
import { hasDisposableName, MAIL_HOST_WEIGHT, NAME_WEIGHT } from "./domain-weights.ts";
import { Credit, type DomainVerdicts, mayHaveMail, ownPath, sharedNames } from "./email.ts";
import type { EvidenceText } from "./evidence.ts";

type DomainEvidence = ReadonlyMap<string, readonly EvidenceText[]>;

/** The feed name in entries that come from Inkling itself rather than from a list. */
const OURS = "inkling";
const LABELS = { disposable: "disposable", free: "free_mail", relay: "relay" } as const;
type Listed = keyof typeof LABELS;
const FLAGS = ["disposable"];

const WHY = {
  noMail: "no mail can come from this domain",
  unconfirmed: "the list copies other lists, and no independent list confirms it",
  outvoted: "the lists that mark it as disposable outweigh this one",
  below: "it is under a disposable domain",
  above: "a relay is under it",
  name: "its name shows its purpose",
  shared: "names under it belong to unrelated people",
} as const;

/** One list's entry: the closest name on the path that the list contains. */
interface Listing {
  readonly claim: number;
  readonly labels: number;
  readonly weight: number;
}

/** @param claims the claims from which `verdicts` were derived */
export function domainEvidence(claims: readonly DomainClaims[], verdicts: DomainVerdicts): DomainEvidence {
  const evidence = new Map<string, readonly EvidenceText[]>();
  const ordered = claims
    .filter(({ subject }) => subject in LABELS)
    .toSorted((a, b) => (a.feed < b.feed ? -1 : 1));
  const shared = sharedNames(claims);
  const conflicts = verdicts.conflicts.map(({ domain }) => domain);
  const voted = new Set([...conflicts, ...verdicts.doubts.keys(), ...verdicts.byName]);
  const above = relayParents(ordered);
  const credit = new Credit(claims);
  const lists = new Map<string, readonly EvidenceText[]>();
  for (const { domains } of ordered) {
    for (const domain of domains.keys()) {
      if (evidence.has(domain)) continue;
      const cut = cutSuffix(domain);
      const up = walkUp(domain, cut);
      if (up.length === 0) continue; // a public suffix is never looked up
      const path = shared.has(domain) ? [domain] : ownPath(up, shared);
      const listings = findListings(ordered, path, up, credit);
      const facts: Facts = {
        disposable: path.some((name) => verdicts.disposable.has(name)),
        hasMail: mayHaveMail(domain, cut),
        relayBelow: above.get(domain),
        nameVoted: voted.has(domain) && hasDisposableName(path),
        isUnconfirmed: path.some((name) => verdicts.listed.has(name)),
        isBelow: path.slice(1).some((name) => verdicts.disposable.has(name)),
        sharedBy: shared.get(domain),
        doubts: (verdicts.doubts.get(domain) ?? []).map(doubtEntry),
        mailService: verdicts.confirmed.get(domain),
      };
      const key = JSON.stringify([listings, facts]); // most names on a list have the same
      let entries = lists.get(key);
      if (entries === undefined) {
        entries = entriesOf(listings, facts, ordered);
        lists.set(key, entries);
      }
      evidence.set(domain, entries);
    }
  }
  return evidence;
}

interface Facts {
  readonly disposable: boolean;
  readonly hasMail: boolean;
  /** The feed that lists a relay below the domain. */
  readonly relayBelow: string | undefined;
  /** Whether the lists that contain the domain weigh too little, although nothing counts against it. */
  readonly isUnconfirmed: boolean;
  /** Whether the domain's name took part in a vote. */
  readonly nameVoted: boolean;
  readonly isBelow: boolean;
  /** The feed according to which the names below the domain belong to different owners. */
  readonly sharedBy: string | undefined;
  readonly doubts: readonly DoubtEntry[];
  /** The disposable-email service that receives the domain's mail. */
  readonly mailService: string | undefined;
}

function entriesOf(
  listings: readonly Listing[],
  facts: Facts,
  claims: readonly DomainClaims[],
): EvidenceText[] {
  const subjectOf = (one: Listing) => claims[one.claim]!.subject as Listed;
  const isNamed = listings.some((one) => subjectOf(one) === "disposable");
  const whyVoid = facts.sharedBy !== undefined ? WHY.shared : facts.hasMail ? undefined : WHY.noMail;
  const isListed = isNamed && whyVoid === undefined;
  const isVote = isListed && (facts.doubts.length > 0 || listings.some((one) => subjectOf(one) === "free"));
  const isRelay = facts.relayBelow !== undefined || listings.some((one) => subjectOf(one) === "relay");
  const entries = listings.map((one): EvidenceText => {
    const { feed } = claims[one.claim]!;
    const subject = subjectOf(one);
    const entry = { feed, label: LABELS[subject], span: one.labels };
    const weight = isVote && !isRelay && subject !== "relay" ? { weight: one.weight } : {};
    if (subject === "disposable" && facts.isUnconfirmed && !facts.disposable && whyVoid === undefined) {
      return { ...entry, label: "listed", effect: "label", why: WHY.unconfirmed };
    }
    if (subject === "disposable") {
      return whyVoid === undefined
        ? { ...entry, effect: "sets", flags: FLAGS, ...weight }
        : { ...entry, effect: "label", why: whyVoid };
    }
    if (isListed && !facts.disposable && (subject === "relay" || !isRelay)) {
      return { ...entry, effect: "removes", flags: FLAGS, ...weight };
    }
    const isOverruled = subject === "free" && facts.disposable;
    return { ...entry, effect: "label", ...weight, ...(isOverruled && { why: whyOverruled(facts) }) };
  });
  if (isVote && !isRelay) entries.push(...facts.doubts.map((doubt) => doubtEffect(doubt, facts)));
  if (facts.sharedBy !== undefined && isNamed) {
    // The effect is not "removes", because a name below may use the mail host of a disposable-email service.
    entries.push({ feed: facts.sharedBy, label: "shared_domain", effect: "label", span: SPAN_NONE });
  }
  if (facts.nameVoted) {
    entries.push({
      feed: OURS,
      label: "name",
      effect: "sets",
      flags: FLAGS,
      weight: NAME_WEIGHT,
      why: WHY.name,
      span: SPAN_NONE,
    });
  }
  if (facts.mailService !== undefined && isListed && !isRelay) {
    const entry = { feed: MAIL_HOSTS, label: "mail_host", span: SPAN_NONE };
    const why = `its mail goes to ${facts.mailService}`;
    const effect = facts.disposable
      ? { effect: "sets" as const, flags: FLAGS }
      : { effect: "label" as const };
    entries.push({ ...entry, ...effect, ...(isVote && { weight: MAIL_HOST_WEIGHT }), why });
  }
  if (facts.relayBelow !== undefined && isListed) {
    const entry = { feed: facts.relayBelow, label: LABELS.relay, span: SPAN_NONE };
    entries.push({ ...entry, effect: "removes", flags: FLAGS, why: WHY.above });
  }
  return entries;
}

type DoubtEntry = Omit<EvidenceText, "effect">;

const doubtEntry = ({ feed, label, weight, name, why }: Doubt): DoubtEntry => ({
  ...{ feed: name === undefined ? OURS : feed, label, weight },
  span: name === undefined ? SPAN_NONE : labelsOf(name),
  ...(why !== undefined && { why }),
});

const doubtEffect = (doubt: DoubtEntry, facts: Facts): EvidenceText =>
  facts.disposable
    ? { ...doubt, effect: "label", why: whyOverruled(facts) }
    : { ...doubt, effect: "removes", flags: FLAGS };

const whyOverruled = (facts: Facts) => (facts.isBelow ? WHY.below : WHY.outvoted);

/**
 * @param up names up to the registrable domain, including those of other owners. A relay list counts if it contains any
 *   of these names
 */
function findListings(
  claims: readonly DomainClaims[],
  path: readonly string[],
  up: readonly string[],
  credit: Credit,
): Listing[] {
  const listings: Listing[] = [];
  for (let claim = 0; claim < claims.length; claim++) {
    const one = claims[claim]!;
    const name = (one.subject === "relay" ? up : path).find((name) => one.domains.has(name));
    if (name !== undefined)
      listings.push({ claim, labels: labelsOf(name), weight: credit.weightOf(one, path) });
  }
  return listings;
}

function labelsOf(name: string): number {
  let labels = 1;
  for (let at = name.indexOf("."); at >= 0; at = name.indexOf(".", at + 1)) labels++;
  return labels;
}

/** Maps each parent of a relay to the first feed that contains a relay below it. */
function relayParents(claims: readonly DomainClaims[]): ReadonlyMap<string, string> {
  const parents = new Map<string, string>();
  for (const { feed, subject, domains } of claims) {
    if (subject !== "relay") continue;
    for (const name of domains.keys()) {
      for (const parent of walkUp(name).slice(1)) if (!parents.has(parent)) parents.set(parent, feed);
    }
  }
  return parents;
}
