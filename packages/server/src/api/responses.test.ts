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
    const answer = new Response(null, { headers: headers.fill(`id-${i}`, policy, left) });
    expect(Object.fromEntries(answer.headers)).toEqual({
      etag: '"a"',
      "x-request-id": `id-${i}`,
      ...(policy !== undefined && { "ratelimit-policy": policy, ratelimit: left }),
    });
  }
});
