// fields.ts: the rows for every field of every answer, including nested fields.
//
// Answer schemas, OpenAPI, the SDKs' types, the columns of enriched files, and the tables of docs/api.md and
// docs/evidence.md derive from these rows. Fields are listed in the order in which they appear in answers.

import { EVIDENCE_LABELS, REPUTATION_FLAGS, type ReputationFlag } from "./flags.ts";
import type { Fields, Lookup, Shape, ValueOf } from "./shapes.ts";

/** The values of `network.kind`. */
export const NETWORK_KINDS = [
  "hosting",
  "isp",
  "mobile",
  "education",
  "government",
  "business",
  "unknown",
] as const;
/** The services that `network.services` can name. */
export const NETWORK_SERVICES = [
  "cdn",
  "crawler",
  "gateway",
  "mail_sender",
  "monitor",
  "proxy_seen",
  "relay",
  "resolver",
  "webhook_sender",
] as const;

const TEXT = { type: "text", optional: true } as const;
const NAME = { name: TEXT } as const;

const COUNTRY = {
  type: "object",
  name: "Country",
  fields: {
    iso_code: {
      ...TEXT,
      pattern: /^[A-Z]{2}$/,
      description: "ISO 3166-1 alpha-2; XK is Kosovo",
    },
    name: TEXT,
  },
} as const;

/** Values of `checks.mx`; docs/email.md explains each. */
export const MX_OUTCOMES = [
  "found",
  "implicit",
  "none",
  "null",
  "nxdomain",
  "timeout",
  "failed",
  "busy",
  "skipped",
] as const;
export type MxOutcome = (typeof MX_OUTCOMES)[number];

export const EVIDENCE_ENTRY = {
  type: "object",
  name: "EvidenceEntry",
  about: "One claim or rule behind the answer. Later versions may add fields, labels and effects.",
  isOpen: true,
  fields: {
    feed: {
      type: "text",
      description: "A feed id of /v1/status, or another source, such as `override` or `inkling`",
      docs: "id of a [feed](feeds.md) or of [your own feed](own-feeds.md), or `special-use`, `public-suffix-list`, `override`, `inkling`",
    },
    label: {
      type: "text",
      known: EVIDENCE_LABELS,
      description: "What the feed claims, such as `vpn` or `relay`",
      docs: "what the feed claims ([labels](#labels))",
    },
    effect: {
      type: "text",
      values: ["sets", "removes", "fills", "label"],
      docs: "what the entry does to the answer ([effects](#effects))",
    },
    flags: {
      type: "list",
      of: { type: "text", values: [...REPUTATION_FLAGS, "disposable"] },
      optional: true,
      lookups: ["reputation", "email"],
      docs: "flags that the entry sets or removes",
    },
    fields: {
      type: "list",
      of: { type: "text" },
      optional: true,
      lookups: ["geolocate", "reputation"],
      where: "geolocate, `include=network`",
      description: "Fields of the answer filled in by this entry",
      docs: "fields of the answer filled in by this entry",
    },
    id: {
      ...TEXT,
      lookups: ["reputation", "email"],
      where: "overrides",
      description: "The override's id",
      docs: "the override's id, as `inkling overrides list` shows it",
    },
    did_you_mean: {
      ...TEXT,
      lookups: ["email"],
      docs: "popular domain that the person probably meant, or domain that the name imitates",
    },
    weight: {
      type: "number",
      optional: true,
      lookups: ["email"],
      docs: "the feed's weight, if feeds disagree ([policy for mail domains](policy.md#where-lists-disagree))",
    },
    provider: {
      ...TEXT,
      lookups: ["reputation"],
      where: "VPNs, if known",
      docs: "the VPN whose servers the entry lists: `NordVPN`",
    },
    first_seen: {
      ...TEXT,
      lookups: ["reputation"],
      where: "lists of proxies and abusers, if known",
      docs: "day of the first copy with the network, counted from this Inkling's first copy of the feed. After 120 days without the network, counting starts again",
    },
    why: {
      ...TEXT,
      where: "where applicable",
      docs: "rule that cancelled the entry's effect, or how a field was filled in",
    },
    network: {
      ...TEXT,
      lookups: ["geolocate", "reputation"],
      where: "IP lookups",
      docs: "reputation: the feed's smallest network that contains the address; geolocate: the [largest network with the same answer](#locations)",
    },
    domain: {
      ...TEXT,
      lookups: ["email"],
      docs: "domain on the feed's list: the address's own domain, or a parent",
    },
    mail_host: {
      ...TEXT,
      lookups: ["email"],
      where: "email, `checks=mx`",
      docs: "disposable mail host that receives the domain's mail",
    },
    fetched_at: {
      type: "time",
      optional: true,
      where: "feeds, if known",
      docs: "when Inkling fetched the copy, or when the file was put into the mirror",
    },
    published_at: {
      type: "time",
      optional: true,
      where: "feeds, if known",
      docs: "when the publisher released that copy",
    },
    last_seen: {
      ...TEXT,
      lookups: ["reputation"],
      where: "lists of proxies and abusers, if known",
      docs: "day of that copy: the publisher's date or, if unknown, the day when Inkling fetched it",
    },
  },
} as const satisfies Shape;

