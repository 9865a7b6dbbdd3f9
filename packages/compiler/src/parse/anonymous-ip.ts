// anonymous-ip.ts: reads GeoIP2 Anonymous IP into networks by label.
//
// in   the MMDB: records with is_anonymous_vpn, is_public_proxy, is_residential_proxy, is_tor_exit_node,
//      is_hosting_provider. `is_anonymous` only summarizes the other fields
// out  the networks of each label, in address order; a network may have several labels
// err  MmdbError if the file is corrupt

import { flagOfLabel } from "@inkling/contract";
import type { Prefix } from "@inkling/engine";
import type { Label } from "../catalog/claims.ts";
import { MmdbRecords, networksBy } from "../mmdb/records.ts";

/** A residential proxy counts as a public proxy. */
const LABEL_OF: Readonly<Record<string, Label>> = {
  is_anonymous_vpn: "vpn",
  is_public_proxy: "public_proxy",
  is_residential_proxy: "public_proxy",
  is_tor_exit_node: "tor_exit",
  is_hosting_provider: "hosting",
};

/** The flags that the labels of a GeoIP2 Anonymous IP database set. */
export const ANONYMOUS_FLAGS: ReadonlySet<string | undefined> = new Set(
  Object.values(LABEL_OF).map(flagOfLabel),
);

interface AnonymousNetworks {
  readonly byLabel: ReadonlyMap<Label, readonly Prefix[]>;
  /** Number of networks that have any label. */
  readonly entries: number;
  readonly publishedAt: Date | undefined;
}

/** @throws MmdbError */
export function readAnonymous(files: readonly Uint8Array[]): AnonymousNetworks {
  const sets: (readonly Label[])[] = [];
  const records = MmdbRecords.open(files, (record) => {
    const labels = labelsOf(record);
    return labels.length === 0 ? -1 : sets.push(labels) - 1;
  });
  const entries = records.networks[4] + records.networks[6];
  return { byLabel: networksBy(records, (id) => sets[id]!), entries, publishedAt: records.publishedAt };
}

function labelsOf(record: unknown): readonly Label[] {
  if (typeof record !== "object" || record === null) return [];
  const fields = record as Readonly<Record<string, unknown>>;
  return [
    ...new Set(Object.keys(LABEL_OF).flatMap((name) => (fields[name] === true ? [LABEL_OF[name]!] : []))),
  ];
}
