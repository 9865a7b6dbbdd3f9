// release-follower.ts: opens the release that the primary sends, in a thread that answers requests. Each thread has its
// own mapping of the release.
//
// If a release cannot be opened, the previous one remains in use.

import { Live, messageOf, openRelease } from "@inkling/data";
import type { LoadedRelease } from "@inkling/engine";
import type { EpochMs } from "@inkling/store/keys/key";
import type { Releases } from "../releases/releases.ts";
import { Reports } from "../releases/reports.ts";
import type { Log } from "../telemetry/log.ts";

const RETRY_MS = 1_000;

/** Returns the message that tells a thread which release to answer from, and what to report about it. */
export function releaseMessage({ current, wanted, refused, since }: Releases) {
  return { type: "release", name: current?.name, wanted, refused, since } as const;
}
export type ReleaseMessage = ReturnType<typeof releaseMessage>;

export class ReleaseFollower extends Reports {
  override current: LoadedRelease | undefined;
  override since: EpochMs | undefined;
  /** The name of the release from the primary; undefined if the primary has none. */
  private name: string | undefined;
  private isFollowing = false;
  private readonly live: Live<LoadedRelease | undefined>;
  /** The release whose failure has been reported. */
  private failed: string | undefined;

  /**
   * @param onFailed called after each failed attempt
   * @param onSettled called when the release from the primary is in use, or if the primary has none
   * @param worker the worker's index, for the log
   */
  constructor(
    dataDir: string,
    log: Pick<Log, "error">,
    onFailed: () => void,
    onSettled = () => {},
    worker?: number,
  ) {
    super(dataDir);
    this.live = new Live<LoadedRelease | undefined>({
      initial: undefined,
      source: {
        version: () => this.name ?? "",
        load: () => {
          const { name } = this;
          return { version: name ?? "", value: name === undefined ? undefined : openRelease(dataDir, name) };
        },
      },
      onApplied: (release) => {
        this.current = release;
      },
      onChecked: (error) => {
        const { name } = this;
        if (error === undefined || name === undefined) {
          this.failed = undefined;
          onSettled();
          return;
        }
        if (this.failed !== name) log.error("release-not-opened", { worker, name, reason: messageOf(error) });
        this.failed = name;
        onFailed();
      },
      pollMs: RETRY_MS,
      longestWaitMs: RETRY_MS,
      reloadMs: Number.POSITIVE_INFINITY,
    });
  }

  /** Resolves after the first attempt to open the release. Failed attempts are repeated every second. */
  async follow({ name, wanted, refused, since }: ReleaseMessage): Promise<void> {
    Object.assign(this, { name, wanted, refused, since });
    if (this.isFollowing) return this.live.refresh();
    this.isFollowing = true;
    await this.live.start();
  }

  stop(): Promise<void> {
    return this.live.stop();
  }

  /**
   * Can this thread answer requests like the other threads: either from a release, or with 503 if no release exists?
   */
  get isReady(): boolean {
    return this.current !== undefined || this.name === undefined;
  }
}
