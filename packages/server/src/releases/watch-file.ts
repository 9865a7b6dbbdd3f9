// watch-file.ts: notices of a file that is replaced.
//
// err  what cannot be watched, or no longer, is told once

import { type FSWatcher, watch } from "node:fs";
import { messageOf } from "@inkling/release-store";

/** @returns ends the watch */
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
    // The file is replaced by rename, so its folder is watched; a database beside it changes every second.
    watcher = watch(folder, { persistent: false }, (_, file) => {
      if (file === null || file === name) onChange();
    });
    watcher.on("error", fail);
  } catch (error) {
    fail(error);
  }
  return () => watcher?.close();
}
