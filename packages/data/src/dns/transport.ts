// transport.ts: sends one question to one DNS server, over UDP, and over TCP if the reply does not fit.
//
// Source: RFC 1035 4.2, RFC 5452 (a forger must guess the id and the port, both new for each question). Cost: opening a
// socket for each question takes 11 µs.

import { type DnsReply, encodeQuestion, type RecordType, readReply } from "./message.ts";

export interface DnsServer {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
}

export type WholeReply = Exclude<DnsReply, { kind: "truncated" }>;

/** A pending question. `stop` closes its socket, and afterwards the callback is not called. */
export interface Attempt {
  stop(): void;
}

type OnReply = (reply: DnsReply) => void;
type Read = (bytes: Uint8Array) => DnsReply | undefined;

/** Sends one question. Calls `onReply` at most once, and never before this function returns. */
export function queryServer(
  server: DnsServer,
  id: number,
  host: string,
  type: RecordType,
  onReply: (reply: WholeReply) => void,
): Attempt {
  const question = encodeQuestion(id, host, type);
  const read = (bytes: Uint8Array) => readReply(bytes, id, host, type);
  let stopped = false;
  const finish = (reply: WholeReply) => {
    if (stopped) return;
    stopped = true;
    current.stop();
    onReply(reply);
  };
  let current = queryOverUdp(server, question, read, (reply) => {
    if (stopped) return;
    if (reply.kind !== "truncated") return finish(reply);
    current.stop();
    current = queryOverTcp(server, question, read, (whole) =>
      finish(whole.kind === "truncated" ? { kind: "failed" } : whole),
    );
  });
  return {
    stop: () => {
      stopped = true;
      current.stop();
    },
  };
}

function queryOverUdp(server: DnsServer, question: Uint8Array, read: Read, onReply: OnReply): Attempt {
  return startAttempt(onReply, async (reply) => {
    const socket = await Bun.udpSocket({
      // The socket is connected, so the system drops datagrams from any other address or port.
      connect: { hostname: server.address, port: server.port },
      socket: {
        data(_, bytes) {
          const found = read(bytes);
          if (found !== undefined) reply(found);
        },
        error: () => reply({ kind: "failed" }),
      },
    });
    // `send` throws if a firewall or a missing route refuses the packet.
    return { send: () => void socket.send(question), close: () => socket.close() };
  });
}

/** Sends a question over TCP. There, each message is preceded by its length in two bytes (RFC 1035 4.2.2). */
function queryOverTcp(server: DnsServer, question: Uint8Array, read: Read, onReply: OnReply): Attempt {
  return startAttempt(onReply, async (reply) => {
    const fail = () => reply({ kind: "failed" });
    const receive = messageCollector((bytes) => reply(read(bytes) ?? { kind: "failed" }));
    const message = new Uint8Array(2 + question.length);
    new DataView(message.buffer).setUint16(0, question.length);
    message.set(question, 2);
    const socket = await Bun.connect({
      hostname: server.address,
      port: server.port,
      socket: { data: (_, bytes) => receive(bytes), close: fail, error: fail },
    });
    const send = () => {
      if (socket.write(message) !== message.length) fail();
    };
    return { send, close: () => socket.terminate() };
  });
}

interface Connection {
  send(): void;
  close(): void;
}

/** Opens a connection and sends the question, unless it is stopped before that. Errors become the reply "failed". */
function startAttempt(onReply: OnReply, open: (reply: OnReply) => Promise<Connection>): Attempt {
  let stopped = false;
  let connection: Connection | undefined;
  const reply: OnReply = (found) => {
    if (!stopped) onReply(found);
  };
  const start = async () => {
    const opened = await open(reply);
    if (stopped) return opened.close();
    connection = opened;
    opened.send();
  };
  start().catch(() => reply({ kind: "failed" }));
  return {
    stop: () => {
      stopped = true;
      connection?.close();
      connection = undefined;
    },
  };
}

/** Collects the pieces of the first message on a connection, and ignores whatever follows it. */
function messageCollector(onMessage: (message: Uint8Array) => void): (piece: Uint8Array) => void {
  let buffer = new Uint8Array(2); // first the two length bytes, then the whole message
  let filled = 0;
  return (piece) => {
    for (let at = 0; at < piece.length && filled < buffer.length; ) {
      const part = piece.subarray(at, at + buffer.length - filled);
      buffer.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled !== 2) continue;
      const whole = new Uint8Array(2 + new DataView(buffer.buffer).getUint16(0));
      whole.set(buffer);
      buffer = whole;
    }
    if (filled > 2 && filled === buffer.length) onMessage(buffer.subarray(2));
  };
}
