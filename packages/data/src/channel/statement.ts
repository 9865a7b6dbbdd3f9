// statement.ts: reads a channel's statement, and what it refers to: the manifest of the release that servers should run,
// and the ruleset for decisions in an application's process.
//
// The text of a ruleset is not parsed here. The code that evaluates it does, and keeps the previous ruleset on failure.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Release } from "@inkling/engine";
import { z } from "zod";
import { replaceJson } from "../atomic-file.ts";
import { messageOf } from "../errors.ts";
import { sha256Hex } from "../fingerprints.ts";
import { DATA_FOLDER } from "../layout.ts";
import { isReleaseName, parseManifest, ReleaseError, segmentsOf } from "../releases.ts";
import { ChannelError } from "./channel-error.ts";
import { unseal } from "./envelope.ts";
import { CHANNEL_NAME } from "./location.ts";
import { type ObjectReader, type ObjectStore, REPLACED_LIMIT, readSigned, readText } from "./object-store.ts";

export const STATEMENT_LIMIT = REPLACED_LIMIT;
export const MANIFEST_LIMIT = 8 << 20;

const time = z.iso.datetime();

/** A release, by its name and the SHA-256 of its manifest, which contains the hashes of its segments. */
const releaseRef = z.object({
  name: z.string().refine(isReleaseName),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type ReleaseRef = Readonly<z.infer<typeof releaseRef>>;

/** A ruleset, by its number and the SHA-256 of its text. */
const rulesetRef = z.object({
  number: z.number().int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type RulesetRef = Readonly<z.infer<typeof rulesetRef>>;

const statement = z.object({
  format: z.literal(2),
  channel: z.string().regex(CHANNEL_NAME),
  /** The version. It only ever increases. */
  version: z.number().int().positive(),
  published_at: time,
  /** Servers accept the statement until this time, so they notice if somebody withholds newer statements. */
  expires_at: time,
  release: releaseRef,
  /** Releases whose files are kept for a rollback, newest first, including `release`. */
  kept: z.array(releaseRef).min(1).max(10),
  /** Names of stored releases from which the channel was rolled back. */
  rolled_back: z.array(z.string().refine(isReleaseName)).max(10).optional(),
  /** The ruleset for in-process decisions. */
  ruleset: rulesetRef.optional(),
});
export type Statement = Readonly<z.infer<typeof statement>>;

/**
 * The earlier format, in which a release could be on trial on a percentage of servers. All servers then take the
 * release before it. This format is read so that servers can be upgraded before the builder.
 */
const earlier = statement
  .extend({
    format: z.literal(1),
    percent: z.number().int().min(0).max(100),
    previous: releaseRef.optional(),
  })
  .transform(
    ({ percent, previous, release, ...same }): Statement => ({
      ...same,
      format: 2,
      release: percent < 100 && previous !== undefined ? previous : release,
    }),
  );

export function readStatement(text: string): Statement {
  try {
    return z.union([statement, earlier]).parse(JSON.parse(text));
  } catch (error) {
    throw new ChannelError(
      "unreadable",
      "the channel has an unknown format: a newer version of Inkling may have written it",
      "update Inkling on this host",
      { cause: error },
    );
  }
}

/** A statement, and the text of the object that contains it. */
export interface Found {
  readonly statement: Statement;
  readonly text: string;
}

/**
 * Finds a channel's statement.
 * @returns undefined if the channel does not exist
 * @throws ChannelError, including if no trusted key signed the statement
 */
export async function findStatement(
  store: ObjectReader,
  channel: string,
  trusted: readonly string[],
  signal: AbortSignal,
): Promise<Found | undefined> {
  const text = await readText(store, CHANNEL_PATHS.statement(channel), STATEMENT_LIMIT, signal);
  return text === undefined ? undefined : { text, statement: openStatement(unseal(text, trusted), channel) };
}

/** @throws ChannelError if the text is not the statement of this channel */
export function openStatement(text: string, channel: string): Statement {
  const statement = readStatement(text);
  if (statement.channel === channel) return statement;
  throw new ChannelError(
    "other-key",
    `the signature is for the channel ${statement.channel}, not ${channel}`,
  );
}

/** @throws ChannelError if servers no longer accept the statement */
export function requireFresh({ channel, expires_at, version }: Statement, now: number, hint: string): void {
  if (Date.parse(expires_at) > now) return;
  throw new ChannelError(
    "expired",
    `version ${version} of the channel ${channel} expired at ${expires_at}`,
    hint,
  );
}

/** Downloads a release's manifest. @throws ChannelError also if it is not the signed one */
export async function fetchManifest(
  store: ObjectReader,
  { name, sha256 }: ReleaseRef,
  signal: AbortSignal,
): Promise<{ readonly manifest: Release; readonly text: string }> {
  const path = DATA_FOLDER.releaseFile(name);
  const text = await readSigned(store, { path, sha256, what: "manifest" }, MANIFEST_LIMIT, signal);
  return { manifest: readManifest(text, name), text };
}

export const PUBLISH_ANOTHER = "publish another release, or run `inkling channel rollback` on the builder";

/** Reads a manifest from the store. @throws ChannelError */
export function readManifest(text: string, name: string): Release {
  try {
    const manifest = parseManifest(text, name);
    if (segmentsOf(manifest).length > 0) return manifest;
    throw new ReleaseError("the manifest has no segment");
  } catch (cause) {
    if (cause instanceof ReleaseError)
      throw new ChannelError("unsound", `release ${name}: ${messageOf(cause)}`, PUBLISH_ANOTHER, { cause });
    throw new ChannelError("unreadable", `the manifest of ${name} has an unknown format`, "update Inkling", {
      cause,
    });
  }
}

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

/**
 * Returns the releases from which the channel was rolled back, and to which it has not returned since. These are the
 * listed releases, and the stored releases that were published after the current one.
 */
export function rolledBack({ kept, release, rolled_back = [] }: Statement): Set<string> {
  const newer = kept.findIndex(({ name }) => name === release.name);
  return new Set([...rolled_back, ...kept.slice(0, Math.max(0, newer)).map(({ name }) => name)]);
}

/**
 * Returns the stored releases that remain rolled back. They are recorded so that a newer release does not hide a
 * rollback that nobody has undone.
 */
export function stillRolledBack(
  before: Statement,
  release: ReleaseRef,
  kept: readonly ReleaseRef[],
): Pick<Statement, "rolled_back"> {
  const all = rolledBack(before);
  const names = kept.map(({ name }) => name).filter((name) => all.has(name) && name !== release.name);
  return names.length === 0 ? {} : { rolled_back: names };
}

/** Returns the newest stored release that is older than the current one and was not rolled back. */
export function releaseBefore(before: Statement): ReleaseRef | undefined {
  const { release, kept } = before;
  const left = rolledBack(before);
  const older = kept.slice(kept.findIndex(({ name }) => name === release.name) + 1);
  return older.find(({ name }) => !left.has(name));
}

export const CHANNEL_PATHS = {
  folder: "channels/",
  statement: (channel: string) => `channels/${channel}.json`,
  ruleset: (sha256: string) => `rulesets/${sha256}.toml`,
} as const;
