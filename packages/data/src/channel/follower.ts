// follower.ts: implements a server's side of a channel. It downloads the channel's current release to the data folder.
// If that fails, the server continues with its release and uses no part of the new one.
//
// A segment is downloaded to <name>.part and hashed while it arrives. An interrupted download resumes where it stopped.
// The whole release is then verified, and a damaged file is downloaded again. A version counts as trusted only after
// its whole release has been found sound, and before the release becomes the current one.

import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Release, SegmentReport } from "@inkling/engine";
import { z } from "zod";
import { replaceFile, replaceJson } from "../atomic-file.ts";
import { messageOf } from "../errors.ts";
import { sha256Hex } from "../fingerprints.ts";
import { DATA_FOLDER, prepareDataFolder } from "../layout.ts";
import { DataFolderLocked, lockDataFolder } from "../lock.ts";
import { makeCurrent, sweep } from "../publish.ts";
import {
  appendToOrder,
  findCurrent,
  findManifest,
  parseManifest,
  pinnedName,
  ReleaseError,
} from "../releases.ts";
import { ChannelError } from "./channel-error.ts";
import { fetchRuleset, storeRuleset } from "./channel-ruleset.ts";
import { unseal } from "./envelope.ts";
import { type ObjectReader, readInTime, readText } from "./object-store.ts";
import { PartFile } from "./part-file.ts";
import { MANIFEST_LIMIT, readManifest, requireOwn, STATEMENT_LIMIT } from "./publisher.ts";
import { CHANNEL_PATHS, type ReleaseRef, readStatement, type Statement } from "./statement.ts";

/**
 * Milliseconds between two checks of a channel. A server makes each wait up to a fifth longer, at random. At one check
 * every 2 s, a server sends about 1.2 million 2 KB requests a month. A bucket charges about $0.50 a month for them,
 * which is acceptable because a release reaches every server within 10 s.
 */
export const CHANNEL_POLL_MS = 2_000;
/** Number of releases that a server keeps: the current release and the previous one. */
const KEPT_BY_SERVER = 2;

export interface FollowerOptions {
  readonly store: ObjectReader;
  readonly channel: string;
  /** The trusted keys, any of which may have signed the channel. */
  readonly publicKeys: readonly string[];
  readonly dataDir: string;
  /** Reads a whole release. Throws a ReleaseError if the release is not sound. */
  readonly verify: (dataDir: string, name: string, signal: AbortSignal) => unknown;
  /** The release that a server on this data folder is using. Its files are kept. */
  readonly served?: () => string | undefined;
  /** Epoch ms. */
  readonly now: () => number;
  /** Does the follower also download the ruleset? Servers get their ruleset from the database. */
  readonly takesRuleset?: boolean;
  /** Maximum milliseconds for downloading one object. */
  readonly totalMs?: number;
  /** Called with the number of bytes of a segment that have arrived. */
  readonly onProgress?: (path: string, done: number, total: number) => void;
}

/** The last version whose release was downloaded and verified completely. */
const trustState = z.object({
  channel: z.string(),
  version: z.number().int(),
  /** SHA-256 of the signed text. */
  sha256: z.string(),
  release: z.string(),
});
type TrustState = z.infer<typeof trustState>;

export interface Followed {
  readonly statement: Statement;
  /** The channel's current release. If another release is pinned, the server does not run it. */
  readonly release: string;
  /** Did this call make a different release the current one? */
  readonly isNew: boolean;
  readonly bytes: number;
}

export class ChannelFollower {
  private readonly options: FollowerOptions;
  /** The last envelope that was followed completely, with its result. */
  private followed: { readonly envelope: string; readonly result: Followed } | undefined;

  constructor(options: FollowerOptions) {
    this.options = options;
  }

  /** Checks the channel once, and downloads its current release. @throws ChannelError */
  async follow(signal: AbortSignal): Promise<Followed> {
    try {
      return await this.look(signal);
    } catch (error) {
      throw explained(error, this.options.dataDir);
    }
  }

  private async look(signal: AbortSignal): Promise<Followed> {
    const { store, channel, totalMs } = this.options;
    const path = CHANNEL_PATHS.statement(channel);
    const envelope = await readText(store, path, STATEMENT_LIMIT, signal, totalMs);
    if (envelope === undefined) {
      throw new ChannelError("absent", `there is no channel ${channel} in ${store.location}`);
    }
    if (this.followed?.envelope === envelope && this.isInPlace(this.followed.result.release)) {
      this.requireFresh(this.followed.result.statement);
      return { ...this.followed.result, isNew: false, bytes: 0 };
    }
    const { dataDir, publicKeys, takesRuleset = false } = this.options;
    const text = unseal(envelope, publicKeys);
    const statement = requireOwn(readStatement(text), channel);
    const sha256 = sha256Hex(text);
    this.requireNewer(statement, sha256);
    this.requireFresh(statement);
    const { name } = statement.release;
    prepareDataFolder(dataDir);
    const unlock = lockDataFolder(dataDir);
    try {
      const bytes = await this.fetch(statement, signal);
      const ruleset =
        takesRuleset && statement.ruleset !== undefined
          ? await fetchRuleset(store, dataDir, statement.ruleset, signal, totalMs)
          : undefined;
      this.requireFresh(statement); // verifying may last long, too
      const trusted: TrustState = { channel, version: statement.version, sha256, release: name };
      replaceJson(join(dataDir, DATA_FOLDER.channel), trusted);
      if (ruleset !== undefined) storeRuleset(dataDir, ruleset);
      const result = { statement, release: name, isNew: this.use(name), bytes };
      this.followed = { envelope, result };
      return result;
    } finally {
      unlock();
    }
  }

