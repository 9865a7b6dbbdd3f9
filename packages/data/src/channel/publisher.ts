// publisher.ts: lets a builder publish a release on a channel, publish another channel's release, and roll back.
//
// Objects are uploaded first and the statement last, only if nobody has changed it since it was read. The object under
// a segment's or manifest's name never changes. The publisher removes only objects that this channel needed before and
// that no channel needs now, and nothing if it cannot read the complete list of channels. Another publisher may be
// about to use such an object, so each publisher checks its objects again after it has written the statement.

import type { KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Release, release as releaseSchema } from "@inkling/engine";
import { sha256Hex } from "../fingerprints.ts";
import { DATA_FOLDER } from "../layout.ts";
import { hasSegment } from "../publish.ts";
import { openManifest, releaseNames } from "../releases.ts";
import { ChannelError, PublishStopped } from "./channel-error.ts";
import { type ChannelRuleset, sendRuleset } from "./channel-ruleset.ts";
import { publicKeyOf, seal, unseal } from "./envelope.ts";
import { CHANNEL_NAME } from "./location.ts";
import {
  type FoundText,
  findText,
  type ObjectReader,
  type ObjectStore,
  REPLACED_LIMIT,
  type Replaced,
  readText,
} from "./object-store.ts";
import {
  CHANNEL_PATHS,
  type ReleaseRef,
  type RulesetRef,
  readStatement,
  releaseBefore,
  rolledBack,
  type Statement,
  stillRolledBack,
} from "./statement.ts";

/** Number of releases whose files remain in the store for a rollback, including the current release. */
const KEPT = 5;
export const STATEMENT_LIMIT = REPLACED_LIMIT;
export const MANIFEST_LIMIT = 8 << 20;
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
  /**
   * Called if old objects could not be removed, if another publisher makes this one wait, or if the store cannot tell
   * two publishers apart.
   */
  readonly onWarning?: (message: string) => void;
}

/** A statement as it was read, and the object that contains it. */
interface Found {
  readonly statement: Statement;
  readonly object: FoundText;
}

export class Publisher {
  private readonly options: PublisherOptions;
  private readonly trusted: readonly string[];
  /** Has the upload of the statement begun? If so, it is too late to stop. */
  private isStated = false;

  constructor(options: PublisherOptions) {
    this.options = options;
    this.trusted = [publicKeyOf(options.privateKey), ...(options.trusted ?? [])];
  }

  /**
   * Reads the channel's statement; undefined before its first release.
   * @throws ChannelError, including if another key signed it
   */
  read(): Promise<Statement | undefined> {
    return this.stoppable(async () => (await this.find())?.statement);
  }

  /**
   * Uploads a release from the data folder, and makes it the current release of the channel.
   * @param isForced allows a release from which the channel was rolled back
   */
  publish(dataDir: string, name: string, isForced = false): Promise<Statement> {
    return this.stoppable(async () => {
      const before = await this.find();
      if (before !== undefined && !isForced) requireNotRolledBack(before.statement, name);
      const release = readRef(dataDir, name);
      requireSame(before?.statement, release);
      await this.upload(dataDir, name, false);
      const statement = await this.write(before, release, await this.sendRuleset());
      await this.checkAgain(dataDir, release);
      return statement;
    });
  }

  /**
   * Publishes the release and the ruleset of another channel in the same store.
   * @param isForced allows a release from which this channel was rolled back
   */
  publishFrom(channel: string, isForced = false): Promise<Statement> {
    return this.stoppable(async () => {
      const { store, signal, now } = this.options;
      const source = required(await readChannel(store, channel, this.trusted, signal), { channel, store });
      if (Date.parse(source.expires_at) <= now()) {
        throw new ChannelError(
          "expired",
          `version ${source.version} of the channel ${channel} expired at ${source.expires_at}`,
          `publish to ${channel} first`,
        );
      }
      const before = await this.find();
      const { release, ruleset } = source;
      if (before !== undefined && !isForced) requireNotRolledBack(before.statement, release.name);
      requireSame(before?.statement, release);
      await this.requireObjects(release);
      return this.write(before, release, ruleset);
    });
  }

  /**
   * Uploads the objects of the channel's current release again, because the store's copies are damaged. The statement
   * does not change.
   */
  sendAgain(dataDir: string): Promise<Statement> {
    return this.stoppable(async () => {
      const { statement } = required(await this.find(), this.options);
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
    });
  }

  /** Publishes the same release again, with the newest ruleset and a higher version, for another seven days. */
  renew(): Promise<Statement> {
    return this.stoppable(async () => {
      const before = required(await this.find(), this.options);
      return this.write(before, before.statement.release, await this.sendRuleset());
    });
  }

  /** Publishes the release before the current one, or the stored release `to`, under a higher version. */
  rollback(to?: string): Promise<Statement> {
    return this.stoppable(async () => {
      const before = required(await this.find(), this.options);
      const { release, kept, channel } = before.statement;
      const target =
        to === undefined ? releaseBefore(before.statement) : kept.find(({ name }) => name === to);
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
    });
  }

