// swap.ts: releases are swapped under full load: two of full size whose answers all differ, in turn every 2 s.
//
// The first is the current release, the second the same with another letter in all answers of all three segments.
// Every answer is checked: its texts must be those of the release that it names. The server has one core, on which it also
// verifies each release; the client has the other.

import { readFileSync } from "node:fs";
import * as engine from "@inkling/engine";
import * as store from "@inkling/release-store";
import { randomWords } from "../../test/random.ts";
import * as data from "../lib/data.ts";
import { CONNECTIONS } from "../lib/load.ts";
import { memoryOf, processTree, SERVER_CORE } from "../lib/proc.ts";
import { SEED, shuffle } from "../lib/random.ts";
import { log, type Run } from "../lib/record.ts";
import { startInkling, TOKEN } from "../lib/server.ts";
import { figure, sum } from "../lib/stats.ts";
import { type StormSecond, storm } from "../lib/storm.ts";
import { CHECKS } from "../lib/targets.ts";

type SegmentKind = (typeof engine.SEGMENT_OF)[engine.Lookup];
const SWAP_MS = 2_000;
/** Of each kind. */
const VALUES = 3_000;
/** What memory may gain between the first third of the run and the last. */
const MORE_MB = 34;
/** What an answer is looked up with, and texts that every answer has, with another letter in the marked release. */
export const KINDS: Readonly<Record<SegmentKind, { path: string; texts: readonly string[] }>> = {
  geo: { path: "/v1/ip-intel/geolocate/", texts: ['"continent":', '"subdivisions":'] },
  reputation: { path: "/v1/ip-intel/reputation/", texts: ['"is_proxy":', '"is_tor_exit":'] },
  email: { path: "/v1/user-intel/email/", texts: ['.com"'] }, // of a provider: the rest is not in the segment
};
export const marked = (text: string) => text.replaceAll("o", "q");

/** Replaces the texts of a kind in the answers of a segment and renews its checksums (docs/segment-format.md). */
function markSegment(bytes: Uint8Array, kind: SegmentKind): void {
  const segment = engine.openSegment(bytes, kind);
  for (const name of ["answers", "answerTemplates"] as const) {
    if (!segment.has(name)) continue;
    const { buffer, byteOffset, length } = segment.u8(name);
    const section = Buffer.from(buffer, byteOffset, length);
    for (const text of KINDS[kind].texts)
      for (let at = section.indexOf(text); at >= 0; at = section.indexOf(text, at + 1))
        section.write(marked(text), at);
  }
  requireMarked(segment, kind);
  const header = new DataView(bytes.buffer, bytes.byteOffset, engine.HEADER_BYTES);
  const body = engine.bodyStart(header);
  header.setUint32(28, engine.crc32(bytes.subarray(body)), true);
  header.setUint32(32, engine.headerChecksum(bytes, body), true);
}

/** Throws unless a sample of the answers has the marked texts, and none of the others. */
function requireMarked(segment: engine.SegmentFile, kind: SegmentKind): void {
  const answers = new engine.Answers(segment);
  const step = Math.ceil(answers.count / VALUES);
  const numbers = Array.from({ length: Math.ceil(answers.count / step) }, (_, i) => i * step);
  const sample = numbers.map((number) => Buffer.from(answers.at(number) ?? []));
  for (const text of KINDS[kind].texts) {
    if (
      sample.some((answer) => answer.includes(text)) ||
      !sample.some((answer) => answer.includes(marked(text)))
    )
      throw new Error(`${kind}: not all answers with ${text} were marked`);
  }
}

/** Publishes the current release of a data folder once more, marked in these kinds. @returns its manifest */
export function publishMarked(
  dataDir: string,
  { manifest, segmentPath }: data.CurrentRelease,
  kinds = Object.keys(KINDS) as readonly SegmentKind[],
): engine.Release {
  const segments = { ...manifest.segments };
  for (const kind of kinds) {
    if (segments[kind] === undefined) continue;
    const bytes = new Uint8Array(readFileSync(segmentPath(kind)).buffer);
    markSegment(bytes, kind);
    segments[kind] = { ...segments[kind]!, ...store.writeSegmentFile(dataDir, [bytes]) };
  }
  const created_at = new Date(Date.parse(manifest.created_at) + 1000).toISOString();
  const content = { ...manifest, created_at, segments };
  const release = { ...content, id: store.releaseId(content) };
  store.publish(dataDir, release);
  return release;
}

/** Addresses that the reputation segment has an answer for. */
function listedAddresses(bytes: Uint8Array): string[] {
  const table = new engine.RangeTable(engine.openSegment(bytes, "reputation"));
  const address = new engine.IpAddress();
  const found: string[] = [];
  for (let start = 0; start < 2 ** 32; start += 2 ** (32 - table.networkBits(address))) {
    address.words[0] = start;
    if (table.find(address) !== 0 && engine.specialUse(address) === undefined)
      found.push(engine.formatIp(address));
  }
  return found;
}

/** Email addresses at listed domains that have a provider under .com. */
function listedEmails(bytes: Uint8Array): string[] {
  const segment = engine.EmailSegment.open(bytes);
  const emails = [...segment.domains()].map(({ name }) => `someone@${name}`);
  return emails.filter((email) => Buffer.from(engine.answerEmail(email, segment)).includes('.com"'));
}

