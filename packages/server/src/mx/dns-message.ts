// dns-message.ts: one DNS question to bytes, and the bytes of a reply to what they say about it.
//
// in   a host in A-labels and a record type; then any bytes at all
// out  the question; the reply's verdict: records, "no such name", "no such record", cut short, or a refusal
// err  none thrown: undefined means "no reply to this question", and the asker goes on waiting
// src  RFC 1035 4 (format), RFC 2181 8 (TTL), RFC 2308 2.1 and 5 (negative answers), RFC 6604 (NXDOMAIN behind CNAME)
// why  the runtime's own resolver says ENOTFOUND both when a name does not exist and when it has no such record
//      (seen in Bun 1.4.5); only the former may make an address invalid. Nor does it tell how long an MX record is good.

export const RECORD_TYPES = { a: 1, aaaa: 28, mx: 15, soa: 6 } as const;
export type RecordType = keyof typeof RECORD_TYPES;

const TYPE_CNAME = 5;
const CLASS_IN = 1;
const HEADER_BYTES = 12;
const MAX_NAME_OCTETS = 255;
const MAX_LABEL_OCTETS = 63;
/** More than any mail domain has: what a reply may make us read. */
const MAX_RECORDS = 256;
const MAX_CNAMES = 8;

const FLAG_REPLY = 0x8000;
const FLAG_TRUNCATED = 0x0200;
const FLAG_RECURSION_DESIRED = 0x0100;
const OPCODE = 0x7800;
const RCODE_NAME_ERROR = 3;

export interface MxRecord {
  readonly preference: number;
  /** Lower case, without a trailing dot; "" is the root: a null MX (RFC 7505). */
  readonly host: string;
}

export type DnsReply =
  /** `mx` is empty for other types, of which it is enough to know that there are some. */
  | { readonly kind: "records"; readonly mx: readonly MxRecord[]; readonly ttlSeconds: number }
  /** The name exists, but has no record of this type. Without `ttlSeconds` the server does not say for how long. */
  | { readonly kind: "none"; readonly ttlSeconds: number | undefined }
  | { readonly kind: "nxdomain"; readonly ttlSeconds: number | undefined }
  /** Does not fit a datagram: ask again over TCP. */
  | { readonly kind: "truncated" }
  /** SERVFAIL, REFUSED and the like, or a reply that cannot be read. */
  | { readonly kind: "failed" };

const FAILED: DnsReply = { kind: "failed" };

/**
 * The bytes of a question, recursion desired.
 * @param host lower-case A-labels, at most 253 characters
 */
export function encodeQuestion(id: number, host: string, type: RecordType): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + host.length + 2 + 4);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, id);
  view.setUint16(2, FLAG_RECURSION_DESIRED);
  view.setUint16(4, 1);
  let at = HEADER_BYTES;
  for (const label of host.split(".")) {
    bytes[at++] = label.length;
    for (let i = 0; i < label.length; i++) bytes[at++] = label.charCodeAt(i);
  }
  view.setUint16(at + 1, RECORD_TYPES[type]);
  view.setUint16(at + 3, CLASS_IN);
  return bytes;
}

/** A reply that does not keep to its format; never leaves this file. */
class Unreadable extends Error {}

/**
 * What a reply says.
 * @param bytes anything, from anybody
 * @returns undefined when this is no reply to the question: another id, another name or type, not a reply
 */
export function readReply(
  bytes: Uint8Array,
  id: number,
  host: string,
  type: RecordType,
): DnsReply | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const flags = view.getUint16(2);
  if (view.getUint16(0) !== id || (flags & FLAG_REPLY) === 0 || (flags & OPCODE) !== 0) return undefined;
  const rcode = flags & 0xf;
  const questions = view.getUint16(4);
  // A server that cannot read a question need not repeat it.
  if (questions === 0 && rcode !== 0 && rcode !== RCODE_NAME_ERROR) return FAILED;
  if (questions !== 1) return undefined;
  try {
    const question = readName(bytes, HEADER_BYTES);
    const at = question.end;
    if (question.name !== host) return undefined;
    if (read16(view, at) !== RECORD_TYPES[type] || read16(view, at + 2) !== CLASS_IN) return undefined;
    if ((flags & FLAG_TRUNCATED) !== 0) return { kind: "truncated" };
    if (rcode !== 0 && rcode !== RCODE_NAME_ERROR) return FAILED;
    return readSections(view, bytes, at + 4, rcode, host, type);
  } catch (error) {
    if (error instanceof Unreadable) return FAILED;
    throw error;
  }
}

interface RawRecord {
  readonly name: string;
  readonly type: number;
  readonly ttlSeconds: number;
  readonly data: number;
  readonly end: number;
}

