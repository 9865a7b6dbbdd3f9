// trace.ts: logs the networks from which a traced key is used, while an operator investigates a leak.
//
// The line appears at every log level, because the operator requested it. This module logs only the network of an
// address. No other module logs anything about addresses (SECURITY.md).

import { formatPrefix, type IpAddress, networkAround } from "@inkling/engine";
import type { Key } from "@inkling/store/keys/key";
import type { Log } from "../telemetry/log.ts";
import type { Exchange } from "./request-context.ts";

/** Prefix lengths by IP version. A customer of an ISP usually has a network of this size or a smaller one. */
const BITS = { 4: 24, 6: 48 } as const;
const MINUTE_MS = 60_000;
/** Maximum number of lines per worker and minute. A key that is used from more networks has certainly leaked. */
const MAX_LINES = 1_000;

export class KeyTrace {
  private readonly log: Log;
  private minute = 0;
  /** Key and network of each line that was written in this minute. */
  private readonly written = new Set<string>();

  constructor(log: Log) {
    this.log = log;
  }

  /**
   * Logs the network of a traced key's caller.
   * @param isForProxies true if the key belongs to a proxy that sends the request; the proxy then counts as the caller
   */
  record({ id, tracedUntil = 0 }: Key, exchange: Exchange, isForProxies: boolean): void {
    const { now } = exchange;
    if (now >= tracedUntil) return;
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.minute) {
      this.minute = minute;
      this.written.clear();
    }
    const network = networkOf(isForProxies ? exchange.senders.proxy : exchange.findCaller());
    const line = `${id} ${network}`;
    if (this.written.has(line) || this.written.size >= MAX_LINES) return;
    this.written.add(line);
    this.log.record("key-traced", { key: id, network });
  }
}

const networkOf = (address: IpAddress | undefined) =>
  address === undefined ? "unknown" : formatPrefix(networkAround(address, BITS[address.family]));
