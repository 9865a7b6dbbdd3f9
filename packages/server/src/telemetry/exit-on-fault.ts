// exit-on-fault.ts: reports an uncaught error, and exits the process with code 1.
//
// After an uncaught error, the process's memory may be inconsistent. The service manager or the primary, whichever
// started the process, starts a new one.

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
