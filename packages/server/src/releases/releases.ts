// releases.ts: follows the data folder's `current` to the release that answers requests.
//
// A release was verified in full before it was published, or after it was pulled from a channel. So opening one only
// checks the manifest and the files' sizes and headers. If a release does not open, the server keeps the release that
// it uses; if it has none, it uses the newest earlier release that opens. Whoever overwrites a mapped file in place may
// crash the server. A supervisor restarts it, so the next start notices: after three starts within a minute, the
// release is verified in full.

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { EventLog } from "@inkling/contract";
import {
  checkFiles,
  currentName,
  DATA_FOLDER,
  fileStamp,
  Live,
  messageOf,
  type NamedRelease,
  openNamed,
  ReleaseError,
  releaseNames,
  releasesBefore,
  replaceJson,
  segmentFiles,
} from "@inkling/data";
import type { LoadedRelease } from "@inkling/engine";
import type { EpochMs } from "@inkling/store/keys/key";
import { z } from "zod";
import { Reports } from "./reports.ts";

/** Maximum characters of a release name in the log and status, because `current` may contain anything. */
const SHOWN_LENGTH = 80;
const POLL_MS = 1_000;

const WITHIN_MS = 60_000;
/** After this many starts within a minute, the release is verified before it answers. */
const MAX_STARTS = 3;

const starts = z.object({ release: z.string(), at: z.array(z.number()) });

interface ReleasesOptions {
  readonly dataDir: string;
  readonly now: () => EpochMs;
  /** Reads a whole release. @throws ReleaseError if the release is unsound */
  readonly verify: (dataDir: string, name: string, signal: AbortSignal) => Promise<void>;
  /** Whether lookups without data are answered. Otherwise, the log lists the data that a release lacks. */
  readonly allowMissing: boolean;
  readonly log: EventLog;
  /** Called when another release is in use, or another one is refused. */
  readonly onChange: () => void;
  /** Milliseconds between two checks of `current`. */
  readonly pollMs?: number;
}

interface InUse extends NamedRelease {
  readonly since: EpochMs;
}

export class Releases extends Reports {
  private readonly options: ReleasesOptions;
  private readonly stopped = new AbortController();
  private readonly live: Live<InUse | undefined>;
  /** Releases that a full verification found unsound, with the stamps of their files. */
  private readonly unsound = new Map<string, string>();
  private opened: LoadedRelease | undefined;
  /** Has a thread failed to open the release in use? */
  private isSuspect = false;

  constructor(options: ReleasesOptions) {
    super(options.dataDir);
    this.options = options;
    const { pollMs = POLL_MS } = options;
    this.live = new Live<InUse | undefined>({
      initial: undefined,
      source: {
        version: () => (this.isSuspect ? undefined : this.readWanted()),
        load: () => this.load(),
      },
      onApplied: (now, { before }) => this.applied(now, before),
      onChecked: (fault) => {
        if (fault !== undefined) throw fault; // load() returns what goes wrong with a release, so this is a bug
      },
      pollMs,
      longestWaitMs: pollMs,
      reloadMs: Number.POSITIVE_INFINITY,
    });
  }

  override get current(): NamedRelease | undefined {
    return this.live.current;
  }

  /** The release in use, mapped for this thread. @throws ReleaseError if its files have changed since */
  open(): LoadedRelease | undefined {
    const { current } = this;
    if (current === undefined) return undefined;
    if (this.opened?.name !== current.name) this.opened = openNamed(this.options.dataDir, current);
    return this.opened;
  }

  override get since(): EpochMs | undefined {
    return this.live.current?.since;
  }

  /** Finds the first release to use, and then follows `current`. */
  async start(): Promise<void> {
    const { dataDir, now } = this.options;
    const wanted = this.readWanted();
    if (wanted !== undefined && recordStart(dataDir, wanted, now()) >= MAX_STARTS) await this.verify(wanted);
    await this.live.start();
  }

  async stop(): Promise<void> {
    this.stopped.abort(new Error("the server stops"));
    await this.live.stop();
    forgetStarts(this.options.dataDir);
  }

  /** Checks `current` now, and the files of the release in use. If these do not open any more, it uses another one. */
  async check(): Promise<void> {
    this.isSuspect = true;
    await this.live.refresh();
  }

  /** Reads a whole release. If it is unsound, it is not used until its files change. */
  private async verify(name: string): Promise<void> {
    const { dataDir, verify, log } = this.options;
    try {
      await verify(dataDir, name, this.stopped.signal);
      log.info("release-verified", { name });
    } catch (error) {
      if (!(error instanceof ReleaseError) || this.stopped.signal.aborted) return; // the release is opened as usual
      // A server with a channel fetches missing files again, and a build writes them again.
      for (const file of error.damaged) rmSync(join(dataDir, file), { force: true });
      this.unsound.set(name, this.stampsOf(name));
      this.refuse(name, messageOf(error));
    }
  }

