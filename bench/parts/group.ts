// group.ts: eight hosts as one service: a limit of all together, how soon a change is everywhere, and what the shared limit
// costs a lookup. channel.ts has how a release reaches them.
//
// All hosts, the database, the load and the measurement share two cores. The load asks 1,500 lookups a second of a key
// with 1,000, unevenly: each host's part moves to another one every few seconds.

import { parseNewKey } from "../../packages/server/src/keys/key-input.ts";
import { parseNewOverride } from "../../packages/server/src/overrides/override.ts";
import { openStore } from "../../packages/server/src/store/store.ts";
import { type Loaded, load, mostAboveRate, usable } from "../../test/demand.ts";
import { SMALL_NETWORK } from "../../test/release.ts";
import type { TcpProxy } from "../../test/tcp-proxy.ts";
import { until } from "../../test/until.ts";
import { HOSTS, type Host, lookUpAt, smallFolder, startDatabase, startHosts } from "../lib/hosts.ts";
import { fullLoad, pathsFile } from "../lib/load.ts";
import { hasCommand } from "../lib/peers.ts";
import { processTree, SERVER_CORE } from "../lib/proc.ts";
import { publicIpv4 } from "../lib/random.ts";
import type { Run } from "../lib/record.ts";
import { startInkling } from "../lib/server.ts";
import { figure, quantile } from "../lib/stats.ts";
import { CHECKS } from "../lib/targets.ts";

const LIMIT = { rate: 1_000, burst: 2_000 };
const LIMITED = { INKLING_RATE: String(LIMIT.rate), INKLING_BURST: String(LIMIT.burst) };
/** Lookups a second at the hosts, in all 1,500. */
const DEMAND = [450, 330, 240, 180, 135, 90, 50, 25];
const SHIFT_SECONDS = 4;
const PATH = `/v1/ip-intel/geolocate/${SMALL_NETWORK.replace("0/24", "142")}`;
const GROUP = `${HOSTS} hosts, a key of 1,000/s and burst 2,000, 1,500/s asked`;

const COST = "a lookup over HTTP, two servers on one core at the same time";
const LIMIT_CHECKS = {
  none: [CHECKS.groupKept, CHECKS.groupUsed],
  cut: [CHECKS.groupKeptCut, CHECKS.groupUsedCut],
  paused: [CHECKS.groupKeptPaused, CHECKS.groupUsedPaused],
} as const;

/** What each host is asked: the parts move to other hosts, the largest from the busiest to the idlest. */
const rates = (second: number) => {
  const shift = Math.floor(second / SHIFT_SECONDS) * 3;
  return DEMAND.map((_, host) => DEMAND[(host + shift) % DEMAND.length]!);
};

const lookUp = (hosts: readonly Host[]) => async (host: number) =>
  (await lookUpAt(hosts[host]!, PATH)).status;

/** A load with a fault in its middle. */
async function loadWith(
  run: Run,
  hosts: readonly Host[],
  fault: keyof typeof LIMIT_CHECKS,
  turn: (isOn: boolean) => void,
) {
  const seconds = run.size({ none: 40, cut: 90, paused: 60 }[fault], 7);
  const length = run.size(fault === "cut" ? 30 : 10, 3);
  const from = Math.floor((seconds - length) / 2);
  const loaded = await load({
    seconds,
    rates,
    lookUp: lookUp(hosts),
    onSecond: (second) => {
      if (second === from) turn(true);
      if (second === from + length) turn(false);
    },
  });
  return { loaded, isDuring: (second: number) => second >= from && second < from + length };
}

function reportLimit(run: Run, who: string, loaded: Loaded, left: number): number {
  const most = mostAboveRate(loaded.allowed, LIMIT.rate);
  const count = loaded.allowed.length;
  const row = (key: string, value: number) => run.row(GROUP, who, key, [value]);
  row("allowed, /s", count / loaded.seconds);
  row("most above the rate in any window, tokens", most);
  row("used of the limit, %", (100 * count) / usable(loaded, LIMIT));
  row("used of what can be used, %", (100 * count) / left);
  if (loaded.failed > 0) run.note(`${who}: ${loaded.failed} lookups failed`);
  const bySecond = Array.from({ length: loaded.seconds }, () => 0);
  for (const { sent } of loaded.allowed) bySecond[Math.floor(sent / 1000)]!++;
  run.add({ type: "series", plot: "group-allowed", who, points: bySecond.map((y, x) => [x, y]) });
  return most;
}

