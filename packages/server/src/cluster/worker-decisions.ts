// worker-decisions.ts: takes the decisions that workers hand over, and counts those that a killed worker lost.
//
// A worker counts each decision in shared memory, which outlives it. What has not arrived when it has ended is lost; what
// arrives later, from its pipe, is not.

import { answerQuestion, type FromCollector, type ToCollector } from "../decisions/collector.ts";
import type { DecisionRecorder } from "../decisions/recorder.ts";
import type { WorkerSlot } from "./messages.ts";

export class WorkerDecisions {
  /** How many decisions the workers of a slot have counted. */
  private readonly countOf: (slot: WorkerSlot) => number;
  /** By slot: those that came from the worker that runs. */
  private readonly received = new Map<WorkerSlot, number>();
  /** By slot: those that all workers counted that have ended. */
  private readonly counted = new Map<WorkerSlot, number>();
  private receivedOfEnded = 0;

  constructor(countOf: (slot: WorkerSlot) => number) {
    this.countOf = countOf;
  }

  /** @param isRunning false: the worker has ended since */
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
    send({ type: "decisions-taken", count: rows.length });
  }

  /** The worker in this slot has ended. */
  end(slot: WorkerSlot): void {
    this.counted.set(slot, this.countOf(slot));
    this.receivedOfEnded += this.received.get(slot) ?? 0;
    this.received.delete(slot);
  }

  /** Decisions that workers had when they were killed. */
  get lost(): number {
    return [...this.counted.values()].reduce((sum, count) => sum + count, 0) - this.receivedOfEnded;
  }
}
