// connection.ts: a keep-alive HTTP/1.1 connection that sends bytes unchanged and reads responses unchanged.
//
// fetch would normalise the path, follow redirects, unpack gzip and join headers.

import { connect, type Socket } from "node:net";

const TIMEOUT_MS = 10_000;

export interface RawResponse {
  /** The status line after the version, such as "200 OK". */
  readonly status: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

export class Connection {
  private readonly port: number;
  private socket: Socket | undefined;
  private received = Buffer.alloc(0);
  private isEnded = false;
  private wake: () => void = () => {};

  constructor(port: number) {
    this.port = port;
  }

  /**
   * Sends a request, and sends it again if the server had closed the connection, as it does after 10 s of
   * idle time.
   */
  async send(request: Uint8Array, hasBody: boolean): Promise<RawResponse> {
    const isReused = this.socket !== undefined && !this.isEnded;
    if (!isReused) this.open();
    try {
      return await this.sendOnce(request, hasBody);
    } catch (error) {
      if (!isReused || !this.isEnded || this.received.length > 0) throw error;
      this.open();
      return this.sendOnce(request, hasBody);
    }
  }

  /** Sends a request once, and closes the connection if the response asks for that. */
  private async sendOnce(request: Uint8Array, hasBody: boolean): Promise<RawResponse> {
    this.socket?.write(request);
    const head = await this.readHead();
    const [line, ...rows] = head.split("\r\n");
    const status = /^HTTP\/1\.1 (\d{3} .*)$/.exec(line ?? "")?.[1];
    if (status === undefined) throw new Error(`not HTTP: ${line}`);
    const headers = rows.map((row): [string, string] => {
      const colon = row.indexOf(":");
      return [row.slice(0, colon), row.slice(colon + 1).trim()];
    });
    const headerOf = (name: string) => headers.find(([key]) => key.toLowerCase() === name)?.[1];
    const isBodiless = !hasBody || /^(1|204|304)/.test(status);
    const body = isBodiless ? Buffer.alloc(0) : await this.readBody(headerOf);
    if (headerOf("connection")?.toLowerCase() === "close" || this.isEnded) this.close();
    return { status, headers, body };
  }

  close(): void {
    this.socket?.destroy();
    this.socket = undefined;
  }

  private open(): void {
    this.close();
    const socket = connect(this.port, "127.0.0.1");
    this.socket = socket;
    this.received = Buffer.alloc(0);
    this.isEnded = false;
    socket.setNoDelay(true);
    socket.on("data", (bytes) => {
      if (this.socket !== socket) return;
      this.received = Buffer.concat([this.received, Buffer.from(bytes)]);
      this.wake();
    });
    const end = () => {
      if (this.socket === socket) this.isEnded = true;
      this.wake();
    };
    socket.on("close", end);
    socket.on("end", end);
    socket.on("error", end);
  }

  private async more(): Promise<void> {
    if (this.isEnded) throw new Error("the server closed the connection");
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no response within 10 s")), TIMEOUT_MS);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private take(length: number): Buffer {
    const bytes = this.received.subarray(0, length);
    this.received = this.received.subarray(length);
    return bytes;
  }

  private async readUntil(end: string): Promise<string> {
    let at = this.received.indexOf(end);
    while (at < 0) {
      await this.more();
      at = this.received.indexOf(end);
    }
    return this.take(at + end.length)
      .subarray(0, -end.length)
      .toString("latin1");
  }

  private async readHead(): Promise<string> {
    const head = await this.readUntil("\r\n\r\n");
    return head.startsWith("HTTP/1.1 100") ? this.readHead() : head;
  }

  private async readExactly(length: number): Promise<Buffer> {
    while (this.received.length < length) await this.more();
    return this.take(length);
  }

  private async readBody(headerOf: (name: string) => string | undefined): Promise<Buffer> {
    const length = headerOf("content-length");
    if (length !== undefined) return this.readExactly(Number(length));
    if (headerOf("transfer-encoding") === "chunked") return this.readChunks();
    while (!this.isEnded) await this.more();
    return this.take(this.received.length);
  }

  private async readChunks(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (;;) {
      const length = Number.parseInt(await this.readUntil("\r\n"), 16);
      if (!Number.isInteger(length)) throw new Error("a chunk without a length");
      const chunk = await this.readExactly(length);
      await this.readUntil("\r\n");
      if (length === 0) return Buffer.concat(chunks);
      chunks.push(chunk);
    }
  }
}
