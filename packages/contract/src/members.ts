// members.ts: every member of every answer, nested ones included.
//
// Answer schemas, OpenAPI, the SDKs' types, columns of files, and the tables of docs/api.md and docs/evidence.md derive
// from these rows. Members are listed in the order in which answers have them.

import { EVIDENCE_LABELS, REPUTATION_FLAGS, type ReputationFlag } from "./flags.ts";
import type { Lookup, Members, Shape, ValueOf } from "./shapes.ts";

/** What `network.kind` can be. */
export const NETWORK_KINDS = [
  "hosting",
  "isp",
  "mobile",
  "education",
  "government",
  "business",
  "unknown",
] as const;
/** What `network.services` can name. */
export const NETWORK_SERVICES = [
  "cdn",
  "crawler",
  "mail_sender",
  "monitor",
  "relay",
  "resolver",
  "webhook_sender",
] as const;

const TEXT = { type: "text", optional: true } as const;
const NAME = { name: TEXT } as const;

const COUNTRY = {
  type: "object",
  name: "Country",
  members: {
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
  about: "One thing that the answer rests on (docs/evidence.md). New members, labels and effects may come.",
  isOpen: true,
  members: {
    feed: {
      type: "text",
      description: "A feed of /v1/status; `override`, `inkling` and a few more are no feeds",
      docs: "[feed](feeds.md) id, [your own](own-feeds.md) included, or `special-use`, `public-suffix-list`, `override`, `inkling`",
    },
    label: {
      type: "text",
      known: EVIDENCE_LABELS,
      description: "What the feed knows, as in `vpn` or `relay`",
      docs: "what the feed knows ([labels](#labels))",
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
      where: "reputation, email",
      docs: "flags that it sets or removes",
    },
    members: {
      type: "list",
      of: { type: "text" },
      optional: true,
      lookups: ["geolocate", "reputation"],
      where: "geolocate, `include=network`",
      description: "Members of the answer that it filled in",
      docs: "members of the answer that it filled in",
    },
    id: {
      ...TEXT,
      lookups: ["reputation", "email"],
      where: "overrides",
      description: "Of an override",
      docs: "id of the override, as in `inkling override list`",
    },
    did_you_mean: {
      ...TEXT,
      lookups: ["email"],
      where: "email",
      docs: "popular domain that was probably meant, or domain that it looks like",
    },
    weight: {
      type: "number",
      optional: true,
      lookups: ["email"],
      where: "email",
      docs: "weight of the feed where feeds disagreed ([policy.md](policy.md#where-lists-disagree))",
    },
    why: {
      ...TEXT,
      where: "where applicable",
      docs: "rule that kept the entry from having an effect, or how a member was filled in",
    },
    network: {
      ...TEXT,
      lookups: ["geolocate", "reputation"],
      where: "IP lookups",
      docs: "reputation: smallest network of the feed that contains the address; geolocate: [largest network with the same answer](#locations)",
    },
    domain: {
      ...TEXT,
      lookups: ["email"],
      where: "email",
      docs: "domain that the feed lists: the one asked about, or a parent",
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
      docs: "when the copy in use was fetched, or put into the mirror",
    },
    published_at: {
      type: "time",
      optional: true,
      where: "feeds, if known",
      docs: "when the publisher made that copy",
    },
  },
} as const satisfies Shape;

/** Of every answer. */
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
    description: "There were more entries than fit",
  },
} as const satisfies Members;

const SYSTEM = "the autonomous system that announces it (feed `asn`), and its name; omitted where unknown";

/** Whose network an address is. */
export const NETWORK = {
  type: "object",
  name: "Network",
  about: "Whose network an address is (docs/api.md).",
  members: {
    prefix: {
      type: "text",
      description: "The largest network around the address of which all this holds",
      docs: "the largest network around the address of which all of this holds",
    },
    asn: {
      type: "uint32",
      optional: true,
      description: "The autonomous system that announces it",
      docs: SYSTEM,
    },
    organization: { ...TEXT, description: "Of that system", docs: SYSTEM },
    kind: {
      type: "text",
      values: NETWORK_KINDS,
      docs: "`hosting`, `isp`, `mobile`, `education`, `government` or `business`, by a published range or a rule of `packages/compiler/data/network-kinds.csv` about the name. `unknown` where none fits, or rules of two kinds do: a tenth of announced IPv4, three tenths of IPv6",
    },
    shared: {
      type: "boolean",
      description: "Do many people come from one address, as published?",
      docs: "many people leave from one address, as published: privacy relays. No carrier publishes its NAT gateways",
    },
    services: {
      type: "list",
      of: {
        type: "text",
        values: NETWORK_SERVICES,
      },
      description: "What operators publish about it. New ones may come.",
      docs: "what operators publish: `cdn`, `crawler`, `mail_sender`, `monitor`, `relay`, `resolver`, `webhook_sender`; more may come",
    },
    operator: {
      ...TEXT,
      description: "Who publishes that its service runs there: openai, google",
      docs: "who publishes that its service runs there: `openai`, `google`, `uptimerobot`; omitted where no operator does",
    },
  },
} as const satisfies Shape;

