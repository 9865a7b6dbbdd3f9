// group.ts: measures eight hosts as one service: how soon a change applies on all hosts, and how they follow a
// channel's release.
//
// All hosts, the database, the publisher and the measurement share two cores. To judge another machine, use each
// server's CPU time for a release and the bytes that it reads.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as store from "@inkling/data";
import * as engine from "@inkling/engine";
import { parseNewKey } from "../../packages/store/src/keys/key-input.ts";
import { parseNewOverride } from "../../packages/store/src/overrides/override.ts";
import { openStore } from "../../packages/store/src/store.ts";
import { Postgres } from "../../test/harness/postgres.ts";
import { SMALL_NETWORK, smallRelease } from "../../test/harness/release.ts";
import { TcpProxy } from "../../test/harness/tcp-proxy.ts";
import { until } from "../../test/harness/until.ts";
import type { CurrentRelease } from "../lib/data.ts";
import * as data from "../lib/data.ts";
import { bytesRead, cpuMicroseconds, output } from "../lib/proc.ts";
import { log, type Run } from "../lib/record.ts";
import { AUTHORIZED, startInkling, temporaryFolder } from "../lib/server.ts";
import { figure, quantile, sum } from "../lib/stats.ts";

const PATH = `/v1/ip-intel/geolocate/${SMALL_NETWORK.replace("0/24", "142")}`;
type Host = Awaited<ReturnType<typeof startInkling>>;
const HOSTS = 8;

/** Starts a database for one group. @returns the database's URL, its URL through a proxy, and the proxy */
async function startDatabase(run: Run) {
  const postgres = await Postgres.create();
  run.defer(() => postgres.close());
  const direct = await postgres.freshDatabase();
  const proxy = await TcpProxy.to(postgres.port);
  run.defer(() => proxy.stop());
  return { direct, through: direct.replace(`:${postgres.port}/`, `:${proxy.port}/`), proxy };
}

/** Starts hosts with a data folder each, and waits until every host counts all hosts. */
async function startHosts(
  run: Run,
  folders: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Host[]> {
  const hosts: Host[] = [];
  for (const dataDir of folders) hosts.push(await startInkling(run, run.checkout, { dataDir, env }));
  const count = async ({ adminPort }: Host) =>
    /^inkling_group_hosts (\d+)$/m.exec(await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text());
  for (const host of hosts) await until(async () => Number((await count(host))?.[1]) === hosts.length);
  return hosts;
}

/** Looks up a path at a host. @returns the status, the release that answered, and the body */
async function lookUpAt(
  { port }: Pick<Host, "port">,
  path: string,
  headers: Readonly<Record<string, string>> = AUTHORIZED,
) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  const body = await response.text();
  return { status: response.status, release: response.headers.get("inkling-data-version"), body };
}

