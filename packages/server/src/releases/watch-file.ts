// watch-file.ts: calls a function when a file is replaced.

import { type FSWatcher, watch } from "node:fs";
import { messageOf } from "@inkling/data";

/** @returns a function that ends the watch */
export function watchFile(
  folder: string,
  name: string,
  onChange: () => void,
  onFailed: (reason: string) => void,
): () => void {
  let watcher: FSWatcher | undefined;
  const fail = (error: unknown) => {
    watcher?.close();
    watcher = undefined;
    onFailed(messageOf(error));
  };
  try {
    // A rename replaces the file, so this function watches the folder. A database in the same folder causes a change
    // every second.
    watcher = watch(folder, { persistent: false }, (_, file) => {
      if (file === null || file === name) onChange();
    });
    watcher.on("error", fail);
  } catch (error) {
    fail(error);
  }
  return () => watcher?.close();
}
