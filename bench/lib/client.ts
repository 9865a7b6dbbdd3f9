// client.ts: keep-alive HTTP/1.1 connections over plain TCP, one request under way on each: a client that costs little,
// keeps its own time, and sees every answer as it came.
//
// in   whole requests as bytes; answers must have Content-Length
// err  a connection that ends under a request is told of as undefined; it is opened anew for the next one

/** One answer: head and body as latin1 text; undefined when the connection failed. */
export type OnAnswer = (answer: string | undefined) => void;

interface Connection {
  socket: Bun.Socket<Connection> | undefined;
  onAnswer: OnAnswer | undefined;
  /** What came of an answer that is not whole yet. */
  part: string;
}

/** A connection that was lost is opened anew after this: at once, the system may hand it to the queue of a process that dies. */
const RECONNECT_MS = 50;

export class Client {
  private readonly port: number;
  private readonly idle: Connection[] = [];
  private readonly waiting: { readonly request: string; readonly onAnswer: OnAnswer }[] = [];
  private isClosed = false;

  private constructor(port: number) {
    this.port = port;
  }

  static async open(port: number, connections: number): Promise<Client> {
    const client = new Client(port);
    for (let i = 0; i < connections; i++) {
      const connection: Connection = { socket: undefined, onAnswer: undefined, part: "" };
      await client.connect(connection);
      client.idle.push(connection);
    }
    return client;
  }

  /** Sends a request on an idle connection, or as soon as there is one. */
  send(request: string, onAnswer: OnAnswer): void {
    const connection = this.idle.pop();
    if (connection === undefined) this.waiting.push({ request, onAnswer });
    else this.start(connection, request, onAnswer);
  }

  close(): void {
    this.isClosed = true;
    for (const { socket } of this.idle) socket?.end();
  }

  private start(connection: Connection, request: string, onAnswer: OnAnswer): void {
    connection.onAnswer = onAnswer;
    if (connection.socket === undefined) void this.startAnew(connection, request);
    else connection.socket.write(request);
  }

  private async startAnew(connection: Connection, request: string): Promise<void> {
    try {
      await Bun.sleep(RECONNECT_MS);
      await this.connect(connection);
      connection.socket!.write(request);
    } catch {
      this.finish(connection, undefined); // nothing listens there now
    }
  }

  private async connect(connection: Connection): Promise<void> {
    const ended = () => {
      connection.socket = undefined;
      connection.part = "";
      if (connection.onAnswer !== undefined) this.finish(connection, undefined);
    };
    connection.socket = await Bun.connect<Connection>({
      hostname: "127.0.0.1",
      port: this.port,
      data: connection,
      socket: {
        data: (_, chunk) => this.received(connection, chunk.toString("latin1")),
        close: ended,
        error: ended,
      },
    });
  }

  private received(connection: Connection, text: string): void {
    const whole = connection.part === "" ? text : connection.part + text;
    const headEnd = whole.indexOf("\r\n\r\n");
    const length = headEnd < 0 ? Number.NaN : contentLength(whole, headEnd);
    if (whole.length < headEnd + 4 + length || Number.isNaN(length)) {
      connection.part = whole;
      return;
    }
    connection.part = "";
    this.finish(connection, whole);
  }

  private finish(connection: Connection, answer: string | undefined): void {
    const { onAnswer } = connection;
    connection.onAnswer = undefined;
    const next = this.waiting.shift();
    if (next === undefined) this.idle.push(connection);
    else this.start(connection, next.request, next.onAnswer);
    onAnswer?.(answer);
    if (this.isClosed) connection.socket?.end();
  }
}

const LENGTH = /\r\ncontent-length: *(\d+)/i;

function contentLength(text: string, headEnd: number): number {
  const found = LENGTH.exec(text);
  return found === null || found.index > headEnd ? Number.NaN : Number(found[1]);
}

export function requestText(path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ Host: "127.0.0.1", ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}
