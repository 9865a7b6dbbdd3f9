import { expect, test } from "bun:test";
import { isReadableHost } from "./host-header.ts";

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
