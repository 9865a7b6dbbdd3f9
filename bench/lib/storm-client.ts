// storm-client.ts: full load that looks at every answer: which release it names, and whether it says what that release says.
//
// run  bun storm-client.ts ORDER   (a file: JSON of StormOrder); a process of its own, on a core of its own
// out  one line of JSON a second: StormSecond; ends by itself
// All connections always have a request under way.

import { readFileSync } from "node:fs";
import { Client } from "./client.ts";
import { quantile } from "./stats.ts";

export interface StormOrder {
  readonly port: number;
  readonly seconds: number;
  readonly connections: number;
  /** Whole requests. */
  readonly requests: readonly string[];
  /** Release id -> for each request, by its place modulo their number, texts that its answer must have. */
  readonly expected: Readonly<Record<string, readonly (readonly string[])[]>>;
}

export interface StormSecond {
  /** Counted from 0. */
  readonly second: number;
  readonly answered: number;
  /** Connections that ended under a request, and answers that were not 200. */
  readonly failed: number;
  /** Answers that say what the release that they name does not say, or name none that is known. */
  readonly mixed: number;
  /** ms */
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
  /** Ids of the releases that answered. */
  readonly releases: readonly string[];
}

const VERSION = /\r\ninkling-data-version: *([0-9a-f]+)/i;

if (import.meta.main) {
  const order: StormOrder = JSON.parse(readFileSync(process.argv[2]!, "utf8"));
  const client = await Client.open(order.port, order.connections);
  const start = performance.now();
  let times: number[] = [];
  let [failed, mixed, second, next] = [0, 0, 0, 0];
  let releases = new Set<string>();
  const isOver = () => performance.now() - start >= order.seconds * 1000;

  const judge = (answer: string | undefined, number: number) => {
    if (answer?.startsWith("HTTP/1.1 200 ") !== true) {
      failed++;
      return;
    }
    const id = VERSION.exec(answer)?.[1] ?? "";
    const expected = order.expected[id];
    const texts = expected?.[number % expected.length];
    if (texts?.every((text) => answer.includes(text)) !== true) mixed++;
    releases.add(id);
  };
  const ask = () => {
    const number = next++;
    const from = performance.now();
    client.send(order.requests[number % order.requests.length]!, (answer) => {
      times.push(performance.now() - from);
      judge(answer, number);
      if (!isOver()) ask();
    });
  };
  const tell = () => {
    const [p50, p99, most] =
      times.length === 0 ? [0, 0, 0] : [0.5, 0.99, 1].map((share) => quantile(times, share));
    const told: StormSecond = {
      second: second++,
      answered: times.length,
      failed,
      mixed,
      p50: p50!,
      p99: p99!,
      most: most!,
      releases: [...releases],
    };
    process.stdout.write(`${JSON.stringify(told)}\n`);
    times = [];
    [failed, mixed] = [0, 0];
    releases = new Set();
  };
  for (let i = 0; i < order.connections; i++) ask();
  const timer = setInterval(() => {
    tell();
    if (!isOver()) return;
    clearInterval(timer);
    client.close();
    process.exit(0);
  }, 1000);
}
