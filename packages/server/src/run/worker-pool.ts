// worker-pool.ts: runs a server with several threads. It starts workers to answer requests, keeps them up to date, and
// replaces a worker that has ended.
//
// A worker ends if it throws an error that nothing catches, or if it is stuck. Only its own requests are lost. A crash
// of the runtime ends the whole server, which its supervisor restarts.

import { settingsOf } from "@inkling/contract";
import { backoffMs, within } from "@inkling/data";
import { threadModule } from "@inkling/data/program";
import { CHANGES, type Change, type Foundation, type Services, type Serving } from "../admin/services.ts";
import { answerQuestion, type FromCollector } from "../decisions/collector.ts";
import type { ClaimedPort } from "../http/start-error.ts";
import { StartError } from "../http/start-error.ts";
import { VISITOR_COUNTS_BYTES } from "../limits/visitor-counts.ts";
import { COUNTS_BYTES, Counts } from "../telemetry/counts.ts";
import { changeMessage, type FromWorker, type KnownMemory, type ToWorker } from "./messages.ts";

const WORKER_STATES = ["starting", "serving", "waiting"] as const;
type WorkerState = (typeof WORKER_STATES)[number];

/** A worker that ran for this many milliseconds counts as started. */
const SETTLED_MS = 10_000;
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 1_000;
/** A worker that has not reported for this many seconds counts as stuck. Workers report every second. */
const MAX_SILENT_SECONDS = 30;
/** Milliseconds to wait for workers to stop. They drain for at most 10 s. */
const STOP_MS = 12_000;

/** One worker slot: its current worker, or the wait for the next one. */
class Member {
  readonly slot: number;
  readonly counts = new SharedArrayBuffer(COUNTS_BYTES);
  state: WorkerState = "waiting";
  thread: Worker | undefined;
  ended: Promise<void> = Promise.resolve();
  startedAt: number | undefined;
  /** Number of consecutive failures soon after a start. */
  failures = 0;
  timer: ReturnType<typeof setTimeout> | undefined;
  silentSeconds = 0;
  known: KnownMemory = { table: undefined, blocks: 0 };
  /** The latest change of keys that the worker uses. */
  keysChange = 0;

  constructor(slot: number) {
    this.slot = slot;
  }

  /**
   * @param ended resolves when the thread has ended
   * @param blocks how many blocks of cells it has from the start
   */
  begin(thread: Worker, ended: Promise<void>, blocks: number): void {
    this.thread = thread;
    this.ended = ended;
    this.state = "starting";
    this.startedAt = performance.now();
    this.silentSeconds = 0;
    this.known = { table: undefined, blocks };
    this.keysChange = 0;
  }

  send(message: ToWorker): void {
    this.thread?.postMessage(message);
  }
}

export class WorkerPool implements Serving {
  counts = new Counts();
  isDraining = false;
  private restarts = 0;
  private readonly visits = new SharedArrayBuffer(VISITOR_COUNTS_BYTES);
  private readonly visitorKey = crypto.getRandomValues(new Uint8Array(32));
  private readonly foundation: Foundation;
  private readonly port: ClaimedPort;
  private readonly members: readonly Member[];
  /** Set once the workers may listen. */
  private services: Services | undefined;
  private isStopping = false;
  private readonly ticker: ReturnType<typeof setInterval>;
  private readonly started = Promise.withResolvers<void>();

  /**
   * Starts the first worker, which loads its code in parallel with this thread. The other workers start when it
   * listens.
   */
  constructor(foundation: Foundation, port: ClaimedPort) {
    this.foundation = foundation;
    this.port = port;
    this.members = Array.from({ length: foundation.settings.workers }, (_, slot) => new Member(slot));
    this.started.promise.catch(() => {}); // `listen` rejects with this error
    this.start(this.members[0]!);
    this.ticker = setInterval(() => this.tick(), 1_000);
    this.ticker.unref();
  }

  async listen(services: Services): Promise<number> {
    this.services = services;
    for (const member of this.members) this.sendAll(member, services);
    await this.started.promise;
    return this.port.port;
  }

  publish(change: Change): void {
    if (this.services === undefined) return;
    for (const member of this.members) this.sendChange(member, change, this.services);
  }

  refresh(): void {
    this.counts = Counts.sum(this.members.map(({ counts }) => new Counts(counts)));
  }

  get workers() {
    const count = (wanted: WorkerState) => this.members.filter(({ state }) => state === wanted).length;
    return { states: new Map(WORKER_STATES.map((state) => [state, count(state)])), restarts: this.restarts };
  }

  drain(): void {
    this.isDraining = true;
    for (const member of this.members) member.send({ type: "drain" });
  }

  async stop(): Promise<void> {
    this.startNoMore();
    for (const member of this.members) member.send({ type: "stop" });
    await within(STOP_MS, Promise.all(this.members.map(({ ended }) => ended)), () => {});
    this.kill();
  }

  kill(): void {
    this.startNoMore();
    for (const { thread } of this.members) thread?.terminate();
    this.port.release();
  }

