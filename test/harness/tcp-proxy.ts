// tcp-proxy.ts: a TCP proxy between a program and PostgreSQL. It can cut connections, hold back or delay bytes, or drop
// notices as a pooler does.

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Message type in PostgreSQL's protocol, https://www.postgresql.org/docs/current/protocol-message-formats.html */
const NOTIFICATION = 0x41;

export class TcpProxy {
  /** Accepts connections, but holds back every byte. */
  isSilent = false;
  /** Closes every new connection immediately. */
  isCut = false;
  /** Drops notices, as PgBouncer in transaction mode does. */
  dropsNotices = false;
  /** Delays bytes in both directions. Some wait for as long as TCP takes to resend a lost packet. */
  slowness: Slowness | undefined;
  /** The port to which new connections go. */
  target: number;
  private readonly pairs = new Set<Socket>();
  private readonly server = createServer((client) => this.pair(client));

  private constructor(target: number) {
    this.target = target;
  }

  static async to(port: number, address = "127.0.0.1"): Promise<TcpProxy> {
    const proxy = new TcpProxy(port);
    await new Promise<void>((resolve) => proxy.server.listen(0, address, resolve));
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Closes all connections, and refuses new ones until `mend`. */
  cut(): void {
    this.isCut = true;
    this.endAll();
  }

  mend(): void {
    this.isCut = false;
    this.isSilent = false;
  }

  endAll(): void {
    for (const socket of this.pairs) socket.destroy();
  }

  stop(): void {
    this.endAll();
    this.server.close();
  }

  private pair(client: Socket): void {
    if (this.isCut) {
      client.destroy();
      return;
    }
    const server = connect(this.target, "127.0.0.1");
    const messages = new Messages();
    const [toServer, toClient] = [new Link(this, server), new Link(this, client)];
    client.on("data", (bytes: Buffer) => this.isSilent || toServer.send(bytes));
    server.on("data", (bytes: Buffer) => {
      if (this.isSilent) return;
      for (const message of messages.split(bytes)) {
        if (!this.dropsNotices || message[0] !== NOTIFICATION) toClient.send(message);
      }
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.pairs.add(socket);
      socket.on("error", () => {}); // its close event follows
      socket.on("close", () => {
        this.pairs.delete(socket);
        other.destroy();
      });
    }
  }
}

interface Slowness {
  readonly delayMs: number;
  /** Share of the data that is lost the first time. */
  readonly loss: number;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** Minimum milliseconds until TCP resends a lost packet. Later data has to wait for it. */
const RETRANSMIT_MS = 200;

/** One direction of a connection. It keeps the order and applies the proxy's delay. */
class Link {
  private readonly proxy: TcpProxy;
  private readonly to: Socket;
  private readonly waiting: { readonly bytes: Buffer; readonly at: number }[] = [];

  constructor(proxy: TcpProxy, to: Socket) {
    this.proxy = proxy;
    this.to = to;
  }

  send(bytes: Buffer): void {
    const { slowness } = this.proxy;
    if (slowness === undefined && this.waiting.length === 0) {
      this.to.write(bytes);
      return;
    }
    const { delayMs, loss, random } = slowness ?? { delayMs: 0, loss: 0, random: () => 1 };
    const late = random() < loss ? delayMs + RETRANSMIT_MS : delayMs;
    const at = Math.max(performance.now() + late, this.waiting.at(-1)?.at ?? 0);
    this.waiting.push({ bytes, at });
    if (this.waiting.length === 1) this.wait();
  }

  private wait(): void {
    const [next] = this.waiting;
    if (next === undefined) return;
    const pass = () => {
      if (!this.to.destroyed) this.to.write(next.bytes);
      this.waiting.shift();
      this.wait();
    };
    setTimeout(pass, Math.max(0, next.at - performance.now()));
  }
}

/** Splits what a PostgreSQL server sends into messages: a type byte, then the length of the rest in four bytes. */
class Messages {
  private kept: Buffer = Buffer.alloc(0);

  *split(bytes: Buffer): Iterable<Buffer> {
    this.kept = Buffer.concat([this.kept, bytes]);
    for (;;) {
      const end = this.kept.length < 5 ? Number.POSITIVE_INFINITY : 1 + this.kept.readInt32BE(1);
      if (end > this.kept.length) return;
      yield this.kept.subarray(0, end);
      this.kept = this.kept.subarray(end);
    }
  }
}
