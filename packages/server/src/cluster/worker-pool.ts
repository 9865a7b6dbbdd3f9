// worker-pool.ts: the workers: started, told what they need to know, and replaced when they end.
//
// in   how many, what they are told; the program that runs them
// out  how they are; what they counted, together with what those before them counted
// err  onFailed where a worker says that another try would not help; all other ends are logged, with exit code or signal

import { StartError } from "../http/start-error.ts";
import { MxCounts } from "../mx/counts.ts";
import type { Log } from "../telemetry/log.ts";
import type { FromWorker, ToWorker, WorkerOptions, WorkerReport } from "./messages.ts";
import type { StandbyWorker } from "./standby.ts";
import { startWorkerProcess, type WorkerEvents, type WorkerProcess } from "./worker-process.ts";

export interface CrewOptions {
  readonly workers: number;
  /** Inherited as WORKER_DESCRIPTOR. */
  readonly descriptor: number;
  /** A process that shares that memory, and has begun to load: the first worker. */
  readonly standby: StandbyWorker | undefined;
  readonly optionsOf: (worker: number) => WorkerOptions;
  /** What a worker has to know before it listens, and whenever it changed: as it is now. */
  readonly news: Readonly<Record<News, () => ToWorker>>;
  /** Every worker has taken over this change of keys. */
  readonly onKeysTaken: (change: number) => void;
  readonly log: Pick<Log, "info" | "error">;
}

export const NEWS = ["release", "overrides", "keys"] as const;
export type News = (typeof NEWS)[number];

export const WORKER_STATES = ["starting", "serving", "waiting"] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

/** A worker that lived so long was not a failure of starting. */
const SETTLED_MS = 10_000;
const FIRST_WAIT_MS = 200;
const MOST_WAIT_MS = 10_000;
/** A worker reports each second; one that is silent for so many is stuck. */
const MOST_SILENT_SECONDS = 30;
const REPORT_WAIT_MS = 500;
/** Workers drain for 10 s at most. */
const STOP_MS = 12_000;

interface Place {
  readonly worker: number;
  state: WorkerState;
  child: WorkerProcess | undefined;
  startedAt: number;
  /** Ends in a row that came soon after the start. */
  failures: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  report: WorkerReport | undefined;
  silentSeconds: number;
  keysTaken: number;
}

export class Crew {
  /** Workers that were started in place of another. */
  restarts = 0;
  private readonly options: CrewOptions;
  private readonly places: Place[];
  private readonly goneMx = new MxCounts();
  private gone = { cpuSeconds: 0, refused: 0 };
  private isToldAll = false;
  private isStopping = false;
  private waiting: { onReport: Set<(place: Place) => void> } = { onReport: new Set() };
  private readonly ticker: ReturnType<typeof setInterval>;
  private readonly started = Promise.withResolvers<void>();

  /** Starts the workers; they listen once they are told all. */
  constructor(options: CrewOptions) {
    this.options = options;
    this.places = Array.from({ length: options.workers }, (_, worker) => ({
      worker,
      state: "starting",
      child: undefined,
      startedAt: 0,
      failures: 0,
      timer: undefined,
      report: undefined,
      silentSeconds: 0,
      keysTaken: 0,
    }));
    this.started.promise.catch(() => {}); // whoever waits hears of it
    this.start(this.places[0]!); // the first answer comes sooner when the others wait for it: after 152 ms, not 237, on 2 cores
    this.ticker = setInterval(() => this.tick(), 1_000);
    this.ticker.unref();
  }

  /**
   * Tells the workers all there is, and lets them listen.
   * @throws StartError when one of them cannot
   */
  async listen(): Promise<void> {
    this.isToldAll = true;
    for (const place of this.places) this.tellAll(place);
    await this.started.promise;
  }

  /** Tells every worker what has changed, also those that have not begun to listen. */
  tell(news: News): void {
    if (!this.isToldAll) return; // they will be told all
    const message = this.options.news[news]();
    for (const place of this.places) this.send(place, message);
  }

  /** Asks all for their numbers; those that do not answer soon keep the last ones. */
  async refresh(): Promise<void> {
    const asked = new Set(this.places.filter((place) => place.state === "serving"));
    if (asked.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const onReport = (place: Place) => {
      asked.delete(place);
      if (asked.size === 0) resolve();
    };
    this.waiting.onReport.add(onReport);
    for (const place of asked) this.send(place, { type: "report" });
    const timer = setTimeout(resolve, REPORT_WAIT_MS);
    await promise;
    clearTimeout(timer);
    this.waiting.onReport.delete(onReport);
  }

  /** How many workers are in which state. */
  get states(): ReadonlyMap<WorkerState, number> {
    return new Map(
      WORKER_STATES.map((state) => [state, this.places.filter((place) => place.state === state).length]),
    );
  }

  /** Numbers of all workers, those that have ended included where they only grow. */
  get totals() {
    const reports = this.places.flatMap(({ report }) => (report === undefined ? [] : [report]));
    const sum = (of: (report: WorkerReport) => number) =>
      reports.reduce((total, report) => total + of(report), 0);
    const mx = new MxCounts();
    mx.add(this.goneMx.report);
    for (const report of reports) mx.add(report.mx);
    mx.readStateFrom(() => ({
      underWay: sum((report) => report.mx.state.underWay),
      waiting: sum((report) => report.mx.state.waiting),
      cached: sum((report) => report.mx.state.cached),
    }));
    const isTold = reports.some(({ connections }) => connections.open !== undefined);
    return {
      mx,
      cpuSeconds: this.gone.cpuSeconds + sum((report) => report.cpuSeconds),
      residentBytes: sum((report) => report.residentBytes),
      connections: {
        open: isTold ? sum((report) => report.connections.open ?? 0) : undefined,
        refused: this.gone.refused + sum((report) => report.connections.refused),
        most: reports[0]?.connections.most,
      },
    };
  }

  /** Lets the workers finish, and ends those that do not. */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearInterval(this.ticker);
    const ended: Promise<unknown>[] = [];
    for (const place of this.places) {
      clearTimeout(place.timer);
      if (place.child === undefined) continue;
      ended.push(place.child.exited);
      this.send(place, { type: "stop" });
    }
    const late = setTimeout(() => this.kill(), STOP_MS);
    await Promise.all(ended);
    clearTimeout(late);
  }

