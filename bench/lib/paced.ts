// paced.ts: load at a fixed rate from peers/paced.c, on the client's core; server and client ahead of other programs, where
// that is allowed: a latency would tell of those otherwise.
//
// err  an answer that is not 2xx, a connection that ends, a server that falls 30 s behind: Error

import { AHEAD, CLIENT_CORE, pinned, processTree, readyMs, setNiceness } from "./proc.ts";

/** As peers/paced.c prints it. */
export interface Measured {
  readonly requests: number;
  /** Milliseconds from when a request was due to its whole answer: at 50, 90, 99, 99.9, 99.99 and 100 %. */
  readonly ms: Readonly<Record<"p50" | "p90" | "p99" | "p999" | "p9999" | "most", number>>;
  /** Answers after 5 ms and more. */
  readonly slow: number;
  /** Requests sent a millisecond or more after they were due: no connection was free, or the client away. */
  readonly sentLate: number;
  readonly client: {
    /** Longest time between two turns of its loop. */
    readonly longestPauseMs: number;
    /** How many were of a millisecond or more. */
    readonly pauses: number;
    /** Slow answers during whose time it was away like that: these need not be the server's. */
    readonly slowByClient: number;
    /** Times that it lost its core to another program. */
    readonly preempted: number;
  };
}

export interface Paced extends Measured {
  /** Time that the main threads of the server were ready to run and had no core: for a tail that comes of it, the machine is to blame. */
  readonly serverReadyMs: number;
  readonly isAhead: boolean;
}

export interface Timetable {
  readonly port: number;
  /** A second. */
  readonly rate: number;
  readonly seconds: number;
  readonly connections: number;
  /** A file of paths, one a line. */
  readonly paths: string;
  readonly token: string;
}

/**
 * One run of the client.
 * @param program what peers.ts compiled
 */
export async function ask(program: string, timetable: Timetable, isAhead = false): Promise<Measured> {
  const { port, rate, seconds, connections, paths, token } = timetable;
  const command = [program, port, rate, seconds, connections, paths, token].map(String);
  const child = Bun.spawn(pinned(CLIENT_CORE, command), { stdout: "pipe", stderr: "pipe" });
  if (isAhead) setNiceness([child.pid], AHEAD);
  const [said, words] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(words.trim());
  return JSON.parse(said);
}

/** One run against a server, both ahead of other programs where that is allowed. */
export async function paced(program: string, server: number, timetable: Timetable): Promise<Paced> {
  const pids = processTree(server);
  const isAhead = setNiceness(pids, AHEAD);
  const before = readyMs(pids);
  try {
    const measured = await ask(program, timetable, isAhead);
    return { ...measured, serverReadyMs: readyMs(pids) - before, isAhead };
  } finally {
    if (isAhead) setNiceness(pids, 0);
  }
}
