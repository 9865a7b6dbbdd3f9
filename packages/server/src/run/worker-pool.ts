// worker-pool.ts: runs a server with several processes. It starts workers to answer requests, keeps them up to date,
// and replaces workers that exit.
//
// If a worker exits for any other reason, its exit code or signal is logged, and the worker is replaced.

import { type SettingsOf, settingsOf } from "@inkling/contract";
import { backoffMs, crashReport, messageOf as textOf, within } from "@inkling/data";
import { processCommand } from "@inkling/data/program";
import type { FromCollector } from "../decisions/collector.ts";
import { StartError } from "../http/start-error.ts";
import { Counts } from "../telemetry/counts.ts";
import type { Log } from "../telemetry/log.ts";
import { type FromWorker, messageOf, type ToWorker, type WorkerSlot, type WorkerStart } from "./messages.ts";
import { CHANGES, type Change, type ServerOptions } from "./options.ts";
import type { ClaimedPort } from "./port-claim.ts";
import type { Services } from "./services.ts";
import type { Serving } from "./serving.ts";
import { LAYOUT, type SharedMemory } from "./shared-memory.ts";
import { TableSender } from "./table-sender.ts";
import { WorkerDecisions } from "./worker-decisions.ts";
import { WorkerTotals } from "./worker-totals.ts";

const WORKER_STATES = ["starting", "serving", "waiting"] as const;
type WorkerState = (typeof WORKER_STATES)[number];

/** A worker that ran for this many milliseconds counts as started. */
const SETTLED_MS = 10_000;
const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 10_000;
/** Maximum wait in milliseconds if no other worker is running or about to start. */
const LAST_WAIT_MS = 500;
/** A worker that has not reported for this many seconds counts as stuck. Workers report every second. */
const MAX_SILENT_SECONDS = 30;
const REPORT_WAIT_MS = 500;
/** Milliseconds to wait for workers to stop. They drain for at most 10 s. */
const STOP_MS = 12_000;

/** Maximum number of characters that are kept from a worker's standard error. The rest is dropped. */
const MAX_REPORT = 64 * 1024;

type WorkerProcess = Bun.Subprocess<"ignore", "inherit", "pipe">;

/** One worker slot: its current worker, or the wait for the next one. */
interface Member {
  readonly slot: WorkerSlot;
  state: WorkerState;
  child: WorkerProcess | undefined;
  startedAt: number | undefined;
  /** Number of consecutive failures soon after a start. */
  failures: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Time of the next start, while the state is "waiting". */
  startsAt: number;
  silentSeconds: number;
  /** The latest key changes that were sent to the worker, and that it has applied. */
  sentKeys: number;
  keysChange: number;
}

interface WorkerPoolParts {
  readonly memory: SharedMemory;
  readonly port: ClaimedPort;
  readonly log: Log;
}

export class WorkerPool implements Serving {
  counts = new Counts();
  private restarts = 0;
  private readonly visitorKey = crypto.getRandomValues(new Uint8Array(32));
  private readonly options: ServerOptions;
  private readonly parts: WorkerPoolParts;
  private readonly members: readonly Member[];
  private readonly tables: TableSender;
  private readonly totals: WorkerTotals;
  private readonly decisions: WorkerDecisions;
  /** Set once the workers may listen. */
  private services: Services | undefined;
  isDraining = false;
  private isStopping = false;
  private readonly onReport = new Set<(member: Member) => void>();
  private readonly ticker: ReturnType<typeof setInterval>;
  private readonly started = Promise.withResolvers<void>();

  /**
   * Starts the first worker, which loads its code in parallel with this process. The other workers start when it listens
   * or exits.
   */
  constructor(options: ServerOptions, parts: WorkerPoolParts) {
    this.options = options;
    this.parts = parts;
    this.totals = new WorkerTotals();
    this.tables = new TableSender(options.dataDir);
    this.decisions = new WorkerDecisions((slot) => parts.memory.view.countsOf(slot).decisions);
    const idle = { state: "starting", child: undefined, startedAt: undefined, timer: undefined } as const;
    const zero = { startsAt: 0, failures: 0, silentSeconds: 0, sentKeys: 0, keysChange: 0 };
    this.members = Array.from({ length: options.workers }, (_, slot) => ({ slot, ...idle, ...zero }));
    this.started.promise.catch(() => {}); // `listen` rejects with this error
    // on 2 cores, the first answer then comes after 152 ms, compared with 237 ms if all workers start at once
    this.start(this.members[0]!);
    this.ticker = setInterval(() => this.tick(), 1_000);
    this.ticker.unref();
  }

  async listen(services: Services): Promise<number> {
    this.services = services;
    for (const member of this.members) this.sendAll(member, services);
    await this.started.promise;
    return this.parts.port.port;
  }

  publish(change: Change): void {
    if (this.services === undefined) return;
    for (const member of this.members) this.sendChange(member, change, this.services);
  }

