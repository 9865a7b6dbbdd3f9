// load-once.ts: what is loaded with its first use, and then kept.

/** The same value at each call, loaded with the first one, and by the next one again where that failed. */
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
