import { expect, test } from "bun:test";
import { type Overridden, type Override, OverrideVerdict } from "@inkling/engine";
import { matchesEtag, overriddenEtag } from "./etag.ts";

test("the ETag of an overridden answer: its mark, and with evidence the overrides that it names", () => {
  const etagOf = (id: string, withEvidence: boolean) => {
    const verdict = new OverrideVerdict([{ override: { id, flag: "is_proxy", verdict: true } as Override }]);
    const overridden: Overridden = { body: new Uint8Array(), isChanged: true, verdict, mark: "o1" };
    return overriddenEtag('"id"', overridden, withEvidence);
  };
  expect(etagOf("ovr_1", false)).toBe('"id-o1"');
  expect(etagOf("ovr_1", true)).toMatch(/^"id-o1-[0-9a-f]+"$/);
  expect(etagOf("ovr_1", true)).not.toBe(etagOf("ovr_2", true));
});

test.each([
  ['"a"', true],
  ["*", true],
  ['"b", W/"a"', true],
  ['"b"', false],
  ["a", false],
])("If-None-Match: %s", (condition, want) => expect(matchesEtag(condition, '"a"')).toBe(want));
