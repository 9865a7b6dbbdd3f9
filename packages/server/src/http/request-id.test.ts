// Tests the form of request ids, that each random byte is used once, and which ids of callers are used.

import { expect, test } from "bun:test";
import { requestId, requestIds, traceIdOf, traceparentOf } from "./request-id.ts";

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

test("ten characters, each the low five bits of a random byte, in order", () => {
  let drawn = 0;
  const drawnBytes: number[] = [];
  const next = requestIds((bytes) => {
    drawn++;
    for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 37 + drawn * 11) & 255;
    drawnBytes.push(...bytes);
  });
  const ids = Array.from({ length: 1_000 }, next);
  expect(drawn).toBe(3);
  const expected = drawnBytes.map((byte) => DIGITS[byte & 31]).join("");
  expect(ids.join("")).toBe(expected.slice(0, 10_000));
  expect(new Set(ids.map((id) => id.length))).toEqual(new Set([10]));
});

const UUID = "0190f6a4-2f0c-7c1e-9d2a-3b6c5d4e8f90";
test.each([
  [UUID, true],
  ["1-67891233-abcdef012345678912345678", true],
  ["a".repeat(64), true],
  ["a".repeat(65), false],
  ["", false],
  ["203.0.113.9", false],
  ["2001:db8::1", false],
  ["jane@example.com", false],
  ['a","level":"error', false],
  ["a b", false],
  ["ink_live_abcdef", false],
  ["id-ink_admin_abcdef", false],
])("the caller's id %p is used: %p", (sent, isUsed) => {
  expect(requestId(new Headers({ "X-Request-Id": sent }), () => "own")).toBe(isUsed ? sent : "own");
});

const TRACE = "0af7651916cd43dd8448eb211c80319c";
test.each([
  [`00-${TRACE}-b7ad6b7169203331-01`, TRACE],
  [`00-${TRACE.toUpperCase()}-b7ad6b7169203331-01`, undefined],
  [`00-${"0".repeat(32)}-b7ad6b7169203331-01`, undefined],
  [`00-${TRACE}-0000000000000000-01`, undefined],
  [`ff-${TRACE}-b7ad6b7169203331-01`, undefined],
  [`00-${TRACE}-b7ad6b7169203331-01-more`, undefined],
  ["", undefined],
])("the trace of %p is %p", (sent, traceId) => {
  expect(traceIdOf(traceparentOf(new Headers({ traceparent: sent })))).toBe(traceId);
});