/** Returns the number of the ruleset that a host uses. */
async function rulesetAt({ port }: Host, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/assess`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: '{"event":"login","email":"jane@example.org"}',
  });
  return ((await response.json()) as { ruleset: number }).ruleset;
}

/** A change, and how a host's answer shows that the change applies there. */
interface Change {
  readonly make: () => Promise<unknown>;
  readonly isSeen: (host: Host) => Promise<boolean>;
}

/** @returns for each change, milliseconds until the last host applies it */
async function timeChanges(hosts: readonly Host[], changes: readonly Change[]): Promise<number[]> {
  const times: number[] = [];
  for (const { make, isSeen } of changes) {
    await Bun.sleep(300 + 700 * Math.random()); // a random moment between two checks
    const from = performance.now();
    await make();
    const seen = hosts.map(async (host) => {
      while (!(await isSeen(host))) await Bun.sleep(10);
    });
    await Promise.all(seen);
    times.push(performance.now() - from);
  }
  return times;
}

async function measureChanges(
  run: Run,
  hosts: readonly Host[],
  { direct, proxy }: Awaited<ReturnType<typeof startDatabase>>,
): Promise<void> {
  const opened = await openStore(direct);
  run.defer(() => opened.close());
  const issue = async () => opened.createKey(parseNewKey({ name: "group", rate: 0 }, Date.now()));
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
  const count = run.size(24, 3);
  const watcher = await issue();
  let address = 0;
  let rulesetCount = 0;
  for (const [way, dropsNotices] of [
    ["by notices", false],
    ["by checks: notices are dropped", true],
  ] as const) {
    const keys = await Promise.all(Array.from({ length: count }, issue));
    const isRevoked = async (host: Host, token: string) =>
      (await lookUpAt(host, PATH, bearer(token))).status === 401;
    for (const host of hosts) {
      for (const { token } of [...keys, watcher]) await until(async () => !(await isRevoked(host, token)));
    }
    proxy.dropsNotices = dropsNotices;
    const revocations = keys.map(({ key, token }) => ({
      make: () => opened.revokeKey(key.id),
      isSeen: (host: Host) => isRevoked(host, token),
    }));
    const overrides = keys.map(() => {
      const value = SMALL_NETWORK.replace("0/24", String(++address));
      const wanted = parseNewOverride(
        { value, flag: "is_abuser", verdict: true, note: "bench" },
        { now: Date.now(), author: "bench" },
      );
      const path = `/v1/ip-intel/reputation/${value}`;
      return {
        make: () => opened.overrides.put([wanted], { author: "bench", source: "cli" }),
        isSeen: async (host: Host) => {
          const { body } = await lookUpAt(host, path, bearer(watcher.token));
          return JSON.parse(body).is_abuser === true;
        },
      };
    });
    const rulesets = keys.map((): Change => {
      let published = 0;
      return {
        make: async () => {
          const text = `# ${++rulesetCount}`; // a different text, because an equal text is not published again
          const ruleset = { text, note: "" };
          published = (await opened.rulesets.publish(ruleset, { author: "bench", source: "cli" })).number;
        },
        isSeen: async (host) => published > 0 && (await rulesetAt(host, bearer(watcher.token))) >= published,
      };
    });
    const times = {
      revocation: await timeChanges(hosts, revocations),
      override: await timeChanges(hosts, overrides),
      ruleset: await timeChanges(hosts, rulesets),
    };
    proxy.dropsNotices = false;
    for (const [what, values] of Object.entries(times))
      run.row(`from a ${what} to the last of ${HOSTS} hosts`, way, "time, ms", values);
    const all = Object.values(times).flat();
    run.row(`from a change to the last of ${HOSTS} hosts`, way, "99% within, ms", [quantile(all, 0.99)]);
  }
}

/** Milliseconds to wait after the last server serves a release, because the server's work afterwards counts too. */
const AFTER_MS = 5_000;

/** Serves a folder for the servers to follow, and counts the bytes that it sends. */
function serveFolder(run: Run, folder: string) {
  const sent = { bytes: 0 };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const file = Bun.file(join(folder, new URL(request.url).pathname));
      if (!(await file.exists())) return new Response(null, { status: 404 });
      const from = Number(/^bytes=(\d+)-/.exec(request.headers.get("range") ?? "")?.[1] ?? 0);
      sent.bytes += file.size - from;
      return new Response(file.slice(from), { status: from > 0 ? 206 : 200 });
    },
  });
  run.defer(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, sent };
}

/** Creates a data folder with the releases of another data folder, and none of its other files. */
async function folderWith(run: Run, dataDir: string): Promise<string> {
  const folder = temporaryFolder(run, data.cacheFolder("group"));
  const parts = ["releases", "segments", store.DATA_FOLDER.current].map((name) => join(dataDir, name));
  await output(["cp", "--archive", ...parts, folder]);
  store.prepareDataFolder(folder);
  return folder;
}

