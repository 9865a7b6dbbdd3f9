// dns-client.ts: asks DNS servers one question: over UDP, and over TCP when the reply does not fit.
//
// in   a host, a record type, and a signal that ends the asking
// out  what the first useful reply says; "failed" when every server refused or is not to be believed; "timeout" when the
//      signal came first
// err  none thrown
// src  RFC 1035 4.2, RFC 5452 (a forger has to guess the id and the port: both are drawn anew for each question,
//      and only the server's own address and port are heard)
// cost a socket for each question, 11 µs; NXDOMAIN asks one more question, but for what is known (dns-belief.ts)
//
// A server that is silent for NEXT_SERVER_MS is not given up: the next one is asked as well, and whoever replies
// first is believed. NXDOMAIN is a reply from a server that knows the top-level domain. SERVFAIL, REFUSED, nonsense, and
// NXDOMAIN from any other server are not, and the next server is asked at once.

import { type DnsReply, encodeQuestion, type RecordType, readReply } from "./dns-message.ts";
import { Beliefs, topLevelOf } from "./nxdomain-cache.ts";

export interface DnsServer {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
}

export interface DnsClientOptions {
  /** In the order of preference; further ones than MAX_SERVERS are not asked. */
  readonly servers: readonly DnsServer[];
  /** A number from 0 to 65535 that nobody can guess. */
  readonly newId: () => number;
  /** Milliseconds of a clock that only goes on. */
  readonly elapsed: () => number;
  readonly nextServerMs?: number;
}

export type DnsOutcome = Exclude<DnsReply, { kind: "truncated" }> | { readonly kind: "timeout" };

export const DNS_PORT = 53;
const MAX_SERVERS = 3;
const NEXT_SERVER_MS = 200;

type Reply = Exclude<DnsReply, { kind: "truncated" }>;
/** One server asked once. `stop` closes whatever is open; the reply does not come after that. */
interface Attempt {
  stop(): void;
}

export class DnsClient {
  private readonly options: DnsClientOptions;
  private readonly plan: readonly DnsServer[];
  private readonly beliefs: Beliefs;

  constructor(options: DnsClientOptions) {
    this.options = options;
    this.beliefs = new Beliefs(options.elapsed);
    const servers = options.servers.slice(0, MAX_SERVERS);
    this.plan = servers.length === 1 ? [servers[0]!, servers[0]!] : servers; // datagrams get lost
  }

  /** Asks until a server has said something useful, all have refused, or `signal` is aborted. */
  ask(host: string, type: RecordType, signal: AbortSignal): Promise<DnsOutcome> {
    const { promise, resolve } = Promise.withResolvers<DnsOutcome>();
    const attempts: Attempt[] = [];
    let failed = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let settled = false;

    const settle = (outcome: DnsOutcome) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      for (const attempt of attempts) attempt.stop();
      resolve(outcome);
    };
    const onAbort = () => settle({ kind: "timeout" });
    const next = () => {
      clearTimeout(timer);
      const server = this.plan[attempts.length];
      if (server === undefined) return;
      timer = setTimeout(next, this.options.nextServerMs ?? NEXT_SERVER_MS);
      attempts.push(
        this.attempt(server, host, type, (reply) => {
          if (settled) return;
          if (reply.kind !== "failed") return settle(reply);
          if (++failed === this.plan.length) return settle(reply);
          if (failed === attempts.length) next();
        }),
      );
    };

    if (this.plan.length === 0) settle({ kind: "failed" });
    else if (signal.aborted) onAbort();
    else {
      signal.addEventListener("abort", onAbort);
      next();
    }
    return promise;
  }

  /** One server asked; its NXDOMAIN is told as such only when it knows the top-level domain, and as a failure otherwise. */
  private attempt(server: DnsServer, host: string, type: RecordType, tell: (reply: Reply) => void): Attempt {
    const { newId } = this.options;
    const topLevel = topLevelOf(host);
    let current = askServer(server, newId(), host, type, (reply) => {
      if (reply.kind !== "nxdomain") return tell(reply);
      const judge = (isKnown: boolean) => tell(isKnown ? reply : { kind: "failed" });
      const known = this.beliefs.find(server, topLevel);
      if (known !== undefined) return judge(known);
      // Each such domain has an SOA record. "No such record" is what networks say that have made up an inner "com".
      current = askServer(server, newId(), topLevel, "soa", ({ kind }) => {
        this.beliefs.keep(server, topLevel, kind === "records");
        judge(kind === "records");
      });
    });
    return { stop: () => current.stop() };
  }
}

