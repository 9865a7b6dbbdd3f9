// diff-worker.ts: compares two releases on a thread of its own, so that requests do not wait.
//
// in   one message: { dataDir, before, after }, names of releases
// out  one message: { changes }, or { problem } when one of them cannot be opened

import { messageOf, openRelease } from "@inkling/release-store";
import { type ReleaseChanges, releaseChanges } from "./diff.ts";

declare const self: Worker;

export interface ChangesAnswer {
  readonly changes?: ReleaseChanges;
  readonly problem?: string;
}

self.onmessage = ({ data }: MessageEvent<{ dataDir: string; before: string; after: string }>) => {
  const { dataDir, before, after } = data;
  let answer: ChangesAnswer;
  try {
    answer = { changes: releaseChanges(openRelease(dataDir, before), openRelease(dataDir, after)) };
  } catch (error) {
    answer = { problem: messageOf(error) };
  }
  self.postMessage(answer);
};
