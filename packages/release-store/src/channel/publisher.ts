// publisher.ts: what a builder does to a channel: publish a release, promote it to more servers, go back.
//
// in   the data folder, the store, the private key
// out  the statement that was signed
// err  ChannelError; the channel is then as it was, or has the new statement whole. PublishStopped; it is as it was
//
// Objects come first, the statement last. Segments and manifests never change under their names. What is removed is
// only what this channel named before, no channel names now, and a listing of the channels that is sound confirms.

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

/** Releases whose files remain in the store for a rollback, the current one included. */
const KEPT = 5;
export const STATEMENT_LIMIT = 64 << 10;
export const MANIFEST_LIMIT = 8 << 20;
const DAY_MS = 86_400_000;
/** How long a statement is taken without a newer one. */
export const VALID_MS = 7 * DAY_MS;

export interface PublisherOptions {
  readonly store: ObjectStore;
  readonly channel: string;
  readonly privateKey: KeyObject;
  /** Epoch ms. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** How long another publisher's lock may take to be seen; that of the store without. */
  readonly settleMs?: number;
  /**
   * A lock that ends with its process, beside the one in the store. Calls `work` in any case, with whether it is held.
   */
  readonly exclusively?: <T>(work: (isHeld: () => Promise<boolean>) => Promise<T>) => Promise<T>;
  /** Other public keys that may have signed the channel so far: before a change of the key. */
  readonly trusted?: readonly string[];
  /** Bytes of an object that are about to be sent. */
  readonly onUpload?: (path: string, bytes: number) => void;
  /** The newest ruleset, which each change of the channel states; undefined: the one before remains. */
  readonly ruleset?: () => Promise<ChannelRuleset | undefined>;
  /** Called before more servers are given the release of the channel; what it throws leaves the channel as it is. */
  readonly onRaise?: (before: Statement) => Promise<void>;
  /** Records a change, and calls `change` then. */
  readonly audited?: (
    before: Statement | undefined,
    after: Statement,
    change: () => Promise<void>,
  ) => Promise<void>;
  /** What could not be tidied up; the channel is well. */
  readonly onWarning?: (message: string) => void;
}

export class Publisher {
  private readonly options: PublisherOptions;
  private readonly trusted: readonly string[];
  private readonly lock: PublisherLock;
  /** Is the statement on its way? A stop then comes too late. */
  private isStated = false;

  constructor(options: PublisherOptions) {
    this.options = options;
    this.lock = new PublisherLock(options);
    this.trusted = [publicKeyOf(options.privateKey), ...(options.trusted ?? [])];
  }

  /** The channel as it is; undefined before its first release. @throws ChannelError also when another key signed it */
  read(): Promise<Statement | undefined> {
    const { store, channel, signal } = this.options;
    return readChannel(store, channel, this.trusted, signal).catch((error) => {
      throw this.orStopped(error);
    });
  }

  /**
   * Puts a release of the data folder into the store, and names it.
   * @param percent of the servers that take it; the first release of a channel is for all
   * @param isForced also a release that the channel went back from
   */
  publish(dataDir: string, name: string, percent: number, isForced = false): Promise<Statement> {
    return this.locked(async (before) => {
      if (before !== undefined && !isForced) requireNotRolledBack(before, name);
      if (before === undefined && percent < 100) {
        throw new ChannelError("absent", "the first release of a channel is for all of its servers");
      }
      const ref = readRef(dataDir, name);
      const known = before?.kept.find((each) => each.name === name);
      if (known !== undefined && known.sha256 !== ref.sha256) {
        throw new ChannelError("wrong-object", `${name} is in the channel with another manifest`);
      }
      await this.upload(dataDir, name, false);
      if (before?.release.name === name)
        return this.write(before, { percent: Math.max(percent, before.percent) });
      // A release that only a part of the servers took was on trial: the others continue with the one before it.
      const previous = before === undefined ? undefined : whole(before);
      return this.write(before, { release: ref, percent, previous });
    });
  }

  /** Sends the objects of the releases that the channel names once more: they were damaged there. It remains as it is. */
  sendAgain(dataDir: string): Promise<Statement> {
    return this.locked(async (found) => {
      const before = required(found, this.options);
      const names = releaseNames(dataDir);
      const refs = [before.release, before.previous].filter((ref) => ref !== undefined);
      for (const { name, sha256 } of refs) {
        if (!names.includes(name) || readRef(dataDir, name).sha256 !== sha256) {
          throw new ChannelError(
            "absent",
            `the channel names ${name}, which is not in ${dataDir}`,
            "run this on the host that published it, or publish a newer release; `npx @inkling/cli channel rollback RELEASE` goes back to another one",
          );
        }
      }
      for (const { name } of refs) await this.upload(dataDir, name, true);
      return before;
    });
  }

  /** Gives the current release to this share of the servers. */
  promote(percent: number): Promise<Statement> {
    return this.locked((before) => this.write(required(before, this.options), { percent }));
  }

