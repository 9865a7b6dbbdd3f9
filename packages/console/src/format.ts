// format.ts: numbers, times and codes as text.

import type { Flag } from "./types.ts";

const regions = new Intl.DisplayNames(["en"], { type: "region" });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat("en");

export const formatCount = (n: number) => n.toLocaleString("en-US");

/** "12k" */
export const formatCompact = (n: number) => compact.format(n).toLowerCase();

/** "12 %", and never "0 %" for something. */
export const formatPercent = (part: number) =>
  part > 0 && part < 0.005 ? "under 1 %" : `${Math.round(part * 100)} %`;

/** @param code ISO 3166-1 alpha-2; returned as it is when unknown */
export function countryName(code: string): string {
  try {
    return regions.of(code) ?? code;
  } catch {
    return code;
  }
}

export function formatBytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const units = ["KB", "MB", "GB"];
  const power = Math.min(units.length, Math.floor(Math.log10(n + n / 2000) / 3));
  return `${(n / 1000 ** power).toFixed(1)} ${units[power - 1]}`;
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** The largest unit of which there is at least one. */
function largestUnit(seconds: number): { n: number; unit: (typeof UNITS)[number][0] } {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? (["second", 1] as const);
  return { n: Math.trunc(seconds / size), unit };
}

/** "3 hours" */
export function formatDuration(seconds: number): string {
  const { n, unit } = largestUnit(seconds);
  return new Intl.NumberFormat("en", { style: "unit", unit, unitDisplay: "long" }).format(n);
}

/** "3 hours ago", "in 2 days" or "just now" */
export function formatRelative(iso: string, now = Date.now()): string {
  const { n, unit } = largestUnit((Date.parse(iso) - now) / 1000);
  return n === 0 ? "just now" : relative.format(n, unit);
}

/** "2026-01-31 23:59:59 UTC" */
export const formatExact = (iso: string) =>
  `${new Date(iso).toISOString().slice(0, 19).replace("T", " ")} UTC`;

export const formatMilliseconds = (seconds: number | null) =>
  seconds === null ? "–" : `${(seconds * 1000).toFixed(seconds < 0.001 ? 2 : 1)} ms`;

/** Replaces each URL by its host: paths and queries fill a table. */
export const shortenUrls = (text: string) => text.replace(/https?:\/\/([^\s/]+)\/\S+/g, "$1/…");

const LABELS: Readonly<Record<string, string>> = {
  tor_exit: "Tor exit",
  vpn: "VPN",
  relay: "privacy relay",
  attacker: "reported attacker",
  botnet_c2: "botnet command server",
  disposable: "disposable email service",
  override: "your override",
};

/** A label of evidence as words. */
export const formatLabel = (code: string) => LABELS[code] ?? code.replaceAll("_", " ");

/** Name, the name in a sentence, meaning. */
export const FLAGS: Readonly<Record<Flag, readonly [name: string, noun: string, meaning: string]>> = {
  is_abuser: ["Abuser", "an abuser", "seen attacking, or in a network run by criminals"],
  is_proxy: ["Proxy", "a proxy", "a VPN or public proxy: hides the address of its users"],
  is_tor_exit: ["Tor exit", "a Tor exit", "traffic of the Tor network leaves here"],
};
export const FLAG_NAMES = Object.keys(FLAGS) as Flag[];

/** A flag's name: "Abuser", "Disposable". */
export const flagName = (flag: string) =>
  flag in FLAGS ? FLAGS[flag as Flag][0] : flag === "disposable" ? "Disposable" : flag;
