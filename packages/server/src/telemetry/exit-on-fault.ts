// exit-on-fault.ts: what happens with an error that nothing caught: it is reported, and the process ends with 1.
//
// why  What the process has in memory may be wrong; whoever started it (a service manager, the primary) starts another.

type Report = (error: unknown) => void;

let report: Report | undefined;

/** @param next replaces the report that was given before */
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
