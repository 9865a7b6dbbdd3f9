// etag.ts: creates entity tags for answers, and compares them with a request's condition.

import { formatIp, type IpAddress, type LoadedRelease, type Overridden } from "@inkling/engine";

/**
 * Creates the ETag of an answer about the caller. It includes the address, because the URL is the same for every
 * caller.
 */
export function callerEtag(release: LoadedRelease, address: IpAddress): string {
  const digest = Bun.hash.xxHash64(`${release.manifest.id} ${formatIp(address)}`);
  return `"${release.manifest.id}-${digest.toString(16)}"`;
}

/**
 * Derives the ETag of an overridden answer from the ETag of the plain answer.
 * @param withEvidence true if the answer names the overrides
 */
export function overriddenEtag(etag: string, { mark, verdict }: Overridden, withEvidence: boolean): string {
  const ids = withEvidence
    ? `-${Bun.hash.xxHash64(verdict.applied.map(({ override }) => override.id).join()).toString(16)}`
    : "";
  return `${etag.slice(0, -1)}-${mark}${ids}"`;
}

/** Compares the ETag weakly with each entity tag in the condition. "*" matches every ETag (RFC 9110 13.1.2). */
export function matchesEtag(condition: string, etag: string): boolean {
  if (condition === etag || condition.trim() === "*") return true;
  return condition.split(",").some((entry) => entry.trim().replace(/^W\//, "") === etag);
}
