// policy-lists.ts: claims and checks that the tests of the address policy share.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EVIDENCE_LABELS, type FlagLabel, flagOfLabel } from "@inkling/contract";
import { type Prefix, parsePrefix } from "@inkling/engine";
import type { Label, NetworkClaims, NetworkSubject } from "../src/catalog/claims.ts";
import { GUARD_FEEDS } from "../src/catalog/guard-feeds.ts";
import { parseNetworks } from "../src/parse/index.ts";
import {
  evidenceAt,
  flagsByEvidence,
  namedBy,
  type Point,
  show,
  valueAt,
} from "../src/policy/oracle.testing.ts";
import type { Judgement } from "../src/policy/reputation.ts";

export const PACKAGE = join(import.meta.dir, "..");

/** Inkling's own copies of the guard lists, as a machine without publishers has them. */
export const GUARDS = GUARD_FEEDS.flatMap(({ id, label, own, ownFormat, format }): NetworkClaims[] => {
  if (own === undefined) return [];
  const { networks } = parseNetworks(ownFormat ?? format, readFileSync(join(PACKAGE, own)));
  return [{ feed: id, subject: "guard", label: label!, networks }];
});

export function networks(texts: readonly string[]): Prefix[] {
  return texts.map((text) => {
    const prefix = parsePrefix(text);
    if (prefix === undefined) throw new Error(`${text} is not a network`);
    return prefix;
  });
}

/** Returns the label of each list in these tests. */
export function labelOf(feed: string, subject: NetworkSubject): Label {
  if (feed.startsWith("spamhaus-drop")) return "criminal_network";
  if (feed === "feodo-recommended") return "botnet_c2";
  if (subject === "relay") return "relay";
  const label = EVIDENCE_LABELS.find((name): name is FlagLabel => flagOfLabel(name) === subject);
  if (label === undefined) throw new Error(`no label sets ${subject}`);
  return label;
}

/** Fails unless flags and evidence of an address match the oracles, and the flags match the evidence. */
export function expectPoint(
  { flags, evidence }: Judgement,
  point: Point,
  expected: { flags: number; named: readonly string[] },
): number {
  const got = valueAt(flags, point);
  if (got !== expected.flags) throw new Error(`${show(point)}: ${got}, not ${expected.flags}`);
  const entries = evidenceAt(evidence, point);
  if (flagsByEvidence(entries) !== got)
    throw new Error(`${show(point)}: ${got}, but its evidence comes to ${flagsByEvidence(entries)}`);
  const named = namedBy(entries);
  if (named.join() !== expected.named.join())
    throw new Error(`${show(point)}: evidence is ${named.join()}, not ${expected.named.join()}`);
  return got;
}
