// segment-builders.ts: builds the sections of a segment from the segment's loaded feeds.

import { formatPrefix, type Prefix, type Release, type SegmentKind } from "@inkling/engine";
import type { DomainClaims, NetworkClaims, NetworkSubject } from "../catalog/claims.ts";
import type { Feed } from "../catalog/feed.ts";
import { FEEDS, PLACE_PREFERENCE, PREFERRED_IN_LARGE_SYSTEMS } from "../catalog/feeds.ts";
import { type Grounds, plausible } from "../geo/harvested.ts";
import { type OperatorFeed, placesOfServers } from "../geo/operator-places.ts";
import { preferPlaces } from "../geo/place-preference.ts";
import type { NetworkWalk, PlaceSource } from "../geo/place-source.ts";
import { kindsOfNetworks, networksOfLargeSystems } from "../network/kinds.ts";
import { vpnNetworks } from "../network/vpn-networks.ts";
import { type AsnNetworks, networksOfSystems } from "../parse/asn.ts";
import { MEASURED_DATABASE } from "../place/accuracy.ts";
import { domainEvidence } from "../policy/domain-evidence.ts";
import { judgeDomains } from "../policy/email.ts";
import { overruledLines } from "../policy/evidence.ts";
import { isAnycast } from "../policy/labels.ts";
import { judgeNetworks } from "../policy/reputation.ts";
import { withoutNetworks } from "../policy/sweep.ts";
import { emailSections } from "../segments/email-table.ts";
import { geoTable } from "../segments/geo-table.ts";
import { networkTable } from "../segments/network-table.ts";
import { reputationSections } from "../segments/reputation-table.ts";
import type { SectionData } from "../segments/segment-writer.ts";
import { type Content, isTooWideFor } from "../validate/read-copy.ts";
import { flaggedBy } from "../validate/release-gate.ts";
import type { BuildEvent } from "./events.ts";
import type { LoadedFeed } from "./load.ts";

/** The feed whose limit also applies to the systems that the build finds. */
const VPN_SYSTEMS = "vpn-systems";

type Emit = (event: BuildEvent) => void;

interface Effects {
  readonly emit: Emit;
  readonly drawWord?: () => number;
}

/** The policy's decisions, which the release gate checks. */
export type Decided = Pick<Release, "flagged" | "disposable">;

interface Made extends Decided {
  readonly sections: readonly SectionData[];
}

/** Each builder gets the feeds that belong to the segment (inputs.ts), in the order of the feed table. */
export const SEGMENT_BUILDERS: Readonly<
  Record<SegmentKind, (parts: readonly LoadedFeed[], effects: Effects) => Made>
> = {
  geo: makeGeo,
  reputation: makeReputation,
  email: makeEmail,
  network: makeNetwork,
};

function makeGeo(parts: readonly LoadedFeed[], { emit }: Effects): Made {
  const contents = parts.map((loaded) => ({
    ...{ id: loaded.feed.id, isOfServers: loaded.feed.provider !== undefined },
    ...loaded.content(),
  }));
  const located = contents.flatMap(({ id, places }) => (places ? [{ id, places }] : [])).sort(byPreference);
  const { asns } = contents.find((content) => content.asns) ?? {};
  const preferred = located.flatMap(({ id, places: source }): [PlaceSource, NetworkWalk][] => {
    const addresses = PREFERRED_IN_LARGE_SYSTEMS.get(id);
    return asns === undefined || addresses === undefined
      ? []
      : [[source, networksOfLargeSystems(asns, addresses)]];
  });
  const places = preferPlaces(
    located.map((source) => source.places),
    new Map(preferred),
  );
  const registry = contents.find((content) => content.registered);
  const steps = {
    feeds: { places: located.map(({ id }) => id), ...(registry && { registered: registry.id }) },
    progress: (done: number, total: number) => emit({ type: "progress", step: "building geo", done, total }),
    collectGarbage,
  };
  const database = located.find(({ id }) => id === MEASURED_DATABASE)?.places;
  const grounds = { registered: registry?.registered, places: database, asns };
  const table = geoTable(
    places,
    registry?.registered,
    steps,
    located.length > 0 ? operatorFeeds(contents, grounds, emit) : [],
    asns && kindsOfNetworks(asns),
  );
  emit({
    type: "note",
    text: `geolocation: ${table.ranges.v4} IPv4 and ${table.ranges.v6} IPv6 ranges, ${table.answers} different answers`,
  });
  return { sections: table.sections };
}

const byPreference = (a: { readonly id: string }, b: { readonly id: string }): number =>
  PLACE_PREFERENCE.indexOf(a.id) - PLACE_PREFERENCE.indexOf(b.id);

/**
 * Returns geofeeds first, because networks' owners know best; then the servers of VPNs; then anycast networks, because
 * the network of a relay or cloud inside an anycast network does have a place.
 */