/** Fields that every answer can have. */
const REASONS = {
  evidence: {
    type: "list",
    of: EVIDENCE_ENTRY,
    limit: 32,
    optional: true,
    optIn: "evidence",
    description: "Only with `include=evidence`",
  },
  evidence_truncated: {
    type: "true",
    optional: true,
    optIn: "evidence",
    description: "True if there was more evidence than fits in the answer",
  },
} as const satisfies Fields;

const SYSTEM =
  "the autonomous system that announces the network (feed `asn`), and its name; omitted if unknown";

/** The network that contains an address. */
export const NETWORK = {
  type: "object",
  name: "Network",
  about: "The owner and kind of an address's network.",
  fields: {
    prefix: {
      type: "text",
      description: "The largest surrounding network with identical values",
      docs: "the largest surrounding network with identical values",
    },
    asn: {
      type: "uint32",
      optional: true,
      description: "The autonomous system that announces the network",
      docs: SYSTEM,
    },
    organization: { ...TEXT, description: "The autonomous system's name", docs: SYSTEM },
    kind: {
      type: "text",
      values: NETWORK_KINDS,
      docs: "`hosting`, `isp`, `mobile`, `education`, `government` or `business` ([how it is decided](policy.md#kind-of-a-network)). `unknown` if no rule applies or rules disagree: 11% of announced IPv4, 35% of IPv6",
    },
    shared: {
      type: "boolean",
      description: "True if the operator declares that many people share one address",
      docs: "`true` if the operator declares that many people share one address, as privacy relays do. No carrier publishes its NAT gateways",
    },
    services: {
      type: "list",
      of: {
        type: "text",
        values: NETWORK_SERVICES,
      },
      description:
        "Services that operators publish for the network, and proxy_seen for proxies seen in it. Later versions may add values.",
      docs: "services that operators publish for the network: `cdn`, `crawler`, `gateway` (corporate gateway), `mail_sender`, `monitor`, `relay`, `resolver`, `webhook_sender`; and `proxy_seen` if bots used addresses in it as proxies; later versions may add values",
    },
    operator: {
      ...TEXT,
      description: "The operator that publishes the network for its service: openai, google",
      docs: "the operator that publishes the network for its service: `openai`, `google`, `uptimerobot`; omitted if there is none",
    },
  },
} as const satisfies Shape;

/** Fields that only address lookups can have. */
const SUBJECT = {
  ip: {
    ...TEXT,
    optIn: "subject",
    description: "Only with `include=subject`: the address that was looked up, normalized",
  },
  prefix: {
    ...TEXT,
    optIn: "subject",
    description: "Only with `include=subject`: the network in the data that has this answer",
  },
  network: {
    ...NETWORK,
    optional: true,
    nullable: true,
    optIn: "network",
    description: "Only with `include=network`; null if the release has no such data",
  },
} as const satisfies Fields;

