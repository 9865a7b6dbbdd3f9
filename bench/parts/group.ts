// group.ts: eight hosts as one service: how soon a change is everywhere, and what the shared limit costs a lookup.
// channel.ts has how a release reaches them. All hosts, the database, the load and the measurement share two cores.

import { parseNewKey } from "../../packages/server/src/keys/key-input.ts";
import { parseNewOverride } from "../../packages/server/src/overrides/override.ts";
import { openStore } from "../../packages/server/src/store/store.ts";
import { SMALL_NETWORK } from "../../test/release.ts";
import { until } from "../../test/until.ts";
import { HOSTS, type Host, lookUpAt, smallFolder, startDatabase, startHosts } from "../lib/hosts.ts";
import { fullLoad, pathsFile } from "../lib/load.ts";
import { hasCommand } from "../lib/peers.ts";
import { SERVER_CORE } from "../lib/proc.ts";
import { publicIpv4 } from "../lib/random.ts";
import type { Run } from "../lib/record.ts";
import { startInkling } from "../lib/server.ts";
import { quantile } from "../lib/stats.ts";

const PATH = `/v1/ip-intel/geolocate/${SMALL_NETWORK.replace("0/24", "142")}`;
const COST = "a lookup over HTTP, two servers on one core at the same time";
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
  const hosts = await startHosts(run, folders, { INKLING_DATABASE_URL: database.through });
  await measureChanges(run, hosts, database);
  for (const host of hosts) await host.stop();
  await measureCost(run, await database.fresh());
}
