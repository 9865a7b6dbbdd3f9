// parse/index.ts: maps each format of one file to its parser. A parser takes bytes and returns what they contain. It
// throws FeedError if the bytes are invalid.

import { EXTENSIONS, type Feed, FeedError, type Format } from "../catalog/feed.ts";
import { parseDshieldBlock, parseIpRangeCsv, parseNetworkLines } from "./address-ranges.ts";
import { parseGeofeed } from "./geofeed.ts";
import { type NetworkGroup, parseAvastel, parseIpverseBots } from "./grouped-networks.ts";
import { JSON_DOMAINS, JSON_NETWORKS } from "./json-formats.ts";
import { LINE_DOMAINS, LINE_NETWORKS } from "./line-formats.ts";
import { type Delegation, parseNroDelegated } from "./nro-delegated.ts";
import { parseExitNetworks, parseOperatorSystems, parseRelayDomains } from "./own-lists.ts";
import { isSystemFormat, parseSystemKinds, type SystemKinds } from "./system-kinds.ts";

export type { StatedPlace, StatedPlaces } from "./geofeed.ts";

/**
 * The networks of a feed. The networks of a geofeed also have places and lines. If the entries differ in what they
 * mean, the same networks are also in groups.
 */
export type ParsedNetworks = ReturnType<(typeof LINE_NETWORKS)["ip-lines"]> &
  Partial<ReturnType<typeof parseGeofeed>> & { readonly groups?: readonly NetworkGroup[] };
export type ParsedDomains = ReturnType<(typeof LINE_DOMAINS)["domain-lines"]>;
/** The content of one file. */
export type ParsedFile =
  | ParsedNetworks
  | ParsedDomains
  | SystemKinds
  | { readonly delegations: readonly Delegation[] }
  | { readonly systems: ReadonlyMap<number, string> };

/** @param paths paths to the entries in the file, if the format has them */
type Parse<Parsed> = (body: Uint8Array, paths: readonly string[]) => Parsed;

const NETWORK_PARSERS: { readonly [F in Format]?: Parse<ParsedNetworks> } = {
  ...LINE_NETWORKS,
  ...JSON_NETWORKS,
  "network-lines": parseNetworkLines,
  "ip-range-csv": parseIpRangeCsv,
  "dshield-block": parseDshieldBlock,
  "geofeed-csv": parseGeofeed,
  "avastel-csv": parseAvastel,
  "ipverse-bots": parseIpverseBots,
  "exit-networks": parseExitNetworks,
};

const DOMAIN_PARSERS: { readonly [F in Format]?: Parse<ParsedDomains> } = {
  ...LINE_DOMAINS,
  ...JSON_DOMAINS,
  "relay-domains": parseRelayDomains,
};

const FILE_PARSERS: { readonly [F in Format]?: Parse<ParsedFile> } = {
  ...NETWORK_PARSERS,
  ...DOMAIN_PARSERS,
  "nro-delegated": (body) => ({ delegations: parseNroDelegated(body) }),
  "operator-systems": (body) => ({ systems: parseOperatorSystems(body) }),
};

/** Returns whether a copy may have a file for each address family, which are opened together. */
export const isDatabaseFormat = (format: Format): boolean => format === "mmdb" || format === "asn-csv";
/** Returns whether the format contains networks, so that {@link parseNetworks} can read it. */
export const isNetworkFormat = (format: Format): boolean => NETWORK_PARSERS[format] !== undefined;
/** Returns whether the format contains domains, so that {@link parseDomains} can read it. */
export const isDomainFormat = (format: Format): boolean => DOMAIN_PARSERS[format] !== undefined;

/**
 * @param feed its row limits how large the file may be
 * @throws FeedError if the body is invalid or too large, or the format is that of a database
 */
export function parseFile(
  format: Format,
  body: Uint8Array,
  { paths = ["$"], systems, entries }: Partial<Pick<Feed, "paths" | "systems" | "entries">> = {},
): ParsedFile {
  if (entries !== undefined) requireParsable(entries, format, body);
  if (isSystemFormat(format)) return parseSystemKinds(format, body, systems?.kind);
  const parse = FILE_PARSERS[format];
  if (parse === undefined) throw new FeedError(`${format} is not the format of one file`);
  return parse(body, paths);
}

/** @throws FeedError if the body is invalid, or the format does not contain networks */
export function parseNetworks(
  format: Format,
  body: Uint8Array,
  paths: readonly string[] = ["$"],
): ParsedNetworks {
  const parse = NETWORK_PARSERS[format];
  if (parse === undefined) throw new FeedError(`${format} is not a network format`);
  return parse(body, paths);
}

/** @throws FeedError if the body is invalid, or the format does not contain domains */
export function parseDomains(
  format: Format,
  body: Uint8Array,
  paths: readonly string[] = ["$"],
): ParsedDomains {
  const parse = DOMAIN_PARSERS[format];
  if (parse === undefined) throw new FeedError(`${format} is not a domain format`);
  return parse(body, paths);
}

const LINE_END = 10;
/**
 * Maximum number of lines that are not entries: comments and blank lines. A list has about a tenth of the entries that
 * its row allows.
 */
const MORE_LINES = 10_000;
/**
 * The registries also list records that are not entries, and Inkling's own list was checked before it was committed.
 */
const UNLIMITED: ReadonlySet<Format> = new Set(["nro-delegated", "operator-systems"]);

/**
 * Limits, before parsing, how much the parser of a list has to keep in memory. `requireEntries` counts only the parser's
 * results. JSON documents have their own limit (`readJson`).
 * @throws FeedError if the text has more lines than the maximum number of entries can need
 */
export function requireParsable({ most }: Feed["entries"], format: Format, body: Uint8Array): void {
  const isDocument = /^js/.test(EXTENSIONS[format]) && format !== "spamhaus-json-lines";
  const limit = most + MORE_LINES;
  if (isDocument || UNLIMITED.has(format) || body.length <= limit) return; // each line takes at least one byte
  const count = countLines(body);
  if (count <= limit) return;
  throw new FeedError(
    `has ${count} lines, but at most ${limit} are parsed: at most ${most} entries are expected`,
  );
}

function countLines(body: Uint8Array): number {
  let count = 1;
  for (let at = body.indexOf(LINE_END); at >= 0; at = body.indexOf(LINE_END, at + 1)) count++;
  return count;
}
