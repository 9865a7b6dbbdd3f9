// open-store.ts: opens a channel's store, for reading or for publishing.

import { resolve } from "node:path";
import { FolderObjects } from "./folder-objects.ts";
import { HttpObjects } from "./http-objects.ts";
import type { ObjectReader, ObjectStore } from "./object-store.ts";
import { type S3Environment, S3Objects } from "./s3-objects.ts";

export function openReader(base: string, env: S3Environment): ObjectReader {
  return /^https?:/.test(base) ? HttpObjects.open(base) : openStore(base, env)!;
}

/** @returns undefined for a base URL, which can only be read */
export function openStore(base: string, env: S3Environment): ObjectStore | undefined {
  if (/^https?:/.test(base)) return undefined;
  if (base.startsWith("s3://")) return new S3Objects(base, env);
  return new FolderObjects(resolve(base));
}
