// machines.ts: measures whether crawlers, monitors, webhook senders and Tor exits are known, and neither flagged nor
// cleared by mistake.
//
// The mirror's build has read these lists. The seeds have Inkling's copies of some of them.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CRAWLERS } from "@inkling/contract";
import { type IpAddress, type Prefix, parseIp } from "@inkling/engine";
import { FEEDS, parseNetworks } from "../lib/compiler.ts";
import { MIRROR } from "../lib/shared-folders.ts";
import { type Build, lookups } from "./builds.ts";
import { count, type TruthRow } from "./rows.ts";

/** Fifteen operators. */
const OPERATORS = [
  ...["openai", "apple", "duckduckgo", "ahrefs", "commoncrawl", "perplexity"],
  ...["meta", "x", "yandex", "semrush", "microsoft", "google", "anthropic", "amazon", "kagi"],
];
const MACHINES = new Set(["crawler", "monitor", "webhook_sender"]);

export function measureMachines({ mode, release }: Build): TruthRow[] {
  const { reputation } = lookups(release);
  const loaded = new Set(
    release.manifest.feeds.filter(({ state }) => state === "loaded").map(({ id }) => id),
  );
  const feeds = new Set(CRAWLERS.flatMap(({ operator, feed }) => (feed && loaded.has(feed) ? operator : [])));
  const listed = operatorsIn("ipverse-crawlers");
  const known = OPERATORS.filter((name) => feeds.has(name) || (mode === "mirror" && listed.has(name)));
  const rows: TruthRow[] = [
    {
      measure: "operators whose crawler is known",
      sample: `${OPERATORS.length} operators`,
      mode,
      value: `${known.length} of ${OPERATORS.length}`,
      target: "at least 13",
      seen: "built from",
    },
  ];
  const files = FEEDS.filter(({ label }) => label !== undefined && MACHINES.has(label)).flatMap((feed) => {
    const path = ["txt", "json"].map((ending) => join(MIRROR, `${feed.id}.${ending}`)).find(existsSync);
    return path === undefined ? [] : [{ feed, path }];
  });
  const networks = files.flatMap(({ feed, path }): readonly Prefix[] => {
    const { networks, groups } = parseNetworks(feed.format, readFileSync(path));
    return groups?.filter(({ isDoubtful }) => !isDoubtful).flatMap((group) => group.networks) ?? networks;
  });
  const flagged = networks.filter(({ address }) => {
    const facts = reputation(address);
    return facts !== undefined && (facts.is_abuser || facts.is_proxy || facts.is_tor_exit);
  });
  const ofMachines = "crawlers, monitors and webhook senders flagged";
  rows.push(
    files.length === 0
      ? {
          measure: ofMachines,
          sample: "their operators' lists",
          mode,
          value: undefined,
          seen: "not measured: lacks a mirror",
        }
      : {
          measure: ofMachines,
          sample: `their operators' lists, ${count(networks.length)} networks`,
          mode,
          value: count(flagged.length),
          target: "0",
          seen: mode === "mirror" ? "built from" : "held out",
        },
  );
  return [...rows, exitRow({ mode, release })];
}

/** Returns the operators whose crawlers' own networks are in the mirror's list of bots. */
function operatorsIn(id: string): Set<string | undefined> {
  const path = join(MIRROR, `${id}.json`);
  if (!existsSync(path)) return new Set();
  const { groups = [] } = parseNetworks("ipverse-bots", readFileSync(path));
  return new Set(groups.filter(({ isDoubtful }) => !isDoubtful).map(({ operator }) => operator));
}

/**
 * Counts exits that a guard cleared, which means that they are on Tor's list but not flagged. The seeds load no list of
 * exits.
 */
function exitRow({ mode, release }: Build): TruthRow {
  const path = join(MIRROR, "tor-bulk-exits.txt");
  const measure = "Tor exits that a guard clears";
  if (!existsSync(path) || mode === "seeds")
    return {
      measure,
      sample: "tor-bulk-exits",
      mode,
      value: undefined,
      seen:
        mode === "seeds" ? "not measured: the seeds have no list of exits" : "not measured: lacks a mirror",
    };
  const { reputation } = lookups(release);
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  const cleared = lines.filter((line) => {
    const address = parseIp(line.trim());
    if (address === undefined) return false;
    const facts = reputation(address as IpAddress);
    return (
      facts?.evidence.some(({ feed, effect }) => feed === "tor-bulk-exits" && effect === "sets") &&
      !facts.is_tor_exit
    );
  });
  const sample = `tor-bulk-exits, ${count(lines.length)}`;
  return { measure, sample, mode, value: count(cleared.length), target: "0", seen: "built from" };
}
