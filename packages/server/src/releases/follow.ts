// follow.ts: which release answers, and its replacement by the next one.
//
// in   the data folder's `current`, watched; the files of releases, checked once a second
// out  `current`: the files of one release, all of them verified; status, metrics and logs of it
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
//
// next-release.ts decides; here are the disk, the verifications and the marks.

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
  Live,
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
import {
  isUnsound,
  nextRelease,
  nextToTry,
  type Outcome,
  type Refusal,
  type ReleaseState,
} from "./next-release.ts";
import { SoundSegments, type Verify } from "./sound-segments.ts";
import { watchFile } from "./watch-file.ts";

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
  /** How often the files are checked. */
  readonly pollMs?: number;
}

const POLL_MS = 1_000;

export class Releases {
  private readonly options: ReleasesOptions;
  private readonly report: FeedsReportFile;
  private readonly channelReport: ChannelReportFile;
  private readonly attempts: Attempts;
  private readonly sound: SoundSegments;
  private readonly stopped = new AbortController();
  /** What `current` in the data folder names: each check of it is also one of the files of what answers. */
  private readonly pointer: Live<string | undefined>;
  private unwatch: (() => void) | undefined;
  private state: ReleaseState = {};
  private settling: Promise<void> | undefined;
  /** Stamp of the manifest of what answers. */
  private manifestStamp = "";
  /** Of files whose marks are suspended: see {@link ReleasesOptions.answersHere}. */
  private suspended: Stamps = {};

  constructor(options: ReleasesOptions) {
    this.options = options;
    const { dataDir, pollMs = POLL_MS } = options;
    this.attempts = new Attempts(dataDir, options.elapsed);
    this.sound = new SoundSegments(dataDir, options.verify);
    this.report = new FeedsReportFile(dataDir);
    this.channelReport = new ChannelReportFile(dataDir);
    this.pointer = new Live<string | undefined>({
      initial: undefined,
      source: { load: () => ({ version: "", value: this.readWanted() }) },
      apply: () => {
        this.leaveDamaged();
        this.settling ??= this.settle().finally(() => {
          this.settling = undefined;
        });
      },
      onChecked: (fault) => {
        if (fault !== undefined) throw fault; // what the disk does is caught where it happens: this is a bug
      },
      pollMs,
      longestWaitMs: pollMs,
    });
  }

  /** The release that answers now. */
  get current(): ReleaseFiles | undefined {
    return this.state.current?.files;
  }

  /** The release that `current` in the data folder names. */
  get wanted(): string | undefined {
    return this.state.wanted;
  }

  /** The last release that was found unsound while it answered, until it answers again. */
  get left(): string | undefined {
    return this.state.left;
  }

  /** Why the wanted release does not answer; undefined while it does. */
  get refused(): Refusal | undefined {
    return this.state.refusal;
  }

  /** Has every byte of what answers been read since this process began? */
  get isVerified(): boolean {
    return this.state.current?.isVerified === true;
  }

