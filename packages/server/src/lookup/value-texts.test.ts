import { expect, test } from "bun:test";
import { parseIp } from "@inkling/engine";
import { notAValue, reservedText } from "./value-texts.ts";

const NONE = "not an IP address, network, AS number, domain or email address";

test.each<[text: string, mistake: string]>([
  ["1.2.3.4/33", "the prefix length of an IPv4 network is at most /32"],
  ["2001:db8::/129", "the prefix length of an IPv6 network is at most /128"],
  ["185.220.101", "an IPv4 address has four numbers"],
  ["185.220.101/24", "an IPv4 address has four numbers"],
  ["8.8.8.8.8", "an IPv4 address has four numbers"],
  ["1.2.3.400", "each number of an IPv4 address is at most 255"],
  ["1.2.3.04", "the numbers of an IPv4 address have no leading zeros"],
  ["2001:db8:::1", "an IPv6 address has eight groups of hexadecimal digits, and :: replaces"],
  ["8.8.8.8:443", "leave out the port"],
  ["mailinator.com:25", "leave out the port"],
  ["[2001:db8::1]", "leave out the brackets"],
  ["[2001:db8::1]:443", "leave out the port and the brackets"],
  ["fe80::1%eth0", "leave out the zone"],
  ["http://mailinator.com/x", "leave out the scheme and the path"],
  ["https://8.8.8.8:8443/?q=1", "leave out the scheme, the path and the port"],
  ["mailinator.com/x", "leave out the path"],
  ["AS99999999999", "the highest AS number is 4294967295"],
  ["AS4294967296", "the highest AS number is 4294967295"],
])("%s", (text, mistake) => {
  expect(notAValue(text)).toStartWith(`${JSON.stringify(text)} cannot be looked up: ${mistake}`);
});

test.each(["nonsense", "", "./file", "http://", "12", "a/24", "x".repeat(100)])(
  "nothing like it: %p",
  (text) => {
    expect(notAValue(text)).toBe(`${JSON.stringify(text.slice(0, 60))} is ${NONE}`);
  },
);

test("reserved: what it is, and why no feed describes it", () => {
  expect(reservedText("10.1.0.0/16", parseIp("10.1.0.0")!, "private")).toEqual([
    "10.1.0.0/16 is a private network",
    "it belongs to 10.0.0.0/8: any organization may use the network internally, so no feed describes it; look up the visitor's public address",
  ]);
  expect(reservedText("192.0.0.1", parseIp("192.0.0.1")!, "IETF protocol")).toEqual([
    "192.0.0.1 is an IETF protocol address",
    expect.stringContaining("192.0.0.0/24: a standard reserves the network"),
  ]);
});
