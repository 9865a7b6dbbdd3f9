// history.ts: remembers on which day each network was first and last in a feed's copies.
//
// A line of <dataDir>/feeds/<id>/history.txt has a network and both days, as days since 1970: `192.0.2.1/32 20650 20680`.
// Other lines are ignored, so that their networks count as new. The file is deleted with the feed's folder. Evidence
// takes the first day from it, and VPN networks count servers that left their list, because lists show only some of a
// VPN's servers at a time.
// Cost: 30 bytes a network; 0.1 s for 20,000 networks.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, replaceFile } from "@inkling/data";
import { formatPrefix, type Prefix, parsePrefix } from "@inkling/engine";
import type { NetworkClaims } from "../catalog/claims.ts";
import type { Feed } from "../catalog/feed.ts";
import { feedFolder } from "../fetch/feed-state.ts";

const FILE = "history.txt";
const LINE = /^([0-9a-f.:]+\/\d{1,3}) (\d{1,6}) (\d{1,6})$/;
/** For this long, a former server shows where a VPN's servers are. Lists of VPN servers are dropped at the same age. */
const KEEP_DAYS = 120;
/** Bounds the file of a list that is new each day. The networks that left the list most recently are kept. */
const MAX_LEFT = 100_000;
const DAY_MS = 86_400_000;

interface Days {
  readonly first: number;
  readonly last: number;
}

export interface History {
  readonly text: string;
  /** Adds to claims when their networks were first seen, and the networks that left the list. */
  readonly applyTo: (claims: readonly NetworkClaims[]) => NetworkClaims[];
}

/** Returns whether a feed has a history. Old copies of some databases must be destroyed, so these have none. */
export const hasHistory = ({ sets, own, destroyOld }: Feed): boolean =>
  (sets === "is_proxy" || sets === "is_abuser") && own === undefined && destroyOld !== true;

/**
 * Adds a copy to a feed's history.
 * @param at when the publisher created the copy or, if unknown, when it was fetched
 */
export function nextHistory(
  feed: Feed,
  dataDir: string,
  claims: readonly NetworkClaims[],
  at: Date,
): History {
  const day = Math.floor(at.getTime() / DAY_MS);
  const known = [...read(join(feedFolder(feed, dataDir), FILE))];
  const before = new Map(known.filter(([, { last }]) => day - last <= KEEP_DAYS));
  const listed = new Map<string, Days>();
  for (const network of claims.flatMap((claim) => claim.networks)) {
    const key = formatPrefix(network);
    const { first = day, last = day } = before.get(key) ?? {};
    listed.set(key, { first: Math.min(first, day), last: Math.max(last, day) });
  }
  const left = [...before]
    .filter(([key]) => !listed.has(key))
    .sort(([, a], [, b]) => b.last - a.last)
    .slice(0, MAX_LEFT);
  const rows = [...listed, ...left].map(([key, { first, last }]) => `${key} ${first} ${last}\n`);
  const earlier = left.flatMap(([key]) => parsePrefix(key) ?? []);
  const firstSeen = (network: Prefix) => {
    const days = listed.get(formatPrefix(network));
    return days && new Date(days.first * DAY_MS).toISOString().slice(0, 10);
  };
  return {
    text: rows.sort().join(""),
    applyTo: (of) => of.map((claim, i) => ({ ...claim, firstSeen, ...(i === 0 && { earlier }) })),
  };
}

export function writeHistory(feed: Feed, dataDir: string, { text }: History): void {
  const folder = feedFolder(feed, dataDir);
  makeFolder(folder);
  replaceFile(join(folder, FILE), [Buffer.from(text)]);
}

function read(path: string): ReadonlyMap<string, Days> {
  const history = new Map<string, Days>();
  if (!existsSync(path)) return history;
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const [, key, first, last] = LINE.exec(line) ?? [];
    if (key !== undefined) history.set(key, { first: Number(first), last: Number(last) });
  }
  return history;
}