/** Paths to request, for each kind of which there is data. */
export function pathsOf(run: Run, { manifest, segmentPath }: data.CurrentRelease): [SegmentKind, string[]][] {
  const bytes = (kind: SegmentKind) => Bun.mmap(segmentPath(kind), { shared: false });
  const lists: Record<SegmentKind, () => string[]> = {
    geo: () => data.knownAddresses(segmentPath("geo"), VALUES).known,
    reputation: () => listedAddresses(bytes("reputation")),
    email: () => listedEmails(bytes("email")),
  };
  return (Object.keys(KINDS) as SegmentKind[]).flatMap((kind): [SegmentKind, string[]][] => {
    const refused = data.whyRefused(manifest, kind);
    if (refused !== undefined) {
      run.note(`${kind} is left out: ${refused}`);
      return [];
    }
    const values = shuffle(lists[kind](), randomWords(SEED)).slice(0, VALUES);
    return [[kind, values.map((value) => KINDS[kind].path + value)]];
  });
}

type Key = "anonymous" | "proportional" | "answers" | "failed" | "mixed" | "p50" | "p99" | "most";
/** A second of the load, and the memory of the server with all that it started, in MB. */
type Sample = StormSecond & Readonly<Record<Key, number>>;

/** Memory between two swaps, at the beginning and the end: verifying a release takes 200 MB for a moment. */
export function drift(values: readonly number[]): { isFlat: boolean; text: string } {
  // The first swaps may add to memory: a second release is mapped, the heap settles.
  const settled = values.slice(Math.min(30, Math.floor(values.length / 3)));
  const third = Math.ceil(settled.length / 3);
  const [early, late] = [Math.min(...settled.slice(0, third)), Math.min(...settled.slice(-third))];
  return { isFlat: late <= early + MORE_MB, text: `${figure(early)} then ${figure(late)} MB` };
}

function report(run: Run, samples: readonly Sample[], swaps: number): void {
  const of = (key: Key) => samples.map((sample) => sample[key]);
  const [failed, mixed, count] = [sum(of("failed")), sum(of("mixed")), sum(of("answers"))];
  const changes = samples.filter(({ releases }) => releases.length === 2).length;
  const isSwapped = changes > swaps / 3; // otherwise nothing was shown
  const answers = `${count.toLocaleString("en-US")} answers in ${samples.length} s, ${swaps} swaps`;
  run.check(CHECKS.swapFailed, failed === 0 && isSwapped, `${failed} failed of ${answers}`);
  const both = `in ${changes} seconds both releases answered`;
  run.check(CHECKS.swapMixed, mixed === 0 && isSwapped, `${mixed} mixed; ${both}`);
  const [own, all] = [drift(of("anonymous")), drift(of("proportional"))];
  const memory = `least of the first third and of the last: allocated ${own.text}, resident ${all.text}`;
  run.check(CHECKS.swapMemory, own.isFlat && all.isFlat, memory);
  const what = `a swap every ${SWAP_MS / 1000} s, ${CONNECTIONS} connections`;
  run.row(what, "inkling", "answers, /s", of("answers"));
  const curve = (plot: string, who: string, key: Key) =>
    run.add({ type: "series", plot, who, points: of(key).map((y, x) => [x, y]) });
  const times = { p50: "50 % within", p99: "99 % within", most: "slowest" } as const;
  for (const [key, name] of Object.entries(times) as [Key, string][]) {
    run.row(what, "inkling", `${name}, ms`, of(key));
    curve("swap-latency", name, key);
  }
  curve("swap-memory", "allocated by the server", "anonymous");
  curve("swap-memory", "resident, with mapped files", "proportional");
  run.note(
    "one value a second; the server verifies every new release, 300 MB, on the core that it answers with",
  );
}

export async function measureSwap(run: Run): Promise<void> {
  const dataDir = await data.linkedCopy(data.releaseFolder(run.checkout), "swap");
  run.defer(() => data.removeFolder("swap"));
  log("making the second release");
  const current = data.openCurrent(dataDir);
  const releases = [publishMarked(dataDir, current), current.manifest];
  const lists = pathsOf(run, current);
  const paths = Array.from({ length: VALUES }, (_, i) =>
    lists.map(([, list]) => list[i % list.length]!),
  ).flat();
  const texts = lists.map(([kind]) => KINDS[kind].texts);
  const expected = { [releases[0]!.id]: texts.map((some) => some.map(marked)), [releases[1]!.id]: texts };
  const server = await startInkling(run, run.checkout, { dataDir, core: SERVER_CORE });
  let swaps = 0;
  const swap = () => store.makeCurrent(dataDir, engine.releaseName(releases[++swaps % 2]!));
  const swapper = setInterval(swap, SWAP_MS);
  run.defer(() => clearInterval(swapper));
  const samples: Sample[] = [];
  const load = { ports: [server.port], seconds: run.minutes * 60, connections: CONNECTIONS };
  await storm(run, { ...load, paths, token: TOKEN, expected }, (second) => {
    const memory = processTree(server.pid).map(memoryOf);
    const used = (key: "anonymous" | "proportional") => sum(memory.map((one) => one[key]));
    samples.push({ ...second, anonymous: used("anonymous"), proportional: used("proportional") });
    if (second.second % 30 === 29) log(JSON.stringify(second));
  });
  clearInterval(swapper);
  report(run, samples, swaps);
}
