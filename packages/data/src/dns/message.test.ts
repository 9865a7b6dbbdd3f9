import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  a,
  aaaa,
  cname,
  type DnsAnswer,
  encodeAnswer,
  mx,
  nameBytes,
  soa,
} from "../../../../test/harness/dns-server.ts";
import { type DnsReply, encodeQuestion, RECORD_TYPES, type RecordType, readReply } from "./message.ts";

const ID = 0x1234;
const HOST = "mail.example.com";

function reply(answer: DnsAnswer, type: RecordType = "mx"): DnsReply | undefined {
  const question = { name: HOST, type: RECORD_TYPES[type], overTcp: false };
  return readReply(encodeAnswer(ID, question, answer), ID, HOST, type);
}

test("a question has the id, one question, recursion desired, and the name in labels", () => {
  expect([...encodeQuestion(0x0102, "a.bc", "mx")]).toEqual([
    1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 97, 2, 98, 99, 0, 0, 15, 0, 1,
  ]);
});

describe("readReply", () => {
  const many = Array.from({ length: 300 }, (_, i) => mx(HOST, i, `mx${i}.example.net`));
  const rows: [name: string, answer: DnsAnswer, want: DnsReply | undefined, type?: RecordType][] = [
    [
      "MX records",
      { answers: [mx(HOST, 20, "b.example.net", 300), mx(HOST, 10, "A.example.NET", 60)] },
      {
        kind: "records",
        mx: [
          { preference: 20, host: "b.example.net" },
          { preference: 10, host: "a.example.net" },
        ],
        ttlSeconds: 60,
      },
    ],
    ["a null MX", { answers: [mx(HOST, 0, "")] }, records([{ preference: 0, host: "" }])],
    ["an address", { answers: [a(HOST)] }, records([]), "a"],
    ["an IPv6 address", { answers: [aaaa(HOST)] }, records([]), "aaaa"],
    ["the name in capitals", { question: { name: "MAIL.Example.com", type: 15 } }, none(undefined)],
    ["no record of the type", { authorities: [soa("example.com", 120)] }, none(120)],
    ["the SOA's own TTL is less", { authorities: [soa("example.com", 900, 60)] }, none(60)],
    [
      "a TTL with the highest bit set is 0",
      { answers: [mx(HOST, 1, "m.net", 0x80000001)] },
      records([{ preference: 1, host: "m.net" }], 0),
    ],
    ["no record, no SOA", {}, none(undefined)],
    ["an SOA with TTL 0", { authorities: [soa("example.com", 0)] }, none(0)],
    ["an SOA record, as asked", { answers: [soa(HOST, 900, 60)] }, records([], 60), "soa"],
    ["an SOA record of another name", { answers: [soa("example.com", 900)] }, none(undefined), "soa"],
    ["records of another type only", { answers: [a(HOST)] }, none(undefined)],
    ["records of another name only", { answers: [mx("other.com", 1, "m.net")] }, none(undefined)],
    ["NXDOMAIN", { rcode: 3, authorities: [soa("com", 900)] }, { kind: "nxdomain", ttlSeconds: 900 }],
    [
      "an alias",
      { answers: [cname(HOST, "x.net", 30), mx("x.net", 1, "m.net")] },
      records([{ preference: 1, host: "m.net" }], 30),
    ],
    [
      "aliases out of order",
      { answers: [mx("y.net", 1, "m.net"), cname("x.net", "y.net"), cname(HOST, "x.net")] },
      records([{ preference: 1, host: "m.net" }]),
    ],
    [
      "an alias that leads nowhere",
      { rcode: 3, answers: [cname(HOST, "x.net")] },
      { kind: "nxdomain", ttlSeconds: undefined },
    ],
    ["an alias of itself", { answers: [cname(HOST, HOST)] }, failed()],
    ["a loop of aliases", { answers: [cname(HOST, "x.net"), cname("x.net", HOST)] }, failed()],
    ["a loop of aliases under NXDOMAIN", { rcode: 3, answers: [cname(HOST, HOST)] }, failed()],
    ["SERVFAIL", { rcode: 2 }, failed()],
    ["REFUSED", { rcode: 5 }, failed()],
    ["FORMERR without the question", { rcode: 1, question: "none" }, failed()],
    ["an rcode that does not exist", { rcode: 15 }, failed()],
    ["cut short", { truncated: true }, { kind: "truncated" }],
    ["NXDOMAIN cut short", { rcode: 3, truncated: true }, { kind: "truncated" }],
    ["300 records", { answers: many }, failed()],
    [
      "a dot inside a label",
      { answers: [mx(HOST, 1, "x")].map((r) => ({ ...r, data: Uint8Array.of(0, 1, 3, 97, 0x2e, 98, 0) })) },
      records([{ preference: 1, host: "a?b" }]),
    ],
    [
      "an MX record that goes on after its name",
      { answers: [{ ...mx(HOST, 1, "x"), data: Uint8Array.of(0, 1, 0, 0) }] },
      failed(),
    ],
    ["an MX record without a name", { answers: [{ ...mx(HOST, 1, "x"), data: Uint8Array.of(0) }] }, failed()],
    ["another id", { idShift: 1, rcode: 3 }, undefined],
    ["NXDOMAIN for another name", { rcode: 3, question: { name: "mail.example.net", type: 15 } }, undefined],
    ["NXDOMAIN for another type", { rcode: 3, question: { name: HOST, type: 1 } }, undefined],
    ["NXDOMAIN without a question", { rcode: 3, question: "none" }, undefined],
    ["an answer without a question", { question: "none" }, undefined],
    ["two bytes", { raw: new Uint8Array(0) }, undefined],
    ["a question, not a reply", { raw: encodeQuestion(ID, HOST, "mx").subarray(2) }, undefined],
    [
      "another opcode",
      { raw: Uint8Array.of(0xa8, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...nameBytes(HOST), 0, 15, 0, 1) },
      undefined,
    ],
    ["a header alone", { raw: Uint8Array.of(0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0) }, failed()],
    [
      "a name that points at itself",
      { raw: Uint8Array.of(0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12) },
      failed(),
    ],
    [
      "a name that points forward",
      { raw: Uint8Array.of(0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 14, 0) },
      failed(),
    ],
    [
      "a label of 64",
      { raw: Uint8Array.of(0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0, 64, ...new Uint8Array(70)) },
      failed(),
    ],
  ];
  for (const [name, answer, want, type] of rows) {
    test(name, () => expect(reply(answer, type)).toEqual(want));
  }

  test("a name longer than 255 octets cannot be read", () => {
    const long = Array.from({ length: 20 }, () => "abcdefghijkl").join(".");
    expect(reply({ answers: [mx(HOST, 1, long)] })).toEqual(failed());
  });

  test("compressed names are followed", () => {
    const head = encodeAnswer(ID, { name: HOST, type: 15, overTcp: false }, {});
    const bytes = Uint8Array.from([...head, 0xc0, 12, 0, 15, 0, 1, 0, 0, 0, 9, 0, 6, 0, 1, 1, 120, 0xc0, 17]);
    bytes[7] = 1;
    expect(readReply(bytes, ID, HOST, "mx")).toEqual(records([{ preference: 1, host: "x.example.com" }], 9));
  });
});

