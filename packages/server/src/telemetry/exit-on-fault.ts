// exit-on-fault.ts: reports an uncaught error, and ends the thread, or the process if it is the main thread, with code
// 1.
//
// After an uncaught error, the thread's objects may be inconsistent. The primary replaces a worker, and the service
// manager restarts the process.

type Report = (error: unknown) => void;

let report: Report | undefined;

/** @param next replaces the previous report function */
export function exitOnFault(next: Report): void {
  const isFirst = report === undefined;
  report = next;
  if (!isFirst) return;
  const end = (error: unknown) => {
    try {
      report?.(error);
    } finally {
      process.exit(1);
    }
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}
