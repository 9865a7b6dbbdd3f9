// effect.ts: what an override does: forces a flag, or mutes a feed.
//
// out  the effect; undefined with a problem where it would have none for such a target

import {
  FEED_SETS,
  type FeedReport,
  FLAGS_OF,
  nearest,
  OVERRIDE_FLAGS,
  type OverrideEffect,
  type OverrideKind,
} from "@inkling/engine";

/** A feed, as far as a mute concerns it. */
type MutableFeed = Pick<FeedReport, "id" | "sets" | "names">;

export interface EffectContext {
  /** The feeds of the release in use; undefined before the first release. */
  readonly feeds: readonly MutableFeed[] | undefined;
  /** Ids of all feeds of the catalog, where they are known: those not in `feeds` are not in use. */
  readonly everyFeed?: readonly string[];
  /** With it a mute that has no effect here is accepted, and reported: it may have one where it comes from. */
  readonly onMuteWithoutEffect?: (problem: string) => void;
}

interface EffectInput {
  readonly flag?: string | undefined;
  readonly verdict?: boolean | undefined;
  readonly mute?: string | undefined;
}

const { reputation, email } = FEED_SETS;
/** A hosting network alone sets no flag, nor whose network it is. */
const OF_NETWORKS = [...reputation.deciding, ...reputation.other].filter(
  (sets) => sets !== "hosting" && sets !== "network",
);

/** What a feed must set (`sets` of its row) for a mute of it to have an effect on each kind of value. */
const MUTABLE_SETS: Readonly<Record<OverrideKind, readonly string[]>> = {
  address: OF_NETWORKS,
  network: OF_NETWORKS,
  domain: [...email.deciding, ...email.other],
  email_hash: [],
};

/** @param problems gets a line for each thing that is wrong */
export function readEffect(
  { flag, verdict, mute }: EffectInput,
  kind: OverrideKind | undefined,
  context: EffectContext,
  problems: string[],
): OverrideEffect | undefined {
  if ((flag === undefined) === (mute === undefined)) {
    problems.push("override: give either flag (with verdict) or mute");
    return undefined;
  }
  if (mute !== undefined) return readMute(mute, kind, context, problems);
  return readFlag(flag ?? "", verdict, kind, problems); // one of the two is given
}

function readFlag(
  flag: string,
  verdict: boolean | undefined,
  kind: OverrideKind | undefined,
  problems: string[],
): OverrideEffect | undefined {
  const known = OVERRIDE_FLAGS.find((name) => name === flag);
  if (known === undefined) {
    problems.push(`flag: there is no flag "${flag}"${didYouMean(flag, OVERRIDE_FLAGS)}`);
  } else if (kind !== undefined && !FLAGS_OF[kind].includes(known)) {
    problems.push(`flag: ${known} is not a flag of ${KIND_WORDS[kind]}: use ${FLAGS_OF[kind].join(", ")}`);
  }
  if (verdict === undefined) problems.push("verdict: must be true or false");
  return known === undefined || verdict === undefined ? undefined : { type: "flag", flag: known, verdict };
}

function readMute(
  feed: string,
  kind: OverrideKind | undefined,
  { feeds, everyFeed = [], onMuteWithoutEffect }: EffectContext,
  problems: string[],
): OverrideEffect | undefined {
  const isAccepted = onMuteWithoutEffect !== undefined && kind !== "email_hash" && FEED_ID.test(feed);
  const refuse = (problem: string) => {
    if (isAccepted) onMuteWithoutEffect(`mute: ${problem}`);
    else problems.push(`mute: ${problem}`);
  };
  const known = feeds?.find(({ id }) => id === feed);
  const fitting = (feeds ?? []).filter((one) => kind === undefined || canMute(kind, one));
  const fittingIds = fitting.map(({ id }) => id);
  if (kind === "email_hash") refuse("no feed has email addresses; mute it for the domain");
  else if (feeds === undefined) refuse("there is no release yet, so its feeds are not known yet");
  else if (known === undefined && everyFeed.includes(feed)) {
    refuse(
      `${feed} is not in use; \`npx @inkling/cli feeds enable ${feed}\` turns it on, from the next build on`,
    );
  } else if (known === undefined) {
    refuse(`there is no feed "${feed}"${didYouMean(feed, fittingIds)}`);
  } else if (!fitting.includes(known)) {
    refuse(
      `${feed} is about ${subjectOf(known)}, so muting it for ${KIND_WORDS[kind!]} has no effect; ${fitting.length === 0 ? "no feed" : listed(fittingIds)} can be muted there`,
    );
  }
  return { type: "mute", feed };
}

const FEED_ID = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** `relay` is set for networks and for domains: `names` distinguishes them. */
function canMute(kind: OverrideKind, { sets, names }: MutableFeed): boolean {
  const isDomain = kind === "domain";
  return MUTABLE_SETS[kind].includes(sets) && (names === undefined || (names === "domains") === isDomain);
}

function subjectOf({ sets, names }: MutableFeed): string {
  if (sets === "relay") return names === "domains" ? "mail domains" : "addresses";
  return ABOUT[sets] ?? sets;
}

/** What feeds are about, where their `sets` is no flag of theirs. */
const ABOUT: Readonly<Record<string, string>> = {
  disposable: "mail domains",
  free: "mail domains",
  geolocation: "places, which have no overrides",
  registered_country: "places, which have no overrides",
  hosting: "data centres, which set no flag",
};

const KIND_WORDS: Readonly<Record<OverrideKind, string>> = {
  address: "an address",
  network: "a network",
  domain: "a domain",
  email_hash: "an email address",
};

/** The first of them, and how many more there are. */
function listed(words: readonly string[], most = 12): string {
  const more = words.length - most;
  return more > 0 ? `${words.slice(0, most).join(", ")} and ${more} more` : words.join(", ");
}

function didYouMean(word: string, known: readonly string[]): string {
  if (known.length === 0) return ": there are none";
  const near = nearest(word, known);
  return near === undefined ? `: there are ${listed(known)}` : `; did you mean ${near}?`;
}