/** Of lookups of addresses. */
const SUBJECT = {
  ip: {
    ...TEXT,
    optIn: "subject",
    description: "Only with `include=subject`: in normal form, IPv4 unwrapped",
  },
  prefix: {
    ...TEXT,
    optIn: "subject",
    description: "Only with `include=subject`: the network that the data has this answer for",
  },
  network: {
    ...NETWORK,
    optional: true,
    nullable: true,
    optIn: "network",
    description: "Only with `include=network`; null where the release has no such data",
  },
} as const satisfies Members;

const PLACE = {
  type: "object",
  name: "Geolocation",
  about: "Every member is always there; what is not known of it is left out, never null, empty or 0.",
  members: {
    city: { type: "object", members: NAME },
    continent: {
      type: "object",
      members: { code: { ...TEXT, values: ["AF", "AN", "AS", "EU", "NA", "OC", "SA"] }, ...NAME },
    },
    country: { ...COUNTRY, description: "Where the user is", docs: "where the user is" },
    location: {
      type: "object",
      members: {
        accuracy_radius: {
          type: "integer",
          optional: true,
          description: "Whole kilometres, 67 % confidence",
          docs: "whole kilometres, 67 % confidence; an estimate for DB-IP data: [accuracy.md](accuracy.md)",
        },
        latitude: { type: "number", optional: true, minimum: -90, maximum: 90 },
        longitude: { type: "number", optional: true, minimum: -180, maximum: 180 },
        time_zone: { ...TEXT, description: "IANA name" },
      },
    },
    postal: { type: "object", members: { code: TEXT } },
    registered_country: {
      ...COUNTRY,
      description: "Where the block of addresses is registered",
      docs: "where the address block is registered",
    },
    subdivisions: {
      type: "list",
      of: {
        type: "object",
        members: {
          iso_code: {
            ...TEXT,
            description: "The part after the hyphen of ISO 3166-2",
            docs: "ISO 3166-2 after the hyphen",
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
  members: {
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
  members: {
    valid: {
      type: "boolean",
      description: "Could it receive mail from the internet, as far as its text tells?",
      docs: "the address could receive mail from the internet, as far as its text tells: an RFC 5321 mailbox (RFC 6531 for Unicode, quoted local parts included, no address literals such as `user@[192.0.2.1]`), below a public suffix, domain not reserved. `user@example.com`, `user@localhost`, `user@co.uk` and invisible characters are not valid. No mailbox is contacted",
    },
    disposable: {
      type: "boolean",
      docs: "the domain belongs to a disposable-email provider; set wherever a domain can be read, valid or not",
    },
    providers: {
      type: "list",
      of: { type: "text" },
      description: "The entry that matched, then the service that runs it; empty when not disposable",
      docs: "the entry that matched, then the service that runs it; empty when not disposable",
    },
    checks: {
      type: "object",
      members: { mx: { type: "text", values: MX_OUTCOMES } },
      optional: true,
      optIn: "mx",
      description: "Only with `checks=mx`",
    },
    ...REASONS,
  },
} as const satisfies Shape;

/** The answer of each lookup. */
export const ANSWER_MEMBERS = {
  geolocate: PLACE,
  reputation: REPUTATION,
  email: EMAIL,
} as const satisfies Readonly<Record<Lookup, Shape>>;

/** What the data of each lookup can be incomplete in: names of `missing` and `incomplete` in Inkling-Data-State. */
export const DATA_OF = {
  geolocate: ["geolocation"],
  reputation: REPUTATION_FLAGS,
  email: ["disposable"],
} as const satisfies Readonly<Record<Lookup, readonly string[]>>;

export type Geolocation = ValueOf<typeof PLACE>;
export type Reputation = ValueOf<typeof REPUTATION>;
export type EmailVerdict = ValueOf<typeof EMAIL>;
export type EvidenceEntry = ValueOf<typeof EVIDENCE_ENTRY>;