  /** Goes back to the release before, or to the named one of those that are kept; for all servers. */
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
            ? `the channel ${channel} has no release before ${release.name}`
            : `the channel ${channel} does not keep ${to}`,
          `kept are ${names}`,
        );
      }
      return this.write(before, { release: target, percent: 100, previous: undefined });
    });
  }

  /** Signs a statement that is one version up, and removes what no channel needs any more. */
  private async write(
    before: Statement | undefined,
    change: { release?: ReleaseRef; percent?: number; previous?: ReleaseRef | undefined },
  ): Promise<Statement> {
    const { store, channel, now, privateKey, signal, onRaise, audited } = this.options;
    const isOnTrial = before?.previous !== undefined && before.percent < (change.percent ?? 0);
    if (isOnTrial && change.release === undefined) await onRaise?.(before);
    const release = change.release ?? before!.release;
    const previous = "previous" in change ? change.previous : before?.previous;
    const older = (before?.kept ?? []).filter(({ name }) => name !== release.name);
    // A rollback keeps the order, so that one can go forward again.
    const isKept = before?.kept.some(({ name }) => name === release.name) ?? false;
    const all = isKept ? before!.kept : [release, ...older];
    const needed = [release.name, previous?.name];
    const kept = all.filter(({ name }, index) => index < KEPT || needed.includes(name));
    const ruleset = (await this.sendRuleset()) ?? before?.ruleset;
    const statement: Statement = {
      format: 1,
      channel,
      // Seconds since 1970 at least: above what servers took, also after the statement was lost.
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
      // Of a write that was interrupted nobody would know whether servers follow it.
      const unstopped = new AbortController().signal;
      await store.write(path, text, unstopped);
      if ((await readText(store, path, STATEMENT_LIMIT, unstopped)) !== text) {
        throw new ChannelError(
          "busy",
          `${path} was written by another publisher at the same time`,
          "try again",
        );
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
        throw new ChannelError(
          "unsound",
          `${path} is missing or damaged here`,
          "`npx @inkling/cli data update`",
        );
      }
      await this.lock.hold();
      onUpload?.(path, segment.bytes);
      const { sha256, bytes } = segment;
      await store.write(path, { file: join(dataDir, path), sha256 }, signal);
      const there = await store.size(path, signal);
      if (there !== bytes) {
        throw new ChannelError("wrong-object", `${path} has ${there ?? 0} bytes in the store, want ${bytes}`);
      }
    }
    const text = readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8");
    const path = DATA_FOLDER.releaseFile(name);
    onUpload?.(path, Buffer.byteLength(text));
    await store.write(path, text, signal);
  }

  /** Removes releases that this channel named, and no channel names any more. */
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
        // One that another key signed is read all the same: what it names must remain.
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
      onWarning?.(`old releases stay in the store: ${error.message}`);
    }
  }

  private async segmentsOf(name: string): Promise<string[]> {
    const { store, signal } = this.options;
    const text = await readText(store, DATA_FOLDER.releaseFile(name), MANIFEST_LIMIT, signal);
    if (text === undefined)
      throw new ChannelError("missing-object", `${DATA_FOLDER.releaseFile(name)} is not there`);
    return segmentPaths(readManifest(text, name));
  }

  /** One publisher at a time, also of other channels: two may share segments. */
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

  /** Whatever fails after a stop fails because of it, unless the statement is on its way. */
  private orStopped(error: unknown): unknown {
    if (!this.options.signal.aborted || this.isStated) return error;
    return new PublishStopped("stopped before the channel was changed", { cause: error });
  }
}

function readRef(dataDir: string, name: string): ReleaseRef {
  openManifest(dataDir, name);
  return { name, sha256: sha256Hex(readFileSync(join(dataDir, DATA_FOLDER.releaseFile(name)), "utf8")) };
}

/** Not what a publisher to a folder left when it was killed. */
function isStatementPath(path: string): boolean {
  const { folder, statement } = CHANNEL_PATHS;
  const name = path.slice(folder.length, -".json".length);
  return CHANNEL_NAME.test(name) && path === statement(name);
}

/** @returns undefined if there is no such channel */
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

/** @throws ChannelError when it is the statement of another channel, put under this name */
export function requireOwn(statement: Statement, channel: string): Statement {
  if (statement.channel === channel) return statement;
  throw new ChannelError("other-key", `what is signed is the channel ${statement.channel}, not ${channel}`);
}

export function readManifest(text: string, name: string): Release {
  try {
    return releaseSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new ChannelError("unreadable", `the manifest of ${name} has another form`, "update Inkling", {
      cause: error,
    });
  }
}

function segmentPaths({ segments }: Release): string[] {
  return Object.values(segments).flatMap((segment) =>
    segment === undefined ? [] : [DATA_FOLDER.segmentFile(segment.sha256)],
  );
}

/** @throws ChannelError */
function requireNotRolledBack(before: Statement, name: string): void {
  if (before.release.name === name || !rolledBack(before).has(name)) return;
  throw new ChannelError(
    "rolled-back",
    `the channel went back from ${name}, and names ${before.release.name}: publishing it would undo that on every server`,
    "`npx @inkling/cli data update` makes a newer release; `npx @inkling/cli channel publish --again` repairs damaged objects of the channel; `npx @inkling/cli channel publish --force` gives servers this release once more",
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
    "`npx @inkling/cli channel publish` makes it",
  );
}

/** The signed text of an envelope whose signature nobody asks for. */
function unverified(text: string): string {
  try {
    return Buffer.from(String(JSON.parse(text).payload), "base64").toString();
  } catch (error) {
    throw new ChannelError("unreadable", "a channel is not JSON", undefined, { cause: error });
  }
}
