// soak.ts: runs a server under full load for hours while data and settings change. Nothing may fail or leak, and no
// request may be counted twice.
//
// One client sends lookups and decisions as fast as the server answers. Meanwhile, keys are created and revoked,
// overrides are added and removed, batches are sent, and the current release changes. Memory is what the server
// allocated, without mapped files. With --pressure, the same happens again beside a neighbour that takes one core.

import * as store from "@inkling/data";
import { releaseName } from "@inkling/engine";
import { openStore, type Store } from "@inkling/store";
import { parseNewKey } from "../../packages/store/src/keys/key-input.ts";
import { parseNewOverride } from "../../packages/store/src/overrides/override.ts";
import { until } from "../../test/harness/until.ts";
import * as data from "../lib/data.ts";
import { CONNECTIONS, fullLoad, pathsFile } from "../lib/load.ts";
import { hasCommand } from "../lib/peers.ts";
import { PRESSED_MB, startNeighbour, underPressure } from "../lib/pressure.ts";
import { descriptorsOf, memoryOf, processTree, SERVER_CORE, threadsOf } from "../lib/proc.ts";
import { log, type Run } from "../lib/record.ts";
import { startInkling, temporaryFolder } from "../lib/server.ts";
import { figure, sum } from "../lib/stats.ts";
import { SOAK } from "../lib/targets.ts";

const STRETCH_SECONDS = 30;
/** Allowed increase in open descriptors, for connections and files that come and go. */
const MORE_DESCRIPTORS = 8;
/** Allowed increase in threads, which Bun starts and ends as it needs them. */
const MORE_THREADS = 8;
/** MB by which memory may grow between the first half of the run and the second. */
const MORE_MB = 34;
const LOAD = "mixed load with changes";
const DOMAIN = "soak-override.com";
const BY = { author: "bench", source: "cli" } as const;

/** What is recorded after each stretch, by its name in the report. */
const MEASURES = {
  megabytes: "allocated by all processes, MB",
  descriptors: "descriptors, open in all processes",
  threads: "threads, in all processes",
  waitMs: "longest wait of 20 requests to /healthz at full load, ms",
} as const;
type Sample = Readonly<Record<keyof typeof MEASURES, number>>;

/** Makes changes during the load and checks their effects. Each call returns the number of its lookups. */
class Changes {
  readonly failures: string[] = [];
  private readonly origin: string;
  private readonly opened: Store;

  constructor(port: number, opened: Store) {
    this.origin = `http://127.0.0.1:${port}`;
    this.opened = opened;
  }

  /**
   * Checks that a new key is accepted, its batch is answered, an override changes its answer, and the revoked key is
   * refused.
   */
  async make(turn: number): Promise<number> {
    const { key, token } = await this.opened.createKey(parseNewKey({ name: `soak ${turn}` }, Date.now()));
    let lookups = 0;
    const send = async (path: string, body?: string) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      const response = await fetch(this.origin + path, { headers, ...(body && { method: "POST", body }) });
      if (response.ok) lookups += body === undefined ? 1 : 2;
      return { status: response.status, text: await response.text() };
    };
    const path = `/v1/user-intel/email/a@${DOMAIN}`;
    await until(async () => (await send(path)).status === 200);
    const batch = await send("/v1/ip-intel/reputation", '{"values":["8.8.8.8","1.1.1.1","nobody"]}');
    if (batch.status !== 200) this.failures.push(`a batch: ${batch.status} ${batch.text}`);
    const override = { value: DOMAIN, flag: "disposable", verdict: true, note: `soak ${turn}` };
    const wanted = parseNewOverride(override, { now: Date.now(), author: "bench" });
    const [written] = await this.opened.overrides.put([wanted], BY);
    await until(async () => (await send(path)).text.includes('"disposable":true'));
    await this.opened.overrides.remove(written!.override.id, BY);
    await this.opened.revokeKey(key.id, BY);
    await until(async () => (await send(path)).status === 401);
    return lookups;
  }
}

/** Returns how long the admin listener's thread keeps a request waiting, in ms: the longest of 20. */
async function longestWait(adminPort: number): Promise<number> {
  let longest = 0;
  for (let i = 0; i < 20; i++) {
    const from = performance.now();
    await (await fetch(`http://127.0.0.1:${adminPort}/healthz`)).text();
    longest = Math.max(longest, performance.now() - from);
  }
  return longest;
}

/** Returns the number of lookups in the metrics. */
async function countedByMetrics(adminPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const counts = text.matchAll(/^inkling_lookups_total\{[^}]*\} (\d+)$/gm);
  return sum([...counts].map(([, value]) => Number(value)));
}

/** Publishes a second release with the same segments as the current one. @returns the names of both releases */
function twoReleases(dataDir: string): readonly [string, string] {
  const { manifest } = data.openCurrent(dataDir);
  const created_at = new Date(Date.parse(manifest.created_at) + 1_000).toISOString();
  const content = { ...manifest, created_at };
  const next = { ...content, id: store.releaseId(content) };
  store.publish(dataDir, next);
  return [releaseName(manifest), releaseName(next)];
}

