// package-files.ts: finds the copies of a feed that come with Inkling: seeds in npm packages, and Inkling's own files.
//
// err  FeedError if the package is not installed, or a file cannot be read

import { join } from "node:path";
import { programFile, seedFolder } from "@inkling/release-store/program";
import { type Feed, FeedError, type Seed } from "../catalog/feed.ts";
import { type CopyFile, type FeedCopy, loadStable, measure } from "./copy.ts";

/** @param packageFolder returns the folder of an npm package; throws if the package is not installed */
export function readSeed(
  feed: Feed,
  seed: Seed,
  packageFolder: (name: string) => string = seedFolder,
): FeedCopy {
  let folder: string;
  try {
    folder = packageFolder(seed.package);
  } catch {
    throw new FeedError(`the npm package ${seed.package} is not installed: run npm install`);
  }
  const files = seed.files.map((file) => load(join(folder, file)));
  return {
    source: "seed",
    format: seed.format,
    licence: seed.licence ?? feed.licence,
    ...measure(files),
    ...(seed.published !== undefined && { publishedAt: new Date(seed.published) }),
  };
}

export function readOwn(feed: Feed, own: string): FeedCopy {
  const file = load(programFile(join("compiler", own)));
  return { source: "own", format: feed.ownFormat ?? feed.format, licence: feed.licence, ...measure([file]) };
}

function load(path: string): CopyFile {
  try {
    return loadStable(path);
  } catch (error) {
    throw new FeedError(`${path} cannot be read: ${(error as Error).message}`);
  }
}
