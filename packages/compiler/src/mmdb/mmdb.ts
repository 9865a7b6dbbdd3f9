// mmdb.ts: reads MaxMind DB files strictly. A corrupt file causes an error with the position.
//
// in   the bytes of a whole file, either read or mapped. They are not copied, so they must not change
// out  metadata; every network of a family in address order; the record of an address
// err  MmdbError from open, walk, find and decode. They throw nothing else, and every call terminates
// src  https://maxmind.github.io/MaxMind-DB/ (version 2.0)
// cost open reads only the metadata; walk, find and decode check what they read

import type { IpAddress } from "@inkling/engine";
import { MmdbDecoder, MmdbError } from "./decode.ts";
import { type Found, MmdbTree, type NetworkVisitor, type RecordSize, SEPARATOR_BYTES } from "./tree.ts";

export { MmdbError } from "./decode.ts";
export type { Found, NetworkVisitor } from "./tree.ts";

/** "\xAB\xCD\xEFMaxMind.com". The metadata begins after the last occurrence of this marker. */
const MARKER = Uint8Array.from("\xAB\xCD\xEFMaxMind.com", (c) => c.charCodeAt(0));
/** Maximum size of the metadata in bytes, including the marker. */
const MAX_METADATA_BYTES = 128 * 1024;
/** 9999-12-31T23:59:59Z, in seconds since 1970. Later dates have no ISO form with a four-digit year. */
const LAST_EPOCH = 253_402_300_799n;

interface MmdbMetadata {
  readonly nodeCount: number;
  readonly recordSize: RecordSize;
  readonly ipVersion: 4 | 6;
  readonly databaseType: string;
  readonly languages: readonly string[];
  /** Maps a language code to text. */
  readonly description: Readonly<Record<string, string>>;
  readonly minorVersion: number;
  /** When the file was built, in seconds since 1970; 0 if the file does not state it. */
  readonly buildEpoch: number;
}

export class Mmdb {
  readonly metadata: MmdbMetadata;
  /** Size of the data section in bytes. Every data offset is smaller. */
  readonly dataBytes: number;
  private readonly tree: MmdbTree;
  private readonly decoder: MmdbDecoder;

  private constructor(bytes: Uint8Array, metadata: MmdbMetadata, dataStart: number, dataEnd: number) {
    this.metadata = metadata;
    this.dataBytes = dataEnd - dataStart;
    this.tree = new MmdbTree(bytes, { ...metadata, dataBytes: this.dataBytes });
    this.decoder = new MmdbDecoder(bytes, "data section", dataStart, dataEnd);
  }

  /**
   * Opens a file without reading all of it. Checks the metadata, the bounds of the tree and the data section, and the
   * separator between them.
   * @throws MmdbError if the file is not an MMDB of format 2, or if these parts do not fit together
   */
  static open(bytes: Uint8Array): Mmdb {
    const marker = findMarker(bytes);
    const start = marker + MARKER.length;
    const metadata = readMetadata(new MmdbDecoder(bytes, "metadata", start, bytes.length).decode(0));
    const treeBytes = metadata.nodeCount * (metadata.recordSize / 4);
    const dataStart = treeBytes + SEPARATOR_BYTES;
    if (dataStart > marker) {
      throw new MmdbError(
        `metadata: ${metadata.nodeCount} nodes of ${metadata.recordSize} bits need ${dataStart} bytes, ` +
          `but there are ${marker} before the metadata`,
      );
    }
    for (let at = treeBytes; at < dataStart; at++) {
      if (bytes[at] !== 0) throw new MmdbError(`separator, byte ${at - treeBytes}: is not zero`);
    }
    return new Mmdb(bytes, metadata, dataStart, marker);
  }