  /** Updates the counts. If a worker does not report in time, its previous report still applies. */
  async refresh(): Promise<void> {
    await this.requestReports();
    const { view } = this.parts.memory;
    this.counts = Counts.sum(this.members.map(({ slot }) => view.countsOf(slot)));
  }

  get mx() {
    return this.totals.mx;
  }

  get lostDecisions() {
    return this.decisions.lost;
  }

  get processes() {
    return this.totals.processes;
  }

  get workers() {
    const count = (wanted: WorkerState) => this.members.filter(({ state }) => state === wanted).length;
    return { states: new Map(WORKER_STATES.map((state) => [state, count(state)])), restarts: this.restarts };
  }

  drain(): void {
    this.isDraining = true;
    for (const member of this.members) this.send(member, { type: "drain" });
  }

  async stop(): Promise<void> {
    this.startNoMore();
    for (const member of this.members) this.send(member, { type: "stop" });
    const late = setTimeout(() => this.kill(), STOP_MS);
    await Promise.all(this.members.map(({ child }) => child?.exited));
    clearTimeout(late);
    this.parts.port.release();
  }

  kill(): void {
    this.startNoMore();
    for (const { child } of this.members) child?.kill("SIGKILL");
    this.parts.port.release();
  }

  private startNoMore(): void {
    this.isStopping = true;
    this.tables.settle(Number.POSITIVE_INFINITY);
    clearInterval(this.ticker);
    for (const { timer } of this.members) clearTimeout(timer);
  }

  /** Starts a worker. If the start fails, it is retried as if the worker had exited. @returns whether it started */
  private start(member: Member): boolean {
    member.state = "starting";
    member.startedAt = performance.now();
    member.silentSeconds = 0;
    member.sentKeys = 0;
    member.keysChange = 0;
    try {
      member.child = this.spawn(member);
    } catch (error) {
      this.startOthers();
      member.state = "waiting";
      member.failures++;
      const next_in_ms = this.startLater(member);
      const fields = { worker: member.slot, reason: textOf(error), next_in_ms };
      this.parts.log.error("worker-not-started", fields);
      return false;
    }
    this.send(member, { type: "start", start: this.startOf(member.slot) });
    if (this.services !== undefined) this.sendAll(member, this.services);
    return true;
  }

  private spawn(member: Member): WorkerProcess {
    const child = Bun.spawn(processCommand("worker"), {
      // the last two are WORKER_DESCRIPTOR and LOG_DESCRIPTOR
      stdio: ["ignore", "inherit", "pipe", this.parts.memory.descriptor, process.stderr.fd],
      serialization: "advanced",
      env: { ...this.options.workerEnvironment },
      ipc: (message: FromWorker) => {
        const isRunning = member.child === child;
        if (message.type === "decisions" || message.type === "decision-question")
          this.takeDecisions(member, message, isRunning);
        else if (isRunning) this.take(member, message);
      },
      onExit: (_, code, signal) => {
        if (member.child === child) this.replace(member, child, code, signal);
      },
    }) as WorkerProcess;
    child.unref();
    void this.logCrash(member.slot, child);
    return child;
  }