const PLACE = {
  type: "object",
  name: "Geolocation",
  about: "Every field is always present. Unknown fields inside a field are omitted, never null, empty or 0.",
  fields: {
    city: { type: "object", fields: NAME },
    continent: {
      type: "object",
      fields: { code: { ...TEXT, values: ["AF", "AN", "AS", "EU", "NA", "OC", "SA"] }, ...NAME },
    },
    country: { ...COUNTRY, description: "Where the user is", docs: "where the user is" },
    location: {
      type: "object",
      fields: {
        accuracy_radius: {
          type: "integer",
          optional: true,
          description: "Whole kilometres, chosen so that 67% of addresses should lie within",
          docs: "whole kilometres, chosen so that 67% of addresses should lie within; [measured](accuracy.md#accuracy-radius): 49 to 95%",
        },
        latitude: { type: "number", optional: true, minimum: -90, maximum: 90 },
        longitude: { type: "number", optional: true, minimum: -180, maximum: 180 },
        time_zone: { ...TEXT, description: "IANA name" },
      },
    },
    postal: { type: "object", fields: { code: TEXT } },
    registered_country: {
      ...COUNTRY,
      description: "Where the address block is registered",
      docs: "where the address block is registered",
    },
    subdivisions: {
      type: "list",
      of: {
        type: "object",
        fields: {
          iso_code: {
            ...TEXT,
            description: "The part of the ISO 3166-2 code after the hyphen",
            docs: "the part of the ISO 3166-2 code after the hyphen",
          },
          ...NAME,
        },
      },
      columns: 2,
      description: "From largest to smallest",
      docs: "list from largest to smallest",
    },
    ...SUBJECT,
    ...REASONS,
  },
} as const satisfies Shape;

const REPUTATION = {
  type: "object",
  name: "Reputation",
  fields: {
    ...(Object.fromEntries(REPUTATION_FLAGS.map((flag) => [flag, { type: "boolean" }])) as {
      readonly [F in ReputationFlag]: { readonly type: "boolean" };
    }),
    ...SUBJECT,
    ...REASONS,
  },
} as const satisfies Shape;

const EMAIL = {
  type: "object",
  name: "EmailVerdict",
  fields: {
    valid: {
      type: "boolean",
      description: "True if the address could receive mail from the internet, judging by its text only",
      docs: "the address could receive mail from the internet, judging by its text only. It must be an RFC 5321 mailbox (RFC 6531 for Unicode) below a public suffix, and the domain must not be reserved. Quoted local parts are valid. Address literals (`user@[192.0.2.1]`), `user@example.com`, `user@localhost`, `user@co.uk` and invisible characters are not. Inkling never contacts the mailbox",
    },
    disposable: {
      type: "boolean",
      docs: "the domain belongs to a disposable-email provider. Inkling decides this for invalid addresses, too, if they have a readable domain",
    },
    providers: {
      type: "list",
      of: { type: "text" },
      description:
        "The list entry that matched, then the service behind that domain; empty if not disposable",
      docs: "the listed domain that matched, then the service behind it; empty if not disposable",
    },
    checks: {
      type: "object",
      fields: { mx: { type: "text", values: MX_OUTCOMES } },
      optional: true,
      optIn: "mx",
      description: "Only with `checks=mx`",
    },
    ...REASONS,
  },
} as const satisfies Shape;

/** The answer of each lookup. */
export const ANSWER_FIELDS = {
  geolocate: PLACE,
  reputation: REPUTATION,
  email: EMAIL,
} as const satisfies Readonly<Record<Lookup, Shape>>;

/** The data behind each lookup, as named by `missing` and `incomplete` in Inkling-Data-State. */
export const DATA_OF = {
  geolocate: ["geolocation"],
  reputation: REPUTATION_FLAGS,
  email: ["disposable"],
} as const satisfies Readonly<Record<Lookup, readonly string[]>>;

export type Geolocation = ValueOf<typeof PLACE>;
export type Reputation = ValueOf<typeof REPUTATION>;
export type EmailVerdict = ValueOf<typeof EMAIL>;
export type EvidenceEntry = ValueOf<typeof EVIDENCE_ENTRY>;
