// Tests the form of request ids, and that each random byte is used once.

import { expect, test } from "bun:test";
import { requestIds } from "./request-id.ts";

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
