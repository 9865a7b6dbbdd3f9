// until.ts: waits for a condition. If it never holds, the test's own time limit ends the wait.

/**
 * Waits until a condition holds. Checks again after a tenth of the wait so far, because each check takes processor time
 * from the program.
 * @param isSo returns the condition, or a promise of it
 */
export async function until(isSo: () => unknown): Promise<void> {
  const start = performance.now();
  while (!(await isSo())) await Bun.sleep(Math.min(100, Math.max(5, (performance.now() - start) / 10)));
}
