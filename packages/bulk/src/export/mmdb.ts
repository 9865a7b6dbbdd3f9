// mmdb.ts: exports a MaxMind DB file of one of the types in mmdb-types.ts. A reader that opens only the types that it
// recognizes needs a file of such a type.
//
// src  MaxMind DB File Format Specification 2.0
// note IPv4 is stored under ::/96. Lookups in ::ffff:0:0/96, 2002::/16 and 64:ff9b::/96 return the record of the IPv4
//      address inside. The API also reads the inverted address inside Teredo, which a tree cannot do

import type { IpTable } from "../fields.ts";
import type { ExportFormat, Piece, Request } from "./format.ts";
import { about, networks, paused } from "./format.ts";
import { MmdbData, type MmdbValue, Unsigned } from "./mmdb-data.ts";
import { MmdbTree, recordBitsFor, SEPARATOR_BYTES } from "./mmdb-tree.ts";
import { DATABASE_TYPES, DEFAULT_TYPES } from "./mmdb-types.ts";

export const mmdb: ExportFormat = {
  name: "mmdb",
  what: "write a MaxMind DB file with the fields of GeoIP2 City, the three flags, or the network's owner",
  lookups: ["geolocate", "reputation", "network"],
  databaseTypes: Object.fromEntries(
    Object.entries(DATABASE_TYPES).map(([name, { lookup }]) => [name, lookup]),
  ),
  isFolder: false,
  pieces: (request) => mmdbPieces(request),
};

const ANSWERS_AT_ONCE = 100_000;
const NETWORKS_AT_ONCE = 2_000_000;
const IPV4_INSIDE: readonly (readonly [first: Uint32Array, bits: number])[] = [
  [new Uint32Array([0, 0, 0xffff, 0]), 96],
  [new Uint32Array([0x2002_0000, 0, 0, 0]), 16],
  [new Uint32Array([0x0064_ff9b, 0, 0, 0]), 96],
];
const METADATA_MARK = new Uint8Array([0xab, 0xcd, 0xef, ...new TextEncoder().encode("MaxMind.com")]);

function* mmdbPieces(request: Request): Generator<Piece> {
  const databaseType = request.databaseType ?? DEFAULT_TYPES[request.lookup as IpTable];
  const { rangesOf, toValue } = DATABASE_TYPES[databaseType]!;
  const ranges = yield* paused(rangesOf(request.source), { file: "", data: "" });
  const data = new MmdbData();
  const offsets = new Uint32Array(ranges.answers.length);
  for (let i = 1; i < offsets.length; i++) {
    offsets[i] = data.add(toValue(JSON.parse(ranges.answers[i]!)));
    if (i % ANSWERS_AT_ONCE === 0) yield collectGarbage();
  }
  const tree = new MmdbTree();
  let count = 0;
  for (const { address, bits, value } of networks(ranges)) {
    tree.add(address, bits, value);
    if (++count % NETWORKS_AT_ONCE === 0) yield collectGarbage();
  }
  for (const [first, bits] of IPV4_INSIDE) tree.alias(first, bits);
  const recordBits = recordBitsFor(tree.nodeCount, data.length);
  for (const bytes of tree.bytes(recordBits, offsets)) yield { file: "", data: bytes };
  yield { file: "", data: new Uint8Array(SEPARATOR_BYTES) };
  yield { file: "", data: data.toBytes() };
  yield { file: "", data: METADATA_MARK };
  const metadata = new MmdbData();
  metadata.add(metadataOf(request, databaseType, tree.nodeCount, recordBits));
  yield { file: "", data: metadata.toBytes() };
}

/**
 * Collects garbage and pauses, so that the writer can report progress and check the signal. JavaScriptCore collects
 * late on machines with a lot of memory: the parsed answers took up 2 GB.
 */
function collectGarbage(): Piece {
  Bun.gc(true);
  return { file: "", data: "" };
}

function metadataOf(request: Request, databaseType: string, nodes: number, recordBits: number): MmdbValue {
  return {
    binary_format_major_version: new Unsigned(16, 2),
    binary_format_minor_version: new Unsigned(16, 0),
    build_epoch: new Unsigned(64, request.builtAt),
    database_type: databaseType,
    description: { en: about(request).join(". ") },
    ip_version: new Unsigned(16, 6),
    languages: ["en"],
    node_count: new Unsigned(32, nodes),
    record_size: new Unsigned(16, recordBits),
  };
}
