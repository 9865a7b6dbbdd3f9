// copy.ts: defines a copy of a feed, with its origin, its bytes and its checksum.

import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, mapFile, PRIVATE_FILE, temporaryPath } from "@inkling/data";
import type { FeedReport } from "@inkling/engine";
import type { Format } from "../catalog/feed.ts";
import type { Validators } from "./fetch.ts";

export type CopySource = Exclude<FeedReport["source"], "none">;

export interface FeedCopy {
  readonly source: CopySource;
  /** Set for a kept copy: where it originally came from. */
  readonly keptFrom?: "mirror" | "fetched";
  /** The operator accepted this copy, no matter how much it differs from the last good copy. */
  readonly accepted?: true;
  /** The copy of a build that did not finish. It is not requested again. */
  readonly unpublished?: true;
  /** One file, or several files if a seed is split by address family. */
  readonly files: readonly Uint8Array[];
  readonly format: Format;
  /** SHA-256 of the bytes of all files, in order. */
  readonly sha256: string;
  readonly bytes: number;
  readonly licence: string;
  /**
   * When the copy was fetched or last confirmed by the publisher. For a file in a mirror: when the file was written.
   */
  readonly fetchedAt?: Date;
  /** The date from a header or from the seed's version. A date in the data takes precedence. */
  readonly publishedAt?: Date;
  /** The copy's URL, with validators for conditional requests. */
  readonly origin?: { readonly url: string } & Validators;
  /** The URL that has replaced the copy's URL for good. */
  readonly movedTo?: string | undefined;
}

/** Why a candidate cannot be used as a copy. The build records the reason and tries the next candidate. */
export interface NoCopy {
  readonly source: CopySource;
  readonly error: string;
  /**
   * `absent`: the mirror has no such file. `no credentials`: no request was sent. `late`: the file had not arrived when
   * the build continued, which requests it again after its first release. None of these is a failure of the feed, while
   * `not found`, a status of 404, is one.
   */
  readonly kind?: "absent" | "no credentials" | "late" | "not found";
  /** Why the source could not be reached. */
  readonly unreached?: string;
  /** The publisher's Retry-After, as sent. */
  readonly retryAfter?: string;
}

export type Candidate = FeedCopy | NoCopy;

/**
 * Returns whether the copy came from the feed's source and is not the last good copy: it was fetched in this build, or
 * it is a held copy of an earlier build.
 */
export function isNew<T extends { readonly source: CopySource }>(
  copy: T,
): copy is T & { readonly source: "mirror" | "fetched" } {
  return copy.source === "mirror" || copy.source === "fetched";
}

export function isCopy(candidate: Candidate): candidate is FeedCopy {
  return "files" in candidate;
}

/**
 * Minimum size in bytes of a file that is mapped instead of read. Mapped files must only ever be replaced by rename.
 */
export const MAP_FROM = 4 * 2 ** 20;

/** Reads a file that only Inkling or npm writes. Neither writes to a file in place, so the file may be mapped. */
export function loadStable(path: string): Uint8Array {
  // mapFile also handles a file that belongs to another user or is on a read-only volume. An empty file cannot be
  // mapped.
  if (statSync(path).size >= MAP_FROM) return mapFile(path);
  return readFileSync(path);
}

/**
 * Returns large bytes as a mapped file without a name, so that they do not take up the heap for the rest of the build.
 * @throws errors of node:fs if the folder is not writable
 */
export function mapped(bytes: Uint8Array, folder: string): Uint8Array {
  if (bytes.length < MAP_FROM) return bytes;
  makeFolder(folder);
  const path = temporaryPath(join(folder, "mapped"));
  try {
    writeFileSync(path, bytes, { mode: PRIVATE_FILE });
    return mapFile(path);
  } finally {
    rmSync(path, { force: true });
  }
}

/** Returns the files with their total size and their checksum. */
export function measure(files: readonly Uint8Array[]): Pick<FeedCopy, "files" | "sha256" | "bytes"> {
  const hash = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  for (const file of files) {
    hash.update(file);
    bytes += file.length;
  }
  return { files, sha256: hash.digest("hex"), bytes };
}
