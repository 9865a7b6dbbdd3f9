// framing-cases.ts: lists requests whose end can be read in two ways, and similar requests that are sound.
//
// A proxy in front may read the end differently. The server must refuse an ambiguous request and close its
// connection. Otherwise its remainder would be taken for another client's request (RFC 9112, 6.3 and 11.2).

export interface FramingCase {
  readonly name: string;
  /** Returns the request in Latin-1, with a key's token. */
  readonly bytes: (key: string) => string;
  /** Statuses of all responses to the request. */
  readonly statuses: readonly number[];
  /**
   * "closed": the connection is closed; "goes on": the next request on it is answered; "waits": the request
   * is incomplete.
   */
  readonly then: "closed" | "goes on" | "waits";
}

type Row = readonly [name: string, text: string, statuses: readonly number[], then: FramingCase["then"]];

const PLACE = "/v1/ip-intel/geolocate/81.2.69.142";
const HOST = "Host: t\r\n";
const KEY = "Authorization: Bearer KEY\r\n";
const GET = `GET ${PLACE} HTTP/1.1\r\n${HOST}`;
const JSON_BODY = '{"values":["8.8.8.8"]}';
const POST = `POST /v1/ip-intel/geolocate HTTP/1.1\r\n${HOST}${KEY}Content-Type: application/json\r\n`;
/** A request that must never be answered: it is part of a body or follows a refused request. */
const HIDDEN = `GET /hidden HTTP/1.1\r\n${HOST}\r\n`;
const CHUNKED = "Transfer-Encoding: chunked\r\n";
const chunk = (text: string, extension = "") => `${text.length.toString(16)}${extension}\r\n${text}\r\n`;
const LAST = "0\r\n\r\n";
const length = (text: string | number) =>
  `Content-Length: ${typeof text === "number" ? text : text.length}\r\n`;
const REFUSED = [400];
/** The parser's status for a first line that it cannot read completely. */
const OTHER_VERSION = [505];

