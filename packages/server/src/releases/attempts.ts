// attempts.ts: when a release that could not be used is tried again: when its files change, or after a while where another
// attempt may end differently.

import { join } from "node:path";
import { backoffMs, DATA_FOLDER, fileStamp, isReleaseName, segmentFiles } from "@inkling/release-store";

interface Failure {
  readonly signature: string;
  readonly count: number;
  /** Of the monotonic clock. */
  readonly retryAt: number;
}

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

export class Attempts {
  private readonly dataDir: string;
  private readonly elapsed: () => number;
  private readonly failures = new Map<string, Failure>();
  /** Segment files by release, and for which state of its manifest that holds. */
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
   * @param signature of the release when the attempt began
   * @param isLasting only other files can make a difference
   * @returns milliseconds until the next attempt; undefined until the files change
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

  /** Changes whenever another attempt could end differently. */
  signatureOf(name: string): string {
    const { dataDir } = this;
    if (!isReleaseName(name)) return fileStamp(join(dataDir, DATA_FOLDER.current));
    const manifest = fileStamp(join(dataDir, DATA_FOLDER.releaseFile(name)));
    let known = this.listed.get(name);
    if (known?.manifest !== manifest) {
      known = { manifest, files: segmentFiles(dataDir, name) };
      // None may mean that the manifest could not be read for now.
      if (known.files.length > 0) this.listed.set(name, known);
    }
    return `${manifest} ${known.files.map(fileStamp).join(" ")}`;
  }
}
