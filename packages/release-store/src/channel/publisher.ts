// publisher.ts: lets a builder publish a release on a channel, promote it to more servers, and roll back.
//
// in   the data folder, the store, the private key
// out  the signed statement
// err  ChannelError: the channel has either the old statement or the complete new one; PublishStopped: the channel is
//      unchanged
//
// Objects are uploaded first and the statement last. The object under a segment's or manifest's name never changes. The
// publisher removes only objects that this channel named before and that no channel names now. It removes nothing if it
// cannot read the complete list of channels.

import type { KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Release, release as releaseSchema } from "@inkling/engine";
import { DATA_FOLDER } from "../layout.ts";
import { hasSegment } from "../publish.ts";
import { openManifest, releaseNames } from "../releases.ts";
import { sha256Hex } from "../sha256.ts";
import { ChannelError, PublishStopped } from "./channel-error.ts";
import { CHANNEL_NAME } from "./channel-name.ts";
import { type ChannelRuleset, sendRuleset } from "./channel-ruleset.ts";
import { publicKeyOf, seal, unseal } from "./envelope.ts";
import { type ObjectReader, type ObjectStore, readText } from "./object-store.ts";
import { PublisherLock } from "./publisher-lock.ts";
import {
  CHANNEL_PATHS,
  type ReleaseRef,
  type RulesetRef,
  readStatement,
  releaseBefore,
  rolledBack,
  type Statement,
  stillRolledBack,
  whole,
} from "./statement.ts";

/** Number of releases whose files remain in the store for a rollback, including the current release. */
const KEPT = 5;
export const STATEMENT_LIMIT = 64 << 10;
export const MANIFEST_LIMIT = 8 << 20;
const DAY_MS = 86_400_000;
/** Milliseconds for which servers accept a statement if no newer one is published. */
export const VALID_MS = 7 * DAY_MS;

export interface PublisherOptions {
  readonly store: ObjectStore;
  readonly channel: string;
  readonly privateKey: KeyObject;
  /** Epoch ms. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Milliseconds until another publisher's lock is certainly visible; by default the store's `settleMs`. */
  readonly settleMs?: number;
  /**
   * Takes a second lock, which ends with its process, in addition to the lock in the store. It always calls `work`,
   * with a function that returns whether the second lock is held.
   */
  readonly exclusively?: <T>(work: (isHeld: () => Promise<boolean>) => Promise<T>) => Promise<T>;
  /** Other public keys that may have signed the channel before the key was changed. */
  readonly trusted?: readonly string[];
  /** Called before an object of this many bytes is uploaded. */
  readonly onUpload?: (path: string, bytes: number) => void;
  /** Returns the newest ruleset, which every new statement names. If undefined, the channel keeps its ruleset. */
  readonly ruleset?: () => Promise<ChannelRuleset | undefined>;
  /**
   * Called before more servers receive the channel's release: `percent` of them. If it throws, the channel does not
   * change.
   */
  readonly onRaise?: (before: Statement, percent: number) => Promise<void>;
  /** Records a change in the audit trail, then calls `change`. */
  readonly audited?: (
    before: Statement | undefined,
    after: Statement,
    change: () => Promise<void>,
  ) => Promise<void>;
  /** Called if old objects or the lock could not be removed. The channel itself is not affected. */
  readonly onWarning?: (message: string) => void;
}

export class Publisher {
  private readonly options: PublisherOptions;
  private readonly trusted: readonly string[];
  private readonly lock: PublisherLock;
  /** Has the upload of the statement begun? If so, it is too late to stop. */
  private isStated = false;

  constructor(options: PublisherOptions) {
    this.options = options;
    this.lock = new PublisherLock(options);
    this.trusted = [publicKeyOf(options.privateKey), ...(options.trusted ?? [])];
  }

  /**
   * Reads the channel's statement; undefined before its first release.
   * @throws ChannelError, including if another key signed it
   */
  read(): Promise<Statement | undefined> {
    const { store, channel, signal } = this.options;
    return readChannel(store, channel, this.trusted, signal).catch((error) => {
      throw this.orStopped(error);
    });
  }

