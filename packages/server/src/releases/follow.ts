// follow.ts: which release answers, and its replacement by the next one.
//
// in   the data folder's `current`, watched; the files of releases, looked at once a second
// out  `current`: the files of one release, all of them verified; `state` for status, metrics and logs
// err  a release that is not sound is refused by name, and the newest sound one published before it answers; it is tried
//      again when its files change. One that cannot be read for now is tried again after a while
//
// Only what was verified answers: read in full by this process's verifier, or before, which a mark of these very files
// shows (release-store/src/verified.ts). With a mark a start does not wait, and the release is verified behind. Each file
// is read once: a release that has it too, or a return to one that has it, does not wait for it again. A release
// whose files are removed or written to while it answers is left at once, before it is verified again; one that the disk
// cannot read is left as well. Nothing here maps or reads a segment: a fault of one can end a process that answers, never
// this one. Where this process answers itself, marks are suspended until the release is verified: should it die of a
// segment, the next start verifies before it answers.

import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import type { FailedBuild, FeedReport, HeldRelease } from "@inkling/engine";
import {
  type ChannelReport,
  ChannelReportFile,
  checkFiles,
  currentName,
  DATA_FOLDER,
  FeedsReportFile,
  fileStamp,
  findFiles,
  isRewritten,
  messageOf,
  ReleaseError,
  type ReleaseFiles,
  releaseNames,
  releasesBefore,
  removeMark,
  resumeMarks,
  type Stamps,
  stampsOf,
  suspendMarks,
  type Verification,
} from "@inkling/release-store";
import { Attempts } from "./attempts.ts";
import type { ReleaseEvent } from "./events.ts";
import { SoundSegments, type Verify } from "./sound-segments.ts";

interface ReleasesOptions {
  readonly dataDir: string;
  /** Epoch ms. */
  readonly now: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  readonly verify: Verify;
  readonly onEvent: (event: ReleaseEvent) => void;
  /** Does this process answer too, so that a fault of a segment can end it? */
  readonly answersHere?: boolean;
  /** How often the files are looked at. */
  readonly pollMs?: number;
}

export interface Refusal {
  readonly name: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
}

const POLL_MS = 1_000;

export class Releases {
  /** The release that answers now. */
  current: ReleaseFiles | undefined;
  /** The release that `current` in the data folder names. */
  wanted: string | undefined;
  /** The last release that was found unsound while it answered, until it answers again. */
  left: string | undefined;

  private readonly options: ReleasesOptions;
  private readonly report: FeedsReportFile;
  private readonly channelReport: ChannelReportFile;
  private readonly attempts: Attempts;
  private readonly sound: SoundSegments;
  private readonly stopped = new AbortController();
  private running: Promise<void> | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;
  private watcher: FSWatcher | undefined;
  private refusal: Refusal | undefined;
  private verifiedName: string | undefined;
  private servingSince: number | undefined;
  /** A process that answers from this release died of it: only verifying clears it. */
  private suspected: string | undefined;
  /** Stamp of the manifest of `current`. */
  private manifestStamp = "";
  /** Of files whose marks are suspended: see {@link ReleasesOptions.answersHere}. */
  private suspended: Stamps = {};
  constructor(options: ReleasesOptions) {
    this.options = options;
    this.attempts = new Attempts(options.dataDir, options.elapsed);
    this.sound = new SoundSegments(options.dataDir, options.verify);
    this.report = new FeedsReportFile(options.dataDir);
    this.channelReport = new ChannelReportFile(options.dataDir);
  }

  /** The feeds of the current release in their present state: checks and failures since the build included. */
  get feeds(): readonly FeedReport[] {
    return this.report.feedsOf(this.current);
  }

  /** The release that was built and waits for the operator. */
  get held(): HeldRelease | undefined {
    return this.report.held;
  }

  /** The latest build, if it failed. */
  get failedBuild(): FailedBuild | undefined {
    return this.report.failed;
  }

  /** How following a channel went the last time; undefined without one. */
  get channel(): ChannelReport | undefined {
    return this.channelReport.current;
  }

  /** Finds the release to begin with: at once where it has its mark, otherwise when it is verified. */
  async open(): Promise<void> {
    this.readWanted();
    await this.settle(() => this.current !== undefined);
  }

  /** Verifies what answers since {@link open}, and goes on watching. */
  start(): void {
    void this.check();
    this.timer = setInterval(() => void this.check(), this.options.pollMs ?? POLL_MS);
    this.timer.unref();
    this.startWatching();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    clearInterval(this.timer);
    this.watcher?.close();
    await this.running;
    this.resumeMarks();
  }