  /**
   * Logs what a worker writes to its standard error. The worker writes its log to a different descriptor, so the text
   * can only be a crash report of the runtime.
   */
  private async logCrash(slot: WorkerSlot, { pid, stderr }: WorkerProcess): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of stderr) {
      if (text.length < MAX_REPORT) text += decoder.decode(chunk, { stream: true });
    }
    const report = crashReport(text);
    if (text.trim() !== "") this.parts.log.error("worker-crashed", { worker: slot, pid, report });
  }

  private startOf(slot: WorkerSlot): WorkerStart {
    const { version } = this.options;
    const { memory } = this.parts;
    return {
      settings: this.workerSettings,
      version,
      slot,
      layout: LAYOUT,
      visitorKey: this.visitorKey,
      base: memory.base,
      clockAheadMs: this.services?.clock.aheadMs ?? 0,
    };
  }

  /** A worker's settings, with the port that the primary has claimed. */
  private get workerSettings(): SettingsOf<"worker"> {
    return { ...settingsOf(this.options, "worker"), port: this.parts.port.port };
  }

  private startOthers(): void {
    if (this.isStopping) return;
    for (const member of this.members) if (member.startedAt === undefined) this.start(member);
  }

  private sendAll(member: Member, services: Services): void {
    for (const change of CHANGES) this.sendChange(member, change, services);
    if (this.isDraining) this.send(member, { type: "drain" });
    this.send(member, { type: "listen" });
  }

  private sendChange(member: Member, change: Change, services: Services): void {
    const message = messageOf(change, services, member.sentKeys, {
      tables: this.tables,
      cells: this.parts.memory.cells.size,
    });
    this.send(member, message);
    if (message.type === "keys" && member.child !== undefined) member.sentKeys = message.change;
  }

  private send({ child }: Member, message: ToWorker): void {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    try {
      child.send(message);
    } catch {
      // the worker has just exited: `replace` will be called, and the next worker gets all current data
    }
  }

  /** Takes decisions, even from a worker that has exited in the meantime. */
  private takeDecisions(member: Member, message: FromCollector, isRunning: boolean): void {
    const { services } = this;
    if (services === undefined) return; // workers answer requests only after the services are set
    this.decisions.take(member.slot, message, isRunning, services.decisions, (reply) => {
      if (isRunning) this.send(member, reply);
    });
  }

  private take(member: Member, message: Exclude<FromWorker, FromCollector>): void {
    const { log } = this.parts;
    const { slot, child } = member;
    switch (message.type) {
      case "listening":
        member.state = "serving";
        this.startOthers();
        log.info("worker-listening", { worker: slot, pid: child?.pid });
        if (this.members.every(({ state }) => state === "serving")) this.started.resolve();
        return;
      case "keys":
        member.keysChange = message.change;
        this.settleKeys();
        return;
      case "report":
        this.totals.take(slot, message.report);
        member.silentSeconds = 0;
        for (const onReport of this.onReport) onReport(member);
        return;
      case "release-failed":
        // the release's files may have changed; if so, all workers change to a different release
        void this.services?.releases.check();
        return;
      case "failed":
        log.error("worker-failed", { worker: slot, reason: message.message });
        this.started.reject(new StartError(message.code, message.message, message.hint));
        child?.kill("SIGKILL");
    }
  }

  private settleKeys(): void {
    const changes = this.members.filter(({ child }) => child).map(({ keysChange }) => keysChange);
    const change = Math.min(...changes);
    this.tables.settle(change);
    this.services?.keys.settle(change, this.services.usage, Date.now());
  }

  /** Called when a worker's process has exited. A new worker replaces it, immediately or after a wait. */
  private replace(
    member: Member,
    child: WorkerProcess,
    code: number | null,
    signal: number | string | null,
  ): void {
    this.startOthers();
    member.child = undefined;
    member.state = "waiting";
    this.totals.end(member.slot);
    this.decisions.end(member.slot);
    for (const onReport of this.onReport) onReport(member);
    if (this.isStopping) return;
    // The worker read an unreadable page of a segment, so the next worker must not start with that release.
    if (child.signalCode === "SIGBUS") void this.services?.releases.crashed();
    const livedMs = performance.now() - (member.startedAt ?? 0);
    const wasAsked = code === 0 || child.signalCode === "SIGTERM";
    if (livedMs >= SETTLED_MS || wasAsked) member.failures = 0;
    if (!wasAsked) member.failures++;
    const fields = {
      worker: member.slot,
      pid: child.pid,
      ...(signal === null ? { exit_code: code } : { signal: child.signalCode ?? signal }),
      lived_seconds: Math.round(livedMs / 100) / 10,
      next_in_ms: this.startLater(member),
    };
    if (wasAsked) this.parts.log.info("worker-ended", fields);
    else this.parts.log.error("worker-died", fields);
  }

  /**
   * Restarts a worker: immediately after its first failure, and with a growing wait after further failures.
   * @returns the wait in milliseconds
   */
  private startLater(member: Member): number {
    const { failures } = member;
    const soon = performance.now() + LAST_WAIT_MS;
    const isLast = this.members.every(
      (one) => one === member || (one.state === "waiting" && one.startsAt > soon),
    );
    const most = isLast ? LAST_WAIT_MS : MAX_WAIT_MS;
    const waitMs = failures <= 1 ? 0 : backoffMs(FIRST_WAIT_MS, most, failures - 2);
    member.startsAt = performance.now() + waitMs;
    member.timer = setTimeout(() => {
      if (this.start(member)) this.restarts++;
    }, waitMs);
    return waitMs;
  }

  private async requestReports(): Promise<void> {
    const missing = new Set(this.members.filter(({ state }) => state === "serving"));
    if (missing.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const onReport = (member: Member) => {
      missing.delete(member);
      if (missing.size === 0) resolve();
    };
    this.onReport.add(onReport);
    for (const member of missing) this.send(member, { type: "report" });
    await within(REPORT_WAIT_MS, promise, () => {});
    this.onReport.delete(onReport);
  }

  /**
   * Tells workers that this process is alive, and kills stuck workers so that they are replaced. Runs once a second.
   */
  private tick(): void {
    this.parts.memory.view.beat();
    for (const member of this.members) {
      if (member.child === undefined) continue;
      member.silentSeconds++; // counted, not measured: while the machine sleeps, no worker can report
      if (member.silentSeconds <= MAX_SILENT_SECONDS) continue;
      this.parts.log.error("worker-stuck", { worker: member.slot, pid: member.child.pid });
      member.child.kill("SIGKILL");
      member.silentSeconds = 0;
    }
  }
}
