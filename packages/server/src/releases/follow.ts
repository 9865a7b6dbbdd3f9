// follow.ts: decides which release answers requests, and switches to the next one.
//
// in   the data folder's `current`, watched; the releases' files, checked once a second
// out  `current`: the files of one release, all of them verified; the release's status; metrics and log events
// err  The server refuses an unsound release by name, and answers from the newest sound release published before it. It
//      retries an unsound release when its files change, and a temporarily unreadable one after a while.
//
// Only a verified release answers. Either this process's verifier has read it in full, or a mark on exactly these files
// shows that an earlier verifier did (release-store/src/verified.ts). With a mark, startup does not wait, and the
// verification runs in the background. Each file is read once: a later release that contains the same file does not
// wait for it.
//
// The server stops using a release at once if the release's files are removed or written to while in use, or if the
// disk cannot read them. It then verifies the release again. Nothing here maps a segment or reads more than its start,
// so a bad segment can only crash a process that answers lookups. If this process answers lookups itself, it suspends
// marks until the release is verified. If it then crashes on a segment, the next start verifies before it answers.
//
// next-release.ts decides. This file handles the disk, the verifications and the marks.

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
  /** Does this process also answer lookups, so that a bad segment can crash it? */
  readonly answersHere?: boolean;
  /** Milliseconds between two checks of the files. */
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
  /**
   * The release that the data folder's `current` names. Each check of `current` also checks the files of the release in
   * use.
   */
  private readonly pointer: Live<string | undefined>;
  private unwatch: (() => void) | undefined;
  private state: ReleaseState = {};
  private settling: Promise<void> | undefined;
  /** Stamp of the manifest of the release in use. */
  private manifestStamp = "";
  /** Stamps of the files whose marks are suspended: see {@link ReleasesOptions.answersHere}. */
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
        if (fault !== undefined) throw fault; // disk errors are caught where they occur, so this is a bug
      },
      pollMs,
      longestWaitMs: pollMs,
    });
  }

  /** The release in use. */
  get current(): ReleaseFiles | undefined {
    return this.state.current?.files;
  }

  /** The release that `current` in the data folder names. */
  get wanted(): string | undefined {
    return this.state.wanted;
  }

  /** The last release that was found unsound while in use, until it is used again. */
  get left(): string | undefined {
    return this.state.left;
  }

  /** Why the wanted release is not in use; undefined while it is. */
  get refused(): Refusal | undefined {
    return this.state.refusal;
  }

  /** Has every byte of the release in use been read since this process began? */
  get isVerified(): boolean {
    return this.state.current?.isVerified === true;
  }

  /** When this server began to use the current release, in epoch ms. */
  get since(): number | undefined {
    return this.state.current?.since;
  }

  /** The current state of the release's feeds, including checks and failures since the build. */
  get feeds(): readonly FeedReport[] {
    return this.report.feedsOf(this.current);
  }

  /** A built release that waits for the operator. */
  get held(): HeldRelease | undefined {
    return this.report.held;
  }

  /** The latest build, if it failed; otherwise undefined. */
  get failedBuild(): FailedBuild | undefined {
    return this.report.failed;
  }

  /** The result of the last check of the channel; undefined without a channel. */
  get channel(): ChannelReport | undefined {
    return this.channelReport.current;
  }

  /** Finds the first release to use: immediately if it is marked as verified, otherwise after its verification. */
  async open(): Promise<void> {
    this.readWanted();
    await this.settle(() => this.current !== undefined);
  }

  /** Verifies the release that {@link open} found, and continues to follow changes. */
  start(): void {
    void this.pointer.start();
    const { dataDir, onEvent } = this.options;
    this.unwatch = watchFile(
      dataDir,
      DATA_FOLDER.current,
      () => void this.pointer.refresh(),
      (reason) => onEvent({ type: "watch-failed", reason: `${reason}; checking once a second instead` }),
    );
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    this.unwatch?.();
    await this.pointer.stop();
    await this.settling;
    this.resumeMarks();
  }

  /** Stops using a release that is damaged, and checks for a new one. Resolves when no attempt is running any more. */
  async check(): Promise<void> {
    await this.pointer.refresh();
    await this.settling;
  }

  /**
   * Call this after a process has crashed while reading the release in use. It verifies that release again, and stops
   * using it if that fails.
   */
  suspect(): void {
    const { current } = this;
    this.take({ type: "suspected" });
    if (current !== undefined) {
      this.sound.forget(current.stamps);
      this.attempts.forget(current.name);
    }
    void this.pointer.refresh();
  }

  /** See {@link SoundSegments.verify}. @throws ReleaseError if the release is unsound */
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
    this.resumeMarks(); // the verification removed the marks of damaged files
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

  /** Attempts the releases that are due, one at a time. */
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
      // A mark does not show which kind of segment the manifest expects in the file.
      return this.take({ type: "marked", files: checkFiles(dataDir, name) });
    }
    const { stamps } = await this.verify(name);
    if (this.isStopped) return;
    const files = findFiles(dataDir, name);
    if (!isSame(files.stamps, stamps)) {
      const message = `release ${name}: changed while it was verified`;
      throw new ReleaseError(message, undefined, { isRetryable: true });
    }
    if (!this.sound.wereReadHere(stamps)) return; // a process has crashed on a segment since, so read it again
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

  /**
   * Replaces the release in use with a different release that is known to be sound: the wanted release if possible,
   * otherwise the newest release before it.
   */
  private leave({
    reason,
    retryMs,
  }: {
    readonly reason: string;
    readonly retryMs: number | undefined;
  }): void {
    const { current } = this;
    if (current === undefined) return;
    this.sound.forget(current.stamps); // other releases with these files then depend on the marks
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
        // settle() attempts this release and reports why it is refused
      }
    }
    return undefined;
  }

  /**
   * Releases published before the wanted one, newest first. Empty while there are too few free file descriptors to list
   * the folder.
   */
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
      removeMark(options.dataDir, written); // even if the file's time was reset
      const reason = `release ${name}: ${DATA_FOLDER.segmentFile(written)} was changed while in use`;
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
      // `current` is temporarily unreadable
    }
    if (name !== this.wanted) this.take({ type: "wanted", name });
    return name;
  }
}

function isSame(a: Stamps, b: Stamps): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
