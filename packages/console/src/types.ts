// types.ts: what the admin API returns, as far as the console uses it. Source: docs/admin-api.md.

type Texts<K extends string> = Readonly<Record<K, string>>;
type OptionalTexts<K extends string> = { readonly [key in K]?: string };
type Counts<K extends string = string> = Readonly<Record<K, number>>;
type Nullable<K extends string, T> = Readonly<Record<K, T | null>>;
type Lists<K extends string, T = string> = Readonly<Record<K, readonly T[]>>;

/** RFC 9457; `problems` has a line for each thing that is wrong. */
export interface Problem extends OptionalTexts<"title" | "detail" | "code" | "request_id"> {
  readonly problems?: readonly string[];
}

/** In place of one answer of a lookup. */
export type ValueProblem = Texts<"code" | "title" | "detail">;

export type Flag = "is_abuser" | "is_proxy" | "is_tor_exit";

type Match = "network" | "domain" | "id" | "mutes" | "did_you_mean";
export interface Evidence extends Texts<"feed" | "label" | "effect">, OptionalTexts<Match> {
  readonly why?: string;
  readonly flags?: readonly string[];
  readonly members?: readonly string[];
  readonly fetched_at?: string;
}

interface WithEvidence {
  readonly evidence?: readonly Evidence[];
  readonly evidence_truncated?: boolean;
}

type Named = OptionalTexts<"name" | "iso_code">;
export interface Geolocation extends WithEvidence {
  readonly city: Named;
  readonly continent: Named;
  readonly country: Named;
  readonly registered_country: Named;
  readonly subdivisions: readonly Named[];
  readonly postal: OptionalTexts<"code">;
  /** The radius in kilometres. */
  readonly location: OptionalTexts<"time_zone"> &
    Partial<Counts<"latitude" | "longitude" | "accuracy_radius">>;
}

export type Reputation = WithEvidence & Readonly<Record<Flag, boolean>>;
export type EmailVerdict = WithEvidence &
  Readonly<Record<"valid" | "disposable", boolean>> &
  Lists<"providers">;

export interface IpAnswer {
  readonly kind: "address" | "unknown";
  readonly value: string;
  /** In normal form; not of an unknown value. */
  readonly address?: string;
  readonly geolocation: Geolocation | ValueProblem;
  readonly reputation: Reputation | ValueProblem;
}

export interface EmailAnswer {
  readonly kind: "email";
  readonly value: string;
  readonly email: EmailVerdict | ValueProblem;
}

export type Answer = IpAnswer | EmailAnswer;

/** `missing`: answers without any loaded feed: flags, "disposable", members of a geolocation. */
export type Lookup = Lists<"answers", Answer> & Lists<"missing">;

export interface Update {
  readonly running: boolean;
  readonly asked: boolean;
  readonly last:
    | (Texts<"at"> & {
        readonly seconds?: number;
        readonly published?: boolean;
        readonly problem?: string;
        readonly hint?: string | null;
      })
    | null;
}

export interface DataOverview extends Lists<"missing">, Lists<"partial", Texts<"answer" | "why">> {
  readonly release: (Texts<"name" | "created_at" | "serving_since"> & { readonly verified: boolean }) | null;
  readonly refused_release: Texts<"at" | "reason"> | null;
  readonly pinned: string | null;
  /** null: this server does not build data. */
  readonly update: Update | null;
}

type FeedText = "id" | "title" | "sets" | "licence";
type FeedHours = "age_seconds" | "cadence_hours" | "stale_hours";
export interface Feed extends Texts<FeedText>, Counts<"entries">, Nullable<FeedHours, number> {
  readonly state: "loaded" | "missing" | "refused" | "expired";
  readonly stale: boolean;
  readonly homepage: string | null;
  readonly attribution: string | null;
  readonly error: string | null;
  readonly pending: Texts<"why"> | null;
  readonly history: readonly Counts<"entries">[];
}

export interface Release extends Texts<"name" | "created_at">, Counts<"bytes"> {
  readonly current: boolean;
  readonly pinned: boolean;
  /** Since the release before; null for the oldest. */
  readonly feeds_changed: readonly (Texts<"feed"> & Counts<"entries_before" | "entries">)[] | null;
}

type Change<T> = Readonly<Record<"added" | "removed", T>>;
export interface ReleaseChanges {
  readonly flags?: Readonly<Record<string, Change<Counts<"ipv4_addresses" | "ipv6_networks">>>>;
  readonly disposable?: Change<number>;
}

export type Scope = "geolocate" | "reputation" | "email";
export type Refusals = Counts<"not_allowed" | "rate_limited" | "quota_exceeded">;

/** What can be set; `null` is "not set". */
export interface KeySettings extends Texts<"name">, Lists<"networks">, Nullable<"expires_at", string> {
  readonly scopes: readonly string[];
  readonly rate: number | null;
  readonly burst: number | null;
  readonly quota: number | null;
}

export interface Key extends KeySettings, Texts<"id" | "hint" | "created_at"> {
  readonly state: "live" | "sandbox" | "expired" | "revoked";
  readonly revoked_at: string | null;
}

export interface ListedKey extends Key {
  readonly lookups_today: Counts<Scope>;
  readonly refused_today: Refusals;
}

/** `at`: "2026-01-31", or "2026-01-31T23" by the hour. */
export type UsagePoint = Texts<"at"> & Counts<Scope | "total"> & { readonly refused: Refusals };
export type Usage = Texts<"from" | "to"> & Lists<"usage", UsagePoint>;

type OverrideText = "id" | "kind" | "value" | "note" | "author" | "created_at";
/** `mute`: the id of a feed that is ignored. */
export interface Override extends Texts<OverrideText>, Nullable<"flag" | "mute" | "expires_at", string> {
  readonly verdict: boolean | null;
}

export interface AuditEntry extends Texts<"at" | "actor" | "action" | "subject">, Counts<"sequence"> {
  readonly before: unknown;
  readonly after: unknown;
}

interface Moment extends Counts<"requests"> {
  readonly statuses: Counts;
  readonly lookups: Counts;
  readonly problems: Counts;
  readonly flags_raised: Counts;
  readonly latency_seconds: Nullable<"p50" | "p95" | "p99", number>;
}
export type TrafficPoint = Moment & Texts<"at">;
export type CountryCount = Texts<"iso_code"> & Counts<"count">;

export interface Traffic {
  readonly series: readonly TrafficPoint[];
  readonly total: Moment & Lists<"countries", CountryCount>;
}
