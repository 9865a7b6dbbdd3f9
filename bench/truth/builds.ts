// builds.ts: builds the two releases whose figures are measured, and looks up values in them.

import { existsSync } from "node:fs";
import { openServable } from "@inkling/data";
import {
  Answerer,
  bodyOf,
  formatIp,
  INCLUDE,
  type IpAddress,
  type LoadedRelease,
  Overrides,
} from "@inkling/engine";
import { build, cacheFolder, ROOT, releaseFolder, updateRelease } from "../lib/data.ts";
import { MIRROR } from "../lib/shared-folders.ts";

export interface Build {
  readonly mode: "mirror" | "seeds";
  readonly release: LoadedRelease;
}

export async function builds(): Promise<readonly Build[]> {
  const checkout = { root: ROOT, suffix: "" };
  const seeds = cacheFolder("release-seeds");
  await build(ROOT, seeds);
  const ofSeeds = { mode: "seeds", release: openServable(seeds) } as const;
  if (!existsSync(MIRROR)) return [ofSeeds];
  await updateRelease(checkout);
  return [{ mode: "mirror", release: openServable(releaseFolder(checkout)) }, ofSeeds];
}

export interface Network {
  readonly asn?: number;
  readonly kind: string;
  readonly shared: boolean;
  readonly services: readonly string[];
  readonly operator?: string;
}

export interface Facts {
  readonly network: Network | null;
  readonly is_abuser: boolean;
  readonly is_proxy: boolean;
  readonly is_tor_exit: boolean;
  readonly evidence: readonly { readonly feed: string; readonly effect: string }[];
}

export interface Location {
  readonly city: { readonly name?: string };
  readonly country: { readonly iso_code?: string };
  readonly location: {
    readonly latitude?: number;
    readonly longitude?: number;
    readonly accuracy_radius?: number;
  };
}

/**
 * Looks up addresses in a release. Results are undefined for special-use addresses, and if the release has no data.
 */
export function lookups(release: LoadedRelease) {
  const answerer = new Answerer();
  const source = { release, overrides: Overrides.NONE, now: 0, allowMissing: true } as const;
  const decoder = new TextDecoder();
  const ask = <T>(lookup: "reputation" | "geolocate", address: IpAddress, include: number): T | undefined => {
    if (answerer.readAddress(formatIp(address)) !== undefined) return undefined;
    const outcome = answerer.answerAddress(lookup, answerer.address, source, include);
    return "reason" in outcome ? undefined : (JSON.parse(decoder.decode(bodyOf(outcome))) as T);
  };
  return {
    reputation: (address: IpAddress) => ask<Facts>("reputation", address, INCLUDE.evidence | INCLUDE.network),
    place: (address: IpAddress) =>
      ask<Location & { network: Network | null }>("geolocate", address, INCLUDE.network),
  };
}
