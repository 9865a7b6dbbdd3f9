// process.ts: one computation in its own process: what it touches may kill it (a mapped file that is cut short, too
// little memory), and the caller lives on and answers meanwhile.
//
// err  ProcessFailed: it ended without an answer; that says nothing about its input

/** For a disk that never answers. */
const LIMIT_MS = 600_000;
const MAX_REASON = 300;

/** Variables of a process: no setting, and no credential. */
export type ProcessEnvironment = Readonly<Record<string, string>>;

export class ProcessFailed extends Error {
  override readonly name = "ProcessFailed";
}

/**
 * Sends one message to a process, which ends with its answer (see {@link answerOnce}).
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
    throw new ProcessFailed(`its process did not start: ${error instanceof Error ? error.message : error}`);
  }
}

/** In the process: answers the one message, then ends. What `compute` throws is written to standard error. */
export function answerOnce<Message, T>(compute: (message: Message) => T): void {
  process.on("message", (message: Message) => {
    const value = compute(message);
    process.send!({ value }, undefined, undefined, () => process.exit(0)); // there is a channel
  });
}
