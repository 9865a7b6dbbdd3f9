// evidence-answers.ts: answers with evidence from a loaded release, for tests of evidence.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import {
  Answerer,
  type AnswerSource,
  bodyOf,
  type ComposedAnswer,
  INCLUDE,
  type IpAddress,
  type LoadedRelease,
  OptIns,
  Overrides,
  REPUTATION_ANSWERS,
  type UnwrappedAddress,
} from "@inkling/engine";

export interface Entry {
  readonly feed: string;
  readonly label: string;
  readonly effect: string;
  readonly flags?: readonly string[];
  readonly fields?: readonly string[];
  readonly network?: string;
  readonly domain?: string;
  readonly weight?: number;
  readonly fetched_at?: string;
}
export interface Answer extends Record<string, unknown> {
  readonly evidence: readonly Entry[];
  readonly evidence_truncated?: true;
}

const decoder = new TextDecoder();
export const FLAGS = ["is_abuser", "is_proxy", "is_tor_exit"] as const;

const answerer = new Answerer();
const optIns = new OptIns();
const read = (answer: Uint8Array) => JSON.parse(decoder.decode(answer));

/** Returns the reputation of an address, even of a special-use address, which is never looked up. */
export function reputation(release: LoadedRelease, at: IpAddress): Answer {
  const address = at as UnwrappedAddress; // lookups use the same form as compiled networks
  const plain = release.reputation!.lookup(address) ?? REPUTATION_ANSWERS[0]!;
  return read(optIns.addToAddress(plain, "reputation", address, release, INCLUDE.evidence));
}

export function email(release: LoadedRelease, text: string): Answer {
  const source: AnswerSource = { release, overrides: Overrides.NONE, now: 0, allowMissing: false };
  return read(bodyOf(answerer.answerEmail(text, source, true) as ComposedAnswer));
}

export function geolocate(release: LoadedRelease, at: IpAddress): Answer | undefined {
  const address = at as UnwrappedAddress;
  const plain = release.geo!.lookup(address);
  return plain && read(optIns.addToAddress(plain, "geolocate", address, release, INCLUDE.evidence));
}

/** Applies the rule in docs/evidence.md: a flag is true if an entry sets it and none removes it. */
export function flagsOf(evidence: readonly Entry[]): string[] {
  const named = (effect: string) =>
    new Set(evidence.flatMap((entry) => (entry.effect === effect ? (entry.flags ?? []) : [])));
  const removed = named("removes");
  return [...named("sets")].filter((flag) => !removed.has(flag)).sort();
}

/** Returns the first column of the table in docs/evidence.md whose header begins with this text. */
export function docsTable(head: string): string[] {
  const docs = readFileSync(resolve(import.meta.dir, "../../docs/evidence.md"), "utf8");
  const table = docs.split("\n\n").find((part) => part.startsWith(`| ${head} |`))!;
  return [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, word]) => word!);
}
