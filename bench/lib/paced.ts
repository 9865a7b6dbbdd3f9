// paced.ts: requests at a fixed rate, whether or not the server keeps up; the time of each counts from when it was due,
// so that a server that stalls cannot hide behind a client that waits for it.
//
// run  bun paced.ts PORT RATE SECONDS CONNECTIONS REQUESTS   (a file: JSON of an array of whole requests)
// out  JSON of PacedResult; a process of its own, so that it can run on a core of its own

import { readFileSync } from "node:fs";
import { Client } from "./client.ts";
import { quantile } from "./stats.ts";

export interface PacedResult {
  readonly sent: number;
  readonly failed: number;
  /** Milliseconds from when a request was due to its whole answer: at 50, 99, 99.9 and 100 %. */
  readonly ms: { readonly p50: number; readonly p99: number; readonly p999: number; readonly most: number };
  /** Longest time that this client itself did not look, in ms: of a tail no longer than this, the client is to blame. */
  readonly clientStallMs: number;
}

if (import.meta.main) {
  const [port, rate, seconds, connections] = process.argv.slice(2, 6).map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const requests: string[] = JSON.parse(readFileSync(process.argv[6]!, "utf8"));
  const client = await Client.open(port, connections);
  const times: number[] = [];
  let failed = 0;
  let answered = 0;
  let sent = 0;
  let stall = 0;
  const total = Math.floor(rate * seconds);
  const start = performance.now();
  const dueAt = (i: number) => start + (i * 1000) / rate;
  let looked = start;
  while (answered < total) {
    const now = performance.now();
    stall = Math.max(stall, now - looked);
    looked = now;
    for (; sent < total && dueAt(sent) <= now; sent++) {
      const due = dueAt(sent);
      client.send(requests[sent % requests.length]!, (answer) => {
        answered++;
        if (answer?.startsWith("HTTP/1.1 200 ") !== true) failed++;
        times.push(performance.now() - due);
      });
    }
    await new Promise((resolve) => setImmediate(resolve)); // timers are too coarse: a request is due every few µs
    if (now - start > (seconds + 30) * 1000) break; // the server is far behind: what was not answered failed
  }
  client.close();
  const [p50, p99, p999, most] = [0.5, 0.99, 0.999, 1].map((share) => quantile(times, share)) as [
    number,
    number,
    number,
    number,
  ];
  const result: PacedResult = {
    sent,
    failed: failed + sent - answered,
    ms: { p50, p99, p999, most },
    clientStallMs: stall,
  };
  process.stdout.write(JSON.stringify(result));
  process.exit(0);
}