  /** Ends all workers at once. */
  kill(): void {
    this.isStopping = true;
    clearInterval(this.ticker);
    for (const { child, timer } of this.places) {
      clearTimeout(timer);
      child?.kill("SIGKILL");
    }
  }

  private start(place: Place): void {
    const { worker } = place;
    place.state = "starting";
    place.startedAt = performance.now();
    place.silentSeconds = 0;
    place.keysTaken = 0;
    const { descriptor, standby } = this.options;
    const events: WorkerEvents = {
      message: (message) => {
        if (place.child === child) this.hear(place, message);
      },
      ended: (code, signal) => this.ended(place, child, code, signal),
    };
    const child = standby?.take(events) ?? startWorkerProcess(descriptor, events);
    place.child = child;
    this.send(place, { type: "options", options: this.options.optionsOf(worker) });
    if (this.isToldAll) this.tellAll(place);
  }

  private startOthers(): void {
    for (const place of this.places) if (place.startedAt === 0 && !this.isStopping) this.start(place);
  }

  private tellAll(place: Place): void {
    for (const news of NEWS) this.send(place, this.options.news[news]());
    this.send(place, { type: "listen" });
  }

  private send({ child }: Place, message: ToWorker): void {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    try {
      child.send(message);
    } catch {
      // it has just ended: `ended` is about to be called, and the next one will be told all
    }
  }

  private hear(place: Place, message: FromWorker): void {
    switch (message.type) {
      case "listening":
        place.state = "serving";
        this.startOthers();
        this.options.log.info("worker-listening", { worker: place.worker, pid: place.child?.pid });
        if (this.places.every(({ state }) => state === "serving")) this.started.resolve();
        return;
      case "keys":
        place.keysTaken = message.change;
        this.settleKeys();
        return;
      case "report":
        place.report = message.report;
        place.silentSeconds = 0;
        for (const onReport of this.waiting.onReport) onReport(place);
        return;
      case "failed":
        this.options.log.error("worker-failed", { worker: place.worker, reason: message.message });
        this.started.reject(new StartError(message.code, message.message, message.hint));
        place.child?.kill("SIGKILL");
    }
  }

  private settleKeys(): void {
    const live = this.places.filter(({ child }) => child !== undefined);
    this.options.onKeysTaken(Math.min(...live.map(({ keysTaken }) => keysTaken)));
  }

  private ended(
    place: Place,
    child: WorkerProcess,
    code: number | null,
    signal: number | string | null,
  ): void {
    if (place.child !== child) return;
    this.startOthers();
    place.child = undefined;
    place.state = "waiting";
    const { worker, report } = place;
    if (report !== undefined) {
      this.goneMx.add(report.mx);
      this.gone.cpuSeconds += report.cpuSeconds;
      this.gone.refused += report.connections.refused;
      place.report = undefined;
    }
    for (const onReport of this.waiting.onReport) onReport(place);
    if (this.isStopping) return;
    const livedMs = performance.now() - place.startedAt;
    place.failures = livedMs < SETTLED_MS ? place.failures + 1 : 1;
    const waitMs =
      place.failures <= 1 ? 0 : Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** (place.failures - 2));
    const fields = {
      worker,
      pid: child.pid,
      ...(signal === null ? { exit_code: code } : { signal: child.signalCode ?? signal }),
      lived_seconds: Math.round(livedMs / 100) / 10,
      next_in_ms: waitMs,
    };
    if (code === 0) this.options.log.info("worker-ended", fields);
    else this.options.log.error("worker-died", fields);
    place.timer = setTimeout(() => {
      this.restarts++;
      this.start(place);
    }, waitMs);
  }

  /** Once a second: a worker that says nothing for long is stuck, and nobody can tell why; it is replaced. */
  private tick(): void {
    for (const place of this.places) {
      if (place.child === undefined) continue;
      place.silentSeconds++; // counted, not measured: when this machine slept, nobody was silent
      if (place.silentSeconds <= MOST_SILENT_SECONDS) continue;
      this.options.log.error("worker-stuck", { worker: place.worker, pid: place.child.pid });
      place.child.kill("SIGKILL");
      place.silentSeconds = 0;
    }
  }
}
