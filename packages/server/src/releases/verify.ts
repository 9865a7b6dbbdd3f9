// verify.ts: is a release sound? Read in its own process (verify-process.ts), unless nothing is left to read.

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
 * @param known stamps of files that were verified already: they are not read again
 * @throws ReleaseError when it is not sound, or, with `isRetryable`, when that could not be found out
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
