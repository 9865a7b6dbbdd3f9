// diff-process.ts: compares two releases in a separate process.
//
// in   one message: { dataDir, before, after }, with names of releases
// out  one message: { changes }, or { problem } if a release is unsound; files without a mark are verified first

import { messageOf, openVerified, ReleaseError } from "@inkling/release-store";
import { type ReleaseChanges, releaseChanges } from "./diff.ts";
import { answerOnce } from "./process.ts";

export interface ChangesAnswer {
  readonly changes?: ReleaseChanges;
  readonly problem?: string;
}

interface Question {
  readonly dataDir: string;
  readonly before: string;
  readonly after: string;
}

answerOnce(({ dataDir, before, after }: Question): ChangesAnswer => {
  try {
    return { changes: releaseChanges(openVerified(dataDir, before), openVerified(dataDir, after)) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return { problem: messageOf(error) };
  }
});
