// Fuzzes the text and bytes of addresses and networks. The readers agree with each other and with the runtime, and
// print what they read.

import { isIP } from "node:net";
import { formatIp, IpAddress, parseIp, parseIpBytesInto, parsePrefix } from "@inkling/engine";
import type { Target } from "../target.ts";

const GOOD = [
  "81.2.69.142",
  "0.0.0.0",
  "255.255.255.255",
  "2001:db8::1",
  "::",
  "::ffff:81.2.69.142",
  "64:ff9b::81.2.69.142",
  "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
  "fe80::1%eth0",
  "10.0.0.0/8",
  "2001:db8::/32",
];

export default function address(): Target {
  const holder = new IpAddress();
  return {
    corpus: GOOD.map((text) => Buffer.from(text)),
    tokens: ["::", ":", ".", "0", "255", "256", "ffff", "%", "/", "/129", " ", "0x7f", "[", "]", "\0", "١"],
    check: (input) => {
      const text = Buffer.from(input).toString("latin1");
      const found = parseIp(text);
      const isRead = parseIpBytesInto(Buffer.concat([Buffer.from("1"), input]), 1, 1 + input.length, holder);
      if (isRead !== (found !== undefined)) throw new Error(`text and bytes differ: ${JSON.stringify(text)}`);
      if (isRead && formatIp(holder) !== formatIp(found!))
        throw new Error("text and bytes give two addresses");
      // node:net accepts zones, which a client's address never has.
      if (!text.includes("%") && (isIP(text) !== 0) !== isRead)
        throw new Error(`node:net differs: ${JSON.stringify(text)}`);
      const network = parsePrefix(text);
      if (found === undefined) return network === undefined ? "refused" : "network";
      if (formatIp(parseIp(formatIp(found))!) !== formatIp(found))
        throw new Error("not printed as it is read");
      return `IPv${found.family}`;
    },
  };
}
