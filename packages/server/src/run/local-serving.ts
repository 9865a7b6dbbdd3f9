// local-serving.ts: runs a server with one thread. The primary answers requests itself.

import { CHANGES, type Change, type Foundation, type Services, type Serving } from "../admin/services.ts";
import { VisitorCounts } from "../limits/visitor-counts.ts";
import { Counts } from "../telemetry/counts.ts";
import { ReleaseFollower, releaseMessage } from "./release-follower.ts";
import { RequestServer } from "./request-server.ts";

export class LocalServing implements Serving {
  readonly counts = new Counts();
  readonly workers = { states: new Map([["serving", 1]]), restarts: 0 };
  isDraining = false;
  private services: Services | undefined;
  private requestServer: RequestServer | undefined;
  private readonly releases: ReleaseFollower;

  constructor({ settings, log }: Foundation) {
    this.releases = new ReleaseFollower(settings.dataDir, log, () => {
      void this.services?.releases.check(); // the release's files may have changed; if so, another release takes over
    });
  }

  async listen(services: Services): Promise<number> {
    const { counts, releases } = this;
    this.services = services;
    const visits = new VisitorCounts(services.randomBytes(32));
    this.requestServer = new RequestServer(services.settings, { ...services, releases, counts, visits });
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
    const { keyCells, usage } = services;
    requestServer.forgetKeys();
    keyCells.settle(keyCells.change, usage, Date.now());
  }

  refresh(): void {}

  drain(): void {
    this.isDraining = true;
    this.requestServer?.drain();
  }

  async stop(): Promise<void> {
    await this.requestServer?.stop();
    await this.releases.stop();
  }

  async kill(): Promise<void> {
    await this.releases.stop();
    await this.requestServer?.kill();
  }
}
