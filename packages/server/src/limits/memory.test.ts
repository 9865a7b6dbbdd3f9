import { describe, expect, test } from "bun:test";
import { BatchMemory, Bodies } from "./memory.ts";

const KIB = 1024;

/** A request whose body never ends. @param sent how much of the body has arrived */
function unfinished(declared: number | undefined, sent = 0) {
  const { promise: isCancelled, resolve } = Promise.withResolvers<boolean>();
  let fail = (_: Error) => {};
  const body = new ReadableStream({
    start: (controller) => {
      fail = (error) => controller.error(error);
      if (sent > 0) controller.enqueue(new Uint8Array(sent));
    },
    cancel: () => resolve(true),
  });
  const headers = declared === undefined ? {} : { "Content-Length": String(declared) };
  const request = new Request("http://test/", { method: "POST", headers, body });
  return { request, isCancelled, leave: () => fail(new Error("the client left")) };
}

const whole = (length: number) =>
  new Request("http://test/", {
    method: "POST",
    headers: { "Content-Length": String(length) },
    body: new Uint8Array(length),
  });

const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

describe("unfinished bodies", () => {
  const cases: [string, number | undefined, number][] = [
    ["with a short declared length", 60 * KIB, 0],
    ["with a long declared length", 200 * KIB, 60 * KIB],
    ["without a declared length", undefined, 60 * KIB],
  ];
  test.each(cases)("%s count against one share, until their clients leave", async (_, declared, sent) => {
    const bodies = new Bodies({ all: 400 * KIB, alone: 200 * KIB });
    const open = Array.from({ length: 3 }, () => unfinished(declared, sent));
    const reading = open.map(({ request }) => bodies.read(request, { holder: "a", maxBytes: 256 * KIB }));
    await settled();
    const next = (holder: string) => bodies.read(whole(60 * KIB), { holder, maxBytes: 64 * KIB });
    expect(await next("a")).toBe("too-many");
    expect(await next("b")).toHaveLength(60 * KIB); // another holder has a share left
    for (const { leave } of open) leave();
    expect(await Promise.all(reading)).toEqual(["cut-short", "cut-short", "cut-short"]);
    expect(await next("a")).toHaveLength(60 * KIB);
  });

  test("of all holders together have a limit", async () => {
    const bodies = new Bodies({ all: 400 * KIB, alone: 300 * KIB });
    for (const holder of ["a", "b", "c", "d", "e", "f"])
      void bodies.read(unfinished(60 * KIB).request, { holder, maxBytes: 64 * KIB });
    expect(await bodies.read(whole(60 * KIB), { holder: "g", maxBytes: 64 * KIB })).toBe("too-many");
    expect(await bodies.read(whole(30 * KIB), { holder: "g", maxBytes: 64 * KIB })).toHaveLength(30 * KIB);
  });

  test("of more than the limit are not read to their end", async () => {
    const bodies = new Bodies();
    const { request, isCancelled } = unfinished(undefined, 200 * KIB);
    expect(await bodies.read(request, { holder: "a", maxBytes: 100 * KIB })).toBe("too-large");
    expect(await isCancelled).toBe(true);
    const declared = unfinished(200 * KIB).request;
    expect(await bodies.read(declared, { holder: "a", maxBytes: 100 * KIB })).toBe("too-large");
  });
});

test.each([
  [1, 32],
  [2, 16],
  [4, 8],
  [64, 8],
])("one of %i workers lets a key have %i streams", (workers, streams) => {
  const { streams: shares } = new BatchMemory(workers);
  for (let i = 0; i < 100; i++) shares.take("key_1");
  expect(shares.of("key_1")).toBe(streams);
});
