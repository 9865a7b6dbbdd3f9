import { describe, expect, test } from "bun:test";
import { HostNames, isReadableHost } from "./host-names.ts";

const names = new HostNames(["Console.example", "other.example:8443"]);

describe("the Host of a request", () => {
  const own = [
    null,
    "localhost:8081",
    "LOCALHOST",
    "a.localhost:1",
    "127.0.0.1:8081",
    "192.0.2.1",
    "[::1]:8081",
    "[2001:db8::1]",
    "inkling:8081",
    "inkling.prod.svc:8081",
    "inkling.prod.svc.cluster.local.",
    "node.internal",
    "console.example",
    "CONSOLE.example.:8081",
    "other.example",
  ];
  test.each(own)("own: %s", (host) => expect(names.isOwnHost(host)).toBe(true));

  const foreign = [
    "evil.example",
    "evil.example:8081",
    "127.0.0.1.evil.example",
    "127.0.0.1.nip.io:8081",
    "console.example.evil.example",
    "evil.local",
    "evilconsole.example",
    "127.0.0.256",
    "[::1",
    "[evil.example]",
    "localhost:8081, evil.example",
    "user@localhost",
    "",
    ".",
    ":8081",
  ];
  test.each(foreign)("foreign: %s", (host) => expect(names.isOwnHost(host)).toBe(false));
});

describe("the Origin of a request", () => {
  const rows: [origin: string | null, host: string | null, isOwn: boolean][] = [
    [null, "127.0.0.1:8081", true],
    ["http://127.0.0.1:8081", "127.0.0.1:8081", true],
    ["http://localhost:9000", "LOCALHOST:9000", true],
    ["http://[::1]:8081", "[::1]:8081", true],
    ["http://127.0.0.1", "127.0.0.1:80", true],
    ["https://console.example", "127.0.0.1:8081", true],
    ["https://other.example:8443", "127.0.0.1:8081", true],
    ["https://other.example", "127.0.0.1:8081", false],
    ["https://console.example:8443", "127.0.0.1:8081", false],
    ["http://127.0.0.1:8082", "127.0.0.1:8081", false],
    ["http://localhost:8081", "127.0.0.1:8081", false],
    ["https://evil.example", "127.0.0.1:8081", false],
    ["null", "127.0.0.1:8081", false],
    ["", "127.0.0.1:8081", false],
    ["file://", "127.0.0.1:8081", false],
    ["http://127.0.0.1:8081", null, false],
  ];
  test.each(rows)("%s sent to %s: %s", (origin, host, isOwn) => {
    expect(names.isOwnOrigin(origin, host)).toBe(isOwn);
  });
});

test.each([
  null,
  "",
  "localhost",
  "api.example:8080",
  "my_host",
  "192.0.2.1:80",
  "[2001:db8::1]:8080",
  "a:",
  "xn--bcher-kva.example.",
])("%j is readable", (host) => expect(isReadableHost(host)).toBe(true));

test.each([
  "a, b",
  "a, a",
  ", a",
  "a,",
  "a b",
  "user@a",
  "a/b",
  "a?b",
  "a#b",
  "a\\b",
  "a\u00ff",
  "<a>",
  "[::1",
  "[::g]",
  "a:x",
  "a:999999",
  "a:1:2",
])("%j is not", (host) => expect(isReadableHost(host)).toBe(false));