async function measureChannel(run: Run, database: string): Promise<void> {
  const builder = await folderWith(run, data.releaseFolder(run.checkout));
  const objects = temporaryFolder(run, data.cacheFolder("group"));
  const keyFile = join(temporaryFolder(run), "key.pem");
  const command = (...args: string[]) =>
    output(data.inkling(data.ROOT, "channel", ...args), {
      env: {
        INKLING_DATA_DIR: builder,
        INKLING_CHANNEL: objects,
        INKLING_CHANNEL_SIGNING_KEY: keyFile,
      },
    });
  const { public_key } = JSON.parse(await command("init", keyFile, "--json"));
  await command("publish");
  const folders: string[] = [];
  for (let i = 0; i < HOSTS; i++) folders.push(await folderWith(run, builder));
  const current = data.openCurrent(builder);
  const { url, sent } = serveFolder(run, objects);
  const env = { INKLING_CHANNEL: url, INKLING_CHANNEL_KEY: public_key, INKLING_DATABASE_URL: database };
  const hosts = await startHosts(run, folders, env);
  log("making the second release");
  const next = publishMarked(builder, current, ["reputation", "email"]);
  // All hosts have verified their first release, and have followed the channel to it.
  for (const { adminPort } of hosts) {
    const metrics = async () => (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
    await until(async () => /^inkling_channel_version /m.test(await metrics()));
  }
  const allServe = async (id: string) => {
    const times = hosts.map(async (host) => {
      while ((await lookUpAt(host, PATH)).release !== id) await Bun.sleep(50);
    });
    await Promise.all(times);
  };
  const what = `a release whose geo segment is unchanged, to ${HOSTS} hosts`;
  const each = (count: (pid: number) => number) => sum(hosts.map(({ pid }) => count(pid))) / HOSTS;
  for (const [who, id, args] of [
    ["publish", next.id, ["publish"]],
    ["rollback", current.manifest.id, ["rollback"]],
  ] as const) {
    const [from, before] = [performance.now(), sent.bytes];
    const [cpu, read] = [each(cpuMicroseconds), each(bytesRead)];
    await command(...args);
    const published = performance.now();
    await allServe(id);
    const took = (performance.now() - from) / 1000;
    await Bun.sleep(AFTER_MS);
    run.row(what, who, "until the last host serves it, s", [took]);
    run.row(what, who, "of that the command, s", [(published - from) / 1000]);
    run.row(what, who, "sent to all hosts, MB", [(sent.bytes - before) / 1e6]);
    run.row(what, who, "CPU of a server for it, s", [(each(cpuMicroseconds) - cpu) / 1e6]);
    run.row(what, who, "read by a server for it, MB", [(each(bytesRead) - read) / 1e6]);
  }
  const total = Object.values(next.segments).reduce((all, one) => all + (one?.bytes ?? 0), 0);
  run.note(`the whole release has ${figure(total / 1e6)} MB`);
  for (const host of hosts) await host.stop();
}

type SegmentKind = (typeof engine.SEGMENT_OF)[engine.Lookup];
/** A text that is in a kind's answers. */
const TEXTS: Readonly<Record<SegmentKind, string>> = {
  geo: '"continent":',
  reputation: '"is_proxy":',
  email: '.com"', // the end of a provider, because the segment does not have the rest of the answer
};

/** Replaces a text in a segment's answers and updates the checksums (packages/engine/segment-format.md). */
function markSegment(bytes: Uint8Array, kind: SegmentKind): void {
  const segment = engine.openSegment(bytes, kind);
  const text = TEXTS[kind];
  let count = 0;
  for (const name of ["answers", "answerTemplates"] as const) {
    if (!segment.has(name)) continue;
    const { buffer, byteOffset, length } = segment.u8(name);
    const section = Buffer.from(buffer, byteOffset, length);
    for (let at = section.indexOf(text); at >= 0; at = section.indexOf(text, at + 1), count++)
      section.write(text.replace("o", "q"), at);
  }
  if (count === 0) throw new Error(`no answer of the ${kind} segment has ${text}`);
  const header = new DataView(bytes.buffer, bytes.byteOffset, engine.HEADER_BYTES);
  const body = engine.bodyStart(header);
  header.setUint32(28, engine.crc32(bytes.subarray(body)), true);
  header.setUint32(32, engine.headerChecksum(bytes, body), true);
}

/** Publishes a data folder's current release again, with marked segments of these kinds. @returns its manifest */
function publishMarked(
  dataDir: string,
  { manifest, segmentPath }: CurrentRelease,
  kinds: readonly SegmentKind[],
): engine.Release {
  const segments = { ...manifest.segments };
  for (const kind of kinds) {
    const before = segments[kind];
    if (before === undefined) continue;
    const bytes = new Uint8Array(readFileSync(segmentPath(kind)).buffer);
    markSegment(bytes, kind);
    segments[kind] = { ...before, ...store.writeSegmentFile(dataDir, [bytes]) };
  }
  const created_at = new Date(Date.parse(manifest.created_at) + 1000).toISOString();
  const content = { ...manifest, created_at, segments };
  const release = { ...content, id: store.releaseId(content) };
  store.publish(dataDir, release);
  return release;
}

export async function measureGroup(run: Run): Promise<void> {
  const folders = Array.from({ length: HOSTS }, () => temporaryFolder(run));
  for (const folder of folders) smallRelease(folder, 1);
  const database = await startDatabase(run);
  const hosts = await startHosts(run, folders, { INKLING_DATABASE_URL: database.through });
  await measureChanges(run, hosts, database);
  for (const host of hosts) await host.stop();
  await measureChannel(run, (await startDatabase(run)).direct);
}