  /**
   * Uploads a release from the data folder, and names it in the channel.
   * @param percent percentage of servers that take the release; the first release of a channel is for all servers
   * @param isForced allows a release from which the channel was rolled back
   */
  publish(dataDir: string, name: string, percent: number, isForced = false): Promise<Statement> {
    return this.locked(async (before) => {
      if (before !== undefined && !isForced) requireNotRolledBack(before, name);
      if (before === undefined && percent < 100) {
        throw new ChannelError("absent", "a channel's first release must go to all servers");
      }
      const ref = readRef(dataDir, name);
      const known = before?.kept.find((each) => each.name === name);
      if (known !== undefined && known.sha256 !== ref.sha256) {
        throw new ChannelError(
          "wrong-object",
          `${name} is in the channel with a different manifest`,
          "build a newer release with `inkling data update`, then publish it",
        );
      }
      await this.upload(dataDir, name, false);
      if (before?.release.name === name)
        return this.write(before, { percent: Math.max(percent, before.percent) });
      // If only some servers took the previous release, it was on trial. All other servers keep the release before it.
      const previous = before === undefined ? undefined : whole(before);
      return this.write(before, { release: ref, percent, previous });
    });
  }

  /**
   * Uploads the objects of the channel's current and previous release again, because the store's copies are damaged.
   * The statement does not change.
   */
  sendAgain(dataDir: string): Promise<Statement> {
    return this.locked(async (found) => {
      const before = required(found, this.options);
      const names = releaseNames(dataDir);
      const refs = [before.release, before.previous].filter((ref) => ref !== undefined);
      for (const { name, sha256 } of refs) {
        if (!names.includes(name) || readRef(dataDir, name).sha256 !== sha256) {
          throw new ChannelError(
            "absent",
            `the channel's release ${name} is not in ${dataDir}`,
            "run this on the host that published it, publish a newer release, or roll back with `inkling channel rollback RELEASE`",
          );
        }
      }
      for (const { name } of refs) await this.upload(dataDir, name, true);
      return before;
    });
  }

  /** Rolls out the current release to this percentage of the servers. */
  promote(percent: number): Promise<Statement> {
    return this.locked((before) => this.write(required(before, this.options), { percent }));
  }

  /** Rolls all servers back to the previous release, or to the kept release that `to` names. */
  rollback(to?: string): Promise<Statement> {
    return this.locked((found) => {
      const before = required(found, this.options);
      const { release, kept, channel } = before;
      const target = to === undefined ? releaseBefore(before) : kept.find(({ name }) => name === to);
      if (target === undefined) {
        const names = kept.map(({ name }) => name).join(", ");
        throw new ChannelError(
          "absent",
          to === undefined
            ? `the channel ${channel} has no release earlier than ${release.name}`
            : `the channel ${channel} does not keep ${to}`,
          `the kept releases are ${names}`,
        );
      }
      return this.write(before, { release: target, percent: 100, previous: undefined });
    });
  }

