// verify-process.ts: reads a whole release in a separate process.
//
// in   one message: { dataDir, name, known }
// out  one message: the verification, or why the release is unsound

import {
  messageOf,
  ReleaseError,
  type Stamps,
  type Verification,
  verifyRelease,
} from "@inkling/release-store";
import { answerOnce } from "./process.ts";

export type VerifyAnswer =
  | { readonly sound: Verification }
  | ({ readonly refusal: string } & Pick<ReleaseError, "hint" | "isRetryable" | "isUnreadable" | "damaged">);

interface VerifyOrder {
  readonly dataDir: string;
  readonly name: string;
  readonly known: Stamps;
}

answerOnce(({ dataDir, name, known }: VerifyOrder): VerifyAnswer => {
  try {
    return { sound: verifyRelease(dataDir, name, known) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    const { hint, isRetryable, isUnreadable, damaged } = error;
    return { refusal: messageOf(error), hint, isRetryable, isUnreadable, damaged };
  }
});
