// swap.ts: releases are swapped under full load: two of full size, whose answers differ everywhere, in turn every 2 s.
//
// run  npx bun bench/swap.ts [--minutes N]   (5)
// All three segments change with each swap. Every answer is looked at: the release that it names must say just that.
// The server has one core, and reads each release through on it before it serves it; the client has the other.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { parsePrefix, type Release } from "@inkling/engine";
import { makeCurrent, prepareDataFolder, publish, releaseId, writeSegmentFile } from "@inkling/release-store";
import { judgeNetworks } from "../packages/compiler/src/policy/reputation.ts";
import { emailSections } from "../packages/compiler/src/segments/email-table.ts";
import { reputationSections } from "../packages/compiler/src/segments/reputation-table.ts";
import { segmentChunks } from "../packages/compiler/src/segments/segment-writer.ts";
import { requestText } from "./lib/client.ts";
import { addressFiles, emptyFolder, ROOT, readLines } from "./lib/data.ts";
import type { MadeGeo } from "./lib/make-geo.ts";
import { numberAfter, sized } from "./lib/options.ts";
import { memoryOf, processTree } from "./lib/proc.ts";
import { emit, tell } from "./lib/record.ts";
import { AUTHORIZED, SERVER_CORE, startInkling } from "./lib/server.ts";
import { figure } from "./lib/stats.ts";
import { storm, sum } from "./lib/storm.ts";
import { CHECKS } from "./lib/targets.ts";
import { CONNECTIONS } from "./lib/wrk.ts";

const MINUTES = numberAfter("--minutes", sized(5, 0.2));
const SWAP_MS = 2_000;
const ASKED = 3_000;
/** The first swaps may add to memory: a second release is mapped, the heap settles. */
const SETTLED_SECONDS = Math.min(30, MINUTES * 20);
/** What memory may gain from then to the end. */
const MORE_BYTES = 32 * 1024 * 1024;

interface Marked {
  readonly name: string;
  readonly id: string;
  /** What answers to geolocate, reputation and e-mail must hold. */
  readonly expected: readonly (readonly string[])[];
}

const MARKS = {
  A: { flag: "is_tor_exit", label: "tor_exit", at: 0 },
  B: { flag: "is_proxy", label: "vpn", at: 1 },
} as const;
type Mark = keyof typeof MARKS;

const dataDir = emptyFolder("swap");
prepareDataFolder(dataDir);
const addresses = readLines(addressFiles(1 << 17).v4).slice(0, ASKED);
const domain = (i: number) => `throw-away-${i}.com`;
const provider = (mark: Mark) => `provider-${mark.toLowerCase()}.com`;

