// feed-table.ts: combines the built-in feeds and the operator's own feeds into one table. Later code treats both alike.
//
// An operator's row states the format of its file and what the file claims. The limits of built-in rows are based on
// measurements, while the limits of operators' rows are wide.

import { createHash } from "node:crypto";
import { basename } from "node:path";
import {
  FEED_CLAIM_ROWS,
  type FeedClaim,
  type FlagLabel,
  type OwnFeed,
  secretOf,
  setsOfLabel,
} from "@inkling/contract";
import { nearest } from "@inkling/engine";
import type { AgeLimits, Feed, Format, Sets } from "./feed.ts";
import { AGE, DAY, HOUR } from "./feed-limits.ts";
import { FEEDS } from "./feeds.ts";
import { MAX_OWN_FEEDS } from "./own-feed.ts";

export class OwnFeedError extends Error {
  override readonly name = "OwnFeedError";
  /** The invalid row, and the field that makes it invalid. */
  readonly row: OwnFeed;
  readonly field: keyof OwnFeed;
  constructor(row: OwnFeed, field: keyof OwnFeed, problem: string) {
    super(`feed "${row.id}": ${field} ${problem}`);
    this.row = row;
    this.field = field;
  }
}

/** Names that evidence or `--accept` uses for things other than feeds. */
const RESERVED = ["inkling", "special-use", "public-suffix-list", "override", "release", "report"];

/** @throws OwnFeedError */
export function feedTable(own: readonly OwnFeed[], builtIn: readonly Feed[] = FEEDS): readonly Feed[] {
  if (own.length === 0) return builtIn;
  if (own.length > MAX_OWN_FEEDS)
    throw new OwnFeedError(own[MAX_OWN_FEEDS]!, "id", `exceeds the maximum of ${MAX_OWN_FEEDS} feeds`);
  const ids = new Set([...FEEDS.map(({ id }) => id), ...RESERVED]);
  for (const row of own) {
    if (ids.has(row.id)) throw new OwnFeedError(row, "id", "must not be the id of another feed");
    ids.add(row.id);
  }
  const lineages = new Map<string, readonly string[]>([
    ...FEEDS.map(({ id, lineage = [] }) => [id, lineage] as const),
    ...own.map(({ id, copies = [] }) => [id, copies] as const),
  ]);
  for (const row of own) {
    const { id, copies = [] } = row;
    const unknown = copies.find((copied) => copied === id || !lineages.has(copied));
    if (unknown === undefined) continue;
    const near = nearest(unknown, [...lineages.keys()]);
    const hint = near === undefined || near === id ? "" : `; did you mean ${near}?`;
    throw new OwnFeedError(
      row,
      "copies",
      `must be ids of other feeds: there is no other feed "${unknown}"${hint}`,
    );
  }
  return [...builtIn, ...own.map((row) => feedOf(row, originsOf(row.id, lineages)))];
}

/** Returns the feeds from which this feed copies entries, directly or through other feeds. */
function originsOf(id: string, lineages: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const origins = new Set<string>();
  const add = (of: string) => {
    for (const origin of lineages.get(of) ?? []) {
      if (origin === id || origins.has(origin)) continue;
      origins.add(origin);
      add(origin);
    }
  };
  add(id);
  return [...origins];
}

interface Claim extends Pick<Feed, "label"> {
  readonly sets: Sets;
  readonly age: AgeLimits;
}

const list = (label: FlagLabel | "hosting" | "relay" | "gateway", age: AgeLimits): Claim => ({
  sets: setsOfLabel(label),
  label,
  age,
});
const kind = (label: "isp" | "mobile" | "education" | "government" | "business"): Claim => ({
  sets: "kind",
  label,
  age: AGE.networks,
});
const guard = (label: "crawler" | "monitor" | "webhook_sender" | "mail_sender"): Claim => ({
  sets: "guard",
  label,
  age: AGE.allowList,
});

const CLAIMS: Readonly<Record<FeedClaim, Claim>> = {
  attacker: list("attacker", AGE.attackers),
  criminal_network: list("criminal_network", AGE.networks),
  botnet_c2: list("botnet_c2", AGE.attackers),
  vpn: list("vpn", AGE.networks),
  public_proxy: list("public_proxy", AGE.openProxies),
  tor_exit: list("tor_exit", AGE.exits),
  hosting: list("hosting", AGE.networks),
  isp: kind("isp"),
  mobile: kind("mobile"),
  education: kind("education"),
  government: kind("government"),
  business: kind("business"),
  crawler: guard("crawler"),
  monitor: guard("monitor"),
  webhook_sender: guard("webhook_sender"),
  mail_sender: guard("mail_sender"),
  relay: list("relay", AGE.allowList),
  gateway: list("gateway", AGE.allowList),
  disposable: { sets: "disposable", age: AGE.domains },
  free_mail: { sets: "free", age: AGE.allowList },
  mail_relay: { sets: "relay", age: AGE.allowList },
  place: { sets: "geolocation", age: AGE.placeFeeds },
  anonymity: list("vpn", AGE.networks),
};

