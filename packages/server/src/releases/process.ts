// process.ts: runs one computation in a separate process. A truncated mapped file, or too little memory, may kill that
// process, but the caller survives and keeps answering.
//
// err  ProcessFailed: the process did not start, or exited without an answer. Neither shows that its input is wrong

/** Maximum milliseconds to wait, in case a disk never responds. */
const LIMIT_MS = 600_000;
const MAX_REASON = 300;

/** Environment variables of a process, without settings or credentials. */
export type ProcessEnvironment = Readonly<Record<string, string>>;

export class ProcessFailed extends Error {
  override readonly name = "ProcessFailed";
}

/**
 * Sends one message to a process and waits for its answer, after which the process exits (see {@link answerOnce}).
 * @throws ProcessFailed
 */
export async function runInProcess<T>(
  command: readonly string[],
  message: unknown,
  env: ProcessEnvironment,
  signal?: AbortSignal,
): Promise<T> {
  let answer: { readonly value: T } | undefined;
  try {
    const child = Bun.spawn([...command], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...env },
      serialization: "advanced",
      ipc: (received: { readonly value: T }) => {
        answer = received;
      },
      timeout: LIMIT_MS,
      killSignal: "SIGKILL",
      ...(signal && { signal }),
    });
    child.send(message);
    const [complaint] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    if (answer !== undefined) return answer.value;
    const how = child.signalCode === null ? `exit code ${child.exitCode}` : child.signalCode;
    const first = complaint.split("\n").find((line) => /error|panic/i.test(line)) ?? "";
    throw new ProcessFailed(`its process ended: ${how} ${first}`.trim().slice(0, MAX_REASON));
  } catch (error) {
    if (error instanceof ProcessFailed) throw error;
    throw new ProcessFailed(`its process could not start: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * Runs in the started process: answers its only message, then exits. If `compute` throws, the process prints the error
 * to standard error and exits.
 */
export function answerOnce<Message, T>(compute: (message: Message) => T): void {
  process.on("message", (message: Message) => {
    const value = compute(message);
    process.send!({ value }, undefined, undefined, () => process.exit(0)); // the parent has opened a channel
  });
}
