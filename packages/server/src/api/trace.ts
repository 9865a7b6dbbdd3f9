// trace.ts: names in the log the networks that the callers of a traced key come from, while a leak is investigated.
//
// in   a request of a key whose `tracedUntil` is ahead
// out  a log line for each key and network in each minute, `key-traced`, of each worker; at every log level, because the
//      operator asked for it
// note The only place where an address, cut to its network, gets into the log (SECURITY.md).

import { formatPrefix, type IpAddress, networkAround } from "@inkling/engine";
import type { Key } from "../keys/key.ts";
import type { Log } from "../telemetry/log.ts";
import type { Exchange } from "./request-context.ts";

/** Prefix lengths: what one customer of an ISP usually has, or more. */
const BITS = { 4: 24, 6: 48 } as const;
const MINUTE_MS = 60_000;
/** Lines that one worker writes in a minute: a key that is used from more networks than that has leaked. */
const MAX_LINES = 1_000;

export class KeyTrace {
  private readonly log: Log;
  private minute = 0;
  /** Key and network of each line of this minute. */
  private readonly written = new Set<string>();

  constructor(log: Log) {
    this.log = log;
  }

  /** @param isForProxies a proxy holds the key and sends the request: it is the caller */
  record({ id, tracedUntil = 0 }: Key, exchange: Exchange, isForProxies: boolean): void {
    const { now } = exchange;
    if (now >= tracedUntil) return;
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.minute) {
      this.minute = minute;
      this.written.clear();
    }
    const network = networkOf(isForProxies ? exchange.findProxy() : exchange.findCaller());
    const line = `${id} ${network}`;
    if (this.written.has(line) || this.written.size >= MAX_LINES) return;
    this.written.add(line);
    this.log.record("key-traced", { key: id, network });
  }
}

const networkOf = (address: IpAddress | undefined) =>
  address === undefined ? "unknown" : formatPrefix(networkAround(address, BITS[address.family]));
