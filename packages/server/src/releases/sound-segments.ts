// sound-segments.ts: which segments were read in full and found sound since this process began.
//
// err  verify rejects with a ReleaseError when a release is not sound

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
 * Reads a release away from this process, but for files with the `known` stamps; rejects with a ReleaseError when it is
 * not sound.
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
  /** Stamps of their files, by SHA-256. */
  private readonly stamps = new Map<string, string>();
  /** The verification under way, or the last. */
  private verifying: Promise<unknown> = Promise.resolve();

  constructor(dataDir: string, verify: Verify) {
    this.dataDir = dataDir;
    this.verifyRelease = verify;
  }

  /**
   * Reads of a release what was not read since this process began: a segment that several releases share once. One release
   * at a time, for the memory that it takes.
   */
  verify(name: string, signal: AbortSignal): Promise<Verification> {
    const verified = this.verifying.then(() => this.read(name, signal));
    this.verifying = verified.catch(() => {}); // the caller gets the error
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
      if (known[sha256] !== stamp) this.stamps.set(sha256, stamp); // the known ones may have been forgotten meanwhile
    }
    return verification;
  }

  forget(stamps: Stamps): void {
    for (const sha256 of Object.keys(stamps)) this.stamps.delete(sha256);
  }

  /** Was every one of these files read in full, by this process or, as its mark shows, before? */
  areKnown({ stamps }: Pick<ReleaseFiles, "stamps">): boolean {
    const { dataDir } = this;
    return Object.entries(stamps).every(
      ([sha256, stamp]) => this.stamps.get(sha256) === stamp || areMarked(dataDir, { [sha256]: stamp }),
    );
  }

  /** Was every one of these files read in full since this process began? */
  wereReadHere(stamps: Stamps): boolean {
    return Object.entries(stamps).every(([sha256, stamp]) => this.stamps.get(sha256) === stamp);
  }
}
