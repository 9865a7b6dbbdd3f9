// etag.ts: entity tags of answers, and whether a request's condition names one of them.

import { formatIp, type IpAddress, type LoadedRelease, type Overridden } from "@inkling/engine";

/** The ETag of an answer about the caller: the URL remains the same while the address changes. */
export function callerEtag(release: LoadedRelease, address: IpAddress): string {
  const digest = Bun.hash.xxHash64(`${release.manifest.id} ${formatIp(address)}`);
  return `"${release.manifest.id}-${digest.toString(16)}"`;
}

/**
 * The ETag of an overridden answer, made from that of the plain one.
 * @param withEvidence the answer names the overrides
 */
export function overriddenEtag(etag: string, { mark, verdict }: Overridden, withEvidence: boolean): string {
  const ids = withEvidence
    ? `-${Bun.hash.xxHash64(verdict.applied.map(({ id }) => id).join()).toString(16)}`
    : "";
  return `${etag.slice(0, -1)}-${mark}${ids}"`;
}

/** RFC 9110 13.1.2: weak comparison with each entity tag of the list, or "*". */
export function matchesEtag(condition: string, etag: string): boolean {
  if (condition === etag || condition.trim() === "*") return true;
  return condition.split(",").some((entry) => entry.trim().replace(/^W\//, "") === etag);
}