const ROWS: readonly Row[] = [
  // Sound requests.
  ["a GET", `${GET}${KEY}\r\n`, [200], "goes on"],
  ["a GET without a key", `${GET}\r\n`, [401], "goes on"],
  ["two, pipelined", `${GET}${KEY}\r\n${GET}\r\n`, [200, 401], "goes on"],
  ["thirty, pipelined", `${GET}\r\n`.repeat(30), Array(30).fill(401), "goes on"],
  ["HEAD", `${GET.replace("GET", "HEAD")}${KEY}\r\n`, [200], "goes on"],
  ["a JSON batch", `${POST}${length(JSON_BODY)}\r\n${JSON_BODY}`, [200], "goes on"],
  ["a JSON batch in chunks", `${POST}${CHUNKED}\r\n${chunk(JSON_BODY)}${LAST}`, [200], "goes on"],
  ["chunks with an extension", `${POST}${CHUNKED}\r\n${chunk(JSON_BODY, ";a=b")}${LAST}`, [200], "goes on"],
  [
    "chunk sizes in capitals and with zeros",
    `${POST}${CHUNKED}\r\n0016\r\n${JSON_BODY}\r\n${LAST}`,
    [200],
    "goes on",
  ],
  ["a request in a body", `${POST}${length(HIDDEN)}\r\n${HIDDEN}`, [400], "goes on"],
  ["a request in a chunk", `${POST}${CHUNKED}\r\n${chunk(HIDDEN)}${LAST}`, [400], "closed"],
  ["a body on GET", `${GET}${length(HIDDEN)}\r\n${HIDDEN}`, [401], "goes on"],
  ["a batch without a key", `${POST.replace(KEY, "")}${length(HIDDEN)}\r\n${HIDDEN}`, [401], "goes on"],
  ["Expect", `${POST}Expect: 100-continue\r\n${length(JSON_BODY)}\r\n${JSON_BODY}`, [200], "goes on"],
  ["Connection: close", `${GET}Connection: close\r\n\r\n${HIDDEN}`, [401], "closed"],
  ["an empty line before", `\r\n${GET}\r\n${HIDDEN}`, REFUSED, "closed"],
  ["an absolute target", `${GET.replace(PLACE, `http://t${PLACE}`)}${KEY}\r\n`, [200], "goes on"],
  ["an absolute target of another host", `${GET.replace(PLACE, `http://x${PLACE}`)}\r\n`, [401], "goes on"],
  ["HTTP/1.0", `GET ${PLACE} HTTP/1.0\r\n${KEY}\r\n`, [200], "closed"],
  ["an unknown method", `${GET.replace("GET", "FROB")}\r\n${HIDDEN}`, [], "closed"],
  [
    "Upgrade to HTTP/2",
    `${GET}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n`,
    [401],
    "goes on",
  ],
  ["two keys", `${GET}${KEY}${KEY}\r\n`, [401], "goes on"],
  // Incomplete requests.
  ["half a head", GET, [], "waits"],
  ["half a body", `${POST}${length(100)}\r\n${JSON_BODY}`, [], "waits"],
  ["half a chunk", `${POST}${CHUNKED}\r\n20\r\n{`, [], "waits"],
  // Content-Length and chunks.
  [
    "length, then chunks",
    `${POST}${length(4)}${CHUNKED}\r\n${chunk(JSON_BODY)}${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  ["chunks, then length", `${POST}${CHUNKED}${length(4)}\r\n${LAST}${HIDDEN}`, REFUSED, "closed"],
  ["chunks and length 0", `${POST}${CHUNKED}${length(0)}\r\n${LAST}${HIDDEN}`, REFUSED, "closed"],
  ["both, without a key", `${GET}${length(4)}${CHUNKED}\r\n${LAST}${HIDDEN}`, REFUSED, "closed"],
  ["two lengths that differ", `${POST}${length(0)}${length(HIDDEN)}\r\n${HIDDEN}`, REFUSED, "closed"],
  [
    "two lengths that differ, the other way round",
    `${POST}${length(HIDDEN)}${length(0)}\r\n${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  [
    "the same length twice",
    `${POST}${length(JSON_BODY)}${length(JSON_BODY)}\r\n${JSON_BODY}`,
    [200],
    "goes on",
  ],
  ["a list of lengths", `${POST}Content-Length: 4, 4\r\n\r\n1234${HIDDEN}`, REFUSED, "closed"],
  ["a length with a sign", `${POST}Content-Length: +22\r\n\r\n${JSON_BODY}${HIDDEN}`, REFUSED, "closed"],
  ["a length below 0", `${POST}Content-Length: -1\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a length in hexadecimal", `${POST}Content-Length: 0x16\r\n\r\n${JSON_BODY}${HIDDEN}`, REFUSED, "closed"],
  ["a length with a fraction", `${POST}Content-Length: 22.0\r\n\r\n${JSON_BODY}${HIDDEN}`, REFUSED, "closed"],
  [
    "a length with a space inside",
    `${POST}Content-Length: 2 2\r\n\r\n${JSON_BODY}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  ["an empty length", `${POST}Content-Length: \r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a length that is a word", `${POST}Content-Length: many\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  [
    "a length beyond 64 bits",
    `${POST}Content-Length: 99999999999999999999\r\n\r\n${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  // Transfer codings.
  ["chunked twice", `${POST}${CHUNKED}${CHUNKED}\r\n${chunk(JSON_BODY)}${LAST}${HIDDEN}`, REFUSED, "closed"],
  [
    "chunked, chunked",
    `${POST}Transfer-Encoding: chunked, chunked\r\n\r\n${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  ["identity", `${POST}Transfer-Encoding: identity\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  [
    "chunked, identity",
    `${POST}Transfer-Encoding: chunked, identity\r\n\r\n${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  [
    "identity, chunked",
    `${POST}Transfer-Encoding: identity, chunked\r\n\r\n${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  ["gzip, chunked", `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n${LAST}${HIDDEN}`, REFUSED, "closed"],
  ["a coding like chunked", `${POST}Transfer-Encoding: xchunked\r\n\r\n${LAST}${HIDDEN}`, REFUSED, "closed"],
  ["chunked in quotes", `${POST}Transfer-Encoding: "chunked"\r\n\r\n${LAST}${HIDDEN}`, REFUSED, "closed"],
  [
    "chunked with a vertical tab",
    `${POST}Transfer-Encoding: \x0bchunked\r\n\r\n${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  ["chunked with a NUL", `${POST}Transfer-Encoding: chunked\0\r\n\r\n${LAST}${HIDDEN}`, REFUSED, "closed"],
  ["an empty coding", `${POST}Transfer-Encoding: \r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  [
    "a space before the colon",
    `${POST}Transfer-Encoding : chunked\r\n\r\n${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  ["a length with a space before the colon", `${POST}Content-Length : 5\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  [
    "chunked under HTTP/1.0",
    `${POST.replace("1.1", "1.0")}${CHUNKED}\r\n${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  // Chunk syntax.
  ["a chunk size that is none", `${POST}${CHUNKED}\r\nxyz\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a chunk size in 0x", `${POST}${CHUNKED}\r\n0x16\r\n${JSON_BODY}\r\n${LAST}${HIDDEN}`, REFUSED, "closed"],
  ["a chunk size below 0", `${POST}${CHUNKED}\r\n-1\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a chunk size beyond 64 bits", `${POST}${CHUNKED}\r\n${"f".repeat(17)}\r\n${HIDDEN}`, REFUSED, "closed"],
  [
    "a chunk that is longer than its size",
    `${POST}${CHUNKED}\r\n2\r\n${JSON_BODY}\r\n${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  [
    "a chunk without its line end",
    `${POST}${CHUNKED}\r\n16\r\n${JSON_BODY}${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  [
    "a bare line feed after a chunk size",
    `${POST}${CHUNKED}\r\n16\n${JSON_BODY}\r\n${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  [
    "a bare return after a chunk size",
    `${POST}${CHUNKED}\r\n16\r${JSON_BODY}\r\n${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  [
    "a line feed in a chunk extension",
    `${POST}${CHUNKED}\r\n16;a\n${JSON_BODY}\r\n${LAST}${HIDDEN}`,
    REFUSED,
    "closed",
  ],
  // Header lines and names.
  ["a folded header", `${GET}X-A: b\r\n c\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a folded coding", `${POST}Transfer-Encoding:\r\n chunked\r\n\r\n${LAST}${HIDDEN}`, REFUSED, "closed"],
  ["a space before the first header", `GET ${PLACE} HTTP/1.1\r\n ${HOST}\r\n${HIDDEN}`, REFUSED, "closed"],
  ["bare line feeds", `${GET}\r\n`.replaceAll("\r", "") + HIDDEN, OTHER_VERSION, "closed"],
  ["a bare line feed between headers", `${GET}X-A: b\nX-B: c\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a bare return in a header", `${GET}X-A: b\rX-B: c\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a NUL in a header", `${GET}X-A: b\0c\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a header without a colon", `${GET}X-A\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a header without a name", `${GET}: b\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a name with a space inside", `${GET}Content Length: 5\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a name with a control character", `${GET}X\x01A: b\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["too many headers", `${GET}${"X-A: b\r\n".repeat(300)}\r\n${HIDDEN}`, [431], "closed"],
  ["too long a header", `${GET}X-A: ${"b".repeat(9_000)}\r\n\r\n${HIDDEN}`, [431], "closed"],
  // The first line.
  ["no host", `GET ${PLACE} HTTP/1.1\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["another version", `${GET.replace("1.1", "1.2")}\r\n${HIDDEN}`, OTHER_VERSION, "closed"],
  ["HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", REFUSED, "closed"],
  ["HTTP/0.9", `GET ${PLACE}\r\n\r\n${HIDDEN}`, OTHER_VERSION, "closed"],
  ["a lower-case protocol", `${GET.replace("HTTP", "http")}\r\n${HIDDEN}`, OTHER_VERSION, "closed"],
  // Bun has a list of methods, and does not answer others: docs/errors.md#limits.
  ["a lower-case method", `${GET.replace("GET", "get")}\r\n${HIDDEN}`, [], "closed"],
  ["a method of WebDAV", `${GET.replace("GET", "PROPFIND")}\r\n`, [405], "goes on"],
  ["CONNECT", `${GET.replace("GET", "CONNECT")}\r\n`, [405], "goes on"],
  ["two spaces in the first line", `${GET.replace(" HTTP", "  HTTP")}\r\n${HIDDEN}`, OTHER_VERSION, "closed"],
  ["a tab in the first line", `${GET.replace("GET ", "GET\t")}\r\n${HIDDEN}`, OTHER_VERSION, "closed"],
  ["a target without a slash", `${GET.replace(PLACE, "place")}\r\n${HIDDEN}`, REFUSED, "closed"],
  ["TLS on this port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", REFUSED, "closed"],
  ["zeros", "\0".repeat(64), REFUSED, "closed"],
  // Host headers.
  ["two hosts", `${GET}Host: u\r\n\r\n${HIDDEN}`, REFUSED, "closed"],
  ["the same host twice", `${GET}${HOST}\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a host with a space", `${GET.replace("Host: t", "Host: a b")}\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a host with a slash", `${GET.replace("Host: t", "Host: a/b")}\r\n${HIDDEN}`, REFUSED, "closed"],
  ["a host with a user", `${GET.replace("Host: t", "Host: u@t")}\r\n${HIDDEN}`, REFUSED, "closed"],
  ["half an IPv6 host", `${GET.replace("Host: t", "Host: [::")}\r\n${HIDDEN}`, REFUSED, "closed"],
  // Bun refuses trailers, and reads nothing after them: docs/errors.md#limits.
  ["trailers", `${POST}${CHUNKED}\r\n${chunk(JSON_BODY)}0\r\nX-A: b\r\n\r\n${HIDDEN}`, [400], "closed"],
  ["trailers like a request", `${POST}${CHUNKED}\r\n${chunk(JSON_BODY)}0\r\n${HIDDEN}`, [400], "closed"],
];

export const FRAMING: readonly FramingCase[] = ROWS.map(([name, text, statuses, then]) => ({
  name,
  bytes: (key) => text.replaceAll("KEY", key),
  statuses,
  then,
}));