function operatorFeeds(
  contents: readonly (Content & { readonly id: string; readonly isOfServers: boolean })[],
  grounds: Grounds,
  emit: Emit,
): OperatorFeed[] {
  const geofeeds = contents.flatMap(({ id, stated: all, isOfServers }): OperatorFeed | [] => {
    if (all === undefined || isOfServers) return [];
    const isHarvested = all.places.some(({ publisher }) => publisher !== undefined);
    if (!isHarvested) return { id, networks: all.networks, stated: all };
    const { stated, publishers, refused } = plausible(all, grounds);
    const [first] = refused;
    const such = first === undefined ? "" : `, such as ${first.publisher}: ${first.why}`;
    emit({ type: "note", text: `${id}: left out ${refused.length} of ${publishers} publishers${such}` });
    return { id, networks: stated.networks, stated };
  });
  const servers = contents.flatMap(({ id, stated: all, isOfServers }): OperatorFeed | [] => {
    if (all === undefined || !isOfServers) return [];
    const stated = placesOfServers(all);
    return { id, networks: stated.networks, stated, isOfServers };
  });
  const anycast = contents.flatMap(({ id, networks = [] }) =>
    networks
      .filter(({ label }) => isAnycast(label))
      .map((claims): OperatorFeed => ({ id, networks: claims.networks, stated: "anycast" })),
  );
  return [...geofeeds.sort(byPreference), ...servers, ...anycast];
}

/** Collects garbage, which takes 0.1 to 0.2 s. Without this, the heap grows to twice the size that it needs. */
export function collectGarbage(): void {
  Bun.gc(true);
}

function makeReputation(parts: readonly LoadedFeed[], { emit }: Effects): Made {
  const asns = parts.flatMap((loaded) => loaded.content().asns ?? [])[0];
  const claims = claimsOf(parts, asns, emit);
  if (asns !== undefined) {
    const kinds = parts.flatMap((loaded) => loaded.content().kinds ?? []);
    claims.push(
      ...vpnNetworks(claims, asns, kinds, isTooWideFor(FEEDS.find(({ id }) => id === VPN_SYSTEMS)!)),
    );
  }
  const judged = judgeNetworks(claims);
  for (const text of overruledLines(judged.evidence)) emit({ type: "note", text });
  return { sections: reputationSections(judged), flagged: flaggedBy(judged) };
}

/**
 * Returns what feeds claim about networks. Feeds of systems claim the networks that their systems announce. An operator
 * does not claim the networks that it rents out.
 */
function claimsOf(parts: readonly LoadedFeed[], asns: AsnNetworks | undefined, emit: Emit): NetworkClaims[] {
  return parts.flatMap((loaded): readonly NetworkClaims[] => {
    const { feed } = loaded;
    const { networks: listed = [], systems } = loaded.content();
    const networks = loaded.history()?.applyTo(listed) ?? listed;
    if (asns === undefined) return networks;
    if (systems !== undefined) return systemClaims(feed, systems, asns, emit);
    if (feed.rentedOut === undefined) return networks;
    const rented = [...networksOfSystems(asns, new Set(feed.rentedOut)).values()].flat();
    return networks.map((claims) => ({ ...claims, networks: withoutNetworks(claims.networks, rented) }));
  });
}

/** Returns one claim for each operator: its name is that of a VPN, or of the service that the networks have. */
function systemClaims(
  feed: Feed,
  systems: ReadonlyMap<number, string>,
  asns: AsnNetworks,
  emit: Emit,
): NetworkClaims[] {
  const isTooWide = isTooWideFor(feed);
  const tooWide: Prefix[] = [];
  const subject = feed.sets as NetworkSubject;
  const bySystem = networksOfSystems(asns, systems);
  const claims = [...new Set(systems.values())].map((operator): NetworkClaims => {
    const announced = [...bySystem].flatMap(([asn, of]) => (systems.get(asn) === operator ? of : []));
    tooWide.push(...announced.filter(isTooWide));
    return {
      ...{ feed: feed.id, subject, label: feed.label! },
      ...(subject === "is_proxy" ? { provider: operator } : { operator }),
      networks: announced.filter((network) => !isTooWide(network)),
    };
  });
  const [example, ...others] = tooWide;
  if (example === undefined) return claims;
  const more = others.length > 0 ? ` and ${others.length} more` : "";
  emit({
    type: "note",
    text: `${feed.id}: left out networks wider than its limit: ${formatPrefix(example)}${more}`,
  });
  return claims;
}

function makeEmail(parts: readonly LoadedFeed[], { emit, drawWord }: Effects): Made {
  const claims = parts.flatMap((loaded): DomainClaims | [] => loaded.content().domains ?? []);
  const verdicts = judgeDomains(claims);
  for (const conflict of verdicts.conflicts) emit({ type: "conflict", ...conflict });
  const sections = emailSections(verdicts.disposable, domainEvidence(claims, verdicts), drawWord);
  // The number includes domains that are only listed, so that the gate notices a lost list even if that list never
  // decides.
  return { sections, disposable: verdicts.disposable.size + verdicts.listed.size };
}

function makeNetwork(parts: readonly LoadedFeed[], { emit }: Effects): Made {
  const contents = parts.map((loaded) => ({ id: loaded.feed.id, ...loaded.content() }));
  // There is always such a content, because this segment is built only if a feed of autonomous systems is loaded.
  const { id, asns } = contents.find((content) => content.asns !== undefined)!;
  const claims = claimsOf(parts, asns, emit);
  const kinds = contents.flatMap((content) => content.kinds ?? []);
  const { sections, ranges, records } = networkTable(id, asns!, claims, kinds);
  emit({
    type: "note",
    text: `networks: ${ranges.v4} IPv4 and ${ranges.v6} IPv6 ranges, ${records} different sets of facts`,
  });
  return { sections };
}
