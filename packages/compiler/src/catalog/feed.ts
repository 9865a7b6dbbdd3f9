// feed.ts: the fields of a row in the feed table.

import type { DomainSubject, NetworkKind, NetworkLabel, NetworkSubject } from "./claims.ts";

/** The kind of data that the feed contributes to. */
export type Sets = NetworkSubject | DomainSubject | "geolocation" | "registered_country" | "network" | "kind";

/** Formats, each with its default file extension. Requests to a mirror's base URL use the same extension. */
export const EXTENSIONS = {
  "ip-lines": "txt", // an address or a network on each line; "#" and ";" start comments
  "network-lines": "txt", // an address, a network or a range on each line; "#" and ";" start comments
  "domain-lines": "txt", // a domain on each line; "#" starts a comment
  "geofeed-csv": "csv", // RFC 8805: cidr,country,region,city,
  "spamhaus-json-lines": "json",
  "onionoo-json": "json",
  "monosans-json": "json",
  "gluetun-json": "json", // servers of a VPN operator, with their addresses
  "avastel-csv": "txt", // rows of network;organization;confidence
  "ipverse-bots": "json", // services, each with its networks
  "signed-json": "json", // a JSON document on the first line, then its signature; paths lead to the networks
  "domain-json": "json", // an array of domains
  "quoted-domains": "js", // a program with an array of domains
  "fakefilter-text": "txt", // domains under "## provider" headings
  "fakefilter-json": "json", // data_version2.json: domain -> providers and hosts
  "abuseipdb-json": "json",
  "ip-range-csv": "csv", // IP2Location: first and last address as integers
  "dshield-block": "txt", // first and last address, separated by tabs
  "proxy-lines": "txt", // address:port on each line
  "prefix-json": "json", // the crawlers of Google and Microsoft
  "fastly-json": "json",
  "github-meta": "json",
  "misp-json": "json", // a warning list of networks
  "misp-domains": "json", // a warning list of domains
  "ranked-domains": "csv", // Tranco: rows of rank,domain
  "organisation-websites": "json", // name-suggestion-index: wikidata.<id>.officialWebsites[]
  "exit-networks": "csv", // Inkling's own: rows of network,operator,source
  "json-networks": "json", // any document; a path leads to the networks
  "json-domains": "json", // any document; a path leads to the domains
  "mail-hosts": "csv", // rows of domain,date,hosts
  "relay-domains": "csv", // Inkling's own: rows of domain,service,source
  "nro-delegated": "txt", // pipe-separated delegations
  "operator-systems": "csv", // Inkling's own: rows of asn,operator,source
  "asn-lines": "txt", // a number such as AS45090 on each line; "#" starts a comment
  "asn-entities": "csv", // rows of ASN,Entity
  "as-metadata": "json", // ipverse: asn, metadata.category
  "peeringdb-net": "json", // PeeringDB: data[].asn, info_type, info_types
  "asn-csv": "csv", // first and last address, number, organization
  mmdb: "mmdb",
} as const;
export type Format = keyof typeof EXTENSIONS;

/** A copy in an npm package, so that Inkling can start without internet access. */
export interface Seed {
  readonly package: string;
  /** Paths inside the package. There are several if the publisher splits the data by address family. */
  readonly files: readonly string[];
  readonly format: Format;
  /** The licence of this copy, if it differs from the feed's. */
  readonly licence?: string;
  /** The licence in the package's `package.json`, if its text differs from the licence of this copy. */
  readonly stated?: string;
  /**
   * When the data was created, as an ISO date. It is the date in the version number, or the date when npm published
   * that version (see package-lock.json).
   */
  readonly published: string;
}

/**
 * Ages in hours, counted as `ageOf` in validate/copy-gates.ts does: from the publisher's own date if there is one,
 * otherwise from the time when the copy was last confirmed.
 */
export interface AgeLimits {
  /** An older copy is reported as stale in the status, the metrics and webhooks. */
  readonly staleHours: number;
  /** The claims of an older copy are dropped. Infinity if an old copy is better than no copy. */
  readonly dropHours: number;
}

/**
 * The credentials by name. A row lists the names that it needs in `credentials`. The values are
 * secret.
 */
export type Credentials = Readonly<Record<string, string>>;

