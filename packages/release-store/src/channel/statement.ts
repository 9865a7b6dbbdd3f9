// statement.ts: what a channel states: which release its servers should run, and which share of them.
//
// in   the signed text of channels/<name>.json
// out  Statement; which release one server takes
// err  ChannelError: unreadable

import { z } from "zod";
import { isReleaseName } from "../releases.ts";
import { sha256Hex } from "../sha256.ts";
import { ChannelError } from "./channel-error.ts";
import { CHANNEL_NAME } from "./channel-name.ts";

const time = z.iso.datetime();

/** A release by its name and the SHA-256 of its manifest, which contains the hashes of its segments. */
const releaseRef = z.object({
  name: z.string().refine(isReleaseName),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type ReleaseRef = Readonly<z.infer<typeof releaseRef>>;

/** A ruleset by its number and the SHA-256 of its text. */
const rulesetRef = z.object({
  number: z.number().int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type RulesetRef = Readonly<z.infer<typeof rulesetRef>>;

const statement = z.object({
  format: z.literal(1),
  channel: z.string().regex(CHANNEL_NAME),
  /** Only rises. */
  version: z.number().int().positive(),
  published_at: time,
  /** Until then servers take it: a copy that somebody keeps back is noticed. */
  expires_at: time,
  release: releaseRef,
  /** For servers whose slot is below this; the others take `previous`. */
  percent: z.number().int().min(0).max(100),
  previous: releaseRef.optional(),
  /** Releases whose files are kept for a rollback, newest first, `release` included. */
  kept: z.array(releaseRef).min(1).max(10),
  /** Names of kept releases that the channel went back from; earlier versions state none. */
  rolled_back: z.array(z.string().refine(isReleaseName)).max(10).optional(),
  /** For assessments in process; older readers do without. */
  ruleset: rulesetRef.optional(),
});
export type Statement = Readonly<z.infer<typeof statement>>;

export function readStatement(text: string): Statement {
  try {
    return statement.parse(JSON.parse(text));
  } catch (error) {
    throw new ChannelError(
      "unreadable",
      "the channel has another form: a newer version of Inkling may have written it",
      "update Inkling on this host",
      { cause: error },
    );
  }
}

/** Of 100 slots the one of this server: the same for every release, so that the same servers come first. */
export function rolloutSlot(serverId: string): number {
  return Number.parseInt(sha256Hex(Buffer.from(serverId)).slice(0, 8), 16) % 100;
}

export function releaseFor({ release, percent, previous }: Statement, serverId: string): ReleaseRef {
  return previous === undefined || rolloutSlot(serverId) < percent ? release : previous;
}

/**
 * The releases that the channel went back from, and has not gone forward to since: also without a list those that were
 * published after the one that it names.
 */
export function rolledBack({ kept, release, rolled_back = [] }: Statement): Set<string> {
  const newer = kept.findIndex(({ name }) => name === release.name);
  return new Set([...rolled_back, ...kept.slice(0, Math.max(0, newer)).map(({ name }) => name)]);
}

/** Of those that are kept: a rollback that nobody undid remains known after newer releases. */
export function stillRolledBack(
  before: Statement,
  release: ReleaseRef,
  kept: readonly ReleaseRef[],
): Pick<Statement, "rolled_back"> {
  const all = rolledBack(before);
  const names = kept.map(({ name }) => name).filter((name) => all.has(name) && name !== release.name);
  return names.length === 0 ? {} : { rolled_back: names };
}

/** The release that all servers of a channel have taken. */
export function whole({ release, percent, previous }: Statement): ReleaseRef {
  return percent < 100 && previous !== undefined ? previous : release;
}

/** The one that all servers had; where the statement does not name it, the one that was published before. */
export function releaseBefore({ release, previous, kept }: Statement): ReleaseRef | undefined {
  return (
    kept.find(({ name }) => name === previous?.name && name !== release.name) ??
    kept[kept.findIndex(({ name }) => name === release.name) + 1]
  );
}

export const CHANNEL_PATHS = {
  folder: "channels/",
  statement: (channel: string) => `channels/${channel}.json`,
  ruleset: (sha256: string) => `rulesets/${sha256}.toml`,
  /** Names who publishes now. */
  lock: "publishing.json",
} as const;
