// asked.ts: a program that looks things up when it is told to (peers/asked.mjs, peers/libmaxminddb.c), from this side.
//
// err  Error when the program ends before its answer

import { pinned, SERVER_CORE } from "./proc.ts";

export interface Pass {
  /** Nanoseconds for each value: the mean of each block. */
  readonly blocks: readonly number[];
  /** Nanoseconds for each value: the mean of the pass. */
  readonly mean: number;
  /** How many values were found. */
  readonly found: number;
}

export class AskedProgram {
  readonly version: string;
  private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  private readonly lines: AsyncIterator<string>;

  private constructor(
    child: Bun.Subprocess<"pipe", "pipe", "inherit">,
    lines: AsyncIterator<string>,
    version: string,
  ) {
    this.child = child;
    this.lines = lines;
    this.version = version;
  }

  /** Starts it on the server's core and waits until it has read what it needs. */
  static async start(command: readonly string[], cwd: string): Promise<AskedProgram> {
    const child = Bun.spawn(pinned(SERVER_CORE, command), {
      cwd,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const lines = linesOf(child.stdout)[Symbol.asyncIterator]();
    const first = await lines.next();
    const version = /^ready (.*)/.exec(first.value ?? "")?.[1];
    if (version === undefined) {
      child.kill();
      throw new Error(`${command.join(" ")} ended with ${await child.exited}`);
    }
    return new AskedProgram(child, lines, version);
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Asks the first `count` values, in one of its ways. */
  async ask(way: string, count: number, block: number): Promise<Pass> {
    this.child.stdin.write(`${way} ${count} ${block}\n`);
    await this.child.stdin.flush();
    const answer = await this.lines.next();
    if (answer.done) throw new Error(`a peer ended with ${await this.child.exited} instead of an answer`);
    const figures: number[] = JSON.parse(answer.value);
    const found = figures.pop()!;
    return { blocks: figures, mean: figures.reduce((a, b) => a + b, 0) / figures.length, found };
  }

  async stop(): Promise<void> {
    await this.child.stdin.end();
    this.child.kill();
    await this.child.exited;
  }
}

export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== "") yield rest;
}
