import { describe, expect, test } from "bun:test";
import { until } from "../../../../test/until.ts";
import { LogSink, MOST_BYTES } from "./log-sink.ts";

/** A descriptor with room for so many bytes. */
function setUp(room: number, code = "ENOSPC") {
  /** `reads` is called when there is no room: a reader may make some. */
  const disk = { room, text: "", longest: 0, reads: () => {} };
  const sink = new LogSink(
    (bytes) => {
      if (disk.room === 0) {
        disk.reads();
        throw Object.assign(new Error("fails"), { code });
      }
      const part = bytes.subarray(0, disk.room);
      disk.room -= part.length;
      disk.text += Buffer.from(part).toString();
      disk.longest = Math.max(disk.longest, part.length);
      return part.length;
    },
    () => 0,
  );
  return { disk, sink };
}
const line = (n: number, length = 100) => `${JSON.stringify({ n, pad: "x".repeat(length) })}\n`;
const linesOf = (text: string) =>
  text
    .split("\n")
    .slice(0, -1)
    .map((one) => JSON.parse(one));

describe("log sink", () => {
  test("whole lines in writes of at most 4,096 bytes; a longer line alone", () => {
    const { disk, sink } = setUp(Number.POSITIVE_INFINITY);
    let text = "";
    for (let n = 0; n < 1_000; n++) text += line(n, (n * 7) % 300);
    sink.write(text);
    expect(disk.text).toBe(text);
    expect(disk.longest).toBeLessThanOrEqual(4096);
    sink.write(line(1, 5_000));
    expect(disk.longest).toBe(line(1, 5_000).length);
  });

  test.each([
    ["a full disk", "ENOSPC"],
    ["a slow reader", "EAGAIN"],
    ["no reader", "EPIPE"],
  ])(
    "%s: what was begun is completed, what waits is bounded, what is dropped is counted, and it resumes by itself",
    async (_, code) => {
      const { disk, sink } = setUp(150, code); // the second line is cut
      const written = 20_000;
      for (let n = 0; n < written; n++) sink.write(line(n));
      expect(disk.text.length).toBe(150);
      const { dropped } = sink;
      expect(dropped).toBeGreaterThan(0);
      disk.room = Number.POSITIVE_INFINITY;
      await until(() => disk.text.includes("log-lines-dropped"));
      const all = linesOf(disk.text);
      expect(all.length).toBe(written - dropped + 1);
      expect(disk.text.length).toBeGreaterThan(MOST_BYTES - 4096);
      expect(disk.text.length).toBeLessThan(MOST_BYTES + 4096);
      expect(all.at(-1)).toMatchObject({ event: "log-lines-dropped", level: "error", lines: dropped });
      expect(all.at(-1).reason).toBe(code === "EAGAIN" ? "its reader is too slow" : code);
      sink.write(line(-1));
      expect(linesOf(disk.text).at(-1)).toMatchObject({ n: -1 });
      expect(sink.dropped).toBe(dropped);
    },
  );

  test("the end waits for a slow reader, not for ever", () => {
    const { disk, sink } = setUp(0, "EAGAIN");
    sink.write(line(1) + line(2));
    disk.reads = () => {
      disk.room += 50;
    };
    sink.close();
    expect([linesOf(disk.text).length, sink.dropped]).toEqual([2, 0]);
    disk.reads = () => {};
    disk.room = 0;
    sink.write(line(3));
    sink.close();
    expect(sink.dropped).toBe(1);
  });

  test("what still waits at the end is counted as dropped", () => {
    const { disk, sink } = setUp(0);
    sink.write(line(1) + line(2));
    expect(sink.dropped).toBe(0);
    sink.close();
    expect(sink.dropped).toBe(2);
    expect(disk.text).toBe("");
  });
});
