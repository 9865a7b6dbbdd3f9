// feed.ts: what a row of the feed table holds.

import type { DomainSubject, NetworkKind, NetworkLabel, NetworkSubject } from "./claims.ts";

/** What a feed contributes to. */
export type Sets = NetworkSubject | DomainSubject | "geolocation" | "registered_country" | "network" | "kind";

/** Formats, each with its default file extension, which is also used in requests to a mirror's base URL. */
export const EXTENSIONS = {
  "ip-lines": "txt", // an address or CIDR a line; "#" and ";" start comments
  "network-lines": "txt", // an address, CIDR or range a line; "#" and ";" start comments
  "domain-lines": "txt", // a domain a line; "#" starts a comment
  "geofeed-csv": "csv", // RFC 8805: cidr,country,region,city,
  "spamhaus-json-lines": "json",
  "onionoo-json": "json",
  "monosans-json": "json",
  "gluetun-json": "json", // servers of a VPN operator, with their addresses
  "domain-json": "json", // an array of domains
  "fakefilter-text": "txt", // domains under "## provider" headings
  "fakefilter-json": "json", // data_version2.json: domain -> providers and hosts
  "abuseipdb-json": "json",
  "ip-range-csv": "csv", // IP2Location's: first and last address as whole numbers
  "dshield-block": "txt", // first and last address, separated by tabs
  "proxy-lines": "txt", // address:port a line
  "prefix-json": "json", // Google's and Microsoft's crawlers
  "fastly-json": "json",
  "github-meta": "json",
  "misp-json": "json", // a warning list of networks
  "misp-domains": "json", // a warning list of domains
  "exit-networks": "csv", // Inkling's: rows of network,operator,source
  "json-networks": "json", // any document; a path names the networks
  "json-domains": "json", // any document; a path names the domains
  "relay-domains": "csv", // Inkling's: rows of domain,service,source
  "nro-delegated": "txt", // pipe-separated delegations
  "vpn-systems": "csv", // Inkling's: rows of asn,operator,source
  "asn-lines": "txt", // AS45090 a line, "#" starts a comment
  "asn-entities": "csv", // rows of ASN,Entity
  "as-metadata": "json", // ipverse's: asn, metadata.category
  "asn-csv": "csv", // first and last address, number, organization
  mmdb: "mmdb",
} as const;
export type Format = keyof typeof EXTENSIONS;

/** A copy in an npm package, for a start without internet. */
export interface Seed {
  readonly package: string;
  /** Inside the package; several when the publisher splits by family. */
  readonly files: readonly string[];
  readonly format: Format;
  /** The licence of this copy, if it differs from the feed's. */
  readonly licence?: string;
  /** When the data was made, ISO date: as the version states, or when npm got the version of package-lock.json. */
  readonly published: string;
}

/** Counted as in policy/age.ts: from the publisher's own date, or from the last confirmation of a copy without one. */
export interface AgeLimits {
  /** Older is reported: in status, metrics and log. */
  readonly staleHours: number;
  /** Older is ignored: its claims are dropped. Infinity where an old copy is better than none. */
  readonly dropHours: number;
}

/** By name, as `optIn.credentials` of a row has them; the values are secret. */
export type Credentials = Readonly<Record<string, string>>;

