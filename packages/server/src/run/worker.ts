// worker.ts: runs one of several processes that answer requests on the same port.
//
// A worker opens no database. The primary sends it keys, overrides, the ruleset and the name of the release. Usage and
// limits are in the shared memory. A worker exits if it is told to stop, or if the primary has exited.

import { Overrides } from "@inkling/engine";
import { Keyring } from "@inkling/store/keys/keyring";
import { overridesOf } from "@inkling/store/overrides/record";
import { NO_RULESET } from "@inkling/store/rulesets/record";
import { DecisionCollector } from "../decisions/collector.ts";
import { StartError } from "../http/start-error.ts";
import { Log } from "../telemetry/log.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { FromWorker, KeysMessage, ToWorker, WorkerStart } from "./messages.ts";
import { ReleaseFollower } from "./release-follower.ts";
import { RequestServer } from "./request-server.ts";
import { LAYOUT, SharedView, WORKER_DESCRIPTOR } from "./shared-memory.ts";
import { receivedTable } from "./table-sender.ts";

/** How this process sends messages to the primary, writes its log, and exits. */
export interface WorkerHost {
  send(message: FromWorker): void;
  readonly writeLog: (lines: string) => void;
  exit(code: number): void;
}

const REPORT_MS = 1_000;
/**
 * Milliseconds to drain after the primary has exited. A new primary may be about to listen, so the worker does not wait
 * for slow requests.
 */
const ORPHAN_DRAIN_MS = 1_000;
/** Maximum milliseconds to wait at the end until the primary has received the last decisions. */
const HAND_OVER_MS = 2_000;

export class Worker {
  private readonly start: WorkerStart;
  private readonly host: WorkerHost;
  readonly log: Log;
  private readonly releases: ReleaseFollower;
  private readonly keyring = new Keyring();
  private readonly overrides = { current: Overrides.NONE };
  private readonly rulesets = { current: NO_RULESET };
  private readonly decisions: DecisionCollector;
  private readonly requestServer: RequestServer;
  private view: SharedView;
  private readonly timer: ReturnType<typeof setInterval>;
  private readonly primary = new Heartbeat();
  private readonly primaryPid = process.ppid;
  private residentBytes = 0;
  private mayListen = false;
  private isListening = false;
  private isRetiring = false;
  private isStopping = false;

  /** @throws StartError */
  constructor(start: WorkerStart, host: WorkerHost) {
    const { settings, slot, base, layout, version } = start;
    const { workers } = settings;
    if (layout !== LAYOUT) {
      const hint = "the program's files were replaced while it was running: restart it";
      throw new StartError("LAYOUT", "this worker has a different version than its primary", hint);
    }
    this.start = start;
    this.host = host;
    this.log = new Log({ level: settings.logLevel, write: host.writeLog, now: Date.now });
    this.view = new SharedView(WORKER_DESCRIPTOR, workers, base);
    this.releases = new ReleaseFollower(
      settings.dataDir,
      (name, reason, isFirst) => {
        if (isFirst) this.log.error("release-not-opened", { worker: slot, name, reason });
        host.send({ type: "release-failed" });
      },
      () => this.listen(),
    );
    const counts = this.view.countsOf(slot);
    this.decisions = new DecisionCollector(
      (message) => host.send(message),
      () => counts.countDecision(),
    );
    this.requestServer = new RequestServer(settings, {
      version,
      releases: this.releases,
      keyring: this.keyring,
      primary: this.primary,
      overrides: this.overrides,
      rulesets: this.rulesets,
      visits: this.view.visitorCounts(start.visitorKey),
      cells: this.view.cells,
      clockAheadMs: start.clockAheadMs,
      counts,
      decisions: this.decisions,
      log: this.log,
      worker: { slot, workers },
    });
    this.timer = setInterval(() => this.tick(), REPORT_MS);
  }

