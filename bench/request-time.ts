// request-time.ts: where the time of one request goes, in steps from a Bun.serve that does nothing to ours.
//
// run  taskset -c 0 npx bun bench/request-time.ts [--quick]   (wrk takes core 1)
// All steps answer in turn within one process under one load, so that whatever else the machine does meets all of
// them alike. A step's time is that from the call of its handler to the next call, half of which is the kernel's;
// collecting garbage is not in it. Differences of 30 ns can be seen on a busy machine, where CPU per request (http.ts)
// does not tell 500 apart.

import { join } from "node:path";
import { IpAddress, parseIpInto, specialUse } from "@inkling/engine";
import { currentName, openRelease } from "@inkling/release-store";
import { startServer } from "@inkling/server";
import { addressFiles, readLines, releaseFolder } from "./lib/data.ts";
import { sized } from "./lib/options.ts";
import { CLIENT_CORE, pinned } from "./lib/proc.ts";
import { emit, tell } from "./lib/record.ts";
import { AUTHORIZED, freePort, TOKEN, temporaryFolder } from "./lib/server.ts";
import { figure, quantile } from "./lib/stats.ts";
import { CONNECTIONS, wrkScript } from "./lib/wrk.ts";

const SECONDS = sized(20, 3);
const ADDRESSES = 100_000;
const PATH = "/v1/ip-intel/geolocate/";
const WHAT = "one request, geolocate";

type Handler = (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>;

const dataDir = await releaseFolder();
const paths = readLines(addressFiles(1 << 17).v4)
  .slice(0, ADDRESSES)
  .map((address) => `${PATH}${address}`);

/** The handler that our server gives to Bun.serve, everything on; and what stops the server. */
async function ours(): Promise<{ handler: Handler; stop: () => Promise<void> }> {
  const { serve } = Bun;
  const handlers: Handler[] = [];
  (Bun as { serve: unknown }).serve = (options: { fetch: Handler }) => {
    handlers.push(options.fetch);
    return serve(options as never);
  };
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    adminHost: "127.0.0.1",
    adminPort: 0,
    dataDir,
    mode: "serve",
    databaseUrl: `sqlite://${join(temporaryFolder(), "inkling.db")}`,
    rate: 1_000_000,
    burst: 2_000_000,
    trustedProxies: [],
    maxConnections: 1000,
    workers: 1,
    logLevel: "info",
    adoptKey: TOKEN,
    version: "0",
    writeLog: () => {},
  });
  (Bun as { serve: unknown }).serve = serve;
  return { handler: handlers[0]!, stop: () => server.stop() }; // the API's listener comes first
}

const inkling = await ours();
const sample = await answerTo(inkling.handler, `${PATH}8.8.8.8`);
const release = openRelease(dataDir, currentName(dataDir)!);
const address = new IpAddress();
const keys = new Map([[AUTHORIZED.Authorization, 1]]);
const init = { headers: sample.headers };
const { body } = sample;
const padded = new Uint8Array(body.length + sample.headerBytes);
let turn = 0;
/** What a step reads, so that reading it is not optimised away. */
let read: unknown;

async function answerTo(handler: Handler, path: string) {
  const request = new Request(`http://127.0.0.1${path}`, { headers: AUTHORIZED });
  const answer = await handler(request, {} as Bun.Server<undefined>);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
  const headerBytes = [...answer.headers].reduce(
    (sum, [name, value]) => sum + name.length + value.length + 4,
    0,
  );
  return { headers: answer.headers, headerBytes, body: await answer.bytes() };
}

const url: Handler = (request) => {
  read = request.url;
  return new Response(body, init);
};
const key: Handler = (request) => {
  read = request.url;
  read = keys.get(request.headers.get("authorization")!);
  read = request.headers.get("if-none-match");
  return new Response(body, init);
};
const told: Handler = (request, server) => {
  sample.headers.set("X-Request-Id", `abcdef${1000 + (turn++ % 1000)}`);
  sample.headers.set("RateLimit", turn % 2 === 0 ? `"default";r=1999999;t=1` : `"default";r=1999998;t=1`);
  return key(request, server);
};
const parsed: Handler = (request, server) => {
  const text = request.url;
  parseIpInto(text.slice(text.lastIndexOf("/") + 1), address);
  read = specialUse(address);
  return told(request, server);
};
const located: Handler = (request, server) => {
  const answer = parsed(request, server);
  read = release.geo!.answer(release.geo!.record(address));
  return answer;
};

/** Each has what the one before has, and one thing more. */
const STEPS: readonly (readonly [name: string, handler: Handler])[] = [
  ["bare Bun.serve, as many bytes without headers", () => new Response(padded)],
  ["bare Bun.serve, our headers", () => new Response(body, init)],
  ["+ the URL read", url],
  ["+ key and If-None-Match read, key found", key],
  ["+ request id and RateLimit written", told],
  ["+ address read", parsed],
  ["+ looked up", located],
  ["inkling", inkling.handler],
];

const times = STEPS.map(() => new Float64Array(2_000_000));
const counts = STEPS.map(() => 0);
let step = 0;
let calledAt = Number.NaN;

const port = freePort();
const server = Bun.serve({
  hostname: "127.0.0.1",
  port,
  development: false,
  fetch(request, server) {
    const now = Bun.nanoseconds();
    const count = counts[step]!;
    if (count < times[step]!.length) {
      times[step]![count] = now - calledAt;
      counts[step] = count + 1;
    }
    step = (step + 1) % STEPS.length;
    calledAt = now;
    return STEPS[step]![1](request, server);
  },
});

const script = wrkScript({ paths, headers: AUTHORIZED });
const wrk = ["wrk", "-t1", `-c${CONNECTIONS}`, `-d${SECONDS}s`, "-s", script, `http://127.0.0.1:${port}`];
await Bun.spawn(pinned(CLIENT_CORE, wrk), { stdout: "ignore" }).exited;

let before = Number.NaN;
for (const [i, [who]] of STEPS.entries()) {
  const warm = Array.from(times[i]!.subarray(counts[i]! >> 1, counts[i]!));
  const [low, middle] = [0.25, 0.5].map((share) => quantile(warm, share)) as [number, number];
  emit({
    type: "row",
    what: WHAT,
    who,
    measure: "quickest quarter of requests within",
    unit: "ns",
    values: [low],
  });
  emit({ type: "row", what: WHAT, who, measure: "half of requests within", unit: "ns", values: [middle] });
  tell(
    `${who}: ${figure(low)} ns${i === 0 ? "" : ` (${low < before ? "" : "+"}${figure(low - before)})`}, middle ${figure(middle)} ns`,
  );
  before = low;
}
void read;
await server.stop(true);
await inkling.stop();
process.exit();
