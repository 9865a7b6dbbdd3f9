// copy.ts: a copy of a feed as the compiler holds it: where it came from, its bytes, its checksum.

import { readFileSync, statSync } from "node:fs";
import type { FeedReport } from "@inkling/engine";
import { mapFile } from "@inkling/release-store";
import type { Format } from "../catalog/feed.ts";
import type { Validators } from "./fetch.ts";

export type Source = Exclude<FeedReport["source"], "none">;

export interface CopyFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface FeedCopy {
  readonly source: Source;
  /** Of a kept copy: where it came from in the first place. */
  readonly keptFrom?: "mirror" | "fetched";
  /** The operator accepted it, however much it differs from the last good copy. */
  readonly accepted?: true;
  /** The candidate of a build that did not end: it is not requested again. */
  readonly unpublished?: true;
  /** One, or several when a seed is split by family. */
  readonly files: readonly CopyFile[];
  readonly format: Format;
  /** Of the files' bytes, one after the other. */
  readonly sha256: string;
  readonly bytes: number;
  readonly licence: string;
  /** When it was fetched (or last confirmed by the publisher); of a file in a mirror, when that was written. */
  readonly fetchedAt?: Date;
  /** As a header or the seed's version states it; a date in the data counts before it. */
  readonly publishedAt?: Date;
  /** Its URL, with validators for conditional requests. */
  readonly origin?: { readonly url: string } & Validators;
}

/** Why a candidate is no copy: the build records it and tries the next one. */
export interface NoCopy {
  readonly source: Source;
  readonly error: string;
  /** The source has no such file: reported, but not an error of the feed. */
  readonly absent?: true;
  /** The source answered 404. */
  readonly notFound?: true;
  /** Why the source could not be reached. */
  readonly unreached?: string;
  /** No request was sent: credentials are missing. */
  readonly notRequested?: true;
  /** It had not arrived when the build went on: no failure, and asked for again at once. */
  readonly late?: true;
  /** The publisher's Retry-After, as it was sent. */
  readonly retryAfter?: string;
}

export type Candidate = FeedCopy | NoCopy;

/** Whether it came from the feed's source in this build. */
export function isNew<T extends { readonly source: Source }>(
  copy: T,
): copy is T & { readonly source: "mirror" | "fetched" } {
  return copy.source === "mirror" || copy.source === "fetched";
}

export function isCopy(candidate: Candidate): candidate is FeedCopy {
  return "files" in candidate;
}

/** From this size on, files that are only ever replaced by rename are mapped, not read. */
export const MAP_FROM = 4 * 2 ** 20;

/** Reads a file that only we or npm write: never in place, so that it may be mapped. */
export function loadStable(path: string): CopyFile {
  // An empty file cannot be mapped at all; one of another user or on a read-only volume is read.
  if (statSync(path).size >= MAP_FROM) return { path, bytes: mapFile(path) };
  return { path, bytes: readFileSync(path) };
}

/** Size and checksum. */
export function measure(files: readonly CopyFile[]): Pick<FeedCopy, "files" | "sha256" | "bytes"> {
  const hash = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  for (const file of files) {
    hash.update(file.bytes);
    bytes += file.bytes.length;
  }
  return { files, sha256: hash.digest("hex"), bytes };
}