export interface PublisherRequest {
  readonly url: string;
  /** URL of a text whose first word is the SHA-256 of the file as sent. Requested with the same headers. */
  readonly checksumUrl?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OptIn {
  /** key: needs an account. licence: none that is clear. non-commercial: by its terms. noisy: flags too many. */
  readonly why: "key" | "licence" | "non-commercial" | "noisy";
  /** What the operator agrees to by turning it on, in one or two sentences. */
  readonly terms: string;
  /** Credentials that the publisher requires. */
  readonly credentials?: readonly CredentialName[];
}

/** Credentials of publishers; `inkling` has a setting for each, such as INKLING_MAXMIND_ACCOUNT_ID. */
export const CREDENTIALS = [
  "maxmindAccountId",
  "maxmindLicenseKey",
  "abuseipdbKey",
  "ip2locationToken",
  "ipinfoToken",
] as const;
type CredentialName = (typeof CREDENTIALS)[number];

/** maxmindAccountId -> INKLING_MAXMIND_ACCOUNT_ID, if an operator sets it. */
export const variableName = (setting: string): string =>
  `INKLING_${setting.replace(/[A-Z]/g, "_$&").toUpperCase()}`;

export interface Feed {
  /** Also the name of its file in a mirror, and of its folder in the data folder. */
  readonly id: string;
  readonly sets: Sets;
  readonly format: Format;
  /** Formats that a file in a mirror may have instead, by its extension. */
  readonly otherFormats?: Readonly<Record<string, Format>>;
  /** One line for people. */
  readonly title: string;
  readonly homepage: string;
  /** Tried in order: of monthly files the previous month's is second. Empty for our own lists. */
  readonly urls: (now: Date) => readonly string[];
  /** Hosts that its publisher redirects to, in addition to the hosts in `urls`. */
  readonly redirects?: readonly string[];
  readonly licence: string;
  /** The text that the licence requires to be shown. */
  readonly attribution?: string;
  readonly cadenceHours: number;
  /** Who runs what the feed lists, if it publishes that itself: a lower-case name, as in `network.operator`. */
  readonly operator?: string;
  /** Its claim about a network; feeds of networks only. */
  readonly label?: NetworkLabel;
  /** Of an operator's own feed: its weight, which the policy's tables have of built-in ones. */
  readonly weight?: number;
  /** Of a feed of kinds: the kind of all its systems, if the form has none, and its weight (docs/policy.md). */
  readonly systems?: { readonly kind?: NetworkKind; readonly weight: number };
  readonly age: AgeLimits;
  /**
   * Greatest believable change against the last good copy: entries added, and entries removed, as shares of what
   * that held. A larger one waits until the operator accepts it. Infinity for a list that is new each time.
   */
  readonly change: number;
  /** Entries that any copy may gain or lose. */
  readonly freeChange?: number;
  /** Prefix length of the widest network that it can hold: anything wider is an error or an attack. */
  readonly widest?: { readonly v4: number; readonly v6: number };
  /** Downloads that the publisher allows per day and account; conditional requests count. */
  readonly budgetPerDay?: number;
  /** Feeds that it takes entries from: an entry of both counts once. */
  readonly lineage?: readonly string[];
  /** Why it is off until the operator turns it on; absent for feeds that are on by default. */
  readonly optIn?: OptIn;
  /**
   * The request for one of `urls` with credentials. What it adds is secret: errors, states and logs have the URL of
   * the table.
   * @param credentials holds all that `optIn.credentials` names
   */
  readonly request?: (url: string, credentials: Credentials) => PublisherRequest;
  readonly entries: { readonly least: number; readonly most: number };
  /** Of the body as used, unpacked. */
  readonly maxBytes: number;
  readonly seed?: Seed;
  /** It only corrects other feeds of its kind: without them the answer has no data. */
  readonly supplement?: true;
  /** The licence requires that a copy older than `age.dropHours` is destroyed, not only ignored. */
  readonly destroyOld?: true;
  /** A file on this machine, absolute: read with each build, whatever the mirror is. */
  readonly file?: string;
  /** Where a JSON document has the entries. */
  readonly path?: string;
  /** Credentials that the publisher of an operator's own feed requires. */
  readonly credentials?: readonly string[];
  /** May its publisher be requested without TLS? */
  readonly allowHttp?: true;
  /** Of an operator's own feed: a digest of what decides what is made of its file. */
  readonly definition?: string;
  /** A file of Inkling's in this package, relative to its root. */
  readonly own?: string;
  /** Of that file, if it is not the publisher's. */
  readonly ownFormat?: Format;
}

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

/** Names of the credentials that its publisher requires. */
export const requiredCredentials = ({ optIn, credentials }: Feed): readonly string[] =>
  credentials ?? optIn?.credentials ?? [];

/** A feed file that cannot be used; the message has the reason, for the operator. */
export class FeedError extends Error {
  override readonly name = "FeedError";
}
