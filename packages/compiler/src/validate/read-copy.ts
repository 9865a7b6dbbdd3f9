// read-copy.ts: reads the content of one copy of a feed, and applies the gates that need no other copy.

import { setsOfLabel } from "@inkling/contract";
import {
  ADDRESS_FLAGS,
  cutSuffix,
  type FeedReport,
  type Prefix,
  type Release,
  type Space,
} from "@inkling/engine";
import type {
  DomainClaims,
  DomainSubject,
  KindClaims,
  NetworkClaims,
  NetworkLabel,
  NetworkSubject,
} from "../catalog/claims.ts";
import { type Feed, FeedError } from "../catalog/feed.ts";
import type { FeedCopy } from "../fetch/copy.ts";
import {
  openCountries,
  openPlaces,
  type PlaceSource,
  type RegisteredCountries,
  registeredFromList,
} from "../geo/place-source.ts";
import { readAnonymous } from "../parse/anonymous-ip.ts";
import { type AsnNetworks, readAsnCsv, readAsnMmdb } from "../parse/asn.ts";
import type { NetworkGroup } from "../parse/grouped-networks.ts";
import {
  isDatabaseFormat,
  type ParsedDomains,
  type ParsedNetworks,
  parseFile,
  type StatedPlaces,
} from "../parse/index.ts";
import { isSpecialUse, TOO_WIDE } from "../parse/network-list.ts";
import type { SystemKinds } from "../parse/system-kinds.ts";
import type { Skipped, Skips } from "../parse/tally.ts";
import { mayHaveMail } from "../policy/email.ts";
import { FLAG_BOUNDS } from "../policy/labels.ts";
import { checkOwnGeofeed, placesWhere } from "./own-geofeed.ts";
import { spaceOf } from "./space.ts";

/** The content of a copy, by its purpose. */
export interface Content {
  /** One object for each label of the feed. */
  readonly networks?: readonly NetworkClaims[];
  readonly domains?: DomainClaims;
  readonly places?: PlaceSource;
  /** The places of a geofeed. */
  readonly stated?: StatedPlaces;
  readonly registered?: RegisteredCountries;
  readonly asns?: AsnNetworks;
  /** The systems whose networks the list claims, by number, with the operator of each. */
  readonly systems?: ReadonlyMap<number, string>;
  /** What a list states about autonomous systems. */
  readonly kinds?: KindClaims;
}

export interface Read {
  readonly content: Content;
  readonly entries: number;
  readonly publishedAt?: Date | undefined;
  /** Shown instead of the attribution in the feed table, if the copy has its own. */
  readonly attribution?: string | undefined;
  readonly skipped?: FeedReport["skipped"];
  /** The address space that the copy's networks cover. */
  readonly space?: Space | undefined;
}

/** A copy that was read, or that the previous release describes. */
export interface Readable extends Omit<Read, "content"> {
  readonly content: () => Content;
  /** Releases the content. The next call of `content` reads the copy again. */
  readonly forget: () => void;
}

/**
 * @param trusted the previous release, if this version of the code built it. The release's copies are read only if
 *   needed
 */
export function readCopy(feed: Feed, copy: FeedCopy, trusted: Release | undefined): Readable {
  // A fetched copy is read even if its bytes are known, because its date may differ.
  const isFresh = (copy.source === "mirror" || copy.source === "fetched") && copy.keptFrom === undefined;
  const before = isFresh
    ? undefined
    : trusted?.feeds.find(
        ({ id, state, sha256 }) => id === feed.id && state === "loaded" && sha256 === copy.sha256,
      );
  let read: Read | undefined;
  const readOnce = () => {
    read ??= readContent(feed, copy);
    return read;
  };
  const content = () => readOnce().content;
  const forget = () => {
    read = undefined;
  };
  if (before === undefined) {
    const { content: _, ...known } = readOnce();
    return { ...known, content, forget };
  }
  const { entries, published_at, attribution, skipped, space } = before;
  // A kept copy has its own date, which may be newer than the date recorded in the release.
  const known = published_at ? new Date(published_at) : undefined;
  return {
    entries,
    publishedAt: copy.keptFrom === undefined ? known : copy.publishedAt,
    attribution,
    skipped,
    space,
    content,
    forget,
  };
}