  /** Signs and uploads a statement with a higher version, then removes objects that no channel needs any more. */
  private async write(
    before: Statement | undefined,
    change: { release?: ReleaseRef; percent?: number; previous?: ReleaseRef | undefined },
  ): Promise<Statement> {
    const { store, channel, now, privateKey, signal, onRaise, audited } = this.options;
    const { percent: wanted = 0 } = change;
    const isOnTrial = before?.previous !== undefined && before.percent < wanted;
    if (isOnTrial && change.release === undefined) await onRaise?.(before, wanted);
    const release = change.release ?? before!.release;
    const previous = "previous" in change ? change.previous : before?.previous;
    const older = (before?.kept ?? []).filter(({ name }) => name !== release.name);
    // A rollback keeps the order of releases, so that the operator can go forward again.
    const isKept = before?.kept.some(({ name }) => name === release.name) ?? false;
    const all = isKept ? before!.kept : [release, ...older];
    const needed = [release.name, previous?.name];
    const kept = all.filter(({ name }, index) => index < KEPT || needed.includes(name));
    const ruleset = (await this.sendRuleset()) ?? before?.ruleset;
    const statement: Statement = {
      format: 1,
      channel,
      // The version is at least the seconds since 1970. It therefore exceeds every version that servers have seen, even
      // if the statement was lost.
      version: Math.max((before?.version ?? 0) + 1, Math.floor(now() / 1000)),
      published_at: new Date(now()).toISOString(),
      expires_at: new Date(now() + VALID_MS).toISOString(),
      release,
      percent: change.percent ?? before?.percent ?? 100,
      ...(previous === undefined ? {} : { previous }),
      kept,
      ...(before !== undefined && stillRolledBack(before, release, kept)),
      ...(ruleset !== undefined && { ruleset }),
    };
    const path = CHANNEL_PATHS.statement(channel);
    const text = seal(JSON.stringify(statement), privateKey);
    const state = async () => {
      await this.lock.hold();
      if ((await this.read())?.version !== before?.version) throw this.lock.busy();
      signal.throwIfAborted();
      this.isStated = true;
      // This write is not interrupted, because otherwise nobody would know whether servers follow the new statement.
      const unstopped = new AbortController().signal;
      await store.write(path, text, unstopped);
      if ((await readText(store, path, STATEMENT_LIMIT, unstopped)) !== text) {
        throw new ChannelError("busy", `${path} was overwritten by another publisher`, "try again");
      }
    };
    await (audited?.(before, statement, state) ?? state());
    const dropped = all.filter(({ name }) => !kept.some((each) => each.name === name));
    if (dropped.length > 0) await this.sweep(dropped);
    return statement;
  }

  private async sendRuleset(): Promise<RulesetRef | undefined> {
    const { store, ruleset, signal } = this.options;
    const newest = await ruleset?.();
    return newest && sendRuleset(store, newest, signal);
  }

  private async upload(dataDir: string, name: string, again: boolean): Promise<void> {
    const { store, signal, onUpload } = this.options;
    const manifest = openManifest(dataDir, name);
    for (const segment of Object.values(manifest.segments)) {
      if (segment === undefined) continue;
      const path = DATA_FOLDER.segmentFile(segment.sha256);
      if (!again && (await store.size(path, signal)) === segment.bytes) continue;
      if (!hasSegment(dataDir, segment.sha256)) {
        throw new ChannelError("unsound", `${path} is missing or damaged here`, "run `inkling data update`");
      }
      await this.lock.hold();
      onUpload?.(path, segment.bytes);
      const { sha256, bytes } = segment;
      await store.write(path, { file: join(dataDir, path), sha256 }, signal);
      const there = await store.size(path, signal);
      if (there !== bytes) {
        throw new ChannelError(
          "wrong-object",
          `${path} has ${there ?? 0} bytes in the store, but should have ${bytes}`,
        );
      }
    }
    const text = readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8");
    const path = DATA_FOLDER.releaseFile(name);
    onUpload?.(path, Buffer.byteLength(text));
    await store.write(path, text, signal);
  }

  /** Removes the dropped releases of this channel unless another channel names them. */
  private async sweep(dropped: readonly ReleaseRef[]): Promise<void> {
    const { store, channel, signal, onWarning } = this.options;
    try {
      const listed = await store.list(CHANNEL_PATHS.folder, signal);
      const paths = listed.filter((path) => isStatementPath(path));
      if (!paths.includes(CHANNEL_PATHS.statement(channel))) {
        throw new ChannelError("wrong-object", `the list of ${store.location} lacks the channel ${channel}`);
      }
      const named = new Map<string, ReleaseRef>();
      for (const path of paths) {
        // Statements that another key signed are also read, because the releases that they name must remain.
        const text = await readText(store, path, STATEMENT_LIMIT, signal);
        const { kept } = readStatement(unverified(text ?? ""));
        for (const ref of kept) named.set(ref.name, ref);
      }
      const needed = new Set<string>();
      for (const { name } of named.values()) for (const path of await this.segmentsOf(name)) needed.add(path);
      for (const { name } of dropped.filter((ref) => !named.has(ref.name))) {
        const segments = await this.segmentsOf(name);
        for (const path of segments.filter((each) => !needed.has(each))) await store.remove(path, signal);
        await store.remove(DATA_FOLDER.releaseFile(name), signal);
      }
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error;
      onWarning?.(`old releases remain in the store: ${error.message}`);
    }
  }

