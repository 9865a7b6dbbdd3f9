import { expect, test } from "bun:test";
import { collecting, type Handler, POST_REQUESTS, REQUESTS_PER_COLLECTION } from "./listener.ts";

const REQUEST = new Request("http://localhost/");
const SERVER = {} as Bun.Server<undefined>;
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("garbage is collected after a fixed number of requests, once they are answered", async () => {
  const answer = new Response();
  const passed: unknown[] = [];
  let collections = 0;
  const handler: Handler = (...given) => {
    passed.push(given);
    return answer;
  };
  const handle = collecting(handler, () => collections++);
  for (let round = 0; round < 3; round++) {
    for (let i = 1; i < REQUESTS_PER_COLLECTION; i++) handle(REQUEST, SERVER);
    await nextTurn();
    expect(collections).toBe(round);
    expect(handle(REQUEST, SERVER)).toBe(answer);
    expect(collections).toBe(round);
    await nextTurn();
    expect(collections).toBe(round + 1);
  }
  expect(passed).toHaveLength(3 * REQUESTS_PER_COLLECTION);
  expect(passed.every((given) => Bun.deepEquals(given, [REQUEST, SERVER]))).toBe(true);
});

test("a POST request counts as several requests", async () => {
  let collections = 0;
  const handle = collecting(
    () => new Response(),
    () => collections++,
  );
  const post = new Request("http://localhost/", { method: "POST" });
  for (let i = 1; i < REQUESTS_PER_COLLECTION / POST_REQUESTS; i++) handle(post, SERVER);
  await nextTurn();
  expect(collections).toBe(0);
  handle(post, SERVER);
  await nextTurn();
  expect(collections).toBe(1);
});