/** Limits for a list of any size: in a short list, a change in a large share of the entries means little. */
const CHANGE = { change: 0.5, freeChange: 100 } as const;
/** Wider networks are refused, regardless of what a list claims. Flags have narrower limits (policy/labels.ts). */
const WIDEST = { v4: 8, v6: 16 } as const;
const MAX_ENTRIES = { list: 1_000_000, database: 80_000_000 } as const;
const DEFAULT_LICENCE = "not stated: added by the operator";

/** @param lineage the feeds from which this feed copies entries, directly or through other feeds */
function feedOf(own: OwnFeed, lineage: readonly string[]): Feed {
  const {
    id,
    format,
    claims,
    file,
    path,
    operator,
    title,
    licence = DEFAULT_LICENCE,
    every_hours = DAY,
  } = own;
  const { of, weight: usual } = FEED_CLAIM_ROWS[claims];
  const { sets, label, age } = CLAIMS[claims];
  const { weight = usual } = own;
  const isDatabase = format === "mmdb";
  const isPlaces = isDatabase && claims === "place";
  const source = sourceOf(own);
  return {
    id,
    sets,
    format: format === "json" && of === "domain" ? "json-domains" : FORMATS[format],
    title: title ?? `your own feed, ${source.name}`,
    licence,
    cadenceHours: every_hours * HOUR,
    ...(label !== undefined && { label }),
    ...(operator !== undefined && { operator }),
    ...(weight !== undefined && { weight }),
    age: ageOf(own, isPlaces ? AGE.places : age),
    ...CHANGE,
    ...(of !== "domain" && !isPlaces && { widest: WIDEST }),
    lineage,
    entries: { least: 1, most: MAX_ENTRIES[isDatabase ? "database" : "list"] },
    // A supplement adds to the decisions of other feeds. A location database works without other feeds.
    ...(!isPlaces && { supplement: true }),
    ...(path !== undefined && { paths: [path] }),
    ...(file !== undefined && { file }),
    ...source.fields,
    definition: digestOf([format, claims, path, operator, weight, lineage]),
  };
}

const FORMATS: Readonly<Record<OwnFeed["format"], Format>> = {
  networks: "network-lines",
  domains: "domain-lines",
  geofeed: "geofeed-csv",
  mmdb: "mmdb",
  json: "json-networks",
};

/**
 * Returns the age limits. A file that the operator maintains does not become stale by itself. A list becomes stale if
 * its publisher stops updating it.
 */
function ageOf({ url, max_age_days, every_hours = DAY }: OwnFeed, usual: AgeLimits): AgeLimits {
  if (max_age_days === undefined) return url === undefined ? AGE.builtIn : widened(usual, every_hours);
  const dropHours = max_age_days * DAY;
  return { staleHours: dropHours / 2, dropHours };
}

/** Widens the age limits, so that a list does not become stale merely because it is fetched rarely. */
const widened = ({ staleHours, dropHours }: AgeLimits, every: number): AgeLimits => ({
  staleHours: Math.max(staleHours, 2 * every),
  dropHours: Math.max(dropHours, 3 * every),
});

type SourceFields = Pick<Feed, "urls" | "homepage" | "request" | "credentials" | "allowHttp">;

/** Returns the name and the source fields of an operator's feed. `urls` omits the query, which may contain a token. */
function sourceOf(own: OwnFeed): { readonly name: string; readonly fields: SourceFields } {
  const { url, file, header } = own;
  if (url === undefined)
    return { name: basename(file!), fields: { urls: () => [], homepage: "docs/own-feeds.md" } };
  const { origin, pathname, host } = new URL(url);
  const credential = header === undefined ? undefined : credentialOf(own);
  return {
    name: host,
    fields: {
      urls: () => [`${origin}${pathname}`],
      homepage: origin,
      allowHttp: true,
      request: (_, credentials) => ({
        url,
        ...(credential !== undefined && { headers: { [header!]: credentials[credential]! } }),
      }),
      ...(credential !== undefined && { credentials: [credential] }),
    },
  };
}

/** Returns the name of the feed's secret among the credentials. The environment variable is INKLING_FEED_SECRET_…. */
export const credentialOf = (own: Pick<OwnFeed, "id" | "secret">): string => `feed_secret_${secretOf(own)}`;

const digestOf = (parts: readonly unknown[]) =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex");
