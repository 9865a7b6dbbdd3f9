// verify.ts: checks whether a release is sound, in a separate process (verify-process.ts) unless nothing is left to
// read.

import {
  areMarked,
  findManifest,
  ReleaseError,
  type Stamps,
  stampsOf,
  type Verification,
} from "@inkling/release-store";
import { processCommand } from "@inkling/release-store/program";
import { type ProcessEnvironment, ProcessFailed, runInProcess } from "./process.ts";
import type { VerifyAnswer } from "./verify-process.ts";

/**
 * @param known stamps of files that are verified already and are not read again
 * @throws ReleaseError if the release is unsound, or, with `isRetryable`, if the check could not finish
 */
export async function verifyInProcess(
  env: ProcessEnvironment,
  dataDir: string,
  name: string,
  known: Stamps = {},
  signal?: AbortSignal,
): Promise<Verification> {
  const manifest = findManifest(dataDir, name);
  const stamps = manifest && stampsOf(dataDir, manifest);
  if (stamps && isKnown(stamps, known) && areMarked(dataDir, stamps)) return { stamps };
  try {
    const order = { dataDir, name, known };
    const answer = await runInProcess<VerifyAnswer>(processCommand("verify"), order, env, signal);
    if ("sound" in answer) return answer.sound;
    const { refusal, hint, ...faults } = answer;
    throw new ReleaseError(refusal, hint, faults);
  } catch (error) {
    if (!(error instanceof ProcessFailed)) throw error;
    throw new ReleaseError(`release ${name} cannot be verified: ${error.message}`, undefined, {
      isRetryable: true,
    });
  }
}

const isKnown = (stamps: Stamps, known: Stamps) =>
  Object.entries(stamps).every(([sha256, stamp]) => known[sha256] === stamp);
