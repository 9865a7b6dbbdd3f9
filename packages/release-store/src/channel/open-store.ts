// open-store.ts: the text of a setting -> where a channel lies.
//
// in   a folder, http(s)://host/path, s3://bucket/prefix; each with #name of the channel, "stable" without
// err  ChannelError: denied when an S3 bucket has no credentials

import { resolve } from "node:path";
import { FolderObjects } from "./folder-objects.ts";
import { HttpObjects } from "./http-objects.ts";
import type { ObjectReader, ObjectStore } from "./object-store.ts";
import { type S3Environment, S3Objects } from "./s3-objects.ts";
import { CHANNEL_NAME } from "./statement.ts";

export const DEFAULT_CHANNEL = "stable";

export interface ChannelLocation {
  readonly base: string;
  readonly channel: string;
}

/** @returns undefined when the text is none */
export function parseChannel(text: string): ChannelLocation | undefined {
  const at = text.indexOf("#");
  const base = at === -1 ? text : text.slice(0, at);
  const channel = at === -1 ? DEFAULT_CHANNEL : text.slice(at + 1);
  if (base === "" || !CHANNEL_NAME.test(channel)) return undefined;
  const scheme = /^([a-z0-9+.-]+):\/\//i.exec(base)?.[1];
  if (scheme === undefined) return { base, channel };
  if (!["http", "https", "s3"].includes(scheme) || !URL.canParse(base)) return undefined;
  const { username, password, search, pathname } = new URL(base);
  if (search !== "" || (scheme === "s3" && username + password !== "")) return undefined;
  return [username, password, pathname].every(isDecodable) ? { base, channel } : undefined;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

export function openReader(base: string, env: S3Environment): ObjectReader {
  return /^https?:/.test(base) ? HttpObjects.open(base) : openStore(base, env)!;
}

/** @returns undefined for a base URL, which is read only */
export function openStore(base: string, env: S3Environment): ObjectStore | undefined {
  if (/^https?:/.test(base)) return undefined;
  if (base.startsWith("s3://")) return new S3Objects(base, env);
  return new FolderObjects(resolve(base));
}
