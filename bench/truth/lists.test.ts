// Tests which samples score a list of INKLING_PEERS: the kind of its first entry decides.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { scoreList } from "./lists.ts";

const score = (lines: readonly string[]) => scoreList(new TextEncoder().encode(lines.join("\n")));

test("domains: the share of live services that it has", () => {
  const fromCompiler = createRequire(new URL("../../packages/compiler/package.json", import.meta.url));
  const file = fromCompiler.resolve("fakefilter/json/data_version2.json");
  const { domains } = JSON.parse(readFileSync(file, "utf8")) as {
    domains: Record<string, { hosts: object }>;
  };
  const all = Object.values(domains).flatMap(({ hosts }) => Object.keys(hosts));
  const found = (list: readonly string[]) => score(["# comment", ...list])[0]?.slice(1);
  expect(found(all)).toEqual(["found", "100.0%"]);
  expect(found(["example.org"])).toEqual(["found", "0.0%"]);
});

test.each([["192.0.2.1"], ["2001:db8::/32"]])("%s: networks that no VPN uses", (first) => {
  const rows = score([first]);
  expect(rows.map(([, measure]) => measure)).toContain("listed");
  for (const [, , value] of rows) expect(value).toMatch(/^0(\.0%| of )/);
});
