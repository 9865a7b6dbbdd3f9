// types.ts: what the admin API returns, as far as the console uses it. Source: docs/admin-api.md.

/** RFC 9457; `problems` has a line for each thing that is wrong. */
export interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly request_id?: string;
  readonly problems?: readonly string[];
}

/** In place of one answer of a lookup. */
export interface ValueProblem {
  readonly code: string;
  readonly title: string;
  readonly detail: string;
}

export type Flag = "is_abuser" | "is_proxy" | "is_tor_exit";

export interface Evidence {
  readonly feed: string;
  readonly label: string;
  readonly effect: string;
  readonly why?: string;
  readonly flags?: readonly string[];
  readonly members?: readonly string[];
  readonly network?: string;
  readonly domain?: string;
  /** Of an override. */
  readonly id?: string;
  readonly mutes?: string;
  readonly did_you_mean?: string;
  readonly fetched_at?: string;
}

interface WithEvidence {
  readonly evidence?: readonly Evidence[];
  readonly evidence_truncated?: boolean;
}

interface Named {
  readonly name?: string;
  readonly iso_code?: string;
}

export interface Geolocation extends WithEvidence {
  readonly city: Named;
  readonly continent: Named;
  readonly country: Named;
  readonly location: {
    readonly latitude?: number;
    readonly longitude?: number;
    /** Kilometres. */
    readonly accuracy_radius?: number;
    readonly time_zone?: string;
  };
  readonly postal: { readonly code?: string };
  readonly registered_country: Named;
  readonly subdivisions: readonly Named[];
}

export interface Reputation extends WithEvidence, Readonly<Record<Flag, boolean>> {}

export interface EmailVerdict extends WithEvidence {
  readonly valid: boolean;
  readonly disposable: boolean;
  readonly providers: readonly string[];
}

export interface IpAnswer {
  readonly value: string;
  readonly kind: "address" | "unknown";
  /** In normal form; not of an unknown value. */
  readonly address?: string;
  readonly geolocation: Geolocation | ValueProblem;
  readonly reputation: Reputation | ValueProblem;
}

export interface EmailAnswer {
  readonly value: string;
  readonly kind: "email";
  readonly email: EmailVerdict | ValueProblem;
}

export type Answer = IpAnswer | EmailAnswer;

export interface Lookup {
  readonly answers: readonly Answer[];
  /** Answers without any loaded feed: flags, "disposable", members of a geolocation. */
  readonly missing: readonly string[];
}

export interface Update {
  readonly running: boolean;
  readonly asked: boolean;
  readonly last: {
    readonly at: string;
    readonly seconds?: number;
    readonly published?: boolean;
    readonly problem?: string | null;
    readonly hint?: string | null;
  } | null;
}

export interface DataOverview {
  readonly release: {
    readonly name: string;
    readonly created_at: string;
    readonly serving_since: string;
    readonly verified: boolean;
  } | null;
  readonly missing: readonly string[];
  readonly partial: readonly { readonly answer: string; readonly why: string }[];
  readonly refused_release: { readonly at: string; readonly reason: string } | null;
  readonly pinned: string | null;
  /** null: this server does not build data. */
  readonly update: Update | null;
}

export interface Feed {
  readonly id: string;
  readonly title: string;
  readonly homepage: string | null;
  readonly sets: string;
  readonly state: "loaded" | "missing" | "refused" | "expired";
  readonly stale: boolean;
  readonly error: string | null;
  readonly pending: { readonly why: string } | null;
  readonly entries: number;
  readonly history: readonly { readonly entries: number }[];
  readonly age_seconds: number | null;
  readonly cadence_hours: number | null;
  readonly stale_hours: number | null;
  readonly licence: string;
  readonly attribution: string | null;
}

export interface Release {
  readonly name: string;
  readonly created_at: string;
  readonly current: boolean;
  readonly pinned: boolean;
  readonly bytes: number;
  /** Since the release before; null for the oldest. */
  readonly feeds_changed:
    | readonly { readonly feed: string; readonly entries_before: number; readonly entries: number }[]
    | null;
}

interface FlagChange {
  readonly ipv4_addresses: number;
  readonly ipv6_networks: number;
}

export interface ReleaseChanges {
  readonly flags?: Readonly<Record<string, { readonly added: FlagChange; readonly removed: FlagChange }>>;
  readonly disposable?: { readonly added: number; readonly removed: number };
}

export type Scope = "geolocate" | "reputation" | "email";
export type Refusals = Readonly<Record<"not_allowed" | "rate_limited" | "quota_exceeded", number>>;
type LookupCounts = Readonly<Record<Scope, number>>;

/** `null` is "not set". */
export interface Key {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly state: "live" | "sandbox" | "expired" | "revoked";
  readonly scopes: readonly Scope[];
  readonly networks: readonly string[];
  readonly rate: number | null;
  readonly burst: number | null;
  readonly quota: number | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
}

export interface ListedKey extends Key {
  readonly lookups_today: LookupCounts;
  readonly refused_today: Refusals;
}

export interface UsagePoint extends LookupCounts {
  /** "2026-01-31", or "2026-01-31T23" by the hour. */
  readonly at: string;
  readonly total: number;
  readonly refused: Refusals;
}

export interface Usage {
  readonly from: string;
  readonly to: string;
  readonly usage: readonly UsagePoint[];
}

export interface Override {
  readonly id: string;
  readonly kind: string;
  readonly value: string;
  readonly flag: string | null;
  readonly verdict: boolean | null;
  /** The id of a muted feed. */
  readonly mute: string | null;
  readonly note: string;
  readonly author: string;
  readonly created_at: string;
  readonly expires_at: string | null;
}

export interface AuditEntry {
  readonly sequence: number;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
}

type Counts = Readonly<Record<string, number>>;

interface Moment {
  readonly requests: number;
  readonly statuses: Counts;
  readonly lookups: Counts;
  readonly problems: Counts;
  readonly flags_raised: Counts;
  readonly latency_seconds: Readonly<Record<"p50" | "p95" | "p99", number | null>>;
}

export interface TrafficPoint extends Moment {
  readonly at: string;
}

export interface CountryCount {
  readonly iso_code: string;
  readonly count: number;
}

export interface Traffic {
  readonly series: readonly TrafficPoint[];
  readonly total: Moment & { readonly countries: readonly CountryCount[] };
}
