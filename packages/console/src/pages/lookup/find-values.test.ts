import { describe, expect, test } from "bun:test";
import { describeFound, findTyped, findValues, MAX_TEXT, MAX_VALUES } from "./find-values.ts";

const CASES: readonly [text: string, values: readonly string[]][] = [
  ['203.0.113.9 - - [01/Jun/2026:12:00:00 +0000] "GET /a.html HTTP/1.1" 200', ["203.0.113.9"]],
  ['"Mozilla/5.0 (X11; rv:120.0) Gecko/20100101 Chrome/120.0.0.0" v1.2.3.4', []],
  [
    "https://shop.example.com:443/js/app.min.js?u=jane@x.com&ip=8.8.8.8",
    ["shop.example.com", "jane@x.com", "8.8.8.8"],
  ],
  [
    "Jane Doe <jane@mailinator.com>, mailto:o'neill@x.ie;bob+tag@y.co.uk.",
    ["jane@mailinator.com", "neill@x.ie", "bob+tag@y.co.uk"],
  ],
  ["from [2001:db8::1]:443 via 1.1.1.1:8080, ::ffff:1.2.3.4", ["2001:db8::1", "1.1.1.1", "::ffff:1.2.3.4"]],
  [
    "[IPv6:2a00:1450:4001:80b::200e] ip:8.8.8.8 outside:1.1.1.1/443 tcp:9.9.9.9:443 email:a@mailinator.com x=a@b.com&y",
    ["2a00:1450:4001:80b::200e", "8.8.8.8", "1.1.1.1", "9.9.9.9", "a@mailinator.com", "a@b.com"],
  ],
  ["[client 2a01:e34:ecb3:20c0:e401:cd5:fff8:a845:60040]", ["2a01:e34:ecb3:20c0:e401:cd5:fff8:a845"]],
  ["10.0.0.0/8 2a00::/12 8.8.8.8/99 1::/200", ["10.0.0.0/8", "2a00::/12", "8.8.8.8", "1::"]],
  ["00:11:22:33:44:55 12:00:00 std::string 1.2.3.4.5 x:: e.g. i.e.", []],
  [
    "münchen.de 用户@例子.广告 xn--mnchen-3ya.de EXAMPLE.com example.COM",
    ["münchen.de", "用户@例子.广告", "xn--mnchen-3ya.de", "EXAMPLE.com"],
  ],
  [
    "AS60729, as16509;AS1.example.com AS64496@x.org GAS12 AS12x (AS3215)",
    ["AS60729", "as16509", "AS1.example.com", "AS64496@x.org", "AS3215"],
  ],
  ['{"ip":"1.2.3.4","mail":"a@b.io","host":"c.dev"}', ["1.2.3.4", "a@b.io", "c.dev"]],
  [
    "ip,email\n9.9.9.9,x@y.org\n'8.8.4.4';\"z@y.org\"\t1.0.0.1|7.7.7.7",
    ["9.9.9.9", "x@y.org", "8.8.4.4", "z@y.org", "1.0.0.1", "7.7.7.7"],
  ],
];

describe("text of any kind", () => {
  test.each(CASES)("%s", (text, values) => expect(findValues(text).values).toEqual(values));

  test("is counted by kind, each value once", () => {
    const found = findValues("1.1.1.1 1.1.1.1 A@x.com a@X.com x.com 1.0.0.0/24 AS3215 1.1.1.1");
    expect(found.counts).toEqual({ address: 1, network: 1, as: 1, email: 1, domain: 1, unreadable: 0 });
    expect(describeFound(found)).toBe(
      "Found 5 values: 1 address, 1 network, 1 AS number, 1 email address, and 1 domain; 3 repetitions",
    );
    expect(describeFound(findValues(""))).toBe("Found 0 values");
  });

  test("words that look like values but cannot be read come last, and are counted by themselves", () => {
    const text =
      "999.1.1.1 8.8.8.8 300.0.0.0/8 2001:db8::1::2 1:2:3:4:5:6:7:8:9 jane@example, b@c.org, 999.1.1.1";
    const found = findValues(text);
    expect(found.values).toEqual([
      "8.8.8.8",
      "b@c.org",
      "999.1.1.1",
      "300.0.0.0/8",
      "2001:db8::1::2",
      "1:2:3:4:5:6:7:8:9",
      "jane@example",
    ]);
    expect(describeFound(found)).toBe(
      "Found 7 values: 1 address, 1 email address, and 5 that are not readable; 1 repetition",
    );
    expect(findValues("@jane pkg@1.2.3 a@ git@x.org:1.1.1.1 a@b@c.com Chrome/120.0.999.0").values).toEqual([
      "git@x.org",
      "1.1.1.1",
      "b@c.com",
    ]);
  });

  test("is bounded, in values and in characters", () => {
    const many = findValues(Array.from({ length: MAX_VALUES + 5 }, (_, i) => `a${i}.com`).join(" "));
    expect([many.values.length, many.total, many.isCut]).toEqual([MAX_VALUES, MAX_VALUES + 5, false]);
    const long = findValues(`1.1.1.1 ${" ".repeat(MAX_TEXT)} 8.8.8.8`);
    expect([long.values, long.isCut]).toEqual([["1.1.1.1"], true]);
    expect(describeFound(long)).toEndWith("; only the first 2,000,000 characters were read");
  });

  test("hostile text takes no longer than its length", () => {
    // If the expression backtracked over the whole text, each of these would take hours.
    for (const part of ["a", "1.", ":", "a@", "a-", "x.y", "0:", "é", "@", "a.", "!", "1:2.", "a.-"]) {
      expect(findValues(part.repeat(MAX_TEXT / part.length)).total).toBeLessThan(2);
    }
  });

  test("typed as one word is looked up as it is when nothing is found in it", () => {
    const typed = (text: string) => findTyped(text).values;
    expect([" nonsense ", "1.2.3.400", "jane@example", "1.1.1.1:443", "two words", ""].map(typed)).toEqual([
      ["nonsense"],
      ["1.2.3.400"],
      ["jane@example"],
      ["1.1.1.1"],
      [],
      [],
    ]);
  });
});