  private isCurrent(name: string): boolean {
    return findCurrent(this.options.dataDir)?.name === name;
  }

  private isInUse(name: string): boolean {
    return this.isCurrent(name) || this.options.served?.() === name;
  }

  /** Returns whether the release's files are there, and the release is current or some release is pinned. */
  private isInPlace(name: string): boolean {
    const { dataDir } = this.options;
    const segments = Object.values(findManifest(dataDir, name)?.segments ?? {});
    if (!segments.some(Boolean) || segments.some((one) => one !== undefined && !isThere(dataDir, one)))
      return false;
    return this.isCurrent(name) || pinnedName(dataDir) !== undefined;
  }

  private requireNewer({ version, channel }: Statement, sha256: string): void {
    const trusted = readTrustState(this.options.dataDir);
    if (trusted?.channel !== channel) return;
    if (version < trusted.version) {
      throw new ChannelError(
        "replayed",
        `the channel is at version ${version}, but was at ${trusted.version}: an older copy replaced it`,
      );
    }
    if (version === trusted.version && sha256 !== trusted.sha256) {
      throw new ChannelError(
        "replayed",
        `the channel's content changed, but it still has version ${version}`,
      );
    }
  }

  private requireFresh({ expires_at, version }: Statement): void {
    if (Date.parse(expires_at) > this.options.now()) return;
    throw new ChannelError(
      "expired",
      `version ${version} of the channel expired at ${expires_at}`,
      "check that the builder is running and that this host's clock is right; `inkling channel publish` renews the channel",
    );
  }

  /** Downloads and verifies the release in the statement. @returns the number of bytes downloaded */
  private async fetch(statement: Statement, signal: AbortSignal): Promise<number> {
    const { dataDir } = this.options;
    const ref = statement.release;
    const { manifest, text } = await this.manifestOf(ref, signal);
    const isVerified = readTrustState(dataDir)?.release === ref.name;
    if (isVerified && this.isInPlace(ref.name)) return 0;
    const segments = Object.values(manifest.segments).filter((segment) => segment !== undefined);
    let bytes = 0;
    for (const segment of segments) {
      if (!isThere(dataDir, segment)) bytes += await this.fetchSegment(statement, segment, signal);
    }
    const file = join(dataDir, DATA_FOLDER.releaseFile(ref.name));
    if (!existsSync(file) || readFileSync(file, "utf8") !== text) replaceFile(file, [text]);
    try {
      await this.verify(ref.name, signal).catch(async (error) => {
        if (!(error instanceof ReleaseError) || error.damaged.length === 0) throw error;
        for (const segment of segments) {
          const isDamaged = error.damaged.includes(DATA_FOLDER.segmentFile(segment.sha256));
          if (isDamaged) bytes += await this.fetchSegment(statement, segment, signal);
        }
        await this.verify(ref.name, signal);
      });
    } catch (error) {
      if (!(error instanceof ReleaseError)) throw error;
      if (!error.isRetryable && !this.isInUse(ref.name)) rmSync(file, { force: true });
      throw new ChannelError("unsound", error.message, error.hint, { cause: error });
    }
    return bytes;
  }

  /** Makes a release the current one unless another one is pinned. @returns whether the current release has changed */
  private use(name: string): boolean {
    if (this.isCurrent(name)) return false;
    const { dataDir, served } = this.options;
    appendToOrder(dataDir, name);
    const isNew = makeCurrent(dataDir, name);
    sweep(dataDir, KEPT_BY_SERVER, served?.());
    return isNew;
  }

  private async verify(name: string, signal: AbortSignal): Promise<void> {
    await this.options.verify(this.options.dataDir, name, signal);
  }

