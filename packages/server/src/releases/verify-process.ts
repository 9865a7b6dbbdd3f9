// verify-process.ts: reads a whole release in a process of its own.
//
// in   one message: { dataDir, name, isNew }
// out  one message: its verification, or why it is not sound

import { messageOf, ReleaseError, type Verification, verifyRelease } from "@inkling/release-store";
import { answerOnce } from "./process.ts";

export type VerifyAnswer =
  | { readonly sound: Verification }
  | ({ readonly refusal: string } & Pick<ReleaseError, "hint" | "isPassing" | "isUnreadable">);

interface VerifyOrder {
  readonly dataDir: string;
  readonly name: string;
  readonly isNew: boolean;
}

answerOnce(({ dataDir, name, isNew }: VerifyOrder): VerifyAnswer => {
  try {
    return { sound: verifyRelease(dataDir, name, isNew) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    const { hint, isPassing, isUnreadable } = error;
    return { refusal: messageOf(error), hint, isPassing, isUnreadable };
  }
});
