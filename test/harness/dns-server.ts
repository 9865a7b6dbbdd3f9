// dns-server.ts: a DNS server on 127.0.0.1 that sends the responses, valid or not, that a test sets.

export interface DnsQuestion {
  readonly name: string;
  /** 1 A, 6 SOA, 15 MX, 28 AAAA. */
  readonly type: number;
  readonly overTcp: boolean;
}

export interface DnsRecord {
  readonly name: string;
  readonly type: number;
  readonly ttl?: number;
  readonly data: Uint8Array;
}

export interface DnsAnswer {
  readonly rcode?: number;
  readonly answers?: readonly DnsRecord[];
  readonly authorities?: readonly DnsRecord[];
  readonly truncated?: boolean;
  /** Sent instead of the reply, after the two bytes of the id. */
  readonly raw?: Uint8Array;
  readonly idShift?: number;
  readonly question?: { readonly name: string; readonly type: number } | "none";
  readonly delayMs?: number;
  /** TCP: sends one byte at a time. */
  readonly drip?: boolean;
  /** UDP: sends from another port. */
  readonly fromElsewhere?: boolean;
}

export type DnsScript = (question: DnsQuestion) => DnsAnswer | "silent" | "hang-up";

const CNAME = 5;
const SOA = 6;
const MX = 15;

export function nameBytes(name: string): Uint8Array {
  const labels = name === "" ? [] : name.split(".");
  return Uint8Array.from([...labels.flatMap((label) => [label.length, ...Buffer.from(label, "latin1")]), 0]);
}

const u16 = (n: number) => [(n >> 8) & 0xff, n & 0xff];
const u32 = (n: number) => [...u16(n >>> 16), ...u16(n & 0xffff)];

export const mx = (name: string, preference: number, host: string, ttl = 300): DnsRecord => ({
  name,
  type: MX,
  ttl,
  data: Uint8Array.from([...u16(preference), ...nameBytes(host)]),
});
export const a = (name: string, ttl = 300): DnsRecord => ({
  name,
  type: 1,
  ttl,
  data: Uint8Array.of(192, 0, 2, 1),
});
export const aaaa = (name: string, ttl = 300): DnsRecord => ({
  name,
  type: 28,
  ttl,
  data: new Uint8Array(16),
});
export const cname = (name: string, to: string, ttl = 300): DnsRecord => ({
  name,
  type: CNAME,
  ttl,
  data: nameBytes(to),
});
export const soa = (name: string, minimum: number, ttl = 3600): DnsRecord => ({
  name,
  type: SOA,
  ttl,
  data: Uint8Array.from([
    ...nameBytes("ns"),
    ...nameBytes("root"),
    ...u32(1),
    ...u32(7200),
    ...u32(900),
    ...u32(86400),
    ...u32(minimum),
  ]),
});

/** Answers as a server that has these top-level domains, like a server with internet access. */
export function knowing(topLevels: readonly string[], script: DnsScript): DnsScript {
  return (question) =>
    question.type === SOA && topLevels.includes(question.name)
      ? { answers: [soa(question.name, 900)] }
      : script(question);
}

export function encodeAnswer(id: number, question: DnsQuestion, answer: DnsAnswer): Uint8Array {
  if (answer.raw !== undefined) return Uint8Array.from([...u16(id), ...answer.raw]);
  const { rcode = 0, answers = [], authorities = [], truncated = false } = answer;
  const echoed = answer.question ?? question;
  const section = echoed === "none" ? [] : [...nameBytes(echoed.name), ...u16(echoed.type), ...u16(1)];
  const record = ({ name, type, ttl = 300, data }: DnsRecord) => [
    ...nameBytes(name),
    ...u16(type),
    ...u16(1),
    ...u32(ttl),
    ...u16(data.length),
    ...data,
  ];
  return Uint8Array.from([
    ...u16((id + (answer.idShift ?? 0)) & 0xffff),
    ...u16(0x8180 | (truncated ? 0x0200 : 0) | rcode),
    ...u16(echoed === "none" ? 0 : 1),
    ...u16(answers.length),
    ...u16(authorities.length),
    ...u16(0),
    ...section,
    ...answers.flatMap(record),
    ...authorities.flatMap(record),
  ]);
}

function readQuestion(bytes: Uint8Array, overTcp: boolean): DnsQuestion {
  const labels: string[] = [];
  let at = 12;
  while (bytes[at] !== 0) {
    const length = bytes[at]!;
    labels.push(Buffer.from(bytes.subarray(at + 1, at + 1 + length)).toString("latin1"));
    at += length + 1;
  }
  return { name: labels.join("."), type: bytes[at + 1]! * 256 + bytes[at + 2]!, overTcp };
}

export interface DnsServer {
  readonly port: number;
  readonly questions: DnsQuestion[];
  stop(): void;
}

export async function startDnsServer(script: DnsScript): Promise<DnsServer> {
  const questions: DnsQuestion[] = [];
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const later = (ms: number, run: () => void) => {
    if (ms === 0) return run();
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, ms);
    timers.add(timer);
  };
  const other = await Bun.udpSocket({ hostname: "127.0.0.1", socket: { data() {}, error() {} } });
  const open = async (port: number) => {
    const tcp = Bun.listen({
      hostname: "127.0.0.1",
      port,
      socket: {
        data(socket, bytes) {
          const question = readQuestion(bytes.subarray(2), true);
          questions.push(question);
          const answer = script(question);
          if (answer === "silent") return;
          if (answer === "hang-up") {
            socket.end();
            return;
          }
          const reply = encodeAnswer(bytes[2]! * 256 + bytes[3]!, question, answer);
          const whole = Uint8Array.from([...u16(reply.length), ...reply]);
          later(answer.delayMs ?? 0, () => {
            if (!answer.drip) return void socket.write(whole);
            for (const byte of whole) {
              socket.write(Uint8Array.of(byte));
              socket.flush();
            }
          });
        },
      },
    });
    try {
      const udp = await Bun.udpSocket({
        hostname: "127.0.0.1",
        port: tcp.port,
        socket: {
          error() {}, // ICMP errors for clients that have gone
          data(socket, bytes, port, address) {
            const question = readQuestion(bytes, false);
            questions.push(question);
            const answer = script(question);
            if (answer === "silent" || answer === "hang-up") return;
            const reply = encodeAnswer(bytes[0]! * 256 + bytes[1]!, question, answer);
            later(answer.delayMs ?? 0, () => {
              if (socket.closed) return;
              try {
                (answer.fromElsewhere ? other : socket).send(reply, port, address);
              } catch (error) {
                // An earlier client has gone, and its error arrives with the next send.
                if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw error;
              }
            });
          },
        },
      });
      return { tcp, udp };
    } catch (error) {
      tcp.stop(true);
      throw error;
    }
  };
  let sockets: Awaited<ReturnType<typeof open>> | undefined;
  for (let attempt = 0; sockets === undefined; attempt++) {
    // The port is free for TCP, but may be taken for UDP.
    sockets = await open(0).catch((error) => {
      if (attempt === 9) throw error;
      return undefined;
    });
  }
  const { tcp, udp } = sockets;
  return {
    port: tcp.port,
    questions,
    stop: () => {
      for (const timer of timers) clearTimeout(timer);
      udp.close();
      other.close();
      tcp.stop(true);
    },
  };
}
