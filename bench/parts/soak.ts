// soak.ts: hours of mixed load at 30 % of capacity: lookups, batches, bad input, overrides that change and releases that are
// swapped. Nothing may fail, leak or be counted wrongly.
//
// Two workers, as a small machine has; DNS is off. Memory is what the processes allocated, no mapped file. Only lookups have
// a timetable, and times are counted from when a request was due.

import { join } from "node:path";
import { releaseName, SEGMENT_OF } from "@inkling/engine";
import * as store from "@inkling/release-store";
import { openStore, type Store } from "@inkling/server";
import * as data from "../lib/data.ts";
import { CONNECTIONS } from "../lib/load.ts";
import { pathsOf, publishMarked } from "../lib/marked.ts";
import { descriptorsOf, memoryOf, processTree } from "../lib/proc.ts";
import { log, type Run } from "../lib/record.ts";
import { AUTHORIZED, startInkling, TOKEN, temporaryFolder } from "../lib/server.ts";
import { figure, median, sum } from "../lib/stats.ts";
import { type StormSecond, storm } from "../lib/storm.ts";
import { CHECKS } from "../lib/targets.ts";

const SHARE = 0.3;
const CAPACITY_SECONDS = 10;
const SAMPLE_SECONDS = 5;
/** How often each of these is done. */
const EVERY_MS = { swap: 15_000, override: 5_000, batch: 1_000, badInput: 100 };
/** Descriptors of connections and files that come and go. */
const MORE_DESCRIPTORS = 16;
/** What memory may gain between the first third of the run and the last. */
const MORE_MB = 34;
/** A domain that no other request is about. */
const OVERRIDDEN = "soak-override.com";

const GEO = "/v1/ip-intel/geolocate";
const REP = "/v1/ip-intel/reputation";
const MAIL = "/v1/user-intel/email";
const JSON_TYPE = { "Content-Type": "application/json" };
/** What is no lookup, and the status that it must have. */
const BAD_INPUT: readonly (readonly [path: string, status: number, init?: RequestInit])[] = [
  [`${GEO}/81.2.69`, 400],
  [`${REP}/10.0.0.1`, 400],
  [`${GEO}/8.8.8.8?x=1`, 400],
  [`${GEO}/%FF`, 400],
  [`${GEO}/8.8.8.8`, 401, { headers: { Authorization: `Bearer ${TOKEN.slice(0, -1)}!` } }],
  [`${GEO}/8.8.8.8`, 401, { headers: {} }],
  ["/v1/nothing", 404],
  [`${REP}/8.8.8.8`, 405, { method: "DELETE" }],
  [GEO, 400, { method: "POST", headers: { ...AUTHORIZED, ...JSON_TYPE }, body: '{"values":' }],
  [GEO, 415, { method: "POST", headers: AUTHORIZED, body: "x" }],
];

/** All but the timed lookups: what was sent besides, counted as the server must count it. */
class Beside {
  lookups = 0;
  requests = 0;
  readonly failures: string[] = [];
  private readonly origin: string;
  private readonly overrides: Store["overrides"];

  constructor(port: number, overrides: Store["overrides"]) {
    this.origin = `http://127.0.0.1:${port}`;
    this.overrides = overrides;
  }

  private async send(
    path: string,
    status: number,
    init: RequestInit = { headers: AUTHORIZED },
  ): Promise<string> {
    this.requests++;
    const response = await fetch(this.origin + path, init);
    const text = await response.text();
    if (response.status !== status) this.failures.push(`${path}: ${response.status}, not ${status}: ${text}`);
    return text;
  }

  async badInput(turn: number): Promise<void> {
    await this.send(...BAD_INPUT[turn % BAD_INPUT.length]!);
  }

  /** Of each kind of body in turn; `addresses` are lookups, what else is in it is none. */
  async batch(addresses: readonly string[], turn: number): Promise<void> {
    const values = [...addresses, "nobody"];
    const isJson = turn % 2 === 0;
    const type = isJson ? "application/json" : "application/x-ndjson";
    const body = isJson ? JSON.stringify({ values }) : values.map((value) => `"${value}"\n`).join("");
    const headers = { ...AUTHORIZED, "Content-Type": type };
    const text = await this.send(REP, 200, { method: "POST", headers, body });
    const answers = isJson ? JSON.parse(text).answers.length : text.trimEnd().split("\n").length;
    if (answers !== values.length)
      this.failures.push(`${answers} answers to ${values.length} values, ${type}`);
    this.lookups += addresses.length;
  }