  private async manifestOf(
    { name, sha256 }: ReleaseRef,
    signal: AbortSignal,
  ): Promise<{ manifest: Release; text: string }> {
    const { store, dataDir, totalMs } = this.options;
    const path = DATA_FOLDER.releaseFile(name);
    const here = join(dataDir, path);
    let text = existsSync(here) ? readFileSync(here, "utf8") : undefined;
    if (text === undefined || sha256Hex(text) !== sha256) {
      text = await readText(store, path, MANIFEST_LIMIT, signal, totalMs);
      if (text === undefined) throw new ChannelError("missing-object", `${path} is not in ${store.location}`);
      if (sha256Hex(text) !== sha256) {
        throw new ChannelError("wrong-object", `${path} is not the signed manifest`);
      }
    }
    const manifest = soundManifest(text, name);
    const other = findManifest(dataDir, name);
    if (other !== undefined && readFileSync(here, "utf8") !== text) {
      throw new ChannelError(
        "unsound",
        `this host has release ${name} with a different manifest, but a release must never change`,
        PUBLISH_ANOTHER,
      );
    }
    return { manifest, text };
  }

  /** Downloads a segment. @returns the number of bytes downloaded @throws ChannelError */
  private async fetchSegment(
    statement: Statement,
    segment: SegmentReport,
    signal: AbortSignal,
  ): Promise<number> {
    const { store, dataDir, onProgress, totalMs } = this.options;
    const path = DATA_FOLDER.segmentFile(segment.sha256);
    const part = await PartFile.open(join(dataDir, `${path}.part`));
    let taken = 0;
    try {
      if (part.bytes === segment.bytes && part.digest() === segment.sha256) {
        part.commit(join(dataDir, path));
        return 0;
      }
      const body = await readInTime(store, path, part.bytes, signal, totalMs);
      if (body === undefined) {
        throw new ChannelError("missing-object", `${path} is not in ${store.location}`);
      }
      if (body.offset !== part.bytes) part.restart();
      for await (const chunk of body.chunks) {
        this.requireFresh(statement); // a download may last longer than the statement is valid
        if (part.bytes + chunk.length > segment.bytes) {
          part.drop();
          throw new ChannelError("wrong-object", `${path} has more than the expected ${segment.bytes} bytes`);
        }
        part.write(chunk);
        taken += chunk.length;
        onProgress?.(path, part.bytes, segment.bytes);
      }
      if (part.bytes < segment.bytes && part.digest() === segment.sha256) {
        part.drop();
        throw wrongSize(path, segment, part.bytes);
      }
      if (part.bytes < segment.bytes) {
        throw new ChannelError("unreachable", `${path} ended after ${part.bytes} of ${segment.bytes} bytes`);
      }
      if (part.digest() !== segment.sha256) {
        part.drop();
        throw new ChannelError("wrong-object", `${path} does not match the SHA-256 in its name`);
      }
      part.commit(join(dataDir, path));
      return taken;
    } finally {
      part.close();
    }
  }
}

const PUBLISH_ANOTHER = "publish another release, or run `inkling channel rollback` on the builder";

/** Checks a release's manifest before any part of the release is stored. @throws ChannelError */
function soundManifest(text: string, name: string): Release {
  const { segments } = readManifest(text, name);
  try {
    const manifest = parseManifest(text, name);
    if (!Object.values(segments).some(Boolean)) throw new ReleaseError("the manifest has no segment");
    return manifest;
  } catch (error) {
    throw new ChannelError("unsound", `release ${name}: ${messageOf(error)}`, PUBLISH_ANOTHER, {
      cause: error,
    });
  }
}

function wrongSize(path: string, { bytes }: SegmentReport, there: number): ChannelError {
  return new ChannelError(
    "unsound",
    `${path} has ${there} bytes, but the manifest lists ${bytes}`,
    PUBLISH_ANOTHER,
  );
}

/** Returns whether the file exists, with the segment's size. */
function isThere(dataDir: string, { sha256, bytes }: SegmentReport): boolean {
  const path = join(dataDir, DATA_FOLDER.segmentFile(sha256));
  return statSync(path, { throwIfNoEntry: false })?.size === bytes;
}

/** @throws errors of JSON and zod */
export const parseTrustState = (text: string): TrustState => trustState.parse(JSON.parse(text));

/**
 * Reads the channel version in this data folder; undefined before the first one.
 * @throws ChannelError if the file is damaged
 */
export function readTrustState(dataDir: string): TrustState | undefined {
  const path = join(dataDir, DATA_FOLDER.channel);
  if (!existsSync(path)) return undefined;
  try {
    return parseTrustState(readFileSync(path, "utf8"));
  } catch (error) {
    throw new ChannelError(
      "unreadable",
      `${DATA_FOLDER.channel} in the data folder is damaged: ${messageOf(error)}`,
      `check the channel, then delete ${path}: the host then accepts an older version once`,
      { cause: error },
    );
  }
}

function explained(error: unknown, dataDir: string): unknown {
  if (error instanceof DataFolderLocked) {
    return new ChannelError("busy", error.message, undefined, { cause: error });
  }
  if (!(error instanceof Error) || !("errno" in error)) return error;
  const hint =
    (error as NodeJS.ErrnoException).code === "ENOSPC" ? `free some disk space for ${dataDir}` : undefined;
  return new ChannelError("disk", messageOf(error), hint, { cause: error });
}
