// channel-ruleset.ts: sends and downloads a channel's ruleset, for decisions in an application's process.
//
// This module does not parse the text. The code that evaluates it does, and keeps the previous ruleset on failure.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { replaceJson } from "../atomic-file.ts";
import { sha256Hex } from "../fingerprints.ts";
import { DATA_FOLDER } from "../layout.ts";
import { type ObjectReader, type ObjectStore, readSigned } from "./object-store.ts";
import { CHANNEL_PATHS, type RulesetRef } from "./statement.ts";

/** Maximum size of a ruleset in bytes: the longest text, with four bytes per character. */
const TEXT_LIMIT = 1 << 20;

const channelRuleset = z.object({ number: z.number().int().positive(), text: z.string() });
export type ChannelRuleset = Readonly<z.infer<typeof channelRuleset>>;

/**
 * Uploads a ruleset unless it is already in the store. Rulesets are never removed from the store, because they are
 * small and a server may be about to read one.
 */
export async function sendRuleset(
  store: ObjectStore,
  { number, text }: ChannelRuleset,
  signal: AbortSignal,
): Promise<RulesetRef> {
  const sha256 = sha256Hex(text);
  const path = CHANNEL_PATHS.ruleset(sha256);
  if ((await store.size(path, signal)) !== Buffer.byteLength(text)) await store.write(path, text, signal);
  return { number, sha256 };
}

/** Downloads a ruleset. @throws ChannelError */
export async function fetchRuleset(
  store: ObjectReader,
  { number, sha256 }: RulesetRef,
  signal: AbortSignal,
): Promise<ChannelRuleset> {
  const object = { path: CHANNEL_PATHS.ruleset(sha256), sha256, what: "ruleset" };
  return { number, text: await readSigned(store, object, TEXT_LIMIT, signal) };
}

export function storeRuleset(dataDir: string, ruleset: ChannelRuleset): void {
  replaceJson(join(dataDir, DATA_FOLDER.channelRuleset), ruleset);
}

/** @returns the last downloaded ruleset; undefined before the first one @throws errors of JSON and zod */
export function readChannelRuleset(dataDir: string): ChannelRuleset | undefined {
  const path = join(dataDir, DATA_FOLDER.channelRuleset);
  return existsSync(path) ? parseChannelRuleset(readFileSync(path, "utf8")) : undefined;
}

/** @throws errors of JSON and zod */
export const parseChannelRuleset = (text: string): ChannelRuleset => channelRuleset.parse(JSON.parse(text));
