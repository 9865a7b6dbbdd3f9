// format.ts: formats numbers, times and codes as text.

import { FLAG_ROWS, isEvidenceLabel, isReputationFlag, keysOf, LABEL_ROWS } from "@inkling/contract";
import type { DataAge } from "./answers.ts";

const regions = new Intl.DisplayNames(["en"], { type: "region", fallback: "code" });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat("en");

export const formatCount = (n: number) => n.toLocaleString("en-US");

const DAY_MS = 86_400_000;

/** Returns the time this many days from now, as the admin API takes it. */
export const timeIn = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

/** Returns the last days up to a time (UTC), such as "2026-01-31". */
export const lastDays = (count: number, until = timeIn(0)) =>
  Array.from({ length: count }, (_, i) =>
    new Date(Date.parse(until) - (count - 1 - i) * DAY_MS).toISOString().slice(0, 10),
  );

/** Formats a number with a noun: "1 decision", "1,200 decisions". */
export const countOf = (n: number, noun: string) => `${formatCount(n)} ${noun}${n === 1 ? "" : "s"}`;

/** Formats names as "a, b and 3 more". */
export function firstOf(names: readonly string[], max: number): string {
  const more = names.length - max;
  return names.slice(0, max).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Formats a number as "12k". */
export const formatCompact = (n: number) => compact.format(n).toLowerCase();

/** Formats a share as "12%", and never shows "0%" for a share above 0. */
export const formatPercent = (part: number) =>
  part > 0 && part < 0.005 ? "under 1%" : `${Math.round(part * 100)}%`;

/** @param code two letters of ISO 3166-1; anything else is returned unchanged */
export const countryName = (code: string) => (/^[A-Z]{2}$/.test(code) && regions.of(code)) || code;

export function formatBytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const power = Math.min(3, Math.floor(Math.log10(n + n / 2000) / 3));
  return `${(n / 1000 ** power).toFixed(1)} ${["", "KB", "MB", "GB"][power]}`;
}

const UNITS = { day: 86_400, hour: 3_600, minute: 60, second: 1 } as const;
type Unit = keyof typeof UNITS;

/** Returns the largest unit in which the duration is at least 1. */
const largestUnit = (seconds: number): Unit =>
  keysOf(UNITS).find((name) => Math.abs(seconds) >= UNITS[name]) ?? "second";

/** Rounds to the nearest number of the largest unit. 23.9 hours become 1 day. */
function inLargestUnit(seconds: number): { n: number; unit: Unit } {
  const step = UNITS[largestUnit(seconds)];
  const rounded = Math.round(seconds / step) * step;
  const unit = largestUnit(rounded);
  return { n: rounded / UNITS[unit], unit };
}

/** Formats seconds as "3 hours". */
export function formatDuration(seconds: number): string {
  const { n, unit } = inLargestUnit(seconds);
  return n.toLocaleString("en", { style: "unit", unit, unitDisplay: "long" });
}

/** Formats ages as "geolocation 171 days, is_proxy 3 hours". */
export const formatAges = (ages: readonly DataAge[]) =>
  ages.map(({ answer, seconds }) => `${answer} ${formatDuration(seconds)}`).join(", ");

/** Formats a time as "3 hours ago", "in 2 days" or "just now". */
export function formatRelative(iso: string): string {
  const { n, unit } = inLargestUnit((Date.parse(iso) - Date.now()) / 1000);
  return n === 0 ? "just now" : relative.format(n, unit);
}

/** Formats a time as "2026-01-31 23:59:59", in UTC. */
export const formatTime = (iso: string) => new Date(iso).toISOString().slice(0, 19).replace("T", " ");

/** Formats a time as "2026-01-31 23:59:59 UTC". */
export const formatExact = (iso: string) => `${formatTime(iso)} UTC`;

/** Formats seconds as "2.5 ms" or "0.004 ms". */
export const formatMilliseconds = (seconds: number | null) =>
  seconds === null ? "–" : `${(seconds * 1000).toLocaleString("en-US", { maximumSignificantDigits: 3 })} ms`;

/** Replaces each URL by its host, because paths and queries take too much space in a table. */
export const shortenUrls = (text: string) => text.replace(/https?:\/\/([^\s/]+)\/\S+/g, "$1/…");

/** Returns an evidence label in words. */
export const formatLabel = (code: string) =>
  (isEvidenceLabel(code) && LABEL_ROWS[code].name) || code.replaceAll("_", " ");

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Returns a flag's name: "Abuser", "Disposable". */
export const flagName = (flag: string) => capitalized(isReputationFlag(flag) ? FLAG_ROWS[flag].name : flag);
