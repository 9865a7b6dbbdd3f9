// tcp-proxy.ts: stands between a program and PostgreSQL: cuts, falls silent, or drops notices as a pooler does.

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Of PostgreSQL's protocol, https://www.postgresql.org/docs/current/protocol-message-formats.html */
const NOTIFICATION = 0x41;

export class TcpProxy {
  /** Takes connections, and holds back every byte. */
  isSilent = false;
  /** Ends every new connection at once. */
  isCut = false;
  /** Drops notices, as PgBouncer in transaction mode does. */
  dropsNotices = false;
  private readonly target: number;
  private readonly pairs = new Set<Socket>();
  private readonly server = createServer((client) => this.pair(client));

  private constructor(target: number) {
    this.target = target;
  }

  static async to(port: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(port);
    await new Promise<void>((resolve) => proxy.server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Ends all connections, and those that come, until `mend`. */
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
    client.on("data", (bytes) => this.isSilent || server.write(bytes));
    server.on("data", (bytes: Buffer) => {
      if (this.isSilent) return;
      for (const message of messages.split(bytes)) {
        if (!this.dropsNotices || message[0] !== NOTIFICATION) client.write(message);
      }
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.pairs.add(socket);
      socket.on("error", () => {}); // its close follows
      socket.on("close", () => {
        this.pairs.delete(socket);
        other.destroy();
      });
    }
  }
}

/** What a PostgreSQL server sends, message by message: a byte, and the length of the rest in four. */
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
