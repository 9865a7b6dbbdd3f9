import { describe, expect, test } from "bun:test";
import { formatDnsServer, parseDnsServer, systemDnsServers } from "./client.ts";

describe("parseDnsServer", () => {
  test.each([
    ["192.0.2.53", "192.0.2.53", 53],
    ["192.0.2.53:5353", "192.0.2.53", 5353],
    ["192.0.2.53:1", "192.0.2.53", 1],
    ["192.0.2.53:65535", "192.0.2.53", 65535],
    ["2001:db8::53", "2001:db8::53", 53],
    ["::1", "::1", 53],
    ["[2001:db8::53]", "2001:db8::53", 53],
    ["[2001:db8::53]:5353", "2001:db8::53", 5353],
  ])("%s", (text, address, port) => expect(parseDnsServer(text)).toEqual({ address, port }));

  test.each([
    "",
    "dns.example",
    "localhost",
    "192.0.2.53:0",
    "192.0.2.53:65536",
    "192.0.2.53:",
    "192.0.2.53:53:53",
    "192.0.2",
    "192.0.2.53/32",
    "[192.0.2.53]:53",
    "[::1",
    "::1]",
    "[]:53",
    ":53",
    " 192.0.2.53",
    "udp://192.0.2.53",
  ])("not %j", (text) => expect(parseDnsServer(text)).toBeUndefined());

  test.each(["192.0.2.53", "192.0.2.53:5353", "2001:db8::53", "[2001:db8::53]:5353"])(
    "%s and back",
    (text) => {
      expect(formatDnsServer(parseDnsServer(text)!)).toBe(text);
    },
  );
});

test("the system's servers can be read", async () => {
  for (const { address, port } of await systemDnsServers()) {
    expect(address).not.toBe("");
    expect(port).toBeGreaterThan(0);
  }
});