export function readContent(feed: Feed, copy: FeedCopy): Read {
  if (isDatabaseFormat(copy.format)) return readDatabase(feed, copy);
  const file = parseFile(copy.format, onlyFile(copy), feed);
  if ("networks" in file) return readNetworks(feed, file);
  if ("kinds" in file) return readKinds(feed, file);
  if ("systems" in file) return { content: { systems: file.systems }, entries: file.systems.size };
  if ("domains" in file) return readDomains(feed, file);
  const registered = registeredFromList(file.delegations);
  return { content: { registered }, entries: file.delegations.length };
}

function readDatabase(feed: Feed, copy: FeedCopy): Read {
  const { files } = copy;
  if (feed.sets === "network") {
    const asns = copy.format === "asn-csv" ? readAsnCsv(files) : readAsnMmdb(files);
    return {
      content: { asns },
      entries: asns.networks[4] + asns.networks[6],
      publishedAt: asns.publishedAt,
    };
  }
  if (feed.sets !== "geolocation" && feed.sets !== "registered_country") return readLabels(feed, files);
  const source = feed.sets === "geolocation" ? openPlaces(files) : openCountries(files);
  return {
    content: "places" in source ? { places: source } : { registered: source },
    entries: source.networks[4] + source.networks[6],
    publishedAt: source.publishedAt,
  };
}

function readKinds(feed: Feed, { kinds, ...left }: SystemKinds): Read {
  const { weight = 1 } = feed.systems ?? {};
  const claims = { feed: feed.id, kinds, weight, lineage: feed.lineage ?? [] };
  return { content: { kinds: claims }, entries: kinds.size, skipped: leftOut(left, 0) };
}

function readNetworks(feed: Feed, parsed: ParsedNetworks): Read {
  const { networks, groups, stated, lineOf, special, publishedAt, copyright, ...left } = parsed;
  requireNarrow(feed, networks, left.skipped);
  const { label } = feed;
  if (label === undefined && stated === undefined)
    throw new Error(`${feed.id}: its row in the feed table has no label`);
  const isOwn = feed.definition !== undefined;
  const own = isOwn && stated && lineOf ? checkOwnGeofeed(stated, lineOf) : undefined;
  const idle = own?.wrong ?? unflaggableNetworks(feed, networks).length;
  return {
    content: {
      ...(label && { networks: claimsOf(feed, label, groups ?? [{ isDoubtful: false, networks }]) }),
      // Lookups of special-use addresses are refused.
      ...(stated && { stated: own?.stated ?? placesWhere(stated, (network) => !isSpecialUse(network)) }),
    },
    entries: networks.length,
    publishedAt,
    attribution: copyright,
    skipped: leftOut(left, idle, own ? own.firstWrong : special),
    space: spaceOf(networks.filter((network) => !isSpecialUse(network))),
  };
}

/** Returns one claim for each group. A feed that has a label for doubtful entries claims it for them. */
function claimsOf(feed: Feed, label: NetworkLabel, groups: readonly NetworkGroup[]): NetworkClaims[] {
  const sure = { subject: feed.sets as NetworkSubject, label };
  return groups.map(({ isDoubtful, networks, operator }) => ({
    ...claimed(feed),
    ...(isDoubtful && feed.doubtful !== undefined ? feed.doubtful : sure),
    ...(operator !== undefined && { operator }),
    networks,
  }));
}

/** Returns the fields that every claim copies from its feed's row. */
const claimed = ({ id, lineage = [], weight, operator, provider }: Feed) => ({
  feed: id,
  lineage,
  ...(provider !== undefined && { provider }),
  ...(weight !== undefined && { weight }),
  ...(operator !== undefined && { operator }),
});

function readDomains(feed: Feed, { domains, findFirst, publishedAt, ...left }: ParsedDomains): Read {
  const claims = { ...claimed(feed), subject: feed.sets as DomainSubject, domains };
  const unflaggable = unflaggableDomains(feed, domains.keys());
  const first = findFirst(unflaggable);
  const firstOf = first && { line: first.line, reason: neverDisposable(first.domain) };
  const skipped = leftOut(left, unflaggable.length, firstOf);
  return { content: { domains: claims }, entries: domains.size, publishedAt, skipped };
}