export interface PublisherRequest {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OptIn {
  /**
   * `key`: the publisher requires an account. `licence`: the publisher states no clear licence. `non-commercial`: its
   * terms forbid commercial use. `noisy`: the list flags too many addresses. `dns`: builds send DNS queries.
   */
  readonly why: "key" | "licence" | "non-commercial" | "noisy" | "dns";
  /** The terms that the operator accepts by turning the feed on, in one or two sentences. */
  readonly terms: string;
}

/** The publishers' credentials. `inkling` has a setting for each, such as INKLING_MAXMIND_ACCOUNT_ID. */
export const CREDENTIALS = [
  "maxmindAccountId",
  "maxmindLicenseKey",
  "abuseipdbKey",
  "ip2locationToken",
  "ipinfoToken",
] as const;

/** Returns the environment variable for a setting: maxmindAccountId -> INKLING_MAXMIND_ACCOUNT_ID. */
export const variableName = (setting: string): string =>
  `INKLING_${setting.replace(/[A-Z]/g, "_$&").toUpperCase()}`;

export interface Feed {
  /** The feed's id. It is also the name of the feed's file in a mirror, and of its folder in the data folder. */
  readonly id: string;
  readonly sets: Sets;
  readonly format: Format;
  /** Other formats that a file in a mirror may have, by file extension. */
  readonly otherFormats?: Readonly<Record<string, Format>>;
  /** A one-line description for people. */
  readonly title: string;
  readonly homepage: string;
  /**
   * URLs to try, in this order. For a monthly file, the second is the previous month's URL. Empty for a feed without a
   * publisher's URL, such as Inkling's own lists.
   */
  readonly urls: (now: Date) => readonly string[];
  /** Hosts to which the publisher redirects, in addition to the hosts in `urls`. */
  readonly redirects?: readonly string[];
  readonly licence: string;
  /**
   * Path of the licence's text, relative to the root of this package, if the text must go wherever the feed's file
   * goes.
   */
  readonly licenceText?: string;
  /** The text that the licence requires users to show. */
  readonly attribution?: string;
  readonly cadenceHours: number;
  /**
   * Who runs the listed networks, if that operator publishes the feed. The name is lower case, as in
   * `network.operator`.
   */
  readonly operator?: string;
  /** The VPN whose servers the feed lists, as people write it: NordVPN. */
  readonly provider?: string;
  /** What the feed claims about its networks. Set only for network feeds. */
  readonly label?: NetworkLabel;
  /** What the feed claims about entries of which it is not sure. */
  readonly doubtful?: { readonly subject: NetworkSubject; readonly label: NetworkLabel };
  /** Autonomous systems whose networks the operator rents out, so that they are not its own. */
  readonly rentedOut?: readonly number[];
  /** The weight of an operator's own feed. The policy's tables hold the weights of built-in feeds. */
  readonly weight?: number;
  /**
   * Set only for feeds that state the kind of autonomous systems. `weight` is the weight of the feed
   * (docs/policy.md). `kind` applies to every listed system if the file does not state kinds.
   */
  readonly systems?: { readonly kind?: NetworkKind; readonly weight: number };
  readonly age: AgeLimits;
  /**
   * Largest plausible change since the last good copy: entries added, and entries removed, each as a share of the
   * entries in that copy. A larger change waits until the operator accepts it. Infinity for a list whose content is new
   * each time.
   */
  readonly change: number;
  /** Number of entries that may be added, and that may be removed, even if their share exceeds `change`. */
  readonly freeChange?: number;
  /** Prefix lengths of the widest plausible networks in the feed. A wider network is an error or an attack. */
  readonly widest?: { readonly v4: number; readonly v6: number };
  /** Number of downloads per day and account that the publisher allows. Conditional requests count as downloads. */
  readonly budgetPerDay?: number;
  /** Feeds from which this feed copies entries. An entry that is in both feeds counts once. */
  readonly lineage?: readonly string[];
  /** Why the feed is off until the operator turns it on. Absent for feeds that are on by default. */
  readonly optIn?: OptIn;
  /**
   * Returns the request for one of `urls`, with credentials. The parts added to the URL are secret, so errors, states
   * and logs show only the URL from the table.
   * @param credentials must contain every name in the row's `credentials`
   */
  readonly request?: (url: string, credentials: Credentials) => PublisherRequest;
  /** Minimum and maximum number of entries in a copy. */
  readonly entries: { readonly least: number; readonly most: number };
  /** Maximum size of the unpacked body, in bytes, if it is not the usual one ({@link maxBytesOf}). */
  readonly maxBytes?: number;
  readonly seed?: Seed;
  /** The feed only adds to other feeds of its kind. If only supplements are loaded, there is no data to answer from. */
  readonly supplement?: true;
  /** The licence requires users to destroy copies older than `age.dropHours`, not only to ignore them. */
  readonly destroyOld?: true;
  /** Absolute path of a file on this machine. Each build reads the file, even if a mirror is configured. */
  readonly file?: string;
  /** Paths to the entries in a JSON document. */
  readonly paths?: readonly string[];
  /** Names of the credentials that the publisher requires: for a built-in feed, names of {@link CREDENTIALS}. */
  readonly credentials?: readonly string[];
  /** Whether requests to the publisher may be sent without TLS. */
  readonly allowHttp?: true;
  /** For an operator's own feed: a digest of the settings that determine how its file is interpreted. */
  readonly definition?: string;
  /** DNS is the publisher: the build looks up what the feed contains (pipeline/mail-hosts.ts). */
  readonly asksDns?: true;
  /** Path of Inkling's own file, relative to the root of this package. */
  readonly own?: string;
  /** Format of the `own` file, if it differs from the publisher's. */
  readonly ownFormat?: Format;
}

/** Returns the maximum size of the unpacked body, in bytes. */
export const maxBytesOf = ({ format, maxBytes }: Feed): number =>
  maxBytes ?? (format === "mmdb" ? 2 ** 30 : 2 ** 27);

/** Formats that a copy of the feed may have. */
export const formatsOf = ({
  format,
  otherFormats = {},
  seed,
  ownFormat,
}: Feed): readonly (Format | undefined)[] => [
  format,
  ...Object.values(otherFormats),
  seed?.format,
  ownFormat,
];

/** Can the feed be loaded without a mirror? */
export const hasSource = ({ urls, seed, own, file, asksDns }: Feed, now: Date): boolean =>
  urls(now).length > 0 || [seed, own, file, asksDns].some((source) => source !== undefined);

/** A feed file that cannot be used. The message tells the operator why. */
export class FeedError extends Error {
  override readonly name = "FeedError";
}
