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
import { checkSizes } from "../open.ts";
import { makeCurrent, sweep } from "../publish.ts";
import {
  appendToOrder,
  currentName,
  findManifest,
  pinnedName,
  ReleaseError,
  segmentsOf,
} from "../releases.ts";
import { ChannelError } from "./channel-error.ts";
import { unseal } from "./envelope.ts";
import { missing, type ObjectReader, readInTime, readText } from "./object-store.ts";
import { PartFile } from "./part-file.ts";
import {
  CHANNEL_PATHS,
  fetchManifest,
  fetchRuleset,
  openStatement,
  PUBLISH_ANOTHER,
  type ReleaseRef,
  readManifest,
  requireFresh,
  STATEMENT_LIMIT,
  type Statement,
  storeRuleset,
} from "./statement.ts";

/**
 * Milliseconds between two checks of a channel. A server makes each wait up to a fifth longer, at random. At one check
 * every 2 s, a server sends about 1.2 million 2 KB requests a month. A bucket charges about $0.50 a month for them,
 * which is acceptable because a release reaches every server within 10 s.
 */
export const CHANNEL_POLL_MS = 2_000;
/** Number of releases that a server keeps: the current release and the previous one. */
const KEPT_BY_SERVER = 2;

const RENEW =
  "check that the builder is running and that this host's clock is right; `inkling channel publish` renews the channel";

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
    const { store, channel, dataDir, publicKeys, takesRuleset = false } = this.options;
    const envelope = await readText(store, CHANNEL_PATHS.statement(channel), STATEMENT_LIMIT, signal);
    if (envelope === undefined) {
      throw new ChannelError("absent", `there is no channel ${channel} in ${store.location}`);
    }
    if (this.followed?.envelope === envelope && this.isInPlace(this.followed.result.release)) {
      this.requireFresh(this.followed.result.statement);
      return { ...this.followed.result, isNew: false, bytes: 0 };
    }
    const text = unseal(envelope, publicKeys);
    const statement = openStatement(text, channel);
    const sha256 = sha256Hex(text);
    this.requireNewer(statement, sha256);
    this.requireFresh(statement);
    const { name } = statement.release;
    prepareDataFolder(dataDir);
    const unlock = lockDataFolder(dataDir);
    try {
      const bytes = await this.fetch(statement.release, signal);
      const ruleset =
        takesRuleset && statement.ruleset && (await fetchRuleset(store, statement.ruleset, signal));
      this.requireFresh(statement); // downloading and verifying may take long
      const trusted: TrustState = { channel, version: statement.version, sha256, release: name };
      replaceJson(join(dataDir, DATA_FOLDER.channel), trusted);
      if (ruleset) storeRuleset(dataDir, ruleset);
      const result = { statement, release: name, isNew: this.use(name), bytes };
      this.followed = { envelope, result };
      return result;
    } finally {
      unlock();
    }
  }

  /** Returns whether the release's files are there, and the release is current or some release is pinned. */
  private isInPlace(name: string): boolean {
    const { dataDir } = this.options;
    try {
      checkSizes(dataDir, name);
    } catch (error) {
      if (error instanceof ReleaseError) return false;
      throw error;
    }
    return currentName(dataDir) === name || pinnedName(dataDir) !== undefined;
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

  private requireFresh(statement: Statement): void {
    requireFresh(statement, this.options.now(), RENEW);
  }

  /**
   * Downloads and verifies a release. Segments that are here but damaged are downloaded again, once.
   * @returns the number of bytes downloaded
   */
  private async fetch(ref: ReleaseRef, signal: AbortSignal, isRepair = false): Promise<number> {
    const { dataDir, verify, served } = this.options;
    const { manifest, text } = await this.manifestOf(ref, signal);
    if (readTrustState(dataDir)?.release === ref.name && this.isInPlace(ref.name)) return 0;
    let bytes = 0;
    for (const segment of segmentsOf(manifest))
      if (!isThere(dataDir, segment)) bytes += await this.fetchSegment(segment, signal);
    const file = join(dataDir, DATA_FOLDER.releaseFile(ref.name));
    if (!existsSync(file) || readFileSync(file, "utf8") !== text) replaceFile(file, [text]);
    try {
      await verify(dataDir, ref.name, signal);
      return bytes;
    } catch (error) {
      if (!(error instanceof ReleaseError)) throw error;
      for (const damaged of error.damaged) rmSync(join(dataDir, damaged), { force: true });
      if (error.damaged.length > 0 && !isRepair) return bytes + (await this.fetch(ref, signal, true));
      const isInUse = currentName(dataDir) === ref.name || served?.() === ref.name;
      if (!error.isRetryable && !isInUse) rmSync(file, { force: true });
      throw new ChannelError("unsound", error.message, error.hint, { cause: error });
    }
  }

  /** Makes a release the current one unless another one is pinned. @returns whether the current release has changed */
  private use(name: string): boolean {
    const { dataDir, served } = this.options;
    if (currentName(dataDir) === name) return false;
    appendToOrder(dataDir, name);
    const isNew = makeCurrent(dataDir, name);
    sweep(dataDir, KEPT_BY_SERVER, served?.());
    return isNew;
  }

  private async manifestOf(
    ref: ReleaseRef,
    signal: AbortSignal,
  ): Promise<{ readonly manifest: Release; readonly text: string }> {
    const { store, dataDir } = this.options;
    const { name, sha256 } = ref;
    const here = join(dataDir, DATA_FOLDER.releaseFile(name));
    const own = existsSync(here) ? readFileSync(here, "utf8") : undefined;
    if (own !== undefined && sha256Hex(own) === sha256)
      return { manifest: readManifest(own, name), text: own };
    const fetched = await fetchManifest(store, ref, signal);
    if (findManifest(dataDir, name) === undefined) return fetched;
    throw new ChannelError(
      "unsound",
      `this host has release ${name} with a different manifest, but a release must never change`,
      PUBLISH_ANOTHER,
    );
  }

  /** Downloads a segment. @returns the number of bytes downloaded @throws ChannelError */
  private async fetchSegment({ sha256, bytes }: SegmentReport, signal: AbortSignal): Promise<number> {
    const { store, dataDir, onProgress } = this.options;
    const path = DATA_FOLDER.segmentFile(sha256);
    const part = await PartFile.open(join(dataDir, `${path}.part`));
    let taken = 0;
    try {
      // An earlier attempt may have been stopped after the last byte.
      if (part.bytes !== bytes || part.digest() !== sha256) {
        const body = await readInTime(store, path, part.bytes, signal);
        if (body === undefined) throw missing(store, path);
        if (body.offset !== part.bytes) part.restart();
        for await (const chunk of body.chunks) {
          if (part.bytes + chunk.length > bytes) {
            part.drop();
            throw new ChannelError("wrong-object", `${path} has more than the expected ${bytes} bytes`);
          }
          part.write(chunk);
          taken += chunk.length;
          onProgress?.(path, part.bytes, bytes);
        }
      }
      if (part.bytes < bytes)
        throw new ChannelError("unreachable", `${path} ended after ${part.bytes} of ${bytes} bytes`);
      if (part.digest() !== sha256) {
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