  /** Leaves what is damaged now, and looks for a new release; resolves when nothing is under way any more. */
  check(): Promise<void> {
    if (this.isStopped) return Promise.resolve();
    this.readWanted();
    this.leaveDamaged();
    this.running ??= this.settle().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /** A process died of reading what answers now: it is verified again, and left when that fails. */
  suspect(): void {
    this.suspected = this.current?.name;
    this.verifiedName = undefined;
    if (this.current !== undefined) this.sound.forget(this.current.stamps);
    if (this.suspected !== undefined) this.attempts.forget(this.suspected);
    void this.check();
  }

  /** See {@link SoundSegments.verify}. @throws ReleaseError when the release is not sound */
  async verify(name: string, signal?: AbortSignal): Promise<Verification> {
    const stopped = this.stopped.signal;
    const until = signal === undefined ? stopped : AbortSignal.any([signal, stopped]);
    const verification = await this.sound.verify(name, until);
    const { unmarked } = verification;
    if (unmarked !== undefined) this.options.onEvent({ type: "unmarked", name, reason: unmarked });
    return verification;
  }

  /** Why the wanted release does not answer; undefined while it does. */
  get refused(): Refusal | undefined {
    return this.refusal;
  }

  /** Has every byte of the serving release been read since this process began? */
  get isVerified(): boolean {
    return this.current !== undefined && this.current.name === this.verifiedName;
  }

  /** Epoch ms since when the current release answers. */
  get since(): number | undefined {
    return this.servingSince;
  }

  private get isStopped(): boolean {
    return this.stopped.signal.aborted;
  }

  /** Tries what is due, one release after the other. */
  private async settle(isEnough = () => false): Promise<void> {
    for (;;) {
      const name = this.isStopped || isEnough() ? undefined : this.nextToTry();
      if (name === undefined) return this.forgetRefusal();
      const signature = this.attempts.signatureOf(name);
      try {
        const files = findFiles(this.options.dataDir, name);
        if (this.current === undefined && this.sound.areKnown(files)) {
          this.swap(checkFiles(this.options.dataDir, name)); // a mark does not show what the manifest takes the file for
          continue;
        }
        const verification = await this.verify(name);
        if (this.isStopped) return;
        this.accept(name, verification);
      } catch (error) {
        if (this.isStopped) return;
        this.fail(name, error, signature);
      }
      this.readWanted();
    }
  }

  /** The wanted one; while nothing answers, those published before it; what answers, until it is verified. */
  private nextToTry(): string | undefined {
    const { wanted, current } = this;
    if (wanted !== undefined && wanted !== current?.name && this.attempts.isDue(wanted)) return wanted;
    if (current === undefined) return this.older().find((name) => this.attempts.isDue(name));
    return this.isVerified || !this.attempts.isDue(current.name) ? undefined : current.name;
  }

  private accept(name: string, { stamps }: Verification): void {
    const files = findFiles(this.options.dataDir, name);
    if (!isSame(files.stamps, stamps)) {
      throw new ReleaseError(`release ${name}: changed while it was verified`, undefined, {
        isPassing: true,
      });
    }
    if (!this.sound.wereReadHere(stamps)) return; // a process died of one of its segments meanwhile: it is read again
    this.attempts.forget(name);
    if (this.current?.name === name) this.resumeMarks();
    if (this.suspected === name) this.suspected = undefined;
    this.readWanted();
    const before = this.current?.name;
    if (before !== undefined && before !== name && this.wanted !== name) return; // another is wanted by now
    this.verifiedName = name;
    if (before !== name) {
      this.swap(files);
    } else {
      this.take(files);
      this.options.onEvent({ type: "verified", name });
    }
  }

  private fail(name: string, error: unknown, signature: string): void {
    const isLasting = error instanceof ReleaseError && !error.isPassing;
    const waitMs = this.attempts.failed(name, signature, isLasting);
    const reason = messageOf(error);
    const isDeadly = this.suspected === name || (error instanceof ReleaseError && error.isUnreadable);
    if (this.current?.name === name && !isLasting && !isDeadly) {
      this.options.onEvent({ type: "unverified", name, reason, retry_in_ms: waitMs });
      return;
    }
    const retry = isLasting ? {} : { retry_in_ms: waitMs };
    if (this.current?.name === name) this.leave(reason, retry);
    else this.refuse(name, reason, retry);
  }

  private refuse(name: string, reason: string, retry: { readonly retry_in_ms?: number }): void {
    const shown = name.slice(0, 80);
    // Of several that are refused in a row, the first is the one that is wanted.
    if (this.refusal === undefined || this.wanted === name) {
      this.refusal = { name: shown, reason, at: this.options.now() };
    }
    this.options.onEvent({ type: "refused", name: shown, reason, ...retry });
  }

  /** Answers no more from what answers now, but from the newest release before it that is known to be sound. */
  private leave(reason: string, retry: { readonly retry_in_ms?: number } = {}): void {
    const { name, stamps } = this.current!;
    this.left = name;
    this.verifiedName = undefined;
    this.sound.forget(stamps); // also for other releases that have them: their marks tell
    this.swap(this.findSound(name));
    this.refuse(name, reason, retry);
  }

  private findSound(except: string): ReleaseFiles | undefined {
    const names = this.wanted === undefined ? this.older() : [this.wanted, ...this.older()];
    for (const name of names) {
      if (name === except || !this.attempts.isDue(name)) continue;
      try {
        const files = findFiles(this.options.dataDir, name);
        if (this.sound.areKnown(files)) return checkFiles(this.options.dataDir, name);
      } catch {
        // settle() tries it, and reports why it is refused
      }
    }
    return undefined;
  }

  /** Those published before the wanted one, newest first; none while the folder cannot be listed, for want of descriptors. */
  private older(): string[] {
    const { dataDir } = this.options;
    try {
      return this.wanted === undefined ? releaseNames(dataDir) : releasesBefore(dataDir, this.wanted);
    } catch {
      return [];
    }
  }

  private leaveDamaged(): void {
    const { current, options } = this;
    if (current === undefined) return;
    const stamps = stampsOf(options.dataDir, current.manifest);
    const manifest = fileStamp(join(options.dataDir, DATA_FOLDER.releaseFile(current.name)));
    if (manifest === this.manifestStamp && isSame(stamps, current.stamps)) return;
    try {
      findFiles(options.dataDir, current.name);
    } catch (error) {
      const isPassing = error instanceof ReleaseError && error.isPassing;
      if (!isPassing) this.fail(current.name, error, this.attempts.signatureOf(current.name));
      return;
    }
    this.manifestStamp = manifest;
    const written = Object.keys(stamps).find((sha256) =>
      isRewritten(current.stamps[sha256]!, stamps[sha256]!),
    );
    if (written !== undefined) {
      removeMark(options.dataDir, written); // also where its time is put back
      const file = DATA_FOLDER.segmentFile(written);
      this.leave(`release ${current.name}: ${file} was written to while it answered`);
    } else if (!isSame(stamps, current.stamps)) {
      this.verifiedName = undefined; // put in place anew: what is mapped is the former file
    }
  }

  private swap(next: ReleaseFiles | undefined): void {
    const before = this.current?.name;
    this.resumeMarks(); // verifying has removed those of unsound files
    if (next !== undefined && this.options.answersHere === true && !this.sound.wereReadHere(next.stamps)) {
      this.suspended = next.stamps;
      suspendMarks(this.options.dataDir, next.stamps);
    }
    this.take(next);
    this.servingSince = next === undefined ? undefined : this.options.now();
    const wanted = this.wanted === next?.name ? undefined : this.wanted;
    const others = { before, wanted };
    this.options.onEvent(
      next === undefined ? { type: "none", ...others } : { type: "serving", name: next.name, ...others },
    );
  }

  private resumeMarks(): void {
    resumeMarks(this.options.dataDir, this.suspended);
    this.suspended = {};
  }

  private take(files: ReleaseFiles | undefined): void {
    this.current = files;
    if (files === undefined) return;
    if (this.left === files.name) this.left = undefined; // repaired
    this.manifestStamp = fileStamp(join(this.options.dataDir, DATA_FOLDER.releaseFile(files.name)));
  }

  /** What is wanted answers: a refusal of it, or of what was wanted before, is over. */
  private forgetRefusal(): void {
    const { refusal, current } = this;
    if (refusal === undefined || !this.isVerified || current?.name !== this.wanted) return;
    this.refusal = undefined;
    this.options.onEvent({ type: "refusal-over", name: current!.name, refused: refusal.name });
  }

  private readWanted(): void {
    try {
      // Without the pointer, the release in use stays.
      this.wanted = currentName(this.options.dataDir) || undefined;
    } catch {
      // it cannot be read for now
    }
  }

  private startWatching(): void {
    try {
      // The database lives in the same folder and changes every second: only the pointer counts.
      this.watcher = watch(this.options.dataDir, { persistent: false }, (_, file) => {
        if (file === null || file === DATA_FOLDER.current) void this.check();
      });
      this.watcher.on("error", (error) => this.watchFailed(error));
    } catch (error) {
      this.watchFailed(error);
    }
  }

  private watchFailed(error: unknown): void {
    this.watcher?.close();
    this.watcher = undefined;
    const reason = `${messageOf(error)}; looking once a second instead`;
    this.options.onEvent({ type: "watch-failed", reason });
  }
}

function isSame(a: Stamps, b: Stamps): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
