import assert from "node:assert/strict";
import { test } from "node:test";
import { whyUncheckable } from "./issues.ts";

const rows: [string, string, RegExp | undefined][] = [
  ["a few values", '{"a":[1,"b",null,true,{}]}', undefined],
  ["as many as allowed", `[${"1,".repeat(98)}1]`, undefined],
  ["one more", `[${"1,".repeat(99)}1]`, /more than 100 values/],
  ["many in lists of lists", `[${"[1,1,1],".repeat(30)}1]`, /more than 100 values/],
  ["deeper than a stack", `${"[".repeat(20_000)}${"]".repeat(20_000)}`, /more than 100 values/],
  ["__proto__", '{"a":{"__proto__":{}}}', /unknown field "__proto__"/],
  ["__proto__ as a value", '{"a":"__proto__"}', undefined],
];
for (const [name, json, message] of rows) {
  test(`${name}: ${message === undefined ? "checkable" : "refused"}`, () => {
    const why = whyUncheckable(JSON.parse(json), 100);
    if (message === undefined) assert.equal(why, undefined);
    else assert.match(why ?? "", message);
  });
}
