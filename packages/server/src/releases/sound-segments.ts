// sound-segments.ts: remembers which segments were read in full and found sound since this process began.
//
// err  verify rejects with a ReleaseError if a release is unsound

import { join } from "node:path";
import {
  areMarked,
  DATA_FOLDER,
  fileStamp,
  type ReleaseFiles,
  type Stamps,
  type Verification,
} from "@inkling/release-store";

/**
 * Reads a release in a separate process, except for files with the `known` stamps. It rejects with a ReleaseError if
 * the release is unsound.
 */
export type Verify = (
  dataDir: string,
  name: string,
  known: Stamps,
  signal: AbortSignal,
) => Promise<Verification>;

export class SoundSegments {
  private readonly dataDir: string;
  private readonly verifyRelease: Verify;
  /** Stamps of the verified segment files, by SHA-256. */
  private readonly stamps = new Map<string, string>();
  /** The current verification, or the last one. */
  private verifying: Promise<unknown> = Promise.resolve();

  constructor(dataDir: string, verify: Verify) {
    this.dataDir = dataDir;
    this.verifyRelease = verify;
  }

  /**
   * Reads the part of a release that this process has not read yet, so a segment that several releases share is read
   * once. Verifies one release at a time to save memory.
   */
  verify(name: string, signal: AbortSignal): Promise<Verification> {
    const verified = this.verifying.then(() => this.read(name, signal));
    this.verifying = verified.catch(() => {}); // the caller receives the error
    return verified;
  }

  private async read(name: string, signal: AbortSignal): Promise<Verification> {
    const { dataDir } = this;
    for (const [sha256, stamp] of this.stamps) {
      const isSame = fileStamp(join(dataDir, DATA_FOLDER.segmentFile(sha256))) === stamp;
      if (!isSame) this.stamps.delete(sha256);
    }
    const known = Object.fromEntries(this.stamps);
    const verification = await this.verifyRelease(dataDir, name, known, signal);
    for (const [sha256, stamp] of Object.entries(verification.stamps)) {
      if (known[sha256] !== stamp) this.stamps.set(sha256, stamp); // a known stamp may be gone by now
    }
    return verification;
  }

  forget(stamps: Stamps): void {
    for (const sha256 of Object.keys(stamps)) this.stamps.delete(sha256);
  }

  /**
   * Returns whether every one of these files was read in full, either since this process began or earlier, as shown by
   * its mark.
   */
  areKnown({ stamps }: Pick<ReleaseFiles, "stamps">): boolean {
    const { dataDir } = this;
    return Object.entries(stamps).every(
      ([sha256, stamp]) => this.stamps.get(sha256) === stamp || areMarked(dataDir, { [sha256]: stamp }),
    );
  }

  /** Returns whether every one of these files was read in full since this process began. */
  wereReadHere(stamps: Stamps): boolean {
    return Object.entries(stamps).every(([sha256, stamp]) => this.stamps.get(sha256) === stamp);
  }
}
