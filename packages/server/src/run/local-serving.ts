// local-serving.ts: runs a server with one thread. The primary answers requests itself.

import { VisitorCounts } from "../decisions/visitor-counts.ts";
import { Counts } from "../telemetry/counts.ts";
import {
  CHANGES,
  type Change,
  type Foundation,
  type ServerOptions,
  type Services,
  type Serving,
} from "./options.ts";
import { ReleaseFollower, releaseMessage } from "./release-follower.ts";
import { RequestServer } from "./request-server.ts";

export class LocalServing implements Serving {
  readonly counts = new Counts();
  readonly workers = { states: new Map([["serving", 1]]), restarts: 0 };
  private readonly options: ServerOptions;
  private readonly foundation: Foundation;
  private services: Services | undefined;
  private requestServer: RequestServer | undefined;
  private readonly releases: ReleaseFollower;

  constructor(options: ServerOptions, foundation: Foundation) {
    this.options = options;
    this.foundation = foundation;
    this.releases = new ReleaseFollower(options.dataDir, (name, reason, isFirst) => {
      if (isFirst) foundation.log.error("release-not-opened", { name, reason });
      void this.services?.releases.check(); // the release's files may have changed; if so, another release takes over
    });
  }

  async listen(services: Services): Promise<number> {
    const { options, counts, releases } = this;
    const { keyring, overrides, rulesets, precisions, decisions } = services;
    this.services = services;
    this.requestServer = new RequestServer(options, {
      ...this.foundation,
      version: options.version,
      releases,
      keyring,
      overrides,
      rulesets,
      precisions,
      decisions,
      visits: new VisitorCounts(crypto.getRandomValues(new Uint8Array(32))),
      counts,
    });
    for (const change of CHANGES) this.publish(change);
    return this.requestServer.listen();
  }

  /**
   * Applies a change. Overrides, rulesets, precisions and the log level need no action, because each request reads
   * them.
   */
  publish(change: Change): void {
    const { services, requestServer } = this;
    if (services === undefined || requestServer === undefined) return;
    if (change === "release") void this.releases.follow(releaseMessage(services.releases));
    if (change === "clock") requestServer.clock.offsetMs = services.clock.offsetMs;
    if (change !== "keys") return;
    const { keys, usage } = services;
    requestServer.forgetKeys();
    keys.settle(keys.change, usage, Date.now());
  }

  refresh(): void {}

  get isDraining(): boolean {
    return this.requestServer?.isDraining ?? false;
  }

  drain(): void {
    this.requestServer?.drain();
  }

  async stop(): Promise<void> {
    await this.requestServer?.acceptLast();
    await this.requestServer?.stop();
    await this.releases.stop();
  }

  async kill(): Promise<void> {
    await this.releases.stop();
    await this.requestServer?.kill();
  }
}
