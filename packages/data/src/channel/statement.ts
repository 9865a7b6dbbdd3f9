// statement.ts: defines a channel's statement: the release that servers should run.

import { z } from "zod";
import { isReleaseName } from "../releases.ts";
import { ChannelError } from "./channel-error.ts";
import { CHANNEL_NAME } from "./location.ts";

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

export function readStatement(text: string): Statement {
  try {
    return statement.parse(JSON.parse(text));
  } catch (error) {
    throw new ChannelError(
      "unreadable",
      "the channel has an unknown format: a newer version of Inkling may have written it",
      "update Inkling on this host",
      { cause: error },
    );
  }
}

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
