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
  ["Received: from x ([IPv6:2a00:1450:4001:80b::200e])", ["2a00:1450:4001:80b::200e"]],
  ["ip:8.8.8.8\thost:8.8.4.4\tx-face:1.1.1.1 trace:9.9.9.9", ["8.8.8.8", "8.8.4.4", "1.1.1.1", "9.9.9.9"]],
  [
    "outside:8.8.8.8/443 to tcp:8.8.4.4:443 v=spf1 ip4:1.1.1.0/24 ip6:2606:4700::/32",
    ["8.8.8.8", "8.8.4.4", "1.1.1.0", "2606:4700::"],
  ],
  ["[client 2a01:e34:ecb3:20c0:e401:cd5:fff8:a845:60040] x", ["2a01:e34:ecb3:20c0:e401:cd5:fff8:a845"]],
  ["2606:4700::1111:60040 2606:4700::1111.", ["2606:4700::1111", "2606:4700::1111"]],
  [
    "::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1 but not ::ffff:10.0.0.1 2002:a00:1::1",
    ["::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"],
  ],
  [
    "email:a@mailinator.com x=a@b.com&y mailto:joe@example.com?subject=x",
    ["a@mailinator.com", "a@b.com", "joe@example.com"],
  ],
  ["8.8.8.8@host node-2001:db8::1 12:34:56 T10:00:00.5 aa:bb:cc:dd:ee:ff std::dead:beef", []],
])("%p holds %p", (text, values) => expect(valuesIn(text)).toEqual(values));

test("a long text is read in linear time", () => {
  for (const part of ["a", "8.", "2606:", ":", "x:", "1@", "8.8.8.8:"])
    expect(valuesIn(part.repeat(500_000)).length).toBeLessThan(2);
});
