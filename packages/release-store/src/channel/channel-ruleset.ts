// channel-ruleset.ts: the ruleset that a channel states beside its release, for assessments in an application's process.
//
// in   the ruleset's number and text, of the builder's database; or what a signed statement names
// out  the object rulesets/<sha256>.toml; a copy in the data folder of who follows
// err  ChannelError: missing-object, wrong-object; an Error for a copy that cannot be read
// note The text is not parsed here: whoever evaluates it does, and keeps the one before where it cannot

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { replaceJson } from "../atomic-file.ts";
import { DATA_FOLDER } from "../layout.ts";
import { sha256Hex } from "../sha256.ts";
import type { TransferTimes } from "../transfer-limit.ts";
import { ChannelError } from "./channel-error.ts";
import { type ObjectReader, type ObjectStore, readText } from "./object-store.ts";
import { CHANNEL_PATHS, type RulesetRef } from "./statement.ts";

/** Bytes of the longest text that a ruleset may have, in characters of up to four bytes. */
const TEXT_LIMIT = 1 << 20;

const channelRuleset = z.object({ number: z.number().int().positive(), text: z.string() });
export type ChannelRuleset = Readonly<z.infer<typeof channelRuleset>>;

/** Puts a ruleset into the store, if it remains: it is small, and a server may be about to read it. */
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

/** Downloads a ruleset that is not in the data folder yet. @throws ChannelError */
export async function takeRuleset(
  store: ObjectReader,
  dataDir: string,
  { number, sha256 }: RulesetRef,
  signal: AbortSignal,
  times?: TransferTimes,
): Promise<void> {
  const here = findChannelRuleset(dataDir);
  if (here?.number === number && sha256Hex(here.text) === sha256) return;
  const path = CHANNEL_PATHS.ruleset(sha256);
  const text = await readText(store, path, TEXT_LIMIT, signal, times);
  if (text === undefined) throw new ChannelError("missing-object", `${path} is not in ${store.location}`);
  if (sha256Hex(text) !== sha256)
    throw new ChannelError("wrong-object", `${path} is not the ruleset that was signed`);
  replaceJson(join(dataDir, DATA_FOLDER.channelRuleset), { number, text } satisfies ChannelRuleset);
}

/** The ruleset that was taken last; undefined before the first, and for a copy that is damaged: it is taken again. */
function findChannelRuleset(dataDir: string): ChannelRuleset | undefined {
  try {
    return readChannelRuleset(dataDir);
  } catch {
    return undefined;
  }
}

/** @returns undefined before the first @throws errors of JSON and zod */
export function readChannelRuleset(dataDir: string): ChannelRuleset | undefined {
  const path = join(dataDir, DATA_FOLDER.channelRuleset);
  return existsSync(path) ? parseChannelRuleset(readFileSync(path, "utf8")) : undefined;
}

/** @throws errors of JSON and zod */
export const parseChannelRuleset = (text: string): ChannelRuleset => channelRuleset.parse(JSON.parse(text));
