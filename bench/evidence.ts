// evidence.ts: what `?include=evidence` costs the server, and what it costs those who do not ask.
//
// run  npx bun bench/evidence.ts DATA_DIR [TREE DATA_DIR]
//      TREE: another checkout with its packages installed, DATA_DIR: a release that it built; its plain answers are
//      measured beside ours. Needs wrk and taskset, and two cores of which nobody else takes much.
// out  CPU of the server per request in µs (from /proc), and ratios within each round: the middle of ROUNDS

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  EmailSegment,
  formatIp,
  IpAddress,
  openSegment,
  RANGE_SECTIONS,
  RangeTable,
  specialUse,
} from "@inkling/engine";
import { currentName, openRelease } from "@inkling/release-store";
import { newKeyToken } from "@inkling/server";

const ROUNDS = 9;
const SECONDS = 2;
const VALUES = 20_000;
const TICK_US = 10_000; // of /proc/<pid>/stat, on every Linux that Bun runs on

const [dataDir, otherTree, otherData] = process.argv.slice(2);
if (dataDir === undefined) throw new Error("usage: npx bun bench/evidence.ts DATA_DIR [TREE DATA_DIR]");
const work = mkdtempSync(join(tmpdir(), "inkling-bench-evidence-"));
const token = newKeyToken("live", (n) => crypto.getRandomValues(new Uint8Array(n)));

const release = openRelease(dataDir, currentName(dataDir)!);
const segmentBytes = (kind: "reputation" | "email") =>
  Uint8Array.from(readFileSync(join(dataDir, `segments/${release.manifest.segments[kind]!.sha256}.seg`)));

function pick<T>(from: readonly T[], count: number): T[] {
  return Array.from({ length: count }, () => from[Math.floor(Math.random() * from.length)]!);
}

/** Addresses that some list says something of, one list as likely as its ranges are many. */
function listedAddresses(): string[] {
  const table = new RangeTable(
    openSegment(segmentBytes("reputation"), "reputation"),
    RANGE_SECTIONS.evidence,
  );
  const address = new IpAddress();
  const found: string[] = [];
  for (let start = 0; start < 2 ** 32; start += 2 ** (32 - table.networkBits(address))) {
    address.words[0] = start;
    if (table.find(address) !== 0 && specialUse(address) === undefined) found.push(formatIp(address));
  }
  return pick(found, VALUES);
}

function locatedAddresses(): string[] {
  const address = new IpAddress();
  const found: string[] = [];
  while (found.length < VALUES) {
    address.words[0] = Math.floor(Math.random() * 2 ** 32);
    if (specialUse(address) === undefined && release.geo!.record(address) !== 0)
      found.push(formatIp(address));
  }
  return found;
}

function listedDomains(): string[] {
  const found = [...EmailSegment.open(segmentBytes("email")).domains()].map(({ name }) => `jane@${name}`);
  return pick(found, VALUES);
}

const LOOKUPS = {
  reputation: { path: "/v1/ip-intel/reputation/", values: listedAddresses() },
  geolocate: { path: "/v1/ip-intel/geolocate/", values: locatedAddresses() },
  email: { path: "/v1/user-intel/email/", values: listedDomains() },
};
type Lookup = keyof typeof LOOKUPS;

function script(lookup: Lookup, query: string): string {
  const { path, values } = LOOKUPS[lookup];
  const file = join(work, `${lookup}${query === "" ? "" : "-evidence"}.lua`);
  const paths = values.map((value) => JSON.stringify(`${path}${value}${query}`)).join(",\n");
  writeFileSync(
    file,
    `local paths = {${paths}}
local i = 0
local headers = { ["Authorization"] = "Bearer ${token}" }
function request() i = i % #paths + 1; return wrk.format("GET", paths[i], headers) end
function done(summary) io.write("requests " .. summary.requests .. " bad " .. summary.errors.status .. "\\n") end
`,
  );
  return file;
}

async function serve(tree: string, data: string) {
  const [port, adminPort] = [freePort(), freePort()];
  const env = {
    PATH: process.env.PATH ?? "",
    INKLING_DATA_DIR: data,
    INKLING_PORT: String(port),
    INKLING_ADMIN_PORT: String(adminPort),
    INKLING_API_KEY: token,
    INKLING_OFFLINE: "1",
    INKLING_RATE: "0",
    INKLING_DATABASE_URL: `sqlite://${join(work, `${port}.db`)}`,
  };
  const command = ["taskset", "-c", "0", process.execPath, join(tree, "packages/cli/src/main.ts"), "serve"];
  const child = Bun.spawn(command, { cwd: tree, env, stdout: "ignore", stderr: "ignore" });
  for (let i = 0; ; i++) {
    if (child.exitCode !== null || i > 1000) throw new Error(`no server from ${tree}`);
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.status === 200) break;
    await Bun.sleep(20);
  }
  return { child, port };
}

function freePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

/** User and system time of a process, in µs. */
function cpu(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

/** CPU per request in µs. */
async function measure({ child, port }: Awaited<ReturnType<typeof serve>>, file: string): Promise<number> {
  const before = cpu(child.pid);
  const load = Bun.spawn(
    ["taskset", "-c", "1", "wrk", "-t1", "-c32", `-d${SECONDS}s`, "-s", file, `http://127.0.0.1:${port}`],
    { stdout: "pipe" },
  );
  const said = await new Response(load.stdout).text();
  const [, requests, bad] = said.match(/requests (\d+) bad (\d+)/) ?? [];
  if (bad !== "0") throw new Error(`refused: ${said}`);
  return (cpu(child.pid) - before) / Number(requests);
}

const middle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
const told = (values: readonly number[]) =>
  `${middle(values).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;

const ours = await serve(resolve(import.meta.dir, ".."), resolve(dataDir));
const other =
  otherTree === undefined || otherData === undefined
    ? undefined
    : await serve(resolve(otherTree), resolve(otherData));
try {
  for (const lookup of Object.keys(LOOKUPS) as Lookup[]) {
    const plain = script(lookup, "");
    const reasoned = script(lookup, "?include=evidence");
    const rounds: { before: number; plain: number; evidence: number }[] = [];
    for (let round = -1; round < ROUNDS; round++) {
      const row = {
        before: other === undefined ? Number.NaN : await measure(other, plain),
        plain: await measure(ours, plain),
        evidence: await measure(ours, reasoned),
      };
      if (round >= 0) rounds.push(row); // the first warms up
    }
    const lines = {
      ...(other && { "plain, other tree": told(rounds.map((row) => row.before)) }),
      plain: told(rounds.map((row) => row.plain)),
      evidence: told(rounds.map((row) => row.evidence)),
      ...(other && { "plain / other tree": told(rounds.map((row) => row.plain / row.before)) }),
      "evidence / plain": told(rounds.map((row) => row.evidence / row.plain)),
    };
    for (const [name, text] of Object.entries(lines))
      process.stdout.write(`${lookup.padEnd(11)} ${name.padEnd(20)} ${text}\n`);
  }
} finally {
  for (const server of [ours, other]) {
    server?.child.kill("SIGTERM");
    await server?.child.exited;
  }
  rmSync(work, { recursive: true, force: true });
}