  private async segmentsOf(name: string): Promise<string[]> {
    const { store, signal } = this.options;
    const text = await readText(store, DATA_FOLDER.releaseFile(name), MANIFEST_LIMIT, signal);
    if (text === undefined)
      throw new ChannelError("missing-object", `${DATA_FOLDER.releaseFile(name)} is missing`);
    return segmentPaths(readManifest(text, name));
  }

  /**
   * Runs `act` while no other publisher works in the store, not even for another channel, because channels may share
   * segments.
   */
  private locked<T>(act: (before: Statement | undefined) => Promise<T>): Promise<T> {
    const { exclusively = (work) => work(async () => true) } = this.options;
    return exclusively(async (isHeld) => {
      this.isStated = false;
      try {
        await this.lock.take(isHeld);
        return await act(await this.read());
      } catch (error) {
        throw this.orStopped(error);
      } finally {
        await this.lock.remove();
      }
    });
  }

  /**
   * Returns the error to throw. After a stop, every failure counts as caused by the stop, unless the upload of the
   * statement has begun.
   */
  private orStopped(error: unknown): unknown {
    if (!this.options.signal.aborted || this.isStated) return error;
    return new PublishStopped("stopped before the channel was changed", { cause: error });
  }
}

function readRef(dataDir: string, name: string): ReleaseRef {
  openManifest(dataDir, name);
  return { name, sha256: sha256Hex(readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8")) };
}

/**
 * Returns whether this is the path of a statement. A publisher that was killed may have left temporary files in a
 * folder.
 */
function isStatementPath(path: string): boolean {
  const { folder, statement } = CHANNEL_PATHS;
  const name = path.slice(folder.length, -".json".length);
  return CHANNEL_NAME.test(name) && path === statement(name);
}

/** @returns undefined if the channel does not exist */
export async function readChannel(
  store: ObjectReader,
  channel: string,
  trusted: readonly string[],
  signal: AbortSignal,
): Promise<Statement | undefined> {
  const text = await readText(store, CHANNEL_PATHS.statement(channel), STATEMENT_LIMIT, signal);
  if (text === undefined) return undefined;
  return requireOwn(readStatement(unseal(text, trusted)), channel);
}

/** @throws ChannelError if the file contains the statement of another channel */
export function requireOwn(statement: Statement, channel: string): Statement {
  if (statement.channel === channel) return statement;
  throw new ChannelError(
    "other-key",
    `the signature is for the channel ${statement.channel}, not ${channel}`,
  );
}

export function readManifest(text: string, name: string): Release {
  try {
    return releaseSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new ChannelError("unreadable", `the manifest of ${name} has an unknown format`, "update Inkling", {
      cause: error,
    });
  }
}

function segmentPaths({ segments }: Release): string[] {
  return Object.values(segments).flatMap((segment) =>
    segment === undefined ? [] : [DATA_FOLDER.segmentFile(segment.sha256)],
  );
}

/** @throws ChannelError if the channel has been rolled back from this release */
function requireNotRolledBack(before: Statement, name: string): void {
  if (before.release.name === name || !rolledBack(before).has(name)) return;
  throw new ChannelError(
    "rolled-back",
    `${name} was rolled back, and the channel has ${before.release.name}: publishing it again would undo the rollback on every server`,
    "`inkling data update` builds a newer release; `inkling channel publish --again` repairs damaged objects; `inkling channel publish --force` publishes this release anyway",
  );
}

function required(
  statement: Statement | undefined,
  { channel, store }: Pick<PublisherOptions, "channel" | "store">,
): Statement {
  if (statement !== undefined) return statement;
  throw new ChannelError(
    "absent",
    `there is no channel ${channel} in ${store.location}`,
    "`inkling channel publish` creates it",
  );
}

/** Returns the envelope's payload as text, without checking the signature. */
function unverified(text: string): string {
  try {
    return Buffer.from(String(JSON.parse(text).payload), "base64").toString();
  } catch (error) {
    throw new ChannelError("unreadable", "a channel is not JSON", undefined, { cause: error });
  }
}
