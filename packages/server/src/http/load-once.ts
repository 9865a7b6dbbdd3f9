// load-once.ts: loads a value at its first use, and keeps it.

/**
 * Returns a function that loads a value with its first call and returns the same value afterwards. If loading failed,
 * the next call retries.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}
