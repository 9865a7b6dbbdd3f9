// own-feeds.ts: describes the operator's own feeds: the fields of a [[feed]] in inkling.toml, the file formats, and the
// claims.
//
// `inkling feeds add` takes the same fields as flags. docs/own-feeds.md lists them in tables (`npm run generate`).

/**
 * The fields of a [[feed]]. They are plain values, because the settings and feeds.json in the data folder contain
 * them.
 */
export interface OwnFeed {
  readonly id: string;
  readonly format: FeedFormat;
  readonly claims: FeedClaim;
  /** Exactly one of `file` and `url` is set. When the configuration is read, the path in `file` is made absolute. */
  readonly file?: string | undefined;
  readonly url?: string | undefined;
  /** The path to the entries, for the format json. */
  readonly path?: string | undefined;
  /** Name of a header to send with each request. The header's value is the secret that `secret` names. */
  readonly header?: string | undefined;
  readonly secret?: string | undefined;
  readonly operator?: string | undefined;
  readonly weight?: number | undefined;
  /** Ids of the feeds from which this feed copies entries. */
  readonly copies?: readonly string[] | undefined;
  readonly every_hours?: number | undefined;
  readonly max_age_days?: number | undefined;
  readonly title?: string | undefined;
  readonly licence?: string | undefined;
}

/** What one entry of a file describes. */
type Entry = "network" | "domain" | "place" | "anonymity";

interface FormatRow {
  readonly meaning: string;
  /** What an entry of this format can describe. */
  readonly entries: readonly Entry[];
}

const FORMATS = {
  networks: {
    meaning: "one address, network or range (`192.0.2.1-192.0.2.9`) per line; `#` and `;` start comments",
    entries: ["network"],
  },
  domains: { meaning: "one domain per line; `#` starts a comment", entries: ["domain"] },
  geofeed: {
    meaning:
      "[RFC 8805](https://www.rfc-editor.org/rfc/rfc8805): `network,country,region,city,postal code`; the network may be a range, and a first row may name the columns",
    entries: ["place"],
  },
  mmdb: {
    meaning: "a MaxMind DB in the format of GeoIP2 City (`place`) or GeoIP2 Anonymous IP (`anonymity`)",
    entries: ["place", "anonymity"],
  },
  json: {
    meaning:
      "a JSON document; `path` selects the entries by JSONPath with names and `[*]`: `$.prefixes[*].ip_prefix`",
    entries: ["network", "domain"],
  },
} as const satisfies Readonly<Record<string, FormatRow>>;

type FeedFormat = keyof typeof FORMATS;
export const FEED_FORMAT_ROWS: Readonly<Record<FeedFormat, FormatRow>> = FORMATS;
export const FEED_FORMATS = Object.keys(FORMATS) as readonly FeedFormat[];

interface ClaimRow {
  readonly of: Entry;
  readonly meaning: string;
  /** The default weight. If undefined, the claim is not weighed. */
  readonly weight?: number;
  /** Does the feed name the operator of its networks? */
  readonly operator?: true;
}

const flagged = (flag: string, what: string) =>
  ({ of: "network", meaning: `sets \`${flag}\`: ${what}`, weight: 2 }) as const;
const kind = (what: string) =>
  ({ of: "network", meaning: `sets \`network.kind\`: ${what}`, weight: 4 }) as const;
const service = (what: string) =>
  ({
    of: "network",
    meaning: `${what}; adds to \`network.services\``,
    operator: true,
  }) as const;

const CLAIMS = {
  attacker: flagged("is_abuser", "attacks came from the network"),
  criminal_network: flagged("is_abuser", "criminals run the network"),
  botnet_c2: flagged("is_abuser", "commands a botnet"),
  vpn: flagged("is_proxy", "a VPN provider uses the network"),
  public_proxy: flagged("is_proxy", "an open proxy worked there"),
  tor_exit: flagged("is_tor_exit", "Tor traffic exits there"),
  hosting: kind("a data centre"),
  isp: kind("an access provider"),
  mobile: kind("a mobile operator"),
  education: kind("a school or university"),
  government: kind("a government agency"),
  business: kind("a company's own network"),
  crawler: service("a crawler, never flagged"),
  monitor: service("machines that monitor sites, never flagged as abuser or proxy"),
  webhook_sender: service("machines that send webhooks, never flagged as abuser or proxy"),
  mail_sender: service("machines that send a provider's mail, never flagged as abuser or proxy"),
  relay: service("a privacy relay, never flagged as abuser or proxy"),
  gateway: service("a corporate gateway, whose addresses many employees share"),
  disposable: { of: "domain", meaning: "a disposable-email service", weight: 2 },
  free_mail: { of: "domain", meaning: "a provider of ordinary mail: counts against `disposable`", weight: 2 },
  mail_relay: { of: "domain", meaning: "an alias service: never `disposable`" },
  place: { of: "place", meaning: "where the networks are" },
  anonymity: {
    of: "anonymity",
    meaning: "the VPNs, proxies, Tor exits and data centres in its records",
    weight: 2,
  },
} as const satisfies Readonly<Record<string, ClaimRow>>;

export type FeedClaim = keyof typeof CLAIMS;
export const FEED_CLAIM_ROWS: Readonly<Record<FeedClaim, ClaimRow>> = CLAIMS;
export const FEED_CLAIMS = Object.keys(CLAIMS) as readonly FeedClaim[];

/** Returns the claims that a file of this format may make. */
export const claimsOf = (format: FeedFormat): readonly FeedClaim[] =>
  FEED_CLAIMS.filter((claim) => FEED_FORMAT_ROWS[format].entries.includes(FEED_CLAIM_ROWS[claim].of));

/** Returns the name of the secret for a feed's header, as used in the `feed_secret` setting. */
export const secretOf = ({ id, secret = id }: Pick<OwnFeed, "id" | "secret">): string =>
  secret.replaceAll("-", "_");

/**
 * Returns a feed in a format that is safe to show and to log: without the URL's query and fragment, which may contain a
 * token.
 */
export const shownFeed = (feed: OwnFeed): OwnFeed =>
  feed.url === undefined ? feed : { ...feed, url: feed.url.replace(/[?#].*/s, "?***") };
