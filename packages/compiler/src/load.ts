// load.ts: one feed -> the newest copy of it that can be believed, read, and a report on how that went.
//
// in   copies in order of preference (source.ts): mirror or publisher, last good one, seed, our own file
// out  what the first believable copy says, and a FeedReport that names what was refused and why
// err  none for a bad copy: it is refused by name and reason, and the next one is tried

import type { FeedReport, Release } from "@inkling/engine";
import type { DomainClaims, NetworkClaims } from "./claims.ts";
import { type Feed, FeedError } from "./feed.ts";
import { requireEntries } from "./feeds.ts";
import type { PlaceSource, RegisteredCountries } from "./geo-table.ts";
import { registeredFromList } from "./geo-table.ts";
import { MmdbError } from "./mmdb.ts";
import {
  isDomainFormat,
  isNetworkFormat,
  parseDomains,
  parseNetworks,
  parseNroDelegated,
} from "./parse/index.ts";
import { CountrySource, GeoSource } from "./place-source.ts";
import { candidates, type FeedCopy, isCopy, keepLastGood, type SourceOptions } from "./source.ts";

/** What a copy holds, by what it is for. */
export interface Content {
  readonly networks?: NetworkClaims;
  readonly domains?: DomainClaims;
  readonly places?: PlaceSource;
  readonly registered?: RegisteredCountries;
}

interface Read {
  readonly content: Content;
  readonly entries: number;
  readonly publishedAt?: Date | undefined;
  /** Shown instead of the feed table's attribution where the copy carries its own. */
  readonly attribution?: string | undefined;
}

export interface LoadedFeed {
  readonly feed: Feed;
  readonly report: FeedReport;
  /** Was any copy refused, whether or not an older one is in use? */
  readonly refused: boolean;
  /** Reads the copy in use: empty when there is none. */
  readonly content: () => Content;
}

/**
 * @param trusted the release before, when this same program made it: a large copy that it was made from is read
 *   only when somebody asks for its content
 */
export async function loadFeed(
  feed: Feed,
  options: SourceOptions,
  trusted: Release | undefined,
): Promise<LoadedFeed> {
  const refusals: string[] = [];
  let refused = false;
  for await (const copy of candidates(feed, options)) {
    if (!isCopy(copy)) {
      refusals.push(`${copy.source}: ${copy.error}`);
      refused ||= copy.absent !== true;
      continue;
    }
    try {
      const { report, content } = readCopy(feed, copy, trusted);
      const isNew = copy.source === "mirror" || copy.source === "fetched";
      if (isNew) await keepLastGood(feed, copy, options.dataDir);
      return { feed, refused, report: withError(report, refusals), content };
    } catch (error) {
      if (!(error instanceof FeedError) && !(error instanceof MmdbError)) throw error;
      refusals.push(`${copy.source}: ${error.message}`);
      refused = true;
    }
  }
  const report: FeedReport = {
    id: feed.id,
    sets: feed.sets,
    source: "none",
    state: refused ? "refused" : "missing",
    entries: 0,
    licence: feed.licence,
  };
  return { feed, refused, report: withError(report, refusals), content: () => ({}) };
}

function withError(report: FeedReport, refusals: readonly string[]): FeedReport {
  return refusals.length > 0 ? { ...report, error: refusals.join("; ") } : report;
}

function readCopy(
  feed: Feed,
  copy: FeedCopy,
  trusted: Release | undefined,
): Pick<LoadedFeed, "report" | "content"> {
  const before = trusted?.feeds.find((report) => report.id === feed.id && report.sha256 === copy.sha256);
  const isLarge = copy.format === "mmdb" || copy.format === "nro-delegated";
  let read: Read | undefined;
  const readOnce = () => (read ??= readChecked(feed, copy));
  const { entries, publishedAt, attribution } =
    isLarge && before
      ? { entries: before.entries, publishedAt: dateOf(before.published_at), attribution: before.attribution }
      : readOnce();
  const published = publishedAt ?? copy.publishedAt;
  const report: FeedReport = {
    id: feed.id,
    sets: feed.sets,
    source: copy.source,
    state: "loaded",
    entries,
    sha256: copy.sha256,
    bytes: copy.bytes,
    ...(copy.fetchedAt && { fetched_at: copy.fetchedAt.toISOString() }),
    ...(published && { published_at: published.toISOString() }),
    licence: copy.licence,
    ...((attribution ?? feed.attribution) && { attribution: attribution ?? feed.attribution }),
  };
  return { report, content: () => readOnce().content };
}

function dateOf(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}

function readChecked(feed: Feed, copy: FeedCopy): Read {
  const read = readContent(feed, copy);
  requireEntries(feed, read.entries);
  return read;
}

function readContent(feed: Feed, copy: FeedCopy): Read {
  const { format } = copy;
  if (isNetworkFormat(format)) {
    const { networks, publishedAt, copyright } = parseNetworks(format, onlyFile(copy));
    const { label, lineage = [] } = feed;
    if (label === undefined) throw new Error(`${feed.id}: its row in the feed table says no label`);
    const claims = {
      feed: feed.id,
      subject: feed.sets as NetworkClaims["subject"],
      label,
      networks,
      lineage,
    };
    return { content: { networks: claims }, entries: networks.length, publishedAt, attribution: copyright };
  }
  if (isDomainFormat(format)) {
    const { domains, publishedAt } = parseDomains(format, onlyFile(copy));
    const { lineage = [] } = feed;
    const claims = { feed: feed.id, subject: feed.sets as DomainClaims["subject"], domains, lineage };
    return { content: { domains: claims }, entries: domains.size, publishedAt };
  }
  if (format === "nro-delegated") {
    const rows = parseNroDelegated(onlyFile(copy));
    return { content: { registered: registeredFromList(rows) }, entries: rows.length };
  }
  const files = copy.files.map((file) => file.bytes);
  if (feed.sets === "registered_country") {
    const registered = CountrySource.open(files);
    return { content: { registered }, ...whatItIs(registered) };
  }
  const places = GeoSource.open(files);
  return { content: { places }, ...whatItIs(places) };
}

function whatItIs({
  networks,
  publishedAt,
}: GeoSource | CountrySource): Pick<Read, "entries" | "publishedAt"> {
  return { entries: networks[4] + networks[6], publishedAt };
}

function onlyFile(copy: FeedCopy): Uint8Array {
  const [file, ...others] = copy.files;
  if (file === undefined || others.length > 0)
    throw new FeedError(`has ${copy.files.length} files, want one`);
  return file.bytes;
}