function makeRelease(mark: Mark): Marked {
  tell(`making release ${mark}`);
  const { flag, label, at } = MARKS[mark];
  const script = join(ROOT, "bench/lib/make-geo.ts");
  const said = execFileSync(process.execPath, [script, dataDir, "1", mark], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const geo: MadeGeo = JSON.parse(said);
  const networks = [...new Set(addresses)].map((address) => parsePrefix(`${address}/32`)!);
  const judgement = judgeNetworks([{ feed: "test", subject: flag, label, networks }]);
  const domains = addresses.map((_, i): [string, string[]] => [domain(i), [provider(mark)]]);
  const write = (kind: "reputation" | "email", sections: Parameters<typeof segmentChunks>[1]) => ({
    ...writeSegmentFile(dataDir, segmentChunks(kind, sections, {})),
    inputs: "0".repeat(64),
  });
  const content: Omit<Release, "id"> = {
    format: 1,
    created_at: new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString(),
    code: "0".repeat(64),
    segments: {
      geo: { sha256: geo.sha256, bytes: geo.bytes, inputs: "0".repeat(64) },
      reputation: write("reputation", reputationSections(judgement)),
      email: write("email", emailSections(new Map(domains))),
    },
    feeds: [],
    missing: [],
    partial: [],
  };
  const manifest: Release = { id: releaseId(content), ...content };
  const name = publish(dataDir, manifest);
  const expected = [
    [`{"city":{"name":"${mark} `, `"postal":{"code":"${mark}"}`],
    [`"${flag}":true`],
    [`"providers":["${provider(mark)}"]`],
  ];
  return { name, id: manifest.id, expected };
}

interface Used {
  readonly second: number;
  /** Bytes, of the server and all that it started: what it allocated, and all that is resident, mapped files included. */
  readonly anonymous: number;
  readonly resident: number;
}

function memory(pid: number, second: number): Used {
  const all = processTree(pid).map((one) => memoryOf(one));
  return {
    second,
    anonymous: sum(all.map((one) => one?.anonymous ?? 0)),
    resident: sum(all.map((one) => one?.proportional ?? 0)),
  };
}

/** What is held between two swaps, for verifying a release takes 200 MB for a moment: the least of the first third once all is settled, and of the last. */
function drift(used: readonly Used[], which: "anonymous" | "resident"): { early: number; late: number } {
  const settled = used.filter(({ second }) => second >= SETTLED_SECONDS).map((one) => one[which]);
  const third = Math.ceil(settled.length / 3);
  return { early: Math.min(...settled.slice(0, third)), late: Math.min(...settled.slice(-third)) };
}

const releases = [makeRelease("A"), makeRelease("B")];
const requests = addresses.flatMap((address, i) => [
  requestText(`/v1/ip-intel/geolocate/${address}`, AUTHORIZED),
  requestText(`/v1/ip-intel/reputation/${address}`, AUTHORIZED),
  requestText(`/v1/user-intel/email/someone@${domain(i)}`, AUTHORIZED),
]);
const server = await startInkling({ dataDir, core: SERVER_CORE });
let swaps = 0;
let swapper: ReturnType<typeof setInterval> | undefined;
try {
  const order = {
    port: server.port,
    seconds: MINUTES * 60,
    connections: CONNECTIONS,
    requests,
    expected: Object.fromEntries(releases.map(({ id, expected }) => [id, expected])),
  };
  swapper = setInterval(() => {
    makeCurrent(dataDir, releases[swaps % 2]!.name);
    swaps++;
  }, SWAP_MS);
  const used: Used[] = [];
  const seconds = await storm(order, (second) => {
    used.push(memory(server.pid, second.second));
    if (second.second % 30 === 29) {
      tell(
        `${second.second + 1} s: ${second.answered} answers in the last, 99 % within ${figure(second.p99)} ms, ${second.failed} failed, ${second.mixed} mixed`,
      );
    }
  });
  clearInterval(swapper);
  const answered = sum(seconds.map((second) => second.answered));
  const failed = sum(seconds.map((second) => second.failed));
  const mixed = sum(seconds.map((second) => second.mixed));
  const changes = seconds.filter(({ releases: seen }) => seen.length === 2).length;
  const load = `${answered.toLocaleString("en-US")} answers in ${order.seconds} s, ${swaps} swaps`;
  const isSwapped = changes > swaps / 3; // otherwise nothing was shown
  emit({
    type: "check",
    what: CHECKS.swapFailed,
    isKept: failed === 0 && isSwapped,
    figure: `${failed} failed of ${load}`,
  });
  emit({
    type: "check",
    what: CHECKS.swapMixed,
    isKept: mixed === 0 && isSwapped,
    figure: `${mixed} mixed; in ${changes} seconds both releases answered`,
  });
  const [own, all] = [drift(used, "anonymous"), drift(used, "resident")];
  const said = ({ early, late }: typeof own) => `${figure(early / 1e6)} then ${figure(late / 1e6)} MB`;
  emit({
    type: "check",
    what: CHECKS.swapMemory,
    isKept: own.late <= own.early + MORE_BYTES && all.late <= all.early + MORE_BYTES,
    figure: `least of the first third after ${SETTLED_SECONDS} s and of the last: allocated ${said(own)}, resident ${said(all)}`,
  });
  const what = `a swap every ${SWAP_MS / 1000} s, ${CONNECTIONS} connections`;
  const row = (measure: string, unit: string, values: number[]) =>
    emit({ type: "row", what, who: "inkling", measure, unit, values });
  row(
    "answers",
    "/s",
    seconds.map((second) => second.answered),
  );
  row(
    "50 % within",
    "ms",
    seconds.map((second) => second.p50),
  );
  row(
    "99 % within",
    "ms",
    seconds.map((second) => second.p99),
  );
  row(
    "slowest",
    "ms",
    seconds.map((second) => second.most),
  );
  emit({
    type: "note",
    text: "one value a second; the server reads every new release through, 300 MB, on the core that it answers with",
  });
  const curve = (plot: string, who: string, points: [number, number][]) =>
    emit({ type: "series", plot, who, points });
  curve(
    "swap-latency",
    "50 % of answers within",
    seconds.map((one) => [one.second, one.p50]),
  );
  curve(
    "swap-latency",
    "99 % of answers within",
    seconds.map((one) => [one.second, one.p99]),
  );
  curve(
    "swap-latency",
    "slowest answer",
    seconds.map((one) => [one.second, one.most]),
  );
  const curveOf = (which: "anonymous" | "resident") =>
    used.map((one): [number, number] => [one.second, one[which] / 1e6]);
  curve("swap-memory", "allocated by the server", curveOf("anonymous"));
  curve("swap-memory", "resident, with mapped files", curveOf("resident"));
} finally {
  clearInterval(swapper);
  await server.stop();
  emptyFolder("swap");
}