  /** Epoch ms since when the current release answers. */
  get since(): number | undefined {
    return this.state.current?.since;
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

  /** Verifies what answers since {@link open}, and continues following. */
  start(): void {
    void this.pointer.start();
    const { dataDir, onEvent } = this.options;
    this.unwatch = watchFile(
      dataDir,
      DATA_FOLDER.current,
      () => void this.pointer.refresh(),
      (reason) => onEvent({ type: "watch-failed", reason: `${reason}; looking once a second instead` }),
    );
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    this.unwatch?.();
    await this.pointer.stop();
    await this.settling;
    this.resumeMarks();
  }

  /** Leaves what is damaged now, and looks for a new release; resolves when nothing is under way any more. */
  async check(): Promise<void> {
    await this.pointer.refresh();
    await this.settling;
  }

  /** A process died of reading what answers now: it is verified again, and left when that fails. */
  suspect(): void {
    const { current } = this;
    this.take({ type: "suspected" });
    if (current !== undefined) {
      this.sound.forget(current.stamps);
      this.attempts.forget(current.name);
    }
    void this.pointer.refresh();
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

  private get isStopped(): boolean {
    return this.stopped.signal.aborted;
  }

  private take(outcome: Outcome): void {
    const before = this.current;
    const { state, events } = nextRelease(this.state, outcome, this.options.now());
    this.state = state;
    if (this.current !== before) this.currentChanged();
    for (const event of events) this.options.onEvent(event);
  }

  private currentChanged(): void {
    const { current } = this;
    const { dataDir, answersHere } = this.options;
    this.resumeMarks(); // verifying has removed the marks of damaged files
    if (current === undefined) return;
    this.manifestStamp = this.stampOfManifest(current.name);
    if (answersHere !== true || this.sound.wereReadHere(current.stamps)) return;
    this.suspended = current.stamps;
    suspendMarks(dataDir, current.stamps);
  }

  private resumeMarks(): void {
    resumeMarks(this.options.dataDir, this.suspended);
    this.suspended = {};
  }

  /** Tries what is due, one release after the other. */
  private async settle(isEnough = () => false): Promise<void> {
    while (!this.isStopped && !isEnough()) {
      const name = nextToTry(
        this.state,
        (each) => this.attempts.isDue(each),
        () => this.older(),
      );
      if (name === undefined) return;
      const signature = this.attempts.signatureOf(name);
      try {
        await this.attempt(name);
      } catch (error) {
        if (!this.isStopped) this.fail(name, error, signature);
      }
      this.readWanted();
    }
  }

  /** @throws ReleaseError */
  private async attempt(name: string): Promise<void> {
    const { dataDir } = this.options;
    const found = findFiles(dataDir, name);
    if (this.current === undefined && this.sound.areKnown(found)) {
      // A mark does not show what the manifest takes the file for.
      return this.take({ type: "marked", files: checkFiles(dataDir, name) });
    }
    const { stamps } = await this.verify(name);
    if (this.isStopped) return;
    const files = findFiles(dataDir, name);
    if (!isSame(files.stamps, stamps)) {
      const message = `release ${name}: changed while it was verified`;
      throw new ReleaseError(message, undefined, { isRetryable: true });
    }
    if (!this.sound.wereReadHere(stamps)) return; // a process died of one of its segments meanwhile: it is read again
    this.attempts.forget(name);
    this.readWanted();
    this.take({ type: "verified", files });
  }

  private fail(name: string, error: unknown, signature: string): void {
    const isLasting = error instanceof ReleaseError && !error.isRetryable;
    const retryMs = this.attempts.failed(name, signature, isLasting);
    const isUnreadable = error instanceof ReleaseError && error.isUnreadable;
    const failure = { name, reason: messageOf(error), isUnreadable, retryMs };
    if (isUnsound(this.state, failure)) this.leave(failure);
    else this.take({ type: "failed", ...failure });
  }

  /** Answers no more from what answers now, but from the newest release before it that is known to be sound. */
  private leave({
    reason,
    retryMs,
  }: {
    readonly reason: string;
    readonly retryMs: number | undefined;
  }): void {
    const { current } = this;
    if (current === undefined) return;
    this.sound.forget(current.stamps); // also for other releases that have them: their marks tell
    this.take({ type: "unsound", reason, retryMs, instead: this.findSound(current.name) });
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
    const { name } = current;
    const stamps = stampsOf(options.dataDir, current.manifest);
    const manifest = this.stampOfManifest(name);
    if (manifest === this.manifestStamp && isSame(stamps, current.stamps)) return;
    try {
      findFiles(options.dataDir, name);
    } catch (error) {
      const isRetryable = error instanceof ReleaseError && error.isRetryable;
      if (!isRetryable) this.fail(name, error, this.attempts.signatureOf(name));
      return;
    }
    this.manifestStamp = manifest;
    const written = Object.keys(stamps).find((sha256) =>
      isRewritten(current.stamps[sha256]!, stamps[sha256]!),
    );
    if (written !== undefined) {
      removeMark(options.dataDir, written); // also where its time is put back
      const reason = `release ${name}: ${DATA_FOLDER.segmentFile(written)} was written to while it answered`;
      this.leave({ reason, retryMs: undefined });
    } else if (!isSame(stamps, current.stamps)) {
      this.take({ type: "replaced" });
    }
  }

  private stampOfManifest(name: string): string {
    return fileStamp(join(this.options.dataDir, DATA_FOLDER.releaseFile(name)));
  }

  private readWanted(): string | undefined {
    let name = this.wanted;
    try {
      name = currentName(this.options.dataDir) || undefined;
    } catch {
      // it cannot be read for now
    }
    if (name !== this.wanted) this.take({ type: "wanted", name });
    return name;
  }
}

function isSame(a: Stamps, b: Stamps): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
