// pool.ts: threads that enrich blocks. Each thread maps the release, and all threads share its pages in memory.

import { threadModule } from "@inkling/data/program";
import { addTally, type Enriched, type Enricher, emptyTally, type Tally } from "./enricher.ts";
import { makeEnricher, type Reply, type Start, type Task } from "./worker.ts";

export interface Pool {
  /** Number of blocks that can be processed at the same time. */
  readonly size: number;
  block(bytes: Uint8Array<ArrayBuffer>, isFirst: boolean): Promise<Enriched>;
  /** Number of rows done so far. */
  readonly rows: number;
  finish(): Promise<Tally>;
  /** Stops the threads. */
  stop(): void;
}

/** Works without threads, for files that are finished before a thread would have started. */
export class OwnThread implements Pool {
  readonly size = 1;
  private readonly enricher: Enricher;

  constructor(start: Start) {
    this.enricher = makeEnricher(start);
  }

  async block(bytes: Uint8Array, isFirst: boolean): Promise<Enriched> {
    return this.enricher.block(bytes, isFirst);
  }

  get rows(): number {
    return this.enricher.counted.rows;
  }

  async finish(): Promise<Tally> {
    return this.enricher.tally();
  }

  stop(): void {}
}

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

class Thread {
  rows = 0;
  /** Pending tasks, in the order in which the replies arrive. */
  readonly waiting: Waiting[] = [];
  readonly worker: Worker;
  /** The error of a failed worker. A worker that cannot open the release fails before its first task. */
  private failed: Error | undefined;

  constructor(start: Start) {
    this.worker = new Worker(threadModule("enrich"), { smol: true });
    this.worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (data.type === "block") this.rows = data.rows;
      this.waiting.shift()?.resolve(data);
    };
    this.worker.onerror = (event) => {
      this.failed = new Error(event.message);
      for (const { reject } of this.waiting.splice(0)) reject(this.failed);
    };
    this.worker.postMessage({ type: "start", ...start } satisfies Task);
  }

  send(task: Task, transfer: ArrayBuffer[] = []): Promise<Reply> {
    if (this.failed !== undefined) return Promise.reject(this.failed);
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.worker.postMessage(task, transfer);
    });
  }
}

export class Threads implements Pool {
  private readonly threads: readonly Thread[];

  constructor(count: number, start: Start) {
    this.threads = Array.from({ length: count }, () => new Thread(start));
  }

  get size(): number {
    return this.threads.length;
  }

  get rows(): number {
    return this.threads.reduce((sum, { rows }) => sum + rows, 0);
  }

  async block(bytes: Uint8Array<ArrayBuffer>, isFirst: boolean): Promise<Enriched> {
    const idlest = this.threads.reduce((a, b) => (b.waiting.length < a.waiting.length ? b : a));
    const reply = await idlest.send({ type: "block", bytes, isFirst }, [bytes.buffer]);
    if (reply.type !== "block") throw new Error("a thread replied to another task");
    return reply;
  }

  async finish(): Promise<Tally> {
    const total = emptyTally();
    for (const thread of this.threads) {
      const reply = await thread.send({ type: "finish" });
      if (reply.type === "finish") addTally(total, reply.tally);
    }
    return total;
  }

  stop(): void {
    for (const { worker } of this.threads) worker.terminate();
  }
}