  /** Adds an override and waits until every answer has it, or removes it. */
  async override(turn: number): Promise<void> {
    const forced = { flag: "disposable", verdict: true } as const;
    const target = { kind: "domain", value: OVERRIDDEN } as const;
    const wanted = { ...target, ...forced, note: `soak ${turn}`, author: "bench", expiresAt: undefined };
    const [written] = await this.overrides.put([wanted], { actor: "bench", way: "cli" });
    const isSet = async () => {
      this.lookups++;
      return (await this.send(`${MAIL}/a@${OVERRIDDEN}`, 200)).includes('"disposable":true');
    };
    for (let tries = 0; !(await isSet()); tries++) {
      if (tries === 100) this.failures.push("an override had no effect within 10 s");
      if (tries >= 100) break;
      await Bun.sleep(100);
    }
    await this.overrides.remove(written!.override.id, { actor: "bench", way: "cli" });
  }
}

/** Calls `act` every so often, one call after the other, until the run is over. @returns how often */
async function repeat(ms: number, isOver: () => boolean, act: (turn: number) => unknown): Promise<number> {
  for (let turn = 0; ; turn++) {
    const due = performance.now() + ms;
    while (performance.now() < due && !isOver()) await Bun.sleep(Math.min(100, due - performance.now()));
    if (isOver()) return turn;
    await act(turn);
  }
}

/** All lookups that the metrics count. */
async function countedLookups(adminPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const counts = text.matchAll(/^inkling_lookups_total\{[^}]*\} (\d+)$/gm);
  return sum([...counts].map(([, value]) => Number(value)));
}

/** The least memory of the first third and of the last: verifying a release takes 200 MB for a moment. */
function drift(values: readonly number[]): { isFlat: boolean; text: string } {
  const settled = values.slice(Math.min(30, Math.floor(values.length / 3))); // the first swaps may add to memory
  const third = Math.ceil(settled.length / 3);
  const [early, late] = [Math.min(...settled.slice(0, third)), Math.min(...settled.slice(-third))];
  return { isFlat: late <= early + MORE_MB, text: `${figure(early)} then ${figure(late)} MB` };
}

interface Sample {
  readonly second: number;
  readonly megabytes: number;
  readonly descriptors: number;
}

/** A line for each hour, or for each tenth of a run of less than two. */
function periods(run: Run, seconds: readonly StormSecond[], samples: readonly Sample[]): void {
  const count = run.hours >= 2 ? Math.ceil(run.hours) : 10;
  const length = Math.ceil(seconds.length / count);
  for (let i = 0; i * length < seconds.length; i++) {
    const isIn = ({ second }: { second: number }) => Math.floor(second / length) === i;
    const [times, used] = [seconds.filter(isIn), samples.filter(isIn)];
    const most = (key: "megabytes" | "descriptors") => figure(Math.max(0, ...used.map((one) => one[key])));
    const ms = (key: "p50" | "p99") => figure(median(times.map((one) => one[key])));
    const slowest = figure(Math.max(...times.map((one) => one.most)));
    run.note(
      `${run.hours >= 2 ? "hour" : "tenth"} ${i + 1}: ${figure(sum(times.map((one) => one.answers)) / times.length)} ` +
        `answers/s, 50 % within ${ms("p50")} ms, 99 % within ${ms("p99")} ms, slowest ${slowest} ms; at most ` +
        `${most("megabytes")} MB allocated, ${most("descriptors")} descriptors`,
    );
  }
}