  /**
   * Calls `visit` for each network of a family that has a record, in address order, without overlaps. In an IPv6
   * database, family 4 is everything below ::/96. Family 6 leaves out that subtree wherever records point at it: at
   * ::/96 itself and at its aliases (::ffff:0:0/96, 2002::/16, 2001::/32, ...). A record that covers more than ::/96
   * counts for both families.
   * @throws MmdbError at the first corrupt node or record
   */
  walk(family: 4 | 6, visit: NetworkVisitor): void {
    this.tree.walk(family, visit);
  }

  /**
   * Finds the record of exactly this address. The caller must unwrap IPv4 addresses inside IPv6 addresses.
   * @returns undefined if the database has no record for the address
   * @throws MmdbError if a node on the path is corrupt
   */
  find(address: IpAddress): Found | undefined {
    return this.tree.find(address);
  }

  /**
   * Decodes the value at an offset from {@link walk} or {@link find}. Strings may be shared; bytes are views of the
   * file. 64- and 128-bit numbers are bigints. A 32-bit float is returned as the shortest decimal that rounds to it.
   * @throws MmdbError if the value is malformed
   */
  decode(dataOffset: number): unknown {
    return this.decoder.decode(dataOffset);
  }

  /** Number of values plus bytes of text decoded so far. Callers may limit it. */
  get decodeWork(): number {
    return this.decoder.work;
  }
}

function findMarker(bytes: Uint8Array): number {
  const least = Math.max(0, bytes.length - MAX_METADATA_BYTES);
  for (let at = bytes.length - MARKER.length; at >= least; at--) {
    if (bytes[at] === MARKER[0] && MARKER.every((byte, i) => bytes[at + i] === byte)) return at;
  }
  throw new MmdbError(`metadata: not found in ${bytes.length} bytes: not an MMDB file, or truncated`);
}

function readMetadata(value: unknown): MmdbMetadata {
  if (!isMap(value)) throw new MmdbError("metadata: is not a map");
  const read = <T>(key: string, want: string, convert: (value: unknown) => T | undefined): T => {
    const converted = convert(value[key]);
    if (converted === undefined)
      throw new MmdbError(`metadata, ${key}: got ${nameOf(value[key])}, want ${want}`);
    return converted;
  };
  const whole = (key: string, least: number, most: number) =>
    read(key, least === most ? `${least}` : `a whole number from ${least} to ${most}`, (number) =>
      typeof number === "number" && Number.isInteger(number) && number >= least && number <= most
        ? number
        : undefined,
    );
  const oneOf = <T extends number>(key: string, want: string, values: readonly T[]) =>
    read(key, want, (number) => values.find((known) => known === number));
  whole("binary_format_major_version", 2, 2);
  whole("ip_version", 4, 6);
  whole("record_size", 24, 32);
  return {
    ipVersion: oneOf("ip_version", "4 or 6", [4, 6]),
    recordSize: oneOf("record_size", "24, 28 or 32", [24, 28, 32]),
    databaseType: read("database_type", "a string", (text) => (typeof text === "string" ? text : undefined)),
    nodeCount: whole("node_count", 1, 0xffffffff),
    languages: read("languages", "an array of strings", (list = []) =>
      Array.isArray(list) && areTexts(list) ? list : undefined,
    ),
    description: read("description", "a map of strings", (map = {}) =>
      isMap(map) && areTexts(Object.values(map)) ? (map as Record<string, string>) : undefined,
    ),
    minorVersion: whole("binary_format_minor_version", 0, 0xffff),
    buildEpoch: read("build_epoch", "seconds from 1970 to the year 9999", (seconds) => {
      const whole =
        typeof seconds === "bigint" || Number.isInteger(seconds) ? BigInt(seconds as number) : -1n;
      return whole < 0n || whole > LAST_EPOCH ? undefined : Number(whole);
    }),
  };
}

const areTexts = (list: readonly unknown[]) => list.every((item) => typeof item === "string");

function isMap(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

function nameOf(value: unknown): string {
  if (typeof value === "object" && value !== null) return "another type";
  return typeof value === "string" ? "a string" : `${value}`;
}
