// Hostile requests against a server with one worker and with several: 300,000 in full size. Nothing fails inside, nothing is
// answered without a key, nothing of a caller is logged, and memory and descriptors are what they were.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Connection, type RawResponse } from "../contract/connection.ts";
import { smallCity, smallFlag } from "../release.ts";
import { share } from "../share.ts";
import { until } from "../until.ts";
import { type AttackedServer, startAttackedServer } from "./attacked-server.ts";
import {
  ADDRESS,
  EMAIL,
  type HostileRequest,
  hostileRequests,
  isDocumented,
  MARK,
} from "./hostile-requests.ts";

const REQUESTS = share(150_000, 3_000);
const CONNECTIONS = 16;
/** What memory may gain: measured are 25 to 45 MB in 150,000 requests, with young garbage. */
const MORE_BYTES = 150 * 1024 * 1024;
/** Files that a server opens with its first requests. */
const MORE_DESCRIPTORS = 8;
/** What only a key may see. */
const DATA = [smallCity(1), `"${smallFlag(1)}":`, '"providers":'];
/** Without a key: documents, and whether it is alive. */
const OPEN = /^\{"(status|openapi)"|^<!doctype html>/i;

/** @returns what is wrong with a response, or undefined */
function fault(request: HostileRequest, response: RawResponse): string | undefined {
  const status = Number(response.status.slice(0, 3));
  const body = response.body.toString("latin1");
  const headers = response.headers.map(([name, value]) => `${name}: ${value}`).join("\n");
  if (status >= 500 && request.key !== "sandbox") return "a 5xx";
  if (
    status < 300 &&
    request.key === undefined &&
    request.method !== "HEAD" &&
    !OPEN.test(body) &&
    body !== ""
  )
    return "an answer without a key";
  if (request.key === undefined && DATA.some((text) => body.includes(text)) && !OPEN.test(body))
    return "data without a key";
  const isProblem = /^content-type: application\/problem\+json/im.test(headers);
  if (isProblem && body !== "" && !isDocumented(JSON.parse(body).code))
    return "a problem without a documented code";
  if (status >= 400 && !isProblem && body !== "") return "an error that is no problem document";
  const leak = request.secrets.find(
    (secret) => (isProblem && body.includes(secret)) || headers.includes(secret),
  );
  return leak === undefined ? undefined : `repeats ${leak}`;
}

describe.each([1, 2])("with %i workers", (workers) => {
  let server: AttackedServer;
  const statuses = new Map<string, number>();
  const faults: string[] = [];
  beforeAll(async () => {
    server = await startAttackedServer(workers);
  });
  afterAll(() => server.stop());

  /** Sends the next requests on one connection after the other. */
  async function attack(requests: Iterator<HostileRequest, never>, count: { left: number }): Promise<void> {
    const connection = new Connection(server.port);
    while (count.left-- > 0 && faults.length < 10) {
      const request = requests.next().value;
      const response = await connection.send(request.bytes, request.method !== "HEAD").catch((error) => {
        if (error.message !== "the server closed the connection") throw error;
        return undefined;
      });
      const kind = response === undefined ? "closed" : response.status.slice(0, 3);
      statuses.set(kind, (statuses.get(kind) ?? 0) + 1);
      const found = response && fault(request, response);
      if (found !== undefined)
        faults.push(`${found}: ${response!.status} to ${request.bytes.toString("latin1").slice(0, 600)}`);
    }
    connection.close();
  }
  async function attackAll(seed: number, left: number): Promise<void> {
    const requests = hostileRequests(seed, server.keys);
    const count = { left };
    await Promise.all(Array.from({ length: CONNECTIONS }, () => attack(requests, count)));
  }

  test(`${REQUESTS} requests: no 5xx, no data without a key, no secret in a problem; memory and descriptors come back`, async () => {
    const idle = server.use();
    await attackAll(7, REQUESTS / 10); // heap and segments find their sizes
    const pids = server.workers();
    const before = server.use();
    await attackAll(workers, REQUESTS);
    expect(faults).toEqual([]);
    const shown = [...statuses].sort().map(([status, count]) => `${status} ${count}`);
    process.stdout.write(`${workers} workers: ${shown.join(", ")}\n`);
    for (const status of ["200", "400", "401", "403", "404", "405", "413", "415", "429", "431"])
      expect(statuses.get(status) ?? 0).toBeGreaterThan(0);
    expect(server.workers()).toEqual(pids);
    await until(() => server.use().descriptors <= idle.descriptors + MORE_DESCRIPTORS);
    const { bytes } = server.use();
    process.stdout.write(`${before.bytes >> 20} MB before, ${bytes >> 20} MB after\n`);
    expect(bytes - before.bytes).toBeLessThan(MORE_BYTES);
    const alive = await fetch(`http://127.0.0.1:${server.port}/readyz`);
    expect(alive.status).toBe(200);
  }, 3_600_000);

  test("no log line has a key, an address, an email address or anything else of a caller; none is an error", async () => {
    expect(await server.stop()).toBe(0);
    const log = server.log();
    expect(log.split("\n").length).toBeGreaterThan(REQUESTS / 2);
    for (const secret of [
      ...Object.values(server.keys),
      "ink_live_",
      "ink_test_",
      ADDRESS,
      EMAIL,
      MARK,
      "disposable-1",
    ])
      expect(log.includes(secret)).toBe(false);
    expect(log.split("\n").filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });
});
