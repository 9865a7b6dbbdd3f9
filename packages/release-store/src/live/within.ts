/**
 * What `work` gives, or, once the time is over, what `late` gives or throws. The work continues then; should it fail, that
 * is nobody's error.
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
