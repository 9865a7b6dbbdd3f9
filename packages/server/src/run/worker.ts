// worker.ts: runs one of several threads that answer requests on the same port. The primary (worker-pool.ts) starts the
// thread and sends it messages.
//
// A worker opens no database. The primary sends it overrides, the ruleset, the name of the release, and the memory that
// has keys, usage and limits.

import { Overrides } from "@inkling/engine";
import type { Precisions } from "@inkling/engine/assess";
import { KeyTable } from "@inkling/store/keys/key-table";
import { Keyring } from "@inkling/store/keys/keyring";
import { overridesOf } from "@inkling/store/overrides/record";
import { NO_RULESET } from "@inkling/store/rulesets/record";
import { DecisionCollector } from "../decisions/collector.ts";
import { StartError } from "../http/start-error.ts";
import { LimitCells } from "../limits/cells.ts";
import { VisitorCounts } from "../limits/visitor-counts.ts";
import { Counts } from "../telemetry/counts.ts";
import { exitOnFault } from "../telemetry/exit-on-fault.ts";
import { Log } from "../telemetry/log.ts";
import { lineWriter, STANDARD_ERROR } from "../telemetry/standard-error.ts";
import type { FromWorker, KeysMessage, ToWorker, WorkerStart } from "./messages.ts";
import { ReleaseFollower } from "./release-follower.ts";
import { RequestServer } from "./request-server.ts";

declare const self: Worker;

const send = (message: FromWorker) => self.postMessage(message);
const writeLog = lineWriter(STANDARD_ERROR);

const ALIVE_MS = 1_000;
/** Maximum milliseconds to wait at the end until the primary has received the last decisions. */
const HAND_OVER_MS = 2_000;

class RequestWorker {
  private readonly slot: number;
  private readonly log: Log;
  private readonly releases: ReleaseFollower;
  private readonly keyring = new Keyring();
  private readonly overrides = { current: Overrides.NONE };
  private readonly rulesets = { current: NO_RULESET };
  private readonly precisions: { current: Precisions } = { current: {} };
  private readonly cells: LimitCells;
  private readonly decisions: DecisionCollector;
  private readonly requestServer: RequestServer;
  private readonly timer: ReturnType<typeof setInterval>;
  private mayListen = false;
  private isListening = false;
  private isStopping = false;

  constructor(start: WorkerStart) {
    const { settings, slot, version } = start;
    this.slot = slot;
    this.log = new Log({ level: settings.logLevel, write: writeLog, now: Date.now });
    this.cells = new LimitCells(start.cells.base, start.cells);
    this.releases = new ReleaseFollower(
      settings.dataDir,
      this.log,
      () => send({ type: "release-failed" }),
      () => this.listen(),
      slot,
    );
    this.decisions = new DecisionCollector(send);
    this.requestServer = new RequestServer(settings, {
      version,
      releases: this.releases,
      keyring: this.keyring,
      overrides: this.overrides,
      rulesets: this.rulesets,
      precisions: this.precisions,
      visits: new VisitorCounts(start.visitorKey, start.visits),
      cells: this.cells,
      counts: new Counts(start.counts),
      decisions: this.decisions,
      memoryKeys: start.memoryKeys,
      log: this.log,
    });
    this.timer = setInterval(() => send({ type: "alive" }), ALIVE_MS);
  }

  /** Processes a message from the primary. @throws StartError if the port is unavailable */
  take(message: Exclude<ToWorker, { readonly type: "start" }>): void | Promise<void> {
    switch (message.type) {
      case "release":
        return this.releases.follow(message);
      case "overrides":
        this.overrides.current = overridesOf(message.overrides);
        return;
      case "rulesets":
        this.rulesets.current = message.ruleset;
        return;
      case "precisions":
        this.precisions.current = message.precisions;
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
      case "drain":
        return this.requestServer.drain();
      case "stop":
        return this.stop();
    }
  }

  /** Answers the requests that are queued or in progress, and then ends this thread. */
  private async stop(): Promise<void> {
    if (this.isStopping) return;
    this.isStopping = true;
    await this.requestServer.stop();
    clearInterval(this.timer);
    await this.decisions.stop(HAND_OVER_MS);
    await this.releases.stop();
    this.log.flush();
    process.exit(0); // ends this thread only
  }

  /** Hands over and logs what is left, because this thread is about to end. */
  crash(error: unknown): void {
    this.decisions.handOver();
    this.log.crash("uncaught-error", error, [], { worker: this.slot });
  }

  private takeKeys({ change, table, blocks, refused, state }: KeysMessage): void {
    const { keyring } = this;
    this.cells.add(blocks);
    keyring.useTable(table && KeyTable.from(table));
    keyring.refused = refused;
    this.requestServer.forgetKeys();
    const { lastError, stale = false, unready, warnings = [] } = state;
    if (lastError === undefined) keyring.recordCheck(Date.now());
    else keyring.recordFailure(lastError);
    Object.assign(keyring, { stale, unready, warnings });
    send({ type: "keys", change });
  }

  /**
   * Starts listening as soon as this worker can answer like the other workers. If it listened earlier, requests on some
   * connections would be refused.
   */
  private listen(): void {
    if (!this.mayListen || !this.releases.isReady || this.isListening || this.isStopping) return;
    this.requestServer.listen();
    this.isListening = true;
    send({ type: "listening" });
  }
}

let worker: RequestWorker | undefined;
exitOnFault((error) => {
  if (worker !== undefined) return worker.crash(error);
  new Log({ level: "error", write: writeLog, now: Date.now }).crash("uncaught-error", error, []);
});

self.onmessage = async ({ data: message }: MessageEvent<ToWorker>) => {
  try {
    if (message.type === "start") worker = new RequestWorker(message.start);
    else await worker?.take(message);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    send({ type: "failed", code: error.code, message: error.message, hint: error.hint });
  }
};