export async function measureSoak(run: Run): Promise<void> {
  const dataDir = await data.linkedCopy(data.releaseFolder(run.checkout), "soak");
  run.defer(() => data.removeFolder("soak"));
  const current = data.openCurrent(dataDir);
  const releases = [publishMarked(dataDir, current, ["geo", "reputation", "email"]), current.manifest];
  const database = `sqlite://${join(temporaryFolder(run), "inkling.db")}`;
  const env = { INKLING_DATABASE_URL: database };
  const server = await startInkling(run, run.checkout, { dataDir, workers: 2, env });
  const opened = await openStore(database);
  run.defer(() => opened.close());
  const paths = pathsOf(current, 3_000);
  const addresses = data.knownAddresses(current.segmentPath("geo"), 200).known;

  const load = { ports: [server.port], connections: CONNECTIONS, paths, token: TOKEN };
  const full = await storm(run, { ...load, seconds: CAPACITY_SECONDS });
  const capacity = median(full.map(({ answers }) => answers));
  const rate = Math.round(capacity * SHARE);
  log(`capacity ${figure(capacity)}/s; ${rate}/s for ${run.hours} hours`);

  let isEnded = false;
  const isOver = () => isEnded;
  const beside = new Beside(server.port, opened.overrides);
  const swap = (turn: number) => store.makeCurrent(dataDir, releaseName(releases[turn % 2]!));
  const others = [
    repeat(EVERY_MS.swap, isOver, swap),
    repeat(EVERY_MS.override, isOver, (turn) => beside.override(turn)),
    repeat(EVERY_MS.batch, isOver, (turn) => beside.batch(addresses, turn)),
    repeat(EVERY_MS.badInput, isOver, (turn) => beside.badInput(turn)),
  ];
  const samples: Sample[] = [];
  const seconds = await storm(run, { ...load, seconds: Math.max(20, run.hours * 3600), rate }, (one) => {
    if (one.second % SAMPLE_SECONDS !== 0) return;
    const tree = processTree(server.pid);
    const megabytes = sum(tree.map((pid) => memoryOf(pid).anonymous));
    samples.push({ second: one.second, megabytes, descriptors: sum(tree.map(descriptorsOf)) });
    if (one.second % 60 === 0) log(JSON.stringify({ ...one, ...samples.at(-1) }));
  }).finally(() => {
    isEnded = true;
  });
  const [swaps, overrides] = await Promise.all(others);
  await Bun.sleep(2_500); // workers report each second

  const metrics = await countedLookups(server.adminPort);
  await server.stop();
  const usage = await countedUsage(opened);
  const answers = sum([...full, ...seconds].map((one) => one.answers - one.failed));
  const failed = sum([...full, ...seconds].map((one) => one.failed));
  judge(run, { answers, failed, swaps: swaps!, overrides: overrides!, metrics, usage }, beside, samples);
  run.row(`${SHARE * 100} % of capacity`, "inkling", "answers, /s", [rate]);
  periods(run, seconds, samples);
}

/** All lookups in the database: a run may cross midnight. */
async function countedUsage(opened: Store): Promise<number> {
  let count = 0;
  for (const key of await opened.listKeys())
    for (const entry of await opened.usage.readByDay(key.id, "2000-01-01", "9999-12-31"))
      if (entry.lookup in SEGMENT_OF) count += entry.count; // `reputation_batch` counts the same lookups again
  return count;
}

type Counted = Readonly<Record<"answers" | "failed" | "swaps" | "overrides" | "metrics" | "usage", number>>;

function judge(run: Run, counted: Counted, beside: Beside, samples: readonly Sample[]): void {
  const { answers, failed, swaps, overrides, metrics, usage } = counted;
  const wrong = failed + beside.failures.length;
  const what = `${(answers + beside.requests).toLocaleString("en-US")} requests, ${swaps} swaps, ${overrides} overrides`;
  run.check(CHECKS.soakFailed, wrong === 0, `${wrong} of ${what}`);
  for (const text of beside.failures.slice(0, 5)) run.note(text);
  const expected = answers + beside.lookups;
  const counts = `${expected.toLocaleString("en-US")} lookups by the clients, ${metrics - expected} more in metrics, ${usage - expected} more in usage`;
  run.check(CHECKS.soakCounts, metrics === expected && usage === expected, counts);
  const memory = drift(samples.map((one) => one.megabytes));
  run.check(CHECKS.soakMemory, memory.isFlat, `least of the first third and of the last: ${memory.text}`);
  const third = Math.ceil(samples.length / 3);
  const most = (some: readonly Sample[]) => Math.max(...some.map((one) => one.descriptors));
  const [early, late] = [most(samples.slice(0, third)), most(samples.slice(-third))];
  run.check(CHECKS.soakDescriptors, late <= early + MORE_DESCRIPTORS, `at most ${early}, then ${late}`);
  const kept = run.lines.filter((line) => line.type === "check").every(({ isKept }) => isKept);
  log(`verdict: ${kept ? "passed" : "FAILED"} after ${run.hours} hours`);
  run.note(`verdict after ${run.hours} hours: ${kept ? "passed" : "failed"}`);
}