export async function measureSoak(run: Run): Promise<void> {
  if (!hasCommand(run, "wrk", "wrk (the client)")) return;
  await soak(run, LOAD);
  if (!run.hasPressure) return;
  const stop = await startNeighbour(run, SERVER_CORE, PRESSED_MB);
  await soak(run, underPressure(LOAD));
  await stop();
}

async function soak(run: Run, what: string): Promise<void> {
  const dataDir = await data.linkedCopy(data.releaseFolder(run.checkout), "soak");
  run.defer(() => data.removeFolder("soak"));
  const names = twoReleases(dataDir);
  const database = `sqlite://${temporaryFolder(run)}/inkling.db`;
  const env = { INKLING_DATABASE_URL: database, INKLING_DECISIONS: "on" };
  const server = await startInkling(run, run.checkout, { dataDir, workers: 2, env });
  const opened = await openStore(database);
  run.defer(() => opened.close());
  const { known } = data.knownAddresses(data.openCurrent(dataDir).segmentPath("geo"), 3_000);
  const paths = known.flatMap((ip, i) => [
    `/v1/ip-intel/geolocate/${ip}`,
    `/v1/ip-intel/reputation/${ip}?include=evidence`,
    `/v1/user-intel/email/user${i}@mailinator.com`,
    ...(i % 10 === 0 ? [JSON.stringify({ event: "login", ip, email: `user${i}@gmail.com` })] : []),
  ]);
  const file = pathsFile(run, paths);
  const seconds = run.size(STRETCH_SECONDS, 5);
  const stretches = Math.max(4, Math.round((run.hours * 3600) / seconds));
  const changes = new Changes(server.port, opened);
  const samples: Sample[] = [];
  const cpus: number[] = [];
  let [requests, changed] = [0, 0];
  for (let turn = 0; turn < stretches; turn++) {
    const load = fullLoad(server, file, seconds);
    const others = changes.make(turn);
    await Bun.sleep((seconds * 1000) / 2);
    store.makeCurrent(dataDir, names[(turn + 1) % 2]!);
    const waitMs = await longestWait(server.adminPort);
    const done = await load;
    changed += await others;
    requests += done.requests;
    cpus.push(done.cpu);
    const tree = processTree(server.pid);
    const megabytes = sum(tree.map((pid) => memoryOf(pid).anonymous));
    const [descriptors, threads] = [sum(tree.map(descriptorsOf)), sum(tree.map(threadsOf))];
    samples.push({ megabytes, descriptors, threads, waitMs });
    log(`${turn + 1} of ${stretches}: ${figure(done.rate)} requests/s, ${figure(megabytes)} MB allocated`);
  }
  const metrics = await countedByMetrics(server.adminPort);
  await server.stop();
  run.row(what, "inkling", "requests, millions", [requests / 1e6]);
  run.row(what, "inkling", "CPU per request, µs", cpus);
  for (const [key, measure] of Object.entries(MEASURES)) {
    const values = samples.map((sample) => sample[key as keyof Sample]);
    run.row(what, "inkling", measure, values);
  }
  const outcome = { stretches, sent: requests + changed, metrics, failures: changes.failures };
  judge(run, what === LOAD ? "" : ", beside a neighbour", outcome, samples);
}

interface Outcome {
  readonly stretches: number;
  /** The number of lookups and decisions that the clients counted. */
  readonly sent: number;
  readonly metrics: number;
  readonly failures: readonly string[];
}

/** @param where follows the text of each check */
function judge(
  run: Run,
  where: string,
  { stretches, sent, metrics, failures }: Outcome,
  samples: readonly Sample[],
): void {
  const check = (text: string, isKept: boolean, found: string) => run.check(text + where, isKept, found);
  const hours = figure(run.hours);
  check(
    SOAK.failures,
    failures.length === 0,
    failures[0] ?? `${stretches} changes of each kind in ${hours} h`,
  );
  // wrk drops answers that are still pending when a stretch ends.
  const more = metrics - sent;
  const isRight = more >= 0 && more <= CONNECTIONS * stretches;
  check(
    SOAK.counts,
    isRight,
    `${sent.toLocaleString("en-US")} counted by the clients, ${more} more by the server`,
  );
  const half = Math.ceil(samples.length / 2);
  // A leak raises the minimum of a half. The maximum depends on whether a sample coincides with closing connections or
  // with a process that verifies a release.
  const isFlat = (text: string, key: keyof Sample, allowed: number, unit = "") => {
    const [early, late] = [samples.slice(0, half), samples.slice(half)].map((some) =>
      Math.min(...some.map((sample) => sample[key])),
    ) as [number, number];
    check(text, late <= early + allowed, `least of each half: ${figure(early)}, then ${figure(late)}${unit}`);
  };
  isFlat(SOAK.memory, "megabytes", MORE_MB, " MB");
  isFlat(SOAK.descriptors, "descriptors", MORE_DESCRIPTORS);
  isFlat(SOAK.threads, "threads", MORE_THREADS);
}
