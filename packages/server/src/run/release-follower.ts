// release-follower.ts: opens the release that the primary sends, in a thread that answers requests. Each thread has its
// own mapping of the release.
//
// If a release cannot be opened, the previous one remains in use.

import { Live, messageOf, openRelease } from "@inkling/data";
import type { LoadedRelease } from "@inkling/engine";
import type { EpochMs } from "@inkling/store/keys/key";
import type { Refusal, Releases } from "../releases/releases.ts";
import { Reports } from "../releases/reports.ts";

const RETRY_MS = 1_000;

/** The release to answer from, as the primary sends it. */
export interface ReleaseMessage {
  readonly type: "release";
  readonly name: string | undefined;
  /** The release that should be in use. */
  readonly wanted: string | undefined;
  readonly refused: Refusal | undefined;
  readonly since: EpochMs | undefined;
}

export function releaseMessage(releases: Releases): ReleaseMessage {
  const { current, wanted, refused, since } = releases;
  return { type: "release", name: current?.name, wanted, refused, since };
}

/** @param isFirst false if an earlier attempt with the same release has failed */
type OnFailed = (name: string, reason: string, isFirst: boolean) => void;

export class ReleaseFollower extends Reports {
  override current: LoadedRelease | undefined;
  private message: Omit<ReleaseMessage, "type"> | undefined;
  private readonly live: Live<LoadedRelease | undefined>;
  /** The release whose failure has been reported. */
  private failed: string | undefined;

  /** @param onSettled called when the release from the primary is in use, or if the primary has none */
  constructor(dataDir: string, onFailed: OnFailed, onSettled = () => {}) {
    super(dataDir);
    this.live = new Live<LoadedRelease | undefined>({
      initial: undefined,
      source: {
        version: () => this.message?.name ?? "",
        load: () => {
          const { name } = this.message ?? {};
          return { version: name ?? "", value: name === undefined ? undefined : openRelease(dataDir, name) };
        },
      },
      onApplied: (release) => {
        this.current = release;
      },
      onChecked: (error) => {
        const { name } = this.message ?? {};
        if (error === undefined || name === undefined) {
          this.failed = undefined;
          onSettled();
          return;
        }
        const isFirst = this.failed !== name;
        this.failed = name;
        onFailed(name, messageOf(error), isFirst);
      },
      pollMs: RETRY_MS,
      longestWaitMs: RETRY_MS,
      reloadMs: Number.POSITIVE_INFINITY,
    });
  }

  /** Resolves after the first attempt to open the release. Failed attempts are repeated every second. */
  async follow(message: ReleaseMessage): Promise<void> {
    const isFirst = this.message === undefined;
    this.message = message;
    await (isFirst ? this.live.start() : this.live.refresh());
  }

  stop(): Promise<void> {
    return this.live.stop();
  }

  /**
   * Can this thread answer requests like the other threads: either from a release, or with 503 if no release exists?
   */
  get isReady(): boolean {
    return this.current !== undefined || this.message?.name === undefined;
  }

  get refused(): Refusal | undefined {
    return this.message?.refused;
  }

  get wanted(): string | undefined {
    return this.message?.wanted;
  }

  get since(): EpochMs | undefined {
    return this.message?.since;
  }
}
