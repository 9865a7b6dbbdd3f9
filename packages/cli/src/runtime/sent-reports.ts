// sent-reports.ts: this server's report in the folder or bucket of its channel: sent when it changes, and once a minute.
//
// err  none: a report that cannot be sent is logged once, and following goes on

import { type HostReport, messageOf, removeReport, writeReport } from "@inkling/release-store";
import { ChannelError, type ObjectStore } from "@inkling/release-store/channel";
import type { RunningServer } from "@inkling/server";

/** rollout.ts of the channel counts on it. */
const SEND_MS = 60_000;
/** Credentials that may only read are usual. */
const DENIED_MS = 600_000;
const TIMEOUT_MS = 5_000;

export class SentReports {
  private readonly store: ObjectStore;
  private readonly channel: string;
  private readonly log: RunningServer["log"];
  /** What was sent last, or tried to be, without what changes all the time. */
  private state: string | undefined;
  private serverId: string | undefined;
  private nextAt = Number.NEGATIVE_INFINITY;
  private isFailing = false;

  constructor(store: ObjectStore, channel: string, log: RunningServer["log"]) {
    this.store = store;
    this.channel = channel;
    this.log = log;
  }

  async send(report: HostReport, signal: AbortSignal): Promise<void> {
    const { server_id, ready, release, refused, channel: taken } = report;
    const state = JSON.stringify([ready, release?.name, refused, taken]);
    const isNew = state !== this.state && !this.isFailing;
    if (server_id === null || (!isNew && performance.now() < this.nextAt)) return;
    this.nextAt = performance.now() + SEND_MS;
    this.state = state;
    this.serverId = server_id;
    try {
      const late = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      await writeReport(this.store, this.channel, { ...report, server_id }, late);
      this.isFailing = false;
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    }
  }

  /** This server stops in order; otherwise it would count as silent. */
  async remove(): Promise<void> {
    const { store, channel, serverId } = this;
    if (serverId === undefined) return;
    // Who may not remove it could not send it either; an unreachable store has been logged.
    await removeReport(store, channel, serverId, AbortSignal.timeout(TIMEOUT_MS)).catch(() => {});
  }

  private fail(error: unknown): void {
    const isDenied = error instanceof ChannelError && error.fault === "denied";
    if (isDenied) this.nextAt = performance.now() + DENIED_MS;
    if (this.isFailing) return;
    this.isFailing = true;
    const effect = "promotions do not count this server";
    this.log.info("channel-not-reported", { channel: this.channel, reason: messageOf(error), effect });
  }
}