  private load(): { readonly version: string; readonly value: InUse | undefined } {
    const wanted = this.readWanted();
    const before = this.live.current;
    const isSuspect = this.isSuspect;
    this.isSuspect = false;
    if (wanted !== undefined) {
      const found = this.tryOpen(wanted, true);
      if (found !== undefined) {
        if (this.refused !== undefined) {
          this.options.log.info("release-refusal-over", { name: wanted, refused: this.refused.name });
          this.refused = undefined;
          this.options.onChange();
        }
        return { version: wanted, value: before?.name === wanted ? before : found };
      }
    }
    // An empty version, unlike the wanted release's, lets the next check try that release again.
    const usesOther = before !== undefined && before.name !== wanted;
    if (usesOther && (!isSuspect || this.tryOpen(before.name, false) !== undefined))
      return { version: "", value: before };
    if (before !== undefined && !isSuspect && wanted === undefined) return { version: "", value: before };
    for (const name of this.older(wanted)) {
      const found = this.tryOpen(name, false);
      if (found !== undefined) return { version: "", value: found };
    }
    return { version: "", value: undefined };
  }

  /** @param isWanted whether a release that does not open is reported */
  private tryOpen(name: string, isWanted: boolean): InUse | undefined {
    const { dataDir, now } = this.options;
    // The refusal was reported after its verification.
    if (this.unsound.has(name) && this.unsound.get(name) === this.stampsOf(name)) return undefined;
    try {
      return { ...checkFiles(dataDir, name), since: now() };
    } catch (error) {
      if (!(error instanceof ReleaseError)) throw error;
      if (isWanted) this.refuse(name, messageOf(error));
      return undefined;
    }
  }

  /** Reports each reason once. */
  private refuse(text: string, reason: string): void {
    const name = text.slice(0, SHOWN_LENGTH);
    if (this.refused?.name === name && this.refused.reason === reason) return;
    this.refused = { name, reason, at: this.options.now() };
    this.options.log.error("release-refused", { name, reason });
    this.options.onChange();
  }

  private applied(now: InUse | undefined, last: InUse | undefined): void {
    if (now?.name === last?.name) return;
    this.opened = undefined;
    const { log, allowMissing, onChange } = this.options;
    const others = { before: last?.name, wanted: this.wanted === now?.name ? undefined : this.wanted };
    if (now === undefined) log.error("release-none", others);
    else {
      log.info("release-serving", { name: now.name, ...others });
      const { missing } = now.manifest;
      const effect = "lookups that need them return 503 DATA_NOT_LOADED";
      if (!allowMissing && missing.length > 0) log.info("answers-missing", { missing, effect });
    }
    onChange();
  }

  /** Releases published before the wanted one, newest first; none while the folder cannot be listed. */
  private older(wanted: string | undefined): string[] {
    const { dataDir } = this.options;
    try {
      return wanted === undefined ? releaseNames(dataDir) : releasesBefore(dataDir, wanted);
    } catch {
      return [];
    }
  }

  private stampsOf(name: string): string {
    const { dataDir } = this.options;
    const files = [join(dataDir, DATA_FOLDER.releaseFile(name)), ...segmentFiles(dataDir, name)];
    return files.map(fileStamp).join(" ");
  }

  private readWanted(): string | undefined {
    try {
      this.wanted = currentName(this.options.dataDir) || undefined;
    } catch {
      // `current` is temporarily unreadable
    }
    return this.wanted;
  }
}

/**
 * Records that the server begins to answer from a release.
 * @param now epoch ms
 * @returns the number of earlier starts with this release within the last minute
 */
function recordStart(dataDir: string, release: string, now: number): number {
  const path = join(dataDir, DATA_FOLDER.starts);
  const before = readStarts(path);
  const recent =
    before?.release === release ? before.at.filter((at) => at <= now && now - at < WITHIN_MS) : [];
  try {
    replaceJson(path, { release, at: [...recent, now].slice(-MAX_STARTS) });
  } catch {
    // the folder is not writable or full, so starts are not counted
  }
  return recent.length;
}

/** Forgets the starts, because the server stops without a crash. */
function forgetStarts(dataDir: string): void {
  try {
    rmSync(join(dataDir, DATA_FOLDER.starts), { force: true });
  } catch {
    // the folder is not writable
  }
}

function readStarts(path: string): z.infer<typeof starts> | undefined {
  try {
    return starts.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined; // the first start, or a file that is damaged
  }
}
