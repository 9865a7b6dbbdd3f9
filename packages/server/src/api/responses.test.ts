import { expect, test } from "bun:test";
import { type Overridden, type Override, OverrideVerdict } from "@inkling/engine";
import { AnswerHeaders, matchesEtag, overriddenEtag } from "./responses.ts";

test("each answer has its own headers, whatever the one before had", () => {
  const headers = new AnswerHeaders({ ETag: '"a"' });
  const steps: readonly [policy: string | undefined, left: string][] = [
    ["q=5", "r=4"],
    ["q=5", "r=4"],
    ["q=5", "r=3"],
    ["q=9", "r=3"],
    [undefined, ""],
    ["q=9", "r=3"], // the same as before the response without limits
    [undefined, ""],
    [undefined, ""],
    ["q=5", "r=4"],
  ];
  for (const [i, [policy, left]] of steps.entries()) {
    const traceparent = i % 3 === 1 ? `trace-${i}` : undefined;
    const answer = new Response(null, {
      headers: headers.fill({ id: `id-${i}`, traceparent }, policy, left),
    });
    expect(Object.fromEntries(answer.headers)).toEqual({
      etag: '"a"',
      "x-request-id": `id-${i}`,
      ...(traceparent !== undefined && { traceparent }),
      ...(policy !== undefined && { "ratelimit-policy": policy, ratelimit: left }),
    });
  }
});

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
