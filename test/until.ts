// until.ts: waits for what comes by itself; the test's own time limit ends it otherwise.

/** @param isSo the condition, or a promise of it */
export async function until(isSo: () => unknown): Promise<void> {
  while (!(await isSo())) await Bun.sleep(5);
}
