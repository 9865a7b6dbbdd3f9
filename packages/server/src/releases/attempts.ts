// attempts.ts: decides when to retry a release that could not be used: when its files change, or, if the failure may be
// temporary, after a wait.

import { join } from "node:path";
import { backoffMs, DATA_FOLDER, fileStamp, isReleaseName, segmentFiles } from "@inkling/release-store";

interface Failure {
  readonly signature: string;
  readonly count: number;
  /** Milliseconds of the monotonic clock. */
  readonly retryAt: number;
}

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

export class Attempts {
  private readonly dataDir: string;
  private readonly elapsed: () => number;
  private readonly failures = new Map<string, Failure>();
  /** Each release's segment files, with the stamp that the manifest had when they were listed. */
  private readonly listed = new Map<
    string,
    { readonly manifest: string; readonly files: readonly string[] }
  >();

  /** @param elapsed milliseconds of a monotonic clock */
  constructor(dataDir: string, elapsed: () => number) {
    this.dataDir = dataDir;
    this.elapsed = elapsed;
  }

  isDue(name: string): boolean {
    const failure = this.failures.get(name);
    if (failure === undefined) return true;
    return this.elapsed() >= failure.retryAt || this.signatureOf(name) !== failure.signature;
  }

  /**
   * Records a failed attempt.
   * @param signature the release's signature when the attempt began
   * @param isLasting true if only a change of the files can help
   * @returns milliseconds until the next attempt; undefined if the next attempt waits for a change of the files
   */
  failed(name: string, signature: string, isLasting: boolean): number | undefined {
    const count = (this.failures.get(name)?.count ?? 0) + 1;
    const retryMs = isLasting ? undefined : backoffMs(FIRST_RETRY_MS, MAX_RETRY_MS, count - 1);
    const retryAt = this.elapsed() + (retryMs ?? Number.POSITIVE_INFINITY);
    this.failures.set(name, { signature, count, retryAt });
    return retryMs;
  }

  forget(name: string): void {
    this.failures.delete(name);
  }

  /** Returns a text that changes whenever a new attempt might have a different outcome. */
  signatureOf(name: string): string {
    const { dataDir } = this;
    if (!isReleaseName(name)) return fileStamp(join(dataDir, DATA_FOLDER.current));
    const manifest = fileStamp(join(dataDir, DATA_FOLDER.releaseFile(name)));
    let known = this.listed.get(name);
    if (known?.manifest !== manifest) {
      known = { manifest, files: segmentFiles(dataDir, name) };
      // An empty list may mean that the manifest is temporarily unreadable.
      if (known.files.length > 0) this.listed.set(name, known);
    }
    return `${manifest} ${known.files.map(fileStamp).join(" ")}`;
  }
}
