// publisher.ts: lets a builder publish a release on a channel, publish another channel's release, and roll back.
//
// Objects are uploaded first and the statement last, only if nobody has changed it since it was read. The object under
// a segment's or manifest's name never changes. The publisher removes only objects that this channel needed before and
// that no channel needs now, and nothing if it cannot read the complete list of channels. If another channel's publisher
// is about to use such an object, servers report it as missing, and `inkling channel publish --again` uploads it.

import type { KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../fingerprints.ts";
import { DATA_FOLDER } from "../layout.ts";
import { hasSegment } from "../publish.ts";
import { openManifest, releaseNames, segmentsOf } from "../releases.ts";
import { ChannelError } from "./channel-error.ts";
import { publicKeyOf, seal, unverified } from "./envelope.ts";
import { CHANNEL_NAME } from "./location.ts";
import { missing, type ObjectStore, readText } from "./object-store.ts";
import {
  CHANNEL_PATHS,
  type ChannelRuleset,
  type Found,
  fetchManifest,
  findStatement,
  MANIFEST_LIMIT,
  type ReleaseRef,
  type RulesetRef,
  readManifest,
  readStatement,
  releaseBefore,
  requireFresh,
  rolledBack,
  STATEMENT_LIMIT,
  type Statement,
  sendRuleset,
  stillRolledBack,
} from "./statement.ts";

/** Number of releases whose files remain in the store for a rollback, including the current release. */
const KEPT = 5;
const DAY_MS = 86_400_000;
/** Milliseconds for which servers accept a statement if no newer one is published. */
const VALID_MS = 7 * DAY_MS;

export interface PublisherOptions {
  readonly store: ObjectStore;
  readonly channel: string;
  readonly privateKey: KeyObject;
  /** Epoch ms. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Other public keys that may have signed the channel before the key was changed. */
  readonly trusted?: readonly string[];
  /** Called before an object of this many bytes is uploaded. */
  readonly onUpload?: (path: string, bytes: number) => void;
  /** Returns the newest ruleset, which every new statement contains. If undefined, the channel keeps its ruleset. */
  readonly ruleset?: () => Promise<ChannelRuleset | undefined>;
  /** Records a change in the audit trail, then calls `change`. */
  readonly audited?: (
    before: Statement | undefined,
    after: Statement,
    change: () => Promise<void>,
  ) => Promise<void>;
  /** Called if old objects could not be removed. */
  readonly onWarning?: (message: string) => void;
}

export class Publisher {
  /** Has the upload of the statement begun? If so, it is too late to stop. */
  isStated = false;
  private readonly options: PublisherOptions;
  private readonly trusted: readonly string[];

  constructor(options: PublisherOptions) {
    this.options = options;
    this.trusted = [publicKeyOf(options.privateKey), ...(options.trusted ?? [])];
  }

  /**
   * Reads the channel's statement; undefined before its first release.
   * @throws ChannelError, including if another key signed it
   */
  async read(): Promise<Statement | undefined> {
    return (await this.find())?.statement;
  }

  /**
   * Uploads a release from the data folder, and makes it the current release of the channel.
   * @param isForced allows a release from which the channel was rolled back
   */
  async publish(dataDir: string, name: string, isForced = false): Promise<Statement> {
    const before = await this.find();
    const release = readRef(dataDir, name);
    requirePublishable(before?.statement, release, isForced);
    await this.upload(dataDir, name, false);
    return this.write(before, release, await this.sendRuleset());
  }

  /**
   * Publishes the release and the ruleset of another channel in the same store.
   * @param isForced allows a release from which this channel was rolled back
   */
  async publishFrom(channel: string, isForced = false): Promise<Statement> {
    const { statement } = await this.require(channel);
    requireFresh(statement, this.options.now(), `publish to ${channel} first`);
    const { release, ruleset } = statement;
    const before = await this.find();
    requirePublishable(before?.statement, release, isForced);
    await this.requireObjects(release);
    return this.write(before, release, ruleset);
  }

  /** @throws ChannelError if the store lacks a part of the release */
  private async requireObjects(release: ReleaseRef): Promise<void> {
    const { store, signal } = this.options;
    const { manifest } = await fetchManifest(store, release, signal);
    for (const segment of segmentsOf(manifest)) {
      const file = DATA_FOLDER.segmentFile(segment.sha256);
      if ((await store.size(file, signal)) !== segment.bytes) throw missing(store, file);
    }
  }

  /**
   * Uploads the objects of the channel's current release again, because the store's copies are damaged. The statement
   * does not change.
   */
  async sendAgain(dataDir: string): Promise<Statement> {
    const { statement } = await this.require();
    const { name, sha256 } = statement.release;
    if (!releaseNames(dataDir).includes(name) || readRef(dataDir, name).sha256 !== sha256) {
      throw new ChannelError(
        "absent",
        `the channel's release ${name} is not in ${dataDir}`,
        "run this on the host that published it, publish a newer release, or roll back with `inkling channel rollback RELEASE`",
      );
    }
    await this.upload(dataDir, name, true);
    return statement;
  }

  /** Publishes the same release again, with the newest ruleset and a higher version, for another seven days. */
  async renew(): Promise<Statement> {
    const before = await this.require();
    return this.write(before, before.statement.release, await this.sendRuleset());
  }

  /** Publishes the release before the current one, or the stored release `to`, under a higher version. */
  async rollback(to?: string): Promise<Statement> {
    const before = await this.require();
    const { release, kept, channel } = before.statement;
    const target = to === undefined ? releaseBefore(before.statement) : kept.find(({ name }) => name === to);
    if (target === undefined) {
      const names = kept.map(({ name }) => name).join(", ");
      throw new ChannelError(
        "absent",
        to === undefined
          ? `the channel ${channel} has no release earlier than ${release.name}`
          : `the channel ${channel} does not keep ${to}`,
        `the stored releases are ${names}`,
      );
    }
    return this.write(before, target, await this.sendRuleset());
  }

  private async require(channel = this.options.channel): Promise<Found> {
    const found = await this.find(channel);
    if (found !== undefined) return found;
    throw new ChannelError(
      "absent",
      `there is no channel ${channel} in ${this.options.store.location}`,
      "`inkling channel publish` creates it",
    );
  }

  private find(channel = this.options.channel, signal = this.options.signal): Promise<Found | undefined> {
    return findStatement(this.options.store, channel, this.trusted, signal);
  }

  /** Signs and uploads a statement with a higher version, then removes objects that no channel needs any more. */
  private async write(
    found: Found | undefined,
    release: ReleaseRef,
    newest: RulesetRef | undefined,
  ): Promise<Statement> {
    const { channel, now, audited } = this.options;
    const before = found?.statement;
    const known = before?.kept ?? [];
    // A rollback keeps the order of releases, so that the operator can go forward again.
    const all = known.some(({ name }) => name === release.name) ? known : [release, ...known];
    const kept = all.filter(({ name }, index) => index < KEPT || name === release.name);
    const ruleset = newest ?? before?.ruleset;
    const statement: Statement = {
      format: 2,
      channel,
      // The version is at least the seconds since 1970. It therefore exceeds every version that servers have seen, even
      // if the statement was lost.
      version: Math.max((before?.version ?? 0) + 1, Math.floor(now() / 1000)),
      published_at: new Date(now()).toISOString(),
      expires_at: new Date(now() + VALID_MS).toISOString(),
      release,
      kept,
      ...(before !== undefined && stillRolledBack(before, release, kept)),
      ...(ruleset !== undefined && { ruleset }),
    };
    const state = () => this.state(found, statement);
    await (audited?.(before, statement, state) ?? state());
    const dropped = all.filter(({ name }) => !kept.some((each) => each.name === name));
    if (dropped.length > 0) await this.sweep(dropped);
    return statement;
  }

  /** Replaces the channel's statement, unless another publisher has replaced it since it was read. */
  private async state(found: Found | undefined, statement: Statement): Promise<void> {
    const { store, channel, privateKey, signal } = this.options;
    const path = CHANNEL_PATHS.statement(channel);
    const text = seal(JSON.stringify(statement), privateKey);
    signal.throwIfAborted();
    this.isStated = true;
    // This write is not interrupted, because otherwise nobody would know whether servers follow the new statement.
    const unstopped = new AbortController().signal;
    let failure: unknown;
    try {
      if (await store.replace(path, text, found?.text, unstopped)) return;
    } catch (error) {
      failure = error;
    }
    // The store may have taken the statement although its answer was lost, or a proxy may have sent it twice.
    const there = await this.find(channel, unstopped).catch(() => undefined);
    if (there?.text === text) return;
    if (failure !== undefined) throw failure;
    const { release, version } = there?.statement ?? {};
    throw new ChannelError(
      "busy",
      `another publisher changed the channel ${channel} at the same time: it now has ${release === undefined ? "nothing" : `${release.name} (version ${version})`}`,
      "this command changed nothing: run `inkling channel status`, then run it again if it is still needed",
    );
  }

  private async sendRuleset(): Promise<RulesetRef | undefined> {
    const { store, ruleset, signal } = this.options;
    const newest = await ruleset?.();
    return newest && sendRuleset(store, newest, signal);
  }

  private async upload(dataDir: string, name: string, again: boolean): Promise<void> {
    const { store, signal, onUpload } = this.options;
    for (const { sha256, bytes } of segmentsOf(openManifest(dataDir, name))) {
      const path = DATA_FOLDER.segmentFile(sha256);
      if (!again && (await store.size(path, signal)) === bytes) continue;
      if (!hasSegment(dataDir, sha256)) {
        throw new ChannelError("unsound", `${path} is missing or damaged here`, "run `inkling data update`");
      }
      onUpload?.(path, bytes);
      await store.write(path, { file: join(dataDir, path), sha256 }, signal);
    }
    const path = DATA_FOLDER.releaseFile(name);
    const text = readFileSync(join(dataDir, path), "utf8");
    onUpload?.(path, Buffer.byteLength(text));
    await store.write(path, text, signal);
  }

  /** Removes the dropped releases of this channel unless another channel keeps them. */
  private async sweep(dropped: readonly ReleaseRef[]): Promise<void> {
    const { store, channel, signal, onWarning } = this.options;
    try {
      const listed = await store.list(CHANNEL_PATHS.folder, signal);
      const paths = listed.filter((path) => isStatementPath(path));
      if (!paths.includes(CHANNEL_PATHS.statement(channel))) {
        throw new ChannelError("wrong-object", `the list of ${store.location} lacks the channel ${channel}`);
      }
      const named = new Set<string>();
      for (const path of paths) {
        // Statements that another key signed are also read, because their releases must remain.
        const text = await readText(store, path, STATEMENT_LIMIT, signal);
        for (const { name } of readStatement(unverified(text ?? "")).kept) named.add(name);
      }
      const needed = new Set<string>();
      for (const name of named) for (const path of await this.segmentPaths(name)) needed.add(path);
      for (const { name } of dropped.filter((ref) => !named.has(ref.name))) {
        const segments = await this.segmentPaths(name);
        for (const path of segments.filter((each) => !needed.has(each))) await store.remove(path, signal);
        await store.remove(DATA_FOLDER.releaseFile(name), signal);
      }
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error;
      onWarning?.(`old releases remain in the store: ${error.message}`);
    }
  }

  private async segmentPaths(name: string): Promise<string[]> {
    const { store, signal } = this.options;
    const path = DATA_FOLDER.releaseFile(name);
    const text = await readText(store, path, MANIFEST_LIMIT, signal);
    if (text === undefined) throw missing(store, path);
    return segmentsOf(readManifest(text, name)).map(({ sha256 }) => DATA_FOLDER.segmentFile(sha256));
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

/** @throws ChannelError if the channel was rolled back from this release, or has another one of the same name */
function requirePublishable(
  before: Statement | undefined,
  { name, sha256 }: ReleaseRef,
  isForced: boolean,
): void {
  if (before === undefined) return;
  if (!isForced && before.release.name !== name && rolledBack(before).has(name)) {
    throw new ChannelError(
      "rolled-back",
      `${name} was rolled back, and the channel has ${before.release.name}: publishing it again would undo the rollback on every server`,
      "`inkling data update` builds a newer release; `inkling channel publish --again` repairs damaged objects; `inkling channel publish --force` publishes this release anyway",
    );
  }
  const known = before.kept.find((each) => each.name === name);
  if (known === undefined || known.sha256 === sha256) return;
  throw new ChannelError(
    "wrong-object",
    `${name} is in the channel with a different manifest`,
    "build a newer release with `inkling data update`, then publish it",
  );
}