/**
 * Reads a database's networks by label. The subject of the claims is the flag that their label sets, or "hosting" if it
 * sets none.
 */
function readLabels(feed: Feed, files: readonly Uint8Array[]): Read {
  const { byLabel, entries, publishedAt } = readAnonymous(files);
  const claims = [...byLabel].map(([label, networks]): NetworkClaims => {
    const subject = setsOfLabel(label);
    requireNarrow(feed, networks, [], subject);
    return { ...claimed(feed), subject, label, networks };
  });
  const flagged = claims.filter(({ subject }) => subject !== "hosting").flatMap(({ networks }) => networks);
  return { content: { networks: claims }, entries, publishedAt, space: spaceOf(flagged) };
}

/**
 * Describes the lines that the parser skipped, and the entries that have no effect.
 * @param idle the number of these entries
 * @param firstIdle the first of these entries
 */
function leftOut({ skipped, skippedCount }: Skips, idle: number, firstIdle?: Skipped): FeedReport["skipped"] {
  const lines = [...skipped.slice(0, 1), ...(firstIdle && idle > 0 ? [firstIdle] : [])];
  const [first] = lines.sort((a, b) => a.line - b.line);
  return first && { entries: skippedCount + idle, first: `line ${first.line}: ${first.reason}` };
}

function onlyFile(copy: FeedCopy): Uint8Array {
  const [file, ...others] = copy.files;
  if (file === undefined || others.length > 0)
    throw new FeedError(`has ${copy.files.length} files, want one`);
  return file;
}

/**
 * @param sets the flag that the networks set, if any. If a feed has several labels, each label has its own flag
 * @throws FeedError if a network is wider than the feed may contain
 */
export function requireNarrow(
  feed: Feed,
  networks: readonly Prefix[],
  skipped: readonly Skipped[] = [],
  sets: string | undefined = feed.sets,
): void {
  const tooWide = skipped.find(({ reason }) => reason.startsWith(TOO_WIDE));
  if (tooWide !== undefined) throw new FeedError(`line ${tooWide.line}: ${tooWide.reason}`);
  const wide = networks.find(isTooWideFor(feed, sets));
  if (wide === undefined) return;
  const { family } = wide.address;
  throw new FeedError(
    `has a network of /${wide.bits} (IPv${family}): /${widestOf(feed, family, sets)} is the widest allowed`,
  );
}

/**
 * Returns whether a network is wider than the feed may contain. Special-use networks may be wider, because they are
 * never flagged.
 */
export function isTooWideFor(feed: Feed, sets: string | undefined = feed.sets): (network: Prefix) => boolean {
  const widest = { 4: widestOf(feed, 4, sets), 6: widestOf(feed, 6, sets) };
  return (network) => network.bits < widest[network.address.family] && !isSpecialUse(network);
}

/** Returns the minimum prefix length of networks in the feed, or 0 if there is no limit. */
function widestOf({ widest }: Feed, family: 4 | 6, sets: string | undefined): number {
  const flag = ADDRESS_FLAGS.find((name) => name === sets);
  const bounds = [widest, flag && FLAG_BOUNDS[flag].widest].flatMap((bound) => bound ?? []);
  return Math.max(0, ...bounds.map((bound) => (family === 4 ? bound.v4 : bound.v6)));
}

/** Returns the special-use networks, which the policy never flags. */
export function unflaggableNetworks({ sets }: Feed, networks: readonly Prefix[]): Prefix[] {
  return ADDRESS_FLAGS.some((flag) => flag === sets) ? networks.filter(isSpecialUse) : [];
}

/**
 * Returns the domains that the policy never flags: public suffixes, and domains with a special-use or unknown suffix.
 */
export function unflaggableDomains({ sets }: Feed, domains: Iterable<string>): string[] {
  if (sets !== "disposable") return [];
  return [...domains].filter((domain) => !mayHaveMail(domain, cutSuffix(domain)));
}

/** Describes a domain that is never flagged: "co.uk is a public suffix: never flagged". */
export const neverDisposable = (domain: string): string =>
  cutSuffix(domain).registrableStart < 0
    ? `${domain} is a public suffix: never flagged`
    : `${domain} has a special-use or unknown suffix: never flagged`;
