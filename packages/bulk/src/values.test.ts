// Tests values on the command line and in any text.

import { expect, test } from "bun:test";
import { kindOf, valuesIn } from "./values.ts";

test.each([
  ["8.8.8.8", "ip"],
  ["2001:db8::1", "ip"],
  ["10.0.0.1", "ip"],
  ["jane@example.com", "email"],
  ["jane@localhost", "email"],
  ["lokup", undefined],
  ["8.8.8", undefined],
  ["8.8.8.8/24", undefined],
  ["example.com", undefined],
  ["@", "email"],
  ["jane@", "email"],
  ["a b@example.com", "email"],
  ['"x y"@gmail.com', "email"],
  ["jane@gmail.com\u00a0", "email"],
  ["", undefined],
] as const)("%p is %p", (value, kind) => expect(kindOf(value)).toBe(kind));

test.each<[text: string, values: string[]]>([
  ["a 8.8.8.8, b: 8.8.4.4; 8.8.8.8.", ["8.8.8.8", "8.8.4.4", "8.8.8.8"]],
  ["8.8.8.8:443 [2606:4700::1111]:443 2606:4700::1111.", ["8.8.8.8", "2606:4700::1111", "2606:4700::1111"]],
  ["https://8.8.8.8/x?ip=8.8.4.4&y from=<jane@example.com>.", ["8.8.8.8", "8.8.4.4", "jane@example.com"]],
  ["Jane <jane@example.com>, mailto:joe@example.com. me@x", ["jane@example.com", "joe@example.com"]],
  ["Chrome/120.0.0.0 v1.2.3.4 1.2.3.4.5 1.2.3 12:30:00 std::abc 1.2.3.4-rc1 lib-1.2.3.4", []],
  ["10.0.0.1 ::1 192.0.2.1 fe80::1", []],
  ["8.8.8.0/24", ["8.8.8.0"]],
])("%p holds %p", (text, values) => expect(valuesIn(text)).toEqual(values));