  private startNoMore(): void {
    this.isStopping = true;
    clearInterval(this.ticker);
    for (const { timer } of this.members) clearTimeout(timer);
  }

  private start(member: Member): void {
    const { settings, version, memoryKeys, cells } = this.foundation;
    const { slot, counts } = member;
    const thread = new Worker(threadModule("worker"));
    const { promise, resolve } = Promise.withResolvers<void>();
    let reason: string | undefined;
    thread.onmessage = ({ data }: MessageEvent<FromWorker>) => this.take(member, data);
    thread.onerror = (event) => {
      reason = event.message; // the worker's module did not load
    };
    thread.addEventListener("close", () => {
      this.replace(member, reason);
      resolve();
    });
    thread.unref();
    member.begin(thread, promise, cells.shared.blocks.length);
    member.send({
      type: "start",
      start: {
        settings: { ...settingsOf(settings, "worker"), port: this.port.port },
        version,
        slot,
        counts,
        cells: cells.shared,
        visits: this.visits,
        visitorKey: this.visitorKey,
        memoryKeys,
      },
    });
    if (this.services !== undefined) this.sendAll(member, this.services);
  }

  /** When all workers started at the same time on 2 cores, the first answer came after 237 ms instead of 152 ms. */
  private startOthers(): void {
    if (this.isStopping) return;
    for (const member of this.members) if (member.startedAt === undefined) this.start(member);
  }

  private sendAll(member: Member, services: Services): void {
    for (const change of CHANGES) this.sendChange(member, change, services);
    if (this.isDraining) member.send({ type: "drain" });
    member.send({ type: "listen" });
  }

  private sendChange(member: Member, change: Change, services: Services): void {
    if (member.thread === undefined) return;
    const { cells, keyring } = services;
    member.send(changeMessage(change, services, member.known));
    if (change === "keys") member.known = { table: keyring.table.memory, blocks: cells.shared.blocks.length };
  }

  private take(member: Member, message: FromWorker): void {
    const { log } = this.foundation;
    switch (message.type) {
      case "listening":
        member.state = "serving";
        this.startOthers();
        log.info("worker-listening", { worker: member.slot });
        if (this.members.every(({ state }) => state === "serving")) this.started.resolve();
        return;
      case "alive":
        member.silentSeconds = 0;
        return;
      case "keys":
        member.keysChange = message.change;
        this.settleKeys();
        return;
      case "release-failed":
        // the release's files may have changed; if so, all workers change to a different release
        void this.services?.releases.check();
        return;
      case "failed":
        log.error("worker-failed", { worker: member.slot, reason: message.message });
        this.started.reject(new StartError(message.code, message.message, message.hint));
        member.thread?.terminate();
        return;
      case "decisions":
      case "decision-question":
        this.takeDecisions(member, message);
    }
  }

  private takeDecisions(member: Member, message: FromCollector): void {
    const { decisions } = this.services!; // workers answer requests only after the services are set
    if (message.type === "decision-question") {
      const { number, question } = message;
      void answerQuestion(decisions, question).then((reply) =>
        member.send({ type: "decision-reply", number, reply }),
      );
      return;
    }
    for (const row of message.rows) decisions.record(row);
    decisions.recordDropped(message.dropped);
    member.send({ type: "decisions-taken", count: message.rows.length, bytes: message.bytes });
  }

  private settleKeys(): void {
    const changes = this.members.filter(({ thread }) => thread).map(({ keysChange }) => keysChange);
    this.services?.keyCells.settle(Math.min(...changes), this.services.usage, Date.now());
  }

  /** Called when a worker has ended. A new worker replaces it, immediately or after a wait. */
  private replace(member: Member, reason: string | undefined): void {
    member.thread = undefined;
    member.state = "waiting";
    if (this.isStopping) return;
    const lived = performance.now() - (member.startedAt ?? 0);
    member.failures = lived >= SETTLED_MS ? 1 : member.failures + 1;
    const next_in_ms = member.failures <= 1 ? 0 : backoffMs(FIRST_WAIT_MS, MAX_WAIT_MS, member.failures - 2);
    const lived_seconds = Math.round(lived / 100) / 10;
    this.foundation.log.error("worker-died", { worker: member.slot, reason, lived_seconds, next_in_ms });
    // A worker that fails during the start of the server would fail again.
    this.started.reject(
      new StartError("WORKER", `worker ${member.slot} ended: ${reason ?? "see the log"}`, "report this bug"),
    );
    member.timer = setTimeout(() => {
      this.restarts++;
      this.start(member);
    }, next_in_ms);
  }

  /** Ends stuck workers, so that they are replaced. Runs once a second. */
  private tick(): void {
    for (const member of this.members) {
      if (member.thread === undefined) continue;
      member.silentSeconds++; // counted, not measured: while the machine sleeps, no worker can report
      if (member.silentSeconds <= MAX_SILENT_SECONDS) continue;
      this.foundation.log.error("worker-stuck", { worker: member.slot });
      member.thread.terminate();
      member.silentSeconds = 0;
    }
  }
}
