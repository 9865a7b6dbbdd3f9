// system-kinds.ts: reads lists of autonomous systems. All systems of a list share one kind, or each entry states its
// kind.
//
// in   asn-lines: AS45090 per line, with a comment after "#"
//      asn-entities: a header ASN,Entity, then rows; some are repeated
//      as-metadata: records with `asn` and `metadata.category`
//      peeringdb-net: `data`, records with `asn`, and the types that the operator chose in `info_types` or `info_type`
// out  the kind of each system by its number; unknown categories are ignored
// err  FeedError if the file has another format, or was cut short
// src  https://github.com/ipverse/as-metadata (category), https://www.peeringdb.com/apidocs/ (net), read in November
//      2026

import { z } from "zod";
import type { NetworkKind } from "../catalog/claims.ts";
import { FeedError, type Format } from "../catalog/feed.ts";
import { forEachEntry, readJson } from "./parser.ts";
import { type Skips, Tally } from "./tally.ts";
import { readText } from "./text.ts";

export interface SystemKinds extends Skips {
  readonly kinds: ReadonlyMap<number, NetworkKind>;
}

const MAX_ASN = 4_294_967_295;
const CATEGORIES: ReadonlyMap<string, NetworkKind> = new Map([
  ["isp", "isp"],
  ["hosting", "hosting"],
  ["business", "business"],
  ["education_research", "education"],
  ["government_admin", "government"],
]);
/** The other types, such as NSP, can be any kind of network. */
const TYPES: ReadonlyMap<string, NetworkKind> = new Map([
  ["Cable/DSL/ISP", "isp"],
  ["Content", "hosting"],
  ["Enterprise", "business"],
  ["Educational/Research", "education"],
  ["Government", "government"],
]);
/** The kind that each entry of a JSON document states, if it states one. */
type Stated = readonly (readonly [asn: number, kind: NetworkKind | undefined])[];

const asn = z.number().int().min(0).max(MAX_ASN);
const RECORD = z.object({ asn, metadata: z.object({ category: z.string().nullish() }).nullish() });
const NET = z.object({
  asn,
  info_type: z.string().nullish(),
  info_types: z.array(z.string()).nullish(),
});
const DOCUMENTS: { readonly [F in Format]?: z.ZodType<Stated> } = {
  "as-metadata": z
    .array(RECORD)
    .transform((records) =>
      records.map(({ asn, metadata }) => [asn, CATEGORIES.get(metadata?.category ?? "")]),
    ),
  "peeringdb-net": z
    .object({ data: z.array(NET) })
    .transform(({ data }) => data.map((net) => [net.asn, kindOfNet(net)])),
};

/** An operator that chose types of two kinds states no kind. */
function kindOfNet({ info_type, info_types }: z.infer<typeof NET>): NetworkKind | undefined {
  const types = info_types?.length ? info_types : [info_type ?? ""];
  const [kind, ...others] = new Set(types.map((type) => TYPES.get(type)));
  return others.length === 0 ? kind : undefined;
}

const FORMATS: ReadonlySet<Format> = new Set(["asn-lines", "asn-entities", "as-metadata", "peeringdb-net"]);
export const isSystemFormat = (format: Format): boolean => FORMATS.has(format);

/** @param kind the kind of all systems, if the format does not state kinds. @throws FeedError */
export function parseSystemKinds(
  format: Format,
  body: Uint8Array,
  kind: NetworkKind | undefined,
): SystemKinds {
  const text = readText(body);
  const document = DOCUMENTS[format];
  if (document !== undefined) {
    const kinds = new Map<number, NetworkKind>();
    for (const [asn, kind] of readJson(text, document))
      if (kind !== undefined && asn > 0) kinds.set(asn, kind);
    return { kinds, skipped: [], skippedCount: 0 };
  }
  if (kind === undefined) throw new Error(`${format} has no kind: its row in the feed table lacks it`);
  const isTable = format === "asn-entities";
  const pattern = isTable ? /^"?(\d{1,10})"?\s*,/ : /^AS(\d{1,10})\b/i;
  const tally = new Tally();
  const kinds = new Map<number, NetworkKind>();
  forEachEntry(text, tally, (line, number) => {
    if (line.startsWith("#") || line.startsWith(";")) return;
    if (isTable && number === 1) {
      if (!/^"?ASN"?\s*,/i.test(line)) throw new FeedError("line 1 is not the header ASN,Entity");
      return;
    }
    const asn = Number(pattern.exec(line)?.[1] ?? 0);
    if (asn < 1 || asn > MAX_ASN) tally.fail(number, "is not an autonomous system");
    else {
      tally.use();
      kinds.set(asn, kind);
    }
  });
  return { kinds, ...tally.report };
}