  private async find(): Promise<Found | undefined> {
    const { store, channel, signal } = this.options;
    const object = await findText(store, CHANNEL_PATHS.statement(channel), STATEMENT_LIMIT, signal);
    return (
      object && { object, statement: requireOwn(readStatement(unseal(object.text, this.trusted)), channel) }
    );
  }

  /** Signs and uploads a statement with a higher version, then removes objects that no channel needs any more. */
  private async write(
    found: Found | undefined,
    release: ReleaseRef,
    newest: RulesetRef | undefined,
  ): Promise<Statement> {
    const { channel, now, audited } = this.options;
    const before = found?.statement;
    const older = (before?.kept ?? []).filter(({ name }) => name !== release.name);
    // A rollback keeps the order of releases, so that the operator can go forward again.
    const isKept = before?.kept.some(({ name }) => name === release.name) ?? false;
    const all = isKept ? before!.kept : [release, ...older];
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
    const { store, channel, privateKey, signal, onWarning } = this.options;
    const path = CHANNEL_PATHS.statement(channel);
    const text = seal(JSON.stringify(statement), privateKey);
    signal.throwIfAborted();
    this.isStated = true;
    // This write is not interrupted, because otherwise nobody would know whether servers follow the new statement.
    const unstopped = new AbortController().signal;
    let outcome: Replaced | undefined;
    let failure: unknown;
    try {
      outcome = await store.replace(path, text, found?.object, unstopped, onWarning);
    } catch (error) {
      failure = error;
    }
    if (outcome === "done") return;
    // The store may have taken the statement although its answer was lost, or a proxy may have sent it twice.
    const there = await readText(store, path, STATEMENT_LIMIT, unstopped).catch(() => undefined);
    if (there !== text) throw failure ?? this.overtaken(there);
    if (outcome === "unchecked") {
      onWarning?.(
        `${store.location} does not check If-Match: run only one publisher, because two at the same moment may overwrite each other`,
      );
    }
  }

  private overtaken(there: string | undefined): ChannelError {
    const { channel } = this.options;
    let now = "nothing";
    try {
      const { release, version } = readStatement(unverified(there ?? ""));
      now = `${release.name} (version ${version})`;
    } catch {
      // somebody else's file: `inkling channel status` prints what is wrong with it
    }
    return new ChannelError(
      "busy",
      `another publisher changed the channel ${channel} at the same time: it now has ${now}`,
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
    const manifest = openManifest(dataDir, name);
    for (const segment of Object.values(manifest.segments)) {
      if (segment === undefined) continue;
      const path = DATA_FOLDER.segmentFile(segment.sha256);
      if (!again && (await store.size(path, signal)) === segment.bytes) continue;
      if (!hasSegment(dataDir, segment.sha256)) {
        throw new ChannelError("unsound", `${path} is missing or damaged here`, "run `inkling data update`");
      }
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

  /** Removes the dropped releases of this channel unless another channel keeps them. */
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
        // Statements that another key signed are also read, because their releases must remain.
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

  /** Checks that the store has a release's manifest and segments. @throws ChannelError */
  private async requireObjects({ name, sha256 }: ReleaseRef): Promise<void> {
    const { store, signal } = this.options;
    const path = DATA_FOLDER.releaseFile(name);
    const text = await readText(store, path, MANIFEST_LIMIT, signal);
    if (text === undefined) throw new ChannelError("missing-object", `${path} is not in ${store.location}`);
    if (sha256Hex(text) !== sha256)
      throw new ChannelError("wrong-object", `${path} is not the signed manifest`);
    for (const segment of Object.values(readManifest(text, name).segments)) {
      if (segment === undefined) continue;
      const file = DATA_FOLDER.segmentFile(segment.sha256);
      const bytes = await store.size(file, signal);
      if (bytes === segment.bytes) continue;
      throw new ChannelError(
        bytes === undefined ? "missing-object" : "wrong-object",
        `${file} has ${bytes ?? 0} bytes in the store, but should have ${segment.bytes}`,
      );
    }
  }

  /** Uploads objects that another publisher has removed because no channel needed them yet. */
  private async checkAgain(dataDir: string, release: ReleaseRef): Promise<void> {
    try {
      await this.requireObjects(release).catch(() => this.upload(dataDir, release.name, false));
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error;
      this.options.onWarning?.(`published, but its objects could not be checked: ${error.message}`);
    }
  }

  private async stoppable<T>(act: () => Promise<T>): Promise<T> {
    this.isStated = false;
    try {
      return await act();
    } catch (error) {
      throw this.orStopped(error);
    }
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

/** @throws ChannelError if the channel has another release of the same name */
function requireSame(before: Statement | undefined, { name, sha256 }: ReleaseRef): void {
  const known = before?.kept.find((each) => each.name === name);
  if (known === undefined || known.sha256 === sha256) return;
  throw new ChannelError(
    "wrong-object",
    `${name} is in the channel with a different manifest`,
    "build a newer release with `inkling data update`, then publish it",
  );
}

function required<T>(
  found: T | undefined,
  { channel, store }: Pick<PublisherOptions, "channel" | "store">,
): T {
  if (found !== undefined) return found;
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
