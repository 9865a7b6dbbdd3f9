// preload-in-threads.ts: in a server program, preloads a module in threads, because Bun preloads only in the main
// thread.

/** @param below how many threads get the module, counted from the first one that this process starts */
export function preloadInThreads(module: string, below = Number.POSITIVE_INFINITY): void {
  const { Worker } = globalThis;
  let starts = 0;
  globalThis.Worker = class extends Worker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, starts++ < below ? { ...options, preload: [module] } : options);
    }
  };
}
