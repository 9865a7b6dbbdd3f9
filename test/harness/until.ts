// until.ts: waits for what comes by itself; the test's own time limit ends it otherwise.

/**
 * Asks again after a tenth of the wait so far: asking takes processor time from what is waited for.
 * @param isSo the condition, or a promise of it
 */
export async function until(isSo: () => unknown): Promise<void> {
  const start = performance.now();
  while (!(await isSo())) await Bun.sleep(Math.min(100, Math.max(5, (performance.now() - start) / 10)));
}
