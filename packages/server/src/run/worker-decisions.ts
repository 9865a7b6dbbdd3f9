// worker-decisions.ts: receives decisions from workers, and counts the decisions that are lost when a worker is killed.
//
// A worker counts each decision in shared memory, which outlives the worker. Decisions that have not arrived when a
// worker exits count as lost. If they arrive from the worker's pipe later, they no longer count as lost.

import { rowBytes } from "@inkling/store/decisions/record";
import { answerQuestion, type FromCollector, type ToCollector } from "../decisions/collector.ts";
import type { DecisionRecorder } from "../decisions/recorder.ts";
import type { WorkerSlot } from "./messages.ts";

export class WorkerDecisions {
  /** Returns the number of decisions that the workers of a slot have counted. */
  private readonly countOf: (slot: WorkerSlot) => number;
  /** Number of decisions received from the running worker, by slot. */
  private readonly received = new Map<WorkerSlot, number>();
  /** Number of decisions counted by all workers that have exited, by slot. */
  private readonly counted = new Map<WorkerSlot, number>();
  private receivedOfEnded = 0;

  constructor(countOf: (slot: WorkerSlot) => number) {
    this.countOf = countOf;
  }

  /** @param isRunning false if the worker has exited in the meantime */
  take(
    slot: WorkerSlot,
    message: FromCollector,
    isRunning: boolean,
    recorder: DecisionRecorder,
    send: (reply: ToCollector) => void,
  ): void {
    if (message.type === "decision-question") {
      const { number, question } = message;
      void answerQuestion(recorder, question).then((reply) =>
        send({ type: "decision-reply", number, reply }),
      );
      return;
    }
    const { rows, dropped } = message;
    for (const row of rows) recorder.record(row);
    recorder.recordDropped(dropped);
    if (isRunning) this.received.set(slot, (this.received.get(slot) ?? 0) + rows.length);
    else this.receivedOfEnded += rows.length;
    const bytes = rows.reduce((sum, row) => sum + rowBytes(row), 0);
    send({ type: "decisions-taken", count: rows.length, bytes });
  }

  /** Called when the worker in this slot has exited. */
  end(slot: WorkerSlot): void {
    this.counted.set(slot, this.countOf(slot));
    this.receivedOfEnded += this.received.get(slot) ?? 0;
    this.received.delete(slot);
  }

  /** Number of decisions that were lost because a worker was killed. */
  get lost(): number {
    return [...this.counted.values()].reduce((sum, count) => sum + count, 0) - this.receivedOfEnded;
  }
}
