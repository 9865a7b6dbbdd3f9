// diff-process.ts: compares two releases in a process of its own.
//
// in   one message: { dataDir, before, after }, names of releases
// out  one message: { changes }, or { problem } when one of them cannot be opened

import { messageOf, openRelease, ReleaseError } from "@inkling/release-store";
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
    return { changes: releaseChanges(openRelease(dataDir, before), openRelease(dataDir, after)) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return { problem: messageOf(error) };
  }
});
