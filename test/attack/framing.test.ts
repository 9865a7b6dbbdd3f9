// Tests where requests end: the server refuses anything ambiguous and closes its connection, with one worker and with
// several.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AttackedServer, startAttackedServer } from "./attacked-server.ts";
import { FRAMING, type FramingCase } from "./framing-cases.ts";
import { converse, exchange, responsesIn } from "./raw-http.ts";

const ALIVE = Buffer.from("GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n");

/** Returns the statuses of all responses, including one more request if the connection is still open. */
async function statusesOf({ port, keys }: AttackedServer, { bytes, then, statuses }: FramingCase) {
  const sent = Buffer.from(bytes(keys.live), "latin1");
  const received =
    then === "goes on"
      ? await exchange(port, sent, statuses.length, ALIVE)
      : await converse(port, sent, then === "waits" ? undefined : () => false);
  return responsesIn(received).map(({ status }) => status);
}

test("there are enough cases, of each kind", () => {
  expect(FRAMING.length).toBeGreaterThanOrEqual(67);
  expect(new Set(FRAMING.map(({ name }) => name)).size).toBe(FRAMING.length);
  for (const kind of ["closed", "goes on", "waits"])
    expect(FRAMING.filter(({ then }) => then === kind).length).toBeGreaterThanOrEqual(3);
});

describe.each([1, 2])("with %i workers", (workers) => {
  let server: AttackedServer;
  beforeAll(async () => {
    server = await startAttackedServer(workers);
  });
  afterAll(() => server.stop());

  test.each(FRAMING.map((one) => [one.name, one] as const))("%s", async (_, one) => {
    const more = one.then === "goes on" ? [200] : [];
    expect(await statusesOf(server, one)).toEqual([...one.statuses, ...more]);
  });

  test("afterwards it is alive, and has logged nothing unexpected", () => {
    expect(server.isRunning()).toBe(true);
    expect(server.err).not.toContain('"level":"error"');
    expect(server.err).not.toContain("hidden");
  });
});
