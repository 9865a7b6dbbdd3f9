/**
 * Returns the result of `work` or, if it takes longer than `ms` milliseconds, the result of `late`, which may throw.
 * In the second case, the work continues, and its failure is ignored.
 */
export async function within<Work, Late>(
  ms: number,
  work: Promise<Work>,
  late: () => Late,
): Promise<Work | Late> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([work, over.then(late)]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}
