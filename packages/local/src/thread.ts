// thread.ts: the entry point of the thread in which releases are kept up with (keeper.ts).
//
// in   SourceOptions as workerData; Taken, or "stop"
// out  KeeperMessage; the bytes of segments are moved, not copied

import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "@inkling/release-store";
import { Keeper, type KeeperMessage, type Taken } from "./keeper.ts";
import type { SourceOptions } from "./read-options.ts";

const port = parentPort!; // it is started as a thread
const report = (message: KeeperMessage) =>
  port.postMessage(
    message,
    message.type === "release" ? [...message.segments.values()].map(({ buffer }) => buffer) : [],
  );
try {
  const keeper = new Keeper(workerData as SourceOptions, report);
  port.on("message", (message: Taken | "stop") => {
    if (message === "stop") keeper.stop();
    else keeper.settle(message);
  });
  await keeper.run();
} catch (error) {
  const { hint } = error as { readonly hint?: string };
  report({ type: "refused", reason: messageOf(error), hint });
}
port.close();