function records(mx: readonly { preference: number; host: string }[], ttlSeconds = 300): DnsReply {
  return { kind: "records", mx, ttlSeconds };
}
function none(ttlSeconds: number | undefined): DnsReply {
  return { kind: "none", ttlSeconds };
}
function failed(): DnsReply {
  return { kind: "failed" };
}

describe("any bytes at all", () => {
  const good = [
    encodeAnswer(
      ID,
      { name: HOST, type: 15, overTcp: false },
      { answers: [cname(HOST, "x.net"), mx("x.net", 1, "m.net")] },
    ),
    encodeAnswer(
      ID,
      { name: HOST, type: 15, overTcp: false },
      { rcode: 3, authorities: [soa("example.com", 9)] },
    ),
  ];

  test("cut short anywhere: never NXDOMAIN, never records, never a throw", () => {
    for (const bytes of good)
      for (let end = 0; end < bytes.length; end++) {
        const read = readReply(bytes.subarray(0, end), ID, HOST, "mx");
        expect(["failed", undefined]).toContain(read?.kind);
      }
  });

  test("changed in a few bytes: an answer or none, never a throw", () => {
    const seen = new Set<string>();
    // Random changes hit the truncation bit too rarely to cover it in each run.
    const truncated = encodeAnswer(ID, { name: HOST, type: 15, overTcp: false }, { truncated: true });
    const change = fc.tuple(fc.nat(200), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(
        fc.constantFrom(...good, truncated),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        (base, changes) => {
          const bytes = Uint8Array.from(base);
          for (const [at, value] of changes) bytes[at % bytes.length] = value;
          seen.add(String(readReply(bytes, ID, HOST, "mx")?.kind));
        },
      ),
      { numRuns: 20_000 },
    );
    expect([...seen].sort()).toEqual(["failed", "none", "nxdomain", "records", "truncated", "undefined"]);
  });
});