function readSections(
  view: DataView,
  bytes: Uint8Array,
  start: number,
  rcode: number,
  host: string,
  type: RecordType,
): DnsReply {
  const answers = view.getUint16(6);
  const authorities = view.getUint16(8);
  if (answers + authorities > MAX_RECORDS) return FAILED;
  const records: RawRecord[] = [];
  let at = start;
  for (let i = 0; i < answers + authorities; i++) {
    const record = readRecord(view, bytes, at);
    records.push(record);
    at = record.end;
  }
  const chain = followAliases(bytes, records.slice(0, answers), host);
  if (rcode === RCODE_NAME_ERROR)
    return { kind: "nxdomain", ttlSeconds: negativeTtl(view, bytes, records.slice(answers)) };
  const found = records
    .slice(0, answers)
    .filter((record) => record.type === RECORD_TYPES[type] && record.name === chain.name);
  if (found.length === 0)
    return { kind: "none", ttlSeconds: negativeTtl(view, bytes, records.slice(answers)) };
  const ttlSeconds = Math.min(chain.ttlSeconds, ...found.map((record) => record.ttlSeconds));
  const mx = type === "mx" ? found.map((record) => readMx(view, bytes, record)) : [];
  return { kind: "records", mx, ttlSeconds };
}

function readMx(view: DataView, bytes: Uint8Array, { data, end }: RawRecord): MxRecord {
  const { name, end: nameEnd } = readName(bytes, data + 2);
  if (nameEnd !== end) throw new Unreadable();
  return { preference: read16(view, data), host: name };
}

/** Where a chain of aliases in the answer leads, and how long it holds. */
function followAliases(bytes: Uint8Array, records: readonly RawRecord[], host: string) {
  let name = host;
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (let hops = 0; hops <= MAX_CNAMES; hops++) {
    const alias = records.find((record) => record.type === TYPE_CNAME && record.name === name);
    if (alias === undefined) return { name, ttlSeconds };
    ttlSeconds = Math.min(ttlSeconds, alias.ttlSeconds);
    name = readName(bytes, alias.data).name;
  }
  throw new Unreadable(); // a loop
}

/** RFC 2308 5: the lesser of the SOA's own TTL and its last field. */
function negativeTtl(
  view: DataView,
  bytes: Uint8Array,
  authorities: readonly RawRecord[],
): number | undefined {
  const soa = authorities.find((record) => record.type === RECORD_TYPES.soa);
  if (soa === undefined) return undefined;
  const serial = readName(bytes, readName(bytes, soa.data).end).end;
  if (serial + 20 !== soa.end) throw new Unreadable();
  return Math.min(soa.ttlSeconds, ttlOf(view.getUint32(serial + 16)));
}

function readRecord(view: DataView, bytes: Uint8Array, at: number): RawRecord {
  const { name, end } = readName(bytes, at);
  const data = end + 10;
  if (data > bytes.length) throw new Unreadable();
  const recordEnd = data + view.getUint16(end + 8);
  if (recordEnd > bytes.length) throw new Unreadable();
  // Another class than the internet's is passed over.
  const type = view.getUint16(end + 2) === CLASS_IN ? view.getUint16(end) : 0;
  return { name, type, ttlSeconds: ttlOf(view.getUint32(end + 4)), data, end: recordEnd };
}

/** RFC 2181 8: with the highest bit set it means 0. */
function ttlOf(value: number): number {
  return value > 0x7fffffff ? 0 : value;
}

/** One name, compression followed: each pointer must lead further back than the one before it. */
function readName(bytes: Uint8Array, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let octets = 1;
  let at = start;
  let limit = start;
  let end = -1;
  for (;;) {
    const length = bytes[at];
    if (length === undefined) throw new Unreadable();
    if (length === 0) break;
    if (length >= 0xc0) {
      const low = bytes[at + 1];
      if (low === undefined) throw new Unreadable();
      if (end < 0) end = at + 2;
      at = (length & 0x3f) * 256 + low;
      if (at >= limit) throw new Unreadable();
      limit = at;
      continue;
    }
    octets += length + 1;
    if (length > MAX_LABEL_OCTETS || octets > MAX_NAME_OCTETS || at + 1 + length > bytes.length)
      throw new Unreadable();
    labels.push(labelText(bytes, at + 1, length));
    at += length + 1;
  }
  return { name: labels.join("."), end: end < 0 ? at + 1 : end };
}

/** Lower case; what no host name has becomes "?", so that no dot inside a label can look like a border. */
function labelText(bytes: Uint8Array, start: number, length: number): string {
  let text = "";
  for (let i = start; i < start + length; i++) text += String.fromCharCode(bytes[i]!);
  return text.toLowerCase().replace(/[^a-z0-9_-]/g, "?");
}

function read16(view: DataView, at: number): number {
  if (at + 2 > view.byteLength) throw new Unreadable();
  return view.getUint16(at);
}
