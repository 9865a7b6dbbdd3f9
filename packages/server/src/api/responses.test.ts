import { expect, test } from "bun:test";
import { AnswerHeaders } from "./responses.ts";

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
