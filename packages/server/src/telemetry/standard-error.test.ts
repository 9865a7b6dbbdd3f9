import { expect, test } from "bun:test";
import { lineWriter } from "./standard-error.ts";

/**
 * Creates a writer whose descriptor has room for `room` bytes.
 * @param onFull called before each write that fails because it is full
 */
function setUp(room: number, code = "ENOSPC", onFull = () => {}) {
  const disk = { room, text: "", longest: 0 };
  const write = lineWriter(2, (_, bytes) => {
    if (disk.room === 0) {
      onFull();
      throw Object.assign(new Error("fails"), { code });
    }
    const part = bytes.subarray(0, disk.room);
    disk.room -= part.length;
    disk.text += Buffer.from(part).toString();
    disk.longest = Math.max(disk.longest, part.length);
    return part.length;
  });
  return { disk, write };
}
const line = (n: number, length = 100) => `${JSON.stringify({ n, pad: "x".repeat(length) })}\n`;

test("whole lines in writes of at most 4,096 bytes; a longer line by itself", () => {
  const { disk, write } = setUp(Number.POSITIVE_INFINITY);
  let text = "";
  for (let n = 0; n < 1_000; n++) text += line(n, (n * 7) % 300);
  write(text);
  expect(disk.text).toBe(text);
  expect(disk.longest).toBeLessThanOrEqual(4096);
  write(line(1, 5_000));
  expect(disk.longest).toBe(line(1, 5_000).length);
});

test.each(["ENOSPC", "EPIPE"])("%s: lines are lost, and the one that was begun is completed", (code) => {
  const { disk, write } = setUp(150, code); // cuts the second line
  for (let n = 0; n < 5; n++) write(line(n));
  expect(disk.text.length).toBe(150);
  disk.room = Number.POSITIVE_INFINITY;
  write(line(5));
  expect(disk.text).toBe([0, 1, 5].map((n) => line(n)).join(""));
});

test("a slow reader is waited for", () => {
  const { disk, write } = setUp(150, "EAGAIN", () => {
    disk.room = 70;
  });
  for (let n = 0; n < 5; n++) write(line(n));
  expect(disk.text).toBe([0, 1, 2, 3, 4].map((n) => line(n)).join(""));
});
