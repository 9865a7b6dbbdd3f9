// report.mjs: what `npm test` prints: progress, failures, what was skipped, the sum.

const FAILURES_SHOWN = 40;
const MESSAGE_LINES = 25;
/** Of each job in a log, at once: a run that is ended before its report, or whose log is cut, still says why. */
const FIRST_FAILURES = 3;
const SKIPS_SHOWN = 40;
const SKIP_COLUMNS = 160;

/** "12 passed, 0 failed" and ", 3 skipped" where there are any. */
export function summary({ passed, failures, skipped }) {
  const sum = `${passed} passed, ${failures.length} failed`;
  return skipped.length > 0 ? `${sum}, ${skipped.length} skipped` : sum;
}

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

function failureLines({ file, name, message }) {
  const shown = message.split("\n").slice(0, MESSAGE_LINES);
  return [`FAILED ${file ? `${file}: ` : ""}${name}`, ...shown.map((line) => `    ${line}`)];
}

/** On a terminal one line that is updated; otherwise a line for each job that ended, and why it failed. */
export function makeProgress(out, jobs) {
  const running = new Set();
  const from = performance.now();
  const total = { ended: 0, passed: 0, failed: 0 };
  const show = () => {
    const sum = `${total.passed} passed, ${total.failed} failed`;
    const line = `${total.ended}/${jobs} ${sum}, ${seconds(performance.now() - from)}: ${[...running].join(", ")}`;
    out.write(`\r\x1b[K${line.slice(0, (out.columns ?? 80) - 1)}`);
  };
  const timer = out.isTTY ? setInterval(show, 250) : undefined;
  return {
    begin: (name) => void running.add(name),
    end(name, results, ms) {
      running.delete(name);
      total.ended++;
      total.passed += results.passed;
      total.failed += results.failures.length;
      const failed = results.failures.length > 0;
      if (out.isTTY && !failed) return;
      const clear = out.isTTY ? "\r\x1b[K" : "";
      out.write(
        `${clear}${failed ? "FAILED" : "ok    "} ${seconds(ms).padStart(7)} ${name}: ${summary(results)}\n`,
      );
      if (out.isTTY) return;
      for (const failure of results.failures.slice(0, FIRST_FAILURES))
        out.write(`${failureLines(failure).join("\n")}\n`);
    },
    close() {
      clearInterval(timer);
      if (out.isTTY) out.write("\r\x1b[K");
    },
  };
}

/** Failures with the command that runs each file alone, then what was skipped, then the sum as the last line. */
export function report({ passed, failures, skipped }) {
  const lines = [];
  for (const failure of failures.slice(0, FAILURES_SHOWN)) {
    lines.push("", ...failureLines(failure));
    if (failure.file) lines.push(`    run it alone: npm test -- ${failure.file}`);
  }
  if (failures.length > FAILURES_SHOWN)
    lines.push("", `and ${failures.length - FAILURES_SHOWN} more failures`);
  if (skipped.length > 0) lines.push("");
  for (const name of skipped.slice(0, SKIPS_SHOWN)) lines.push(`skipped: ${name}`.slice(0, SKIP_COLUMNS));
  if (skipped.length > SKIPS_SHOWN) lines.push(`skipped: ${skipped.length - SKIPS_SHOWN} more`);
  return `${[...lines, summary({ passed, failures, skipped })].join("\n")}\n`;
}
