// thread.ts: the entry point of the thread that follows releases (release-watcher.ts).

import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "@inkling/data";
import type { SourceOptions } from "./read-options.ts";
import { ReleaseWatcher, type Taken, type WatcherMessage } from "./release-watcher.ts";

const port = parentPort!; // this module always runs as a thread
const report = (message: WatcherMessage) =>
  port.postMessage(
    message,
    message.type === "release" ? [...message.segments.values()].map(({ buffer }) => buffer) : [],
  );
try {
  const watcher = new ReleaseWatcher(workerData as SourceOptions, report);
  port.on("message", (message: Taken | "stop") => {
    if (message === "stop") watcher.stop();
    else watcher.settle(message);
  });
  await watcher.run();
} catch (error) {
  const { hint } = error as { readonly hint?: string };
  report({ type: "refused", reason: messageOf(error), hint });
}
port.close();
