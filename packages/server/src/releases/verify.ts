// verify.ts: is a release sound? Read in a process of its own (verify-process.ts).

import { ReleaseError, type Verification } from "@inkling/release-store";
import { processCommand } from "@inkling/release-store/program";
import { type ProcessEnvironment, ProcessFailed, runInProcess } from "./process.ts";
import type { VerifyAnswer } from "./verify-process.ts";

/**
 * @param isNew segments that were verified for another release are not read again
 * @throws ReleaseError when it is not sound, or, with `isPassing`, when that could not be found out
 */
export async function verifyInProcess(
  env: ProcessEnvironment,
  dataDir: string,
  name: string,
  signal?: AbortSignal,
  isNew = false,
): Promise<Verification> {
  try {
    const order = { dataDir, name, isNew };
    const answer = await runInProcess<VerifyAnswer>(processCommand("verify"), order, env, signal);
    if ("sound" in answer) return answer.sound;
    const { refusal, hint, ...faults } = answer;
    throw new ReleaseError(refusal, hint, faults);
  } catch (error) {
    if (!(error instanceof ProcessFailed)) throw error;
    throw new ReleaseError(`release ${name} cannot be verified: ${error.message}`, undefined, {
      isPassing: true,
    });
  }
}
