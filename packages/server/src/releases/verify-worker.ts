// verify-worker.ts: reads a whole release on a thread of its own, so that requests do not wait.
//
// in   one message: { dataDir, name }
// out  one message: undefined when the release is sound, otherwise why it is not

import { messageOf, verifyRelease } from "@inkling/release-store";

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<{ dataDir: string; name: string }>) => {
  let refusal: string | undefined;
  try {
    verifyRelease(data.dataDir, data.name);
  } catch (error) {
    refusal = messageOf(error);
  }
  self.postMessage(refusal);
};
