// follow.ts: the release in use, and its replacement by the next one.
//
// in   the data folder's `current`, watched
// out  `current`: one immutable LoadedRelease, or undefined; `state` for status, metrics and logs
// err  a release that cannot be used is refused by name, and the one before goes on serving; it is tried again
//      when `current`, its manifest or one of its segments changes
//
// At start a release is opened cheaply, serves at once and is verified behind; while serving, a new one is
// verified in full before the swap. A swap is one assignment: requests under way keep the release they took.

import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import type { FeedReport, HeldRelease, LoadedRelease } from "@inkling/engine";
import {
  currentName,
  DATA_FOLDER,
  FeedsReportFile,
  fileStamp,
  isReleaseName,
  messageOf,
  openRelease,
  ReleaseError,
  releaseNames,
  segmentFiles,
} from "@inkling/release-store";
import { runInThread } from "./thread.ts";

export type ReleaseEvent =
  | { readonly type: "serving"; readonly name: string; readonly before: string | undefined }
  | { readonly type: "verified"; readonly name: string }
  | { readonly type: "refused"; readonly name: string; readonly reason: string }
  | { readonly type: "watch-failed"; readonly reason: string };

interface ReleasesOptions {
  readonly dataDir: string;
  /** Epoch ms. */
  readonly now: () => number;
  /** Reads a whole release away from this thread; rejects when it is not sound. */
  readonly verify: (dataDir: string, name: string) => Promise<void>;
  readonly onEvent: (event: ReleaseEvent) => void;
  /** How often `current` is looked at where the system reports no changes. */
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
  /** The release that answers now. Read it once for each request. */
  current: LoadedRelease | undefined;

  private readonly options: ReleasesOptions;
  private readonly report: FeedsReportFile;
  private tried: string | undefined;
  private running: Promise<void> | undefined;
  private isStopped = false;
  private timer: ReturnType<typeof setInterval> | undefined;
  private watcher: FSWatcher | undefined;
  private refusal: Refusal | undefined;
  private verifiedName: string | undefined;
  private servingSince: number | undefined;
  /** Segment files of the release that `current` names, and for which state of its manifest that holds. */
  private listed: readonly string[] = [];
  private listedFor = "";

  constructor(options: ReleasesOptions) {
    this.options = options;
    this.report = new FeedsReportFile(options.dataDir);
  }

  /** The feeds of the current release in their present state: checks and failures since the build included. */
  get feeds(): readonly FeedReport[] {
    return this.report.feedsOf(this.current);
  }

  /** The release that was built and waits for the operator. */
  get held(): HeldRelease | undefined {
    return this.report.held;
  }

  /** Opens what `current` names, or the newest older release that opens. */
  open(): void {
    this.tried = this.signature();
    const usable = this.openNewest(new Set());
    if (usable !== undefined) this.swap(usable);
  }

  /** Verifies behind what was opened, and goes on watching. Opens first where that was not done. */
  start(): void {
    if (this.tried === undefined) this.open();
    this.running = this.verifyServing().finally(() => {
      this.running = undefined;
    });
    this.timer = setInterval(() => void this.check(), this.options.pollMs ?? POLL_MS);
    this.timer.unref();
    this.startWatching();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.timer);
    this.watcher?.close();
    await this.running;
  }

  /** Looks for a new release now; resolves when it serves or is refused. */
  async check(): Promise<void> {
    if (this.running !== undefined) return this.running;
    const signature = this.signature();
    if (this.isStopped || signature === this.tried) return;
    this.tried = signature;
    this.running = this.adopt().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /** The release that was refused last, until another one is in use. */
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

  private async adopt(): Promise<void> {
    let name = "";
    try {
      name = currentName(this.options.dataDir) ?? "";
      if (name === "") return; // `current` was removed: the open release stays in use
      const candidate = openRelease(this.options.dataDir, name);
      await this.options.verify(this.options.dataDir, name);
      if (this.isStopped) return;
      this.verifiedName = name;
      this.refusal = undefined;
      this.swap(candidate);
    } catch (error) {
      this.refuse(name, error);
    }
  }

  /** Verifies what serves since the start; when it is not sound, the next older one is used. */
  private async verifyServing(): Promise<void> {
    const unsound = new Set<string>();
    while (this.current !== undefined && !this.isStopped) {
      const { name } = this.current;
      try {
        await this.options.verify(this.options.dataDir, name);
        this.verifiedName = name;
        this.options.onEvent({ type: "verified", name });
        return;
      } catch (error) {
        this.refuse(name, error);
        unsound.add(name);
        this.swap(this.openNewest(unsound));
      }
    }
  }

  private openNewest(unsound: ReadonlySet<string>): LoadedRelease | undefined {
    const { dataDir } = this.options;
    for (const name of this.candidates()) {
      if (unsound.has(name)) continue;
      try {
        return openRelease(dataDir, name);
      } catch (error) {
        this.refuse(name, error);
      }
    }
    return undefined;
  }

  /** What `current` names, then all that are older, newest first. */
  private candidates(): string[] {
    const { dataDir } = this.options;
    let pointed: string | undefined;
    try {
      pointed = currentName(dataDir);
    } catch (error) {
      this.refuse(DATA_FOLDER.current, error);
    }
    const names = releaseNames(dataDir);
    if (pointed === undefined) return names;
    const target = pointed;
    // A pointer to something that cannot be a release has no age.
    return [target, ...names.filter((name) => name < target || !isReleaseName(target))];
  }

  private swap(next: LoadedRelease | undefined): void {
    const before = this.current?.name;
    this.current = next;
    this.servingSince = next === undefined ? undefined : this.options.now();
    if (next !== undefined) this.options.onEvent({ type: "serving", name: next.name, before });
  }

  private refuse(name: string, error: unknown): void {
    const reason = messageOf(error);
    // At start several may be refused: the first is the one that `current` names.
    if (this.refusal === undefined || this.current !== undefined) {
      this.refusal = { name: name.slice(0, 80), reason, at: this.options.now() };
    }
    this.options.onEvent({ type: "refused", name: name.slice(0, 80), reason });
  }

  /** Changes whenever trying again could end differently. */
  private signature(): string {
    const { dataDir } = this.options;
    let name = "";
    try {
      name = currentName(dataDir) ?? "";
    } catch {
      // the stamp of the file below changes when it can be read again
    }
    const pointer = `${name} ${fileStamp(join(dataDir, DATA_FOLDER.current))}`;
    if (!isReleaseName(name)) return pointer;
    const manifest = fileStamp(join(dataDir, DATA_FOLDER.releaseFile(name)));
    if (`${name} ${manifest}` !== this.listedFor) {
      this.listed = segmentFiles(dataDir, name);
      this.listedFor = `${name} ${manifest}`;
    }
    return `${pointer} ${manifest} ${this.listed.map(fileStamp).join(" ")}`;
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

/** Verifies on a thread of its own. @throws ReleaseError when the release is not sound */
export async function verifyInWorker(dataDir: string, name: string): Promise<void> {
  const module = new URL("./verify-worker.ts", import.meta.url);
  const refusal = await runInThread<string | undefined>(module, { dataDir, name }).catch(
    ({ message }: Error) => `release ${name}: the verifying thread failed: ${message}`,
  );
  if (refusal !== undefined) throw new ReleaseError(refusal);
}
