// Fuzzes replies from DNS servers. The result is a reply or none, with a bounded number of records, and never NXDOMAIN
// for another name.

import { encodeQuestion, RECORD_TYPES, readReply } from "../../../packages/data/src/dns/message.ts";
import { a, cname, encodeAnswer, mx, soa } from "../../harness/dns-server.ts";
import type { Target } from "../target.ts";

const [ID, HOST] = [0x1234, "mail.example.com"];
const MAX_RECORDS = 256;

export default function dns(): Target {
  const answer = (reply: Parameters<typeof encodeAnswer>[2]) =>
    encodeAnswer(ID, { name: HOST, type: RECORD_TYPES.mx, overTcp: false }, reply);
  const question = encodeQuestion(ID, HOST, "mx");
  return {
    corpus: [
      answer({ answers: [cname(HOST, "x.net"), mx("x.net", 1, "m.net")] }),
      answer({ answers: Array.from({ length: 20 }, (_, i) => mx(HOST, i, `mx${i}.example.net`)) }),
      answer({ rcode: 3, authorities: [soa("example.com", 9)] }),
      answer({ answers: [a(HOST)] }),
      answer({ truncated: true }),
      question,
    ].map((bytes) => Uint8Array.from(bytes)),
    tokens: ["\xc0\x0c", "\xc0\x00", "\x00\x0f\x00\x01", "\x00\x05\x00\x01", "\x3f", "\x00", "\x81\x83"],
    check: (input) => {
      const reply = readReply(input, ID, HOST, "mx");
      if (reply === undefined) return "none of ours";
      if (reply.kind === "records" && reply.mx.length > MAX_RECORDS) throw new Error("too many records");
      const name = input.subarray(12, 12 + HOST.length + 2);
      const isOurs = Buffer.from(name).toString("latin1").toLowerCase() === `\x04mail\x07example\x03com\0`;
      if (reply.kind === "nxdomain" && !isOurs) throw new Error("NXDOMAIN for another name");
      return reply.kind;
    },
  };
}