async function measureLimits(run: Run, hosts: readonly Host[], proxy: TcpProxy): Promise<void> {
  const pause = (isOn: boolean) => {
    for (const pid of processTree(hosts[0]!.pid)) process.kill(pid, isOn ? "SIGSTOP" : "SIGCONT");
  };
  const cut = (isOn: boolean) => (isOn ? proxy.cut() : proxy.mend());
  const faults: [keyof typeof LIMIT_CHECKS, string, (isOn: boolean) => void][] = [
    ["none", "inkling", () => {}],
    ["cut", "inkling, database cut off for a while", cut],
    ["paused", "inkling, one host paused for a while", pause],
  ];
  for (const [fault, who, turn] of faults) {
    await load({ seconds: 2, rates: () => DEMAND.map(() => 5), lookUp: lookUp(hosts) }); // connections
    await Bun.sleep(3_000); // until the bucket is full
    const { loaded, isDuring } = await loadWith(run, hosts, fault, turn);
    // Without the database a host has its share alone.
    const share = (second: number) => (fault === "cut" && isDuring(second) ? LIMIT.rate / HOSTS : undefined);
    const left = usable(loaded, LIMIT, share);
    const most = reportLimit(run, who, loaded, left);
    const [kept, used] = LIMIT_CHECKS[fault];
    run.check(kept, most <= LIMIT.burst, `${figure(most)} above the rate, burst ${figure(LIMIT.burst)}`);
    const part = loaded.allowed.length / left;
    run.check(used, part >= 0.95, `${figure(100 * part)} % of ${figure(left)}`);
  }
}

/** A change, and how a host's answer shows that it is in force there. */
interface Change {
  readonly make: () => Promise<unknown>;
  readonly isSeen: (host: Host) => Promise<boolean>;
}

/** @returns ms from the change to the last host that applies it, for each */
async function timeChanges(hosts: readonly Host[], changes: readonly Change[]): Promise<number[]> {
  const times: number[] = [];
  for (const { make, isSeen } of changes) {
    await Bun.sleep(300 + 700 * Math.random()); // at any moment between two checks
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
        make: () => opened.overrides.put([wanted], { actor: "bench", way: "cli" }),
        isSeen: async (host: Host) => {
          const { body } = await lookUpAt(host, path, bearer(watcher.token));
          return JSON.parse(body).is_abuser === true;
        },
      };
    });
    const times = {
      revocation: await timeChanges(hosts, revocations),
      override: await timeChanges(hosts, overrides),
    };
    proxy.dropsNotices = false;
    for (const [what, values] of Object.entries(times))
      run.row(`from a ${what} to the last of ${HOSTS} hosts`, way, "time, ms", values);
    const all = Object.values(times).flat();
    run.row(`from a change to the last of ${HOSTS} hosts`, way, "99 % within, ms", [quantile(all, 0.99)]);
  }
}

/** Two servers on one core, loaded at the same time: what disturbs one disturbs the other. */
async function measureCost(run: Run, database: string): Promise<void> {
  if (!hasCommand(run, "wrk", "wrk (the client)")) return;
  const servers = [
    ["with leases", { INKLING_DATABASE_URL: database }],
    ["without leases", {}],
  ] as const;
  const started = [];
  for (const [who, env] of servers)
    started.push([who, await startInkling(run, run.checkout, { core: SERVER_CORE, env })] as const);
  const paths = pathsFile(
    run,
    publicIpv4(20_000).map((address) => `/v1/ip-intel/geolocate/${address}`),
  );
  const found = new Map<string, number[]>(servers.map(([who]) => [who, []]));
  const rounds = run.size(15, 2);
  for (let round = -1; round < rounds; round++) {
    const order = round % 2 === 0 ? started : started.toReversed();
    const loads = order.map(async ([who, server]) => {
      const { cpu } = await fullLoad(server, paths, run.size(4, 2));
      if (round >= 0) found.get(who)!.push(cpu);
    });
    await Promise.all(loads);
  }
  for (const [who, values] of found) run.row(COST, who, "CPU per request, µs", values);
}

export async function measureGroup(run: Run): Promise<void> {
  const folders = Array.from({ length: HOSTS }, () => smallFolder(run));
  const database = await startDatabase(run);
  const hosts = await startHosts(run, folders, { ...LIMITED, INKLING_DATABASE_URL: database.through });
  await measureLimits(run, hosts, database.proxy);
  await measureChanges(run, hosts, database);
  for (const host of hosts) await host.stop();
  const alone = await startHosts(run, folders, LIMITED);
  const { loaded } = await loadWith(run, alone, "none", () => {});
  reportLimit(run, "the same hosts, each with its own limit (SQLite)", loaded, usable(loaded, LIMIT));
  for (const host of alone) await host.stop();
  await measureCost(run, await database.fresh());
}
