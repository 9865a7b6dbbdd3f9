// thread.ts: one computation on a thread of its own, so that requests do not wait.

/**
 * Sends one message to a worker module; the thread ends with its answer.
 * @throws Error when the thread fails
 */
export function runInThread<T>(module: URL, message: unknown): Promise<T> {
  const worker = new Worker(module.href, { smol: true });
  const answer = new Promise<T>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<T>) => resolve(data);
    worker.onerror = ({ message: reason }) => reject(new Error(reason));
  });
  worker.postMessage(message);
  return answer.finally(() => worker.terminate());
}
