// worker-totals.ts: adds up the counts that workers report. The sums include workers that have exited, so that no
// counter decreases when a worker is replaced.

import { MxCounts } from "../mx/counts.ts";
import type { MetricsSource } from "../telemetry/metric-readers.ts";
import type { WorkerReport, WorkerSlot } from "./messages.ts";

export class WorkerTotals {
  private readonly reports = new Map<WorkerSlot, WorkerReport>();
  private readonly endedMx = new MxCounts();
  private readonly ended = { cpuSeconds: 0 };

  take(slot: WorkerSlot, report: WorkerReport): void {
    this.reports.set(slot, report);
  }

  /** Called when the worker in this slot has exited. Its last report is final. */
  end(slot: WorkerSlot): void {
    const report = this.reports.get(slot);
    if (report === undefined) return;
    this.endedMx.add(report.mx);
    this.ended.cpuSeconds += report.cpuSeconds;
    this.reports.delete(slot);
  }

  get mx(): MxCounts {
    const mx = new MxCounts();
    mx.add(this.endedMx.report);
    for (const report of this.reports.values()) mx.add(report.mx);
    const state = {
      underWay: this.sum((report) => report.mx.state.underWay),
      waiting: this.sum((report) => report.mx.state.waiting),
      cached: this.sum((report) => report.mx.state.cached),
    };
    mx.readStateFrom(() => state);
    return mx;
  }

  get processes(): MetricsSource["processes"] {
    return {
      cpuSeconds: this.ended.cpuSeconds + this.sum(({ cpuSeconds }) => cpuSeconds),
      residentBytes: this.sum(({ residentBytes }) => residentBytes),
    };
  }

  private sum(read: (report: WorkerReport) => number): number {
    let total = 0;
    for (const report of this.reports.values()) total += read(report);
    return total;
  }
}