  /** Processes a message from the primary. @throws StartError if the port is unavailable */
  take(message: ToWorker): void | Promise<void> {
    switch (message.type) {
      case "release":
        return this.releases.follow(message);
      case "overrides":
        this.overrides.current = overridesOf(message.overrides);
        return;
      case "rulesets":
        this.rulesets.current = message.ruleset;
        return;
      case "keys":
        return this.takeKeys(message);
      case "clock":
        this.requestServer.clock.offsetMs = message.offsetMs;
        return;
      case "listen":
        this.mayListen = true;
        return this.listen();
      case "decisions-taken":
      case "decision-reply":
        return this.decisions.take(message);
      case "log-level":
        this.log.level = message.level;
        return;
      case "report":
        return this.report();
      case "drain":
        return this.requestServer.drain();
      case "stop":
        return this.retire();
    }
  }

  /** Answers the requests that are queued or in progress, and then exits. */
  async retire(): Promise<void> {
    if (this.isRetiring) return;
    this.isRetiring = true;
    await this.requestServer.acceptLast();
    await this.stop();
  }

  /** Finishes requests in progress, and then exits. @param isOrphan true if the primary has exited */
  async stop(isOrphan = false): Promise<void> {
    if (this.isStopping) return;
    this.isStopping = true;
    clearInterval(this.timer);
    await this.requestServer.stop(isOrphan ? ORPHAN_DRAIN_MS : undefined);
    await this.decisions.stop(isOrphan ? 0 : HAND_OVER_MS);
    await this.releases.stop();
    this.log.flush();
    if (!isOrphan) this.report();
    this.host.exit(isOrphan ? 1 : 0);
  }

  private takeKeys({ change, table, update, refused, cells, ...state }: KeysMessage): void {
    this.mapCells(cells);
    const { keyring } = this;
    if (table !== undefined) keyring.useTable(receivedTable(table));
    if (update !== undefined) keyring.replace(update, (keyId) => update.cells.get(keyId));
    keyring.refused = refused;
    this.requestServer.replaceCells(this.view.cells);
    if (state.away === undefined) keyring.recordCheck(Date.now());
    else keyring.recordFailure(state.away);
    keyring.stale = state.stale;
    keyring.unready = state.unready;
    keyring.warnings = state.warnings;
    this.host.send({ type: "keys", change });
  }

  private mapCells(count: number): void {
    if (count <= this.view.cells.size) return;
    const { settings, slot, base } = this.start;
    this.view = new SharedView(WORKER_DESCRIPTOR, settings.workers, base);
    if (count > this.view.cells.size) throw new Error(`worker ${slot}: the shared memory is too small`);
  }

  /**
   * Starts listening as soon as this worker can answer like the other workers. If it listened earlier, requests on some
   * connections would be refused.
   */
  private listen(): void {
    if (!this.mayListen || !this.releases.isReady || this.isListening || this.isStopping) return;
    this.requestServer.listen();
    this.isListening = true;
    this.host.send({ type: "listening" });
  }

  /** Reports to the primary, and checks whether the primary is alive. Runs once a second. */
  private tick(): void {
    this.report();
    const { slot } = this.start;
    const before = this.primary.state;
    const state = this.primary.look(this.view.readBeats(slot));
    if (process.ppid !== this.primaryPid || state === "gone") {
      this.log.error("primary-gone", { worker: slot });
      void this.stop(true);
    } else if (state !== before) {
      if (state === "silent") this.log.error("primary-silent", { worker: slot });
      else this.log.info("primary-back", { worker: slot });
    }
  }

  private report(): void {
    const { requestServer } = this;
    const { user, system } = process.cpuUsage();
    try {
      this.residentBytes = process.memoryUsage.rss();
    } catch {
      // the system's file with this number could not be opened, probably for lack of descriptors; the old value remains
    }
    this.host.send({
      type: "report",
      report: {
        mx: requestServer.mxCounts.report,
        cpuSeconds: (user + system) / 1e6,
        residentBytes: this.residentBytes,
      },
    });
  }
}