/** One question to one server; `tell` is called once, later, unless stopped before. */
function askServer(
  server: DnsServer,
  id: number,
  host: string,
  type: RecordType,
  tell: (reply: Reply) => void,
): Attempt {
  const question = encodeQuestion(id, host, type);
  const read = (bytes: Uint8Array) => readReply(bytes, id, host, type);
  let current: Attempt | undefined;
  let stopped = false;
  const done = (reply: Reply) => {
    if (stopped) return;
    stopped = true;
    current?.stop();
    tell(reply);
  };
  current = overUdp(server, question, read, (reply) => {
    if (stopped) return;
    if (reply.kind !== "truncated") return done(reply);
    current?.stop();
    current = overTcp(server, question, read, (whole) =>
      done(whole.kind === "truncated" ? { kind: "failed" } : whole),
    );
  });
  return {
    stop: () => {
      stopped = true;
      current?.stop();
    },
  };
}

/** Opening a socket throws at once where the system has no such addresses, and rejects otherwise. */
async function opening<Socket>(open: () => Promise<Socket>): Promise<Socket> {
  return open();
}

type Read = (bytes: Uint8Array) => DnsReply | undefined;
type Tell = (reply: DnsReply) => void;

function overUdp({ address, port }: DnsServer, question: Uint8Array, read: Read, tell: Tell): Attempt {
  let stopped = false;
  let socket: { close(): void } | undefined;
  const fail = () => {
    if (!stopped) tell({ kind: "failed" });
  };
  // Connected: the system passes on what comes from this address and port, and nothing else.
  opening(() =>
    Bun.udpSocket({
      connect: { hostname: address, port },
      socket: {
        data(_, bytes) {
          if (stopped) return;
          const reply = read(bytes);
          if (reply !== undefined) tell(reply);
        },
        error: fail,
      },
    }),
  )
    .then((opened) => {
      if (stopped) return opened.close();
      socket = opened;
      opened.send(question); // throws where a firewall or a missing route refuses it
    })
    .catch(fail);
  return {
    stop: () => {
      stopped = true;
      socket?.close();
      socket = undefined;
    },
  };
}

/** RFC 1035 4.2.2: each message follows its length in two bytes. */
function overTcp({ address, port }: DnsServer, question: Uint8Array, read: Read, tell: Tell): Attempt {
  let stopped = false;
  let socket: { terminate(): void } | undefined;
  let reply = new Uint8Array(2); // its length; then the whole
  let filled = 0;
  const fail = () => {
    if (!stopped) tell({ kind: "failed" });
  };
  const message = new Uint8Array(2 + question.length);
  new DataView(message.buffer).setUint16(0, question.length);
  message.set(question, 2);
  opening(() =>
    Bun.connect({
      hostname: address,
      port,
      socket: {
        open(opened) {
          if (opened.write(message) !== message.length) fail();
        },
        data(_, bytes) {
          if (stopped) return;
          for (let at = 0; at < bytes.length && filled < reply.length; ) {
            const piece = bytes.subarray(at, at + reply.length - filled);
            reply.set(piece, filled);
            filled += piece.length;
            at += piece.length;
            if (filled === 2) {
              const whole = new Uint8Array(2 + reply[0]! * 256 + reply[1]!);
              whole.set(reply);
              reply = whole;
            }
          }
          if (filled > 2 && filled === reply.length) tell(read(reply.subarray(2)) ?? { kind: "failed" });
        },
        close: fail,
        error: fail,
      },
    }),
  ).then((opened) => {
    if (stopped) opened.terminate();
    else socket = opened;
  }, fail);
  return {
    stop: () => {
      stopped = true;
      socket?.terminate();
      socket = undefined;
    },
  };
}
