import { expect, test } from "bun:test";
import { runHere } from "../program.testing.ts";

const cwd = import.meta.dir;

/**
 * Runs the command against a server that returns this answer.
 * @param hostname the server's listening address
 */
async function healthOf(status: number, answer: object, hostname = "127.0.0.1") {
  using server = Bun.serve({ hostname, port: 0, fetch: () => Response.json(answer, { status }) });
  return await runHere(["health", "--host", hostname, "--port", String(server.port)], { cwd });
}

test.each(["127.0.0.1", "0.0.0.0", "::1", "::"])("ready, on %s", async (host) => {
  expect(await healthOf(200, { status: "ready" }, host)).toEqual({ out: "ready\n", err: "", code: 0 });
});

test("not ready: its reasons", async () => {
  const { out, err, code } = await healthOf(503, { status: "not ready", reasons: ["no release"] });
  expect([out, code]).toEqual(["", 1]);
  expect(err).toBe(
    "inkling: the server is not ready: no release\nhint: run `inkling doctor` to see what to do\n",
  );
});

test("something else answers there", async () => {
  expect(await healthOf(404, { code: "x" })).toMatchObject({
    err: expect.stringContaining("returned status 404"),
    code: 1,
  });
});

test("the admin listener has no readiness: the message contains the setting that counts", async () => {
  expect(await runHere(["health", "--admin-port", "9001"], { cwd })).toMatchObject({
    err: expect.stringMatching(/--port or INKLING_PORT\n$/),
    code: 2,
  });
});

test("a proxy of the environment is not asked", async () => {
  process.env.HTTP_PROXY = "http://127.0.0.1:1";
  try {
    expect((await healthOf(200, { status: "ready" })).out).toBe("ready\n");
  } finally {
    delete process.env.HTTP_PROXY;
  }
});
